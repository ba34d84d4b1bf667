//go:build !purego

package gemm

import "espalier/trainer/kernel/cpuinfo"

func packPanel(dst, b []float32, at, step, col, k, cols int) {
	if !cpuinfo.AVX2 || k == 0 {
		packPanelGeneric(dst, b, at, step, col, k, cols)
		return
	}
	_ = b[at+(k-1)*step+(cols-1)*col]
	switch {
	case col == 1 && cols == Panel:
		if cpuinfo.AVX512 {
			packRowsAVX512(&dst[0], &b[at], 4*step, k)
		} else {
			packRowsAVX2(&dst[0], &b[at], 4*step, k)
		}
	case step == 1:
		packTurn(dst, b, at, col, k, cols)
	default:
		packPanelGeneric(dst, b, at, step, col, k, cols)
	}
}

// packTurn packs columns that are each contiguous: whole groups of lanes
// columns over whole groups of lanes steps in registers, the rest one by one.
func packTurn(dst, b []float32, at, col, k, cols int) {
	lanes := 8
	if cpuinfo.AVX512 {
		lanes = 16
	}
	blocks, groups := k/lanes, cols/lanes
	if blocks == 0 {
		groups = 0
	}
	for g := range groups {
		if lanes == 16 {
			packTurnAVX512(&dst[g*16], &b[at+g*16*col], 4*col, blocks)
		} else {
			packTurnAVX2(&dst[g*8], &b[at+g*8*col], 4*col, blocks)
		}
	}
	for l := range k {
		y := dst[l*Panel:][:Panel]
		j := groups * lanes
		if l >= blocks*lanes {
			j = 0
		}
		for ; j < cols; j++ {
			y[j] = b[at+l+j*col]
		}
		clear(y[cols:])
	}
}
