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
	case col == 1:
		if cpuinfo.AVX512 {
			packPartAVX512(&dst[0], &b[at], 4*step, k, cols)
		} else {
			packPartAVX2(&dst[0], &b[at], 4*step, k, cols)
		}
	case step == 1:
		packTurn(dst, b, at, col, k, cols)
	default:
		packPanelGeneric(dst, b, at, step, col, k, cols)
	}
}

// packAhead is how many rows ahead packWide fetches.
const packAhead = 8

// packWide packs panels whose rows are contiguous in b, and reports whether it
// can.
func packWide(dst, b []float32, step, k int) bool {
	if !cpuinfo.AVX2 {
		return false
	}
	_ = b[(k-1)*step+widePanels*Panel-1]
	if cpuinfo.AVX512 {
		packWideAVX512(&dst[0], &b[0], 4*step, k, 4*step*packAhead, 4*Panel*k)
	} else {
		packWideAVX2(&dst[0], &b[0], 4*step, k, 4*step*packAhead, 4*Panel*k)
	}
	return true
}

// packTurn packs columns that are each contiguous: whole blocks of lanes steps
// in registers, the steps that are left one by one.
func packTurn(dst, b []float32, at, col, k, cols int) {
	lanes := 8
	if cpuinfo.AVX512 {
		lanes = 16
	}
	blocks := k / lanes
	for g := 0; blocks > 0 && g < cols; g += lanes {
		if n := min(lanes, cols-g); lanes == 16 {
			packTurnAVX512(&dst[g], &b[at+g*col], 4*col, n, blocks)
		} else {
			packTurnAVX2(&dst[g], &b[at+g*col], 4*col, n, blocks)
		}
	}
	for l := blocks * lanes; l < k; l++ {
		y := dst[l*Panel:][:Panel]
		for j := range cols {
			y[j] = b[at+l+j*col]
		}
	}
}

func fetch(x []float32, ld, rows, n int) { fetchRows(&x[0], 4*ld, rows, n) }
