//go:build !purego

package gemm

import (
	"unsafe"

	"espalier/trainer/kernel/cpuinfo"
)

//go:generate go -C ../_asm run ./gemm -pkg gemm -out ../gemm/gemm_amd64.s -stubs ../gemm/gemm_asm_amd64.go
//go:generate go -C ../_asm run ./gemm -half -pkg gemm -out ../gemm/half_amd64.s -stubs ../gemm/half_asm_amd64.go
//go:generate go -C ../_asm run ./pack -pkg gemm -out ../gemm/pack_amd64.s -stubs ../gemm/pack_asm_amd64.go

// A call is the argument block of the inner loops; _asm/gemm has its offsets.
type call struct {
	k, tiles int
	a        *float32
	rs, cs   int            // bytes
	b        unsafe.Pointer // float32 or bfloat16
	ldb      int            // bytes
	c        *float32
	ldc      int     // bytes
	step     int     // bytes, from a panel to the next
	mask     uint32  // a bit for each column
	load     uint32  // 1: start from c
	ahead    uintptr // what of b is fetched into the cache meanwhile (perhaps past its end: no pointer),
	stride   int     // and how far it lies apart, in bytes
}

// streamAhead is how many bytes ahead a b that is read once is fetched.
const streamAhead = 4096

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
	size := 4
	if p.Half != nil {
		size = 2
	}
	c := call{
		k: d, tiles: tiles,
		rs: 4 * p.RowA, cs: 4 * p.StepA,
		ldb: size * ldb, ldc: 4 * p.LDC, step: size * next,
		c:    &p.C[i*p.LDC+j],
		mask: ^uint32(0),
	}
	if d > 0 {
		c.a = &p.A[i*p.RowA+l*p.StepA]
		if p.Half != nil {
			c.b = unsafe.Pointer(&p.Half[at])
		} else {
			c.b = unsafe.Pointer(&p.B[at])
		}
	}
	if load {
		c.load = 1
	}
	switch {
	case d == 0:
	case tiles == 1: // b is read once: stay ahead of it
		c.ahead, c.stride = uintptr(c.b)+streamAhead, size*ldb
	case next > Panel && at+next+d*ldb <= len(p.B)+len(p.Half): // the next panel
		c.ahead, c.stride = uintptr(c.b)+uintptr(size*next), size*ldb
	default:
		c.ahead = uintptr(c.b)
	}
	if cols < Panel {
		c.mask = 1<<cols - 1
	}
	half := p.Half != nil
	if cpuinfo.AVX512 {
		c.run(mr, cols, 512, half)
		return
	}
	if mr <= 3 && cols == Panel {
		c.run(mr, Panel, 256, half)
		return
	}
	for done := 0; done < cols; {
		width := 16
		if cols-done < 16 {
			width = 8
		}
		c.run(mr, width, 256, half)
		done += width
		c.mask >>= width
		if done < cols {
			c.c = (*float32)(unsafe.Add(unsafe.Pointer(c.c), 4*width))
			if d > 0 {
				c.b = unsafe.Add(c.b, size*width)
			}
		}
	}
}
