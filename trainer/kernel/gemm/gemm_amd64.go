//go:build !purego

package gemm

import (
	"unsafe"

	"espalier/trainer/kernel/cpuinfo"
)

//go:generate go -C ../_asm run ./gemm -pkg gemm -out ../gemm/gemm_amd64.s -stubs ../gemm/gemm_asm_amd64.go
//go:generate go -C ../_asm run ./gemm -half -pkg gemm -out ../gemm/half_amd64.s -stubs ../gemm/half_asm_amd64.go
//go:generate go -C ../_asm run ./pack -pkg gemm -out ../gemm/pack_amd64.s -stubs ../gemm/pack_asm_amd64.go

// A call is the argument block of the inner loops, which count tiles and atA;
// _asm/gemm has its offsets.
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
	stride   int     // and how far it goes on with each step, in bytes
	atA      int     // bytes, from a to the tile's first row,
	nextA    int     // and from a tile's to the next one's
	rest     int     // of the inner loops' own
	far      uintptr // rows to be fetched meanwhile,
	farLD    int     // bytes from one to the next,
	farRows  int     // and how many are left
}

// wideColumns returns how many columns the inner loop for so few rows takes:
// panels side by side keep more of b on its way.
func wideColumns(rows int) int {
	switch {
	case cpuinfo.AVX512 && rows <= 3:
		return 128
	case cpuinfo.AVX512 && rows <= 6:
		return 64
	}
	return Panel
}

func (s *slice) tile(mr, tiles, cols, a, b, c int) {
	if !cpuinfo.AVX2 {
		s.tileGeneric(mr, tiles, cols, a, b, c)
		return
	}
	size := 4
	if s.Half != nil {
		size = 2
	}
	q := call{
		k: s.d, tiles: tiles,
		rs: 4 * s.rowA, cs: 4 * s.stepA, nextA: 4 * mr * s.rowA,
		ldb: size * s.stepB, ldc: 4 * s.LDC, step: size * s.nextB,
		c:    &s.C[c],
		mask: ^uint32(0),
	}
	if s.load {
		q.load = 1
	}
	if cols < Panel {
		q.mask = 1<<cols - 1
	}
	if s.d > 0 {
		q.a = &s.a[a]
		if s.Half != nil {
			q.b = unsafe.Pointer(&s.Half[b])
		} else {
			q.b = unsafe.Pointer(&s.b[b])
		}
		// Fetch the next panel, a part with each tile. A b that is read once is
		// left to the processor, whose own fetching has more lines on the way.
		q.ahead = uintptr(q.b)
		if s.tiles > 1 && s.nextB > Panel && b+s.nextB+s.d*s.stepB <= len(s.b)+len(s.Half) {
			q.ahead, q.stride = q.ahead+uintptr(q.step), (q.ldb+s.tiles-1)/s.tiles
		}
	}
	var rows *farRows
	if !s.Ahead.idle() {
		rows = s.Ahead.first()
		q.far, q.farLD, q.farRows = uintptr(unsafe.Pointer(&rows.x[0])), 4*rows.ld, rows.count
	}
	switch half := s.Half != nil; {
	case cpuinfo.AVX512:
		q.run(mr, cols, 512, half, s.plain && cols < Panel)
	case mr <= 3 && cols == Panel:
		q.run(mr, Panel, 256, half, false)
	default:
		for done := 0; done < cols; {
			width := 16
			if cols-done < 16 {
				width = 8
			}
			q.run(mr, width, 256, half, false)
			q.tiles, q.atA = tiles, 0
			done += width
			q.mask >>= width
			if done < cols {
				q.c = (*float32)(unsafe.Add(unsafe.Pointer(q.c), 4*width))
				if s.d > 0 {
					q.b = unsafe.Add(q.b, size*width)
				}
			}
		}
	}
	if rows != nil {
		s.Ahead.done(rows.count - q.farRows)
	}
}
