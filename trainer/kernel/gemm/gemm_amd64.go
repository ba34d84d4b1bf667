//go:build !purego

package gemm

import (
	"unsafe"

	"espalier/trainer/kernel/cpuinfo"
)

//go:generate go -C ../_asm run ./gemm -pkg gemm -out ../gemm/gemm_amd64.s -stubs ../gemm/gemm_asm_amd64.go
//go:generate go -C ../_asm run ./pack -pkg gemm -out ../gemm/pack_amd64.s -stubs ../gemm/pack_asm_amd64.go

// A call is the argument block of the inner loops; _asm/gemm has its offsets.
type call struct {
	k, tiles int
	a        *float32
	rs, cs   int // bytes
	b        *float32
	ldb      int // bytes
	c        *float32
	ldc      int    // bytes
	step     int    // bytes, from a panel to the next
	mask     uint32 // a bit for each column
	load     uint32 // 1: start from c
}

// wideColumns returns how many columns the inner loop for so few rows takes.
func wideColumns(rows int) int {
	if cpuinfo.AVX512 && rows <= 3 {
		return 128
	}
	return Panel
}

func (p *Product) tile(mr, tiles, i, j, cols, l, d, at, ldb, next int, load bool) {
	if !cpuinfo.AVX2 {
		p.tileGeneric(mr, tiles, i, j, cols, l, d, at, ldb, load)
		return
	}
	c := call{
		k: d, tiles: tiles,
		rs: 4 * p.RowA, cs: 4 * p.StepA,
		ldb: 4 * ldb, ldc: 4 * p.LDC, step: 4 * next,
		c:    &p.C[i*p.LDC+j],
		mask: ^uint32(0),
	}
	if d > 0 {
		c.a, c.b = &p.A[i*p.RowA+l*p.StepA], &p.B[at]
	}
	if load {
		c.load = 1
	}
	if cols < Panel {
		c.mask = 1<<cols - 1
	}
	if cpuinfo.AVX512 {
		c.run512(mr, cols)
		return
	}
	if mr <= 3 && cols == Panel {
		c.run2(mr, 32)
		return
	}
	for done := 0; done < cols; {
		width := 16
		if cols-done < 16 {
			width = 8
		}
		c.run2(mr, width)
		done += width
		c.mask >>= width
		if done < cols {
			c.c = (*float32)(unsafe.Add(unsafe.Pointer(c.c), 4*width))
			if d > 0 {
				c.b = (*float32)(unsafe.Add(unsafe.Pointer(c.b), 4*width))
			}
		}
	}
}

func (c *call) run512(mr, cols int) {
	p := (*byte)(unsafe.Pointer(c))
	if cols > Panel {
		switch mr {
		case 1:
			gemm1x128AVX512(p)
		case 2:
			gemm2x128AVX512(p)
		case 3:
			gemm3x128AVX512(p)
		}
		return
	}
	switch mr {
	case 1:
		gemm1x32AVX512(p)
	case 2:
		gemm2x32AVX512(p)
	case 3:
		gemm3x32AVX512(p)
	case 4:
		gemm4x32AVX512(p)
	case 5:
		gemm5x32AVX512(p)
	case 6:
		gemm6x32AVX512(p)
	case 7:
		gemm7x32AVX512(p)
	case 8:
		gemm8x32AVX512(p)
	case 9:
		gemm9x32AVX512(p)
	case 10:
		gemm10x32AVX512(p)
	case 11:
		gemm11x32AVX512(p)
	case 12:
		gemm12x32AVX512(p)
	case 13:
		gemm13x32AVX512(p)
	case 14:
		gemm14x32AVX512(p)
	}
}

func (c *call) run2(mr, cols int) {
	p := (*byte)(unsafe.Pointer(c))
	switch 100*mr + cols {
	case 108:
		gemm1x8AVX2(p)
	case 208:
		gemm2x8AVX2(p)
	case 308:
		gemm3x8AVX2(p)
	case 408:
		gemm4x8AVX2(p)
	case 508:
		gemm5x8AVX2(p)
	case 608:
		gemm6x8AVX2(p)
	case 116:
		gemm1x16AVX2(p)
	case 216:
		gemm2x16AVX2(p)
	case 316:
		gemm3x16AVX2(p)
	case 416:
		gemm4x16AVX2(p)
	case 516:
		gemm5x16AVX2(p)
	case 616:
		gemm6x16AVX2(p)
	case 132:
		gemm1x32AVX2(p)
	case 232:
		gemm2x32AVX2(p)
	case 332:
		gemm3x32AVX2(p)
	}
}
