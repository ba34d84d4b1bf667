//go:build !purego

package gemm

import (
	"unsafe"

	"espalier/trainer/kernel/cpuinfo"
)

//go:generate go -C ../_asm run ./pairs -pkg gemm -out ../gemm/pairs_amd64.s -stubs ../gemm/pairs_asm_amd64.go

// A pairCall is the argument block of the inner loops; _asm/pairs has its
// offsets.
type pairCall struct {
	steps, tiles int
	a            *uint16
	rs           int // bytes
	b            *uint16
	c            *float32
	ldc          int    // bytes
	mask         uint32 // a bit for each column
	load         uint32 // 1: start from c
	control      [2]uint32
	ahead        uintptr // what of b is fetched into the cache meanwhile,
	step         int     // and how far it goes on with each pair, in bytes
	rest         int     // of the inner loops' own
}

// pairRows returns how many rows of c the inner loop takes at once.
func pairRows() int {
	if cpuinfo.AVX512 {
		return 8
	}
	return 4
}

func (p *Rounded) tile(mr, tiles, all, i, j, cols, l, d, pairs int) {
	if !cpuinfo.AVX2 {
		p.tileGeneric(mr, tiles, i, j, cols, l, d, pairs)
		return
	}
	q := pairCall{steps: d, tiles: tiles, rs: 2 * p.RowA, c: &p.C[i*p.LDC+j], ldc: 4 * p.LDC, mask: ^uint32(0)}
	if p.Load || l > 0 {
		q.load = 1
	}
	if cols < Panel {
		q.mask = 1<<cols - 1
	}
	if d > 0 {
		q.a, q.b = &p.A[i*p.RowA+2*l], &p.B[(j/Panel*pairs+l)*2*Panel]
		q.ahead = uintptr(unsafe.Pointer(q.b))
		if all > 1 { // the next panel, a part with each tile
			q.ahead, q.step = q.ahead+uintptr(4*Panel*pairs), (4*Panel+all-1)/all
		}
	}
	switch b := (*byte)(unsafe.Pointer(&q)); {
	case cpuinfo.BF16:
		pairsBF16(b, mr)
	case cpuinfo.AVX512:
		pairs512(b, mr)
	default:
		pairs256(b, mr)
		if cols > 16 {
			q.mask >>= 16
			q.c = (*float32)(unsafe.Add(unsafe.Pointer(q.c), 64))
			if d > 0 {
				q.b = (*uint16)(unsafe.Add(unsafe.Pointer(q.b), 64))
			}
			pairs256(b, mr)
		}
	}
}

func pairsBF16(p *byte, mr int) {
	switch mr {
	case 1:
		pairs1x32BF16(p)
	case 2:
		pairs2x32BF16(p)
	case 3:
		pairs3x32BF16(p)
	case 4:
		pairs4x32BF16(p)
	case 5:
		pairs5x32BF16(p)
	case 6:
		pairs6x32BF16(p)
	case 7:
		pairs7x32BF16(p)
	case 8:
		pairs8x32BF16(p)
	}
}

func pairs512(p *byte, mr int) {
	switch mr {
	case 1:
		pairs1x32AVX512(p)
	case 2:
		pairs2x32AVX512(p)
	case 3:
		pairs3x32AVX512(p)
	case 4:
		pairs4x32AVX512(p)
	case 5:
		pairs5x32AVX512(p)
	case 6:
		pairs6x32AVX512(p)
	case 7:
		pairs7x32AVX512(p)
	case 8:
		pairs8x32AVX512(p)
	}
}

func pairs256(p *byte, mr int) {
	switch mr {
	case 1:
		pairs1x16AVX2(p)
	case 2:
		pairs2x16AVX2(p)
	case 3:
		pairs3x16AVX2(p)
	case 4:
		pairs4x16AVX2(p)
	}
}

// roundHalf rounds whole vectors and returns how many numbers that were.
func roundHalf(dst []uint16, x []float32) int {
	switch n := len(x); {
	case cpuinfo.AVX512 && n >= 16:
		roundHalfAVX512(&dst[0], &x[0], n&^15)
		return n &^ 15
	case cpuinfo.AVX2 && n >= 8:
		roundHalfAVX2(&dst[0], &x[0], n&^7)
		return n &^ 7
	}
	return 0
}
