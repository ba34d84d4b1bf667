// Package gemm is the inner part of matrix products in float32.
//
// A [Product] says where three matrices lie; [Product.Block] computes a block
// of c on one thread, and whoever has several threads cuts c into blocks. An
// element of c is one chain of fused multiply-adds over ascending k, whatever
// the block, the packing and the instruction set; without FMA (the portable
// class) it is one chain of multiplications and additions.
//
// Inside a block, [Depth] steps of k are done for everything before the next
// are begun. For these b is laid out in panels of [Panel] columns, so that the
// inner loops read it from consecutive addresses that stay in the first two
// levels of the cache; a is read where it lies, as packing it has never paid,
// unless its rows are strewn ([Product.CopyA]). A b that many blocks read is laid
// out once, by [Pack]. It may be packed in bfloat16: its numbers are widened as
// they are read, so that the result is that of the float32 product with the same
// numbers, bit for bit, at half the memory. Functions only read and write what
// their operands name; they keep nothing and may run at the same time.
package gemm

import (
	"math"

	"espalier/trainer/kernel/cpuinfo"
)

// Panel is the number of columns in a panel of packed b: k rows of Panel
// numbers, the last panel padded.
const Panel = 32

const (
	// Depth is the number of steps of k that are done for a whole block before
	// the next are begun. The deeper, the less often c is read and written; a
	// panel of b then takes 128 KiB, of which the inner loops read 128 bytes a
	// step: from the second-level cache as fast as from the first.
	Depth = 1024
	// height is the number of rows whose part of a stays in the second-level
	// cache while panels of b pass by.
	height = 96
)

// PackedLen is the length of a packed k by n matrix.
func PackedLen(k, n int) int { return (n + Panel - 1) / Panel * Panel * k }

// A Product is c = a*b, or c += a*b.
type Product struct {
	M, N, K int
	A       []float32
	RowA    int // from a row of a to the next
	StepA   int // from a step of k to the next
	B       []float32
	StepB   int // plain b: from a step of k to the next
	ColB    int // plain b: from a column to the next
	Packed  bool
	Half    []uint16 // packed b in bfloat16, instead of B
	// PanelRows is the number of rows that b was packed with, if more than K:
	// then only the first K are used.
	PanelRows int
	C         []float32
	LDC       int
	Load      bool // start from c, not from zero
	// CopyA has a's steps copied side by side, part by part. That pays where
	// RowA is 1 and c has many columns: steps of a that lie far apart share sets
	// of the cache.
	CopyA bool
	// Ahead, if not nil, is fetched meanwhile.
	Ahead *Ahead
}

// ScratchLen is how many numbers of scratch memory blocks of so many rows and
// columns use.
func (p *Product) ScratchLen(rows, cols int) int {
	n := p.copyLen(rows)
	if !p.Packed && p.Half == nil && !p.plain(rows) {
		n += PackedLen(min(p.K, Depth), cols)
	}
	return n
}

// copyLen is how many numbers a copy of a part of a takes.
func (p *Product) copyLen(rows int) int {
	if !p.CopyA || p.RowA != 1 || rows <= MaxRows() {
		return 0
	}
	return aligned(min(rows, height)) * min(p.K, Depth)
}

// aligned rounds rows up to what fills cache lines.
func aligned(rows int) int { return (rows + 15) &^ 15 }

// plain reports whether a block of so many rows uses b where it lies, because
// packing would cost more than it saves.
func (p *Product) plain(rows int) bool { return p.ColB == 1 && rows <= 2*MaxRows() }

// MaxRows returns how many rows of c the inner loop takes at once. More than 8
// would fit the registers of AVX-512, but rows of a that lie a multiple of 4096
// bytes apart share a set of the first-level cache, which has 8 or 12 ways.
func MaxRows() int {
	switch {
	case cpuinfo.AVX512:
		return 8
	case cpuinfo.AVX2:
		return 6
	}
	return 4
}

// Block computes rows i0 to i1 and columns j0 to j1 of c; j0 is a multiple of
// Panel, and so is j1 unless it is N. Scratch holds ScratchLen numbers of
// the thread's own.
func (p *Product) Block(i0, i1, j0, j1 int, scratch []float32) {
	if i0 >= i1 || j0 >= j1 {
		return
	}
	if i0 < 0 || i1 > p.M || j0 < 0 || j1 > p.N || j0%Panel != 0 {
		panic("gemm: block outside the product")
	}
	p.check()
	rows := i1 - i0
	frozen := p.Packed || p.Half != nil
	plain := !frozen && p.plain(rows)
	s := slice{Product: p, a: p.A, rowA: p.RowA, stepA: p.StepA, b: p.B, stepB: Panel, plain: plain}
	copied := scratch[:p.copyLen(rows)]
	scratch = scratch[len(copied):]
	steps := even(p.K, Depth)
	if (frozen || plain) && rows <= MaxRows() {
		steps = max(p.K, 1) // b is read once: c may as well stay in registers
	}
	for l := 0; l == 0 || l < p.K; l += steps {
		s.l, s.d, s.load = l, min(steps, p.K-l), p.Load || l > 0
		switch {
		case frozen:
			s.nextB = max(p.K, p.PanelRows) * Panel
			s.atB = j0/Panel*s.nextB + l*Panel
		case plain:
			s.atB, s.stepB, s.nextB = l*p.StepB+j0, p.StepB, Panel
		case s.d > 0:
			s.b, s.atB, s.nextB = scratch, 0, s.d*Panel
			Pack(s.b, p.B[l*p.StepB+j0*p.ColB:], p.StepB, p.ColB, s.d, j1-j0, 0, (j1-j0+Panel-1)/Panel)
		}
		h := even(rows, height)
		for i := i0; i < i1; i += h {
			s.i, s.rows = i, min(h, i1-i)
			s.tiles = (s.rows + MaxRows() - 1) / MaxRows()
			if s.atA = i*p.RowA + l*p.StepA; len(copied) > 0 && s.d > 0 {
				s.copySteps(copied)
			}
			for j := j0; j < j1; {
				j += s.strip(j, j0, j1)
			}
		}
	}
}

// even returns the size of the fewest equal parts of n that are at most size.
func even(n, size int) int {
	parts := max((n+size-1)/size, 1)
	return max((n+parts-1)/parts, 1)
}

// check panics where an operand is too short for what the inner loops touch.
func (p *Product) check() {
	if p.C[(p.M-1)*p.LDC:][p.N-1:] == nil || p.K == 0 {
		return
	}
	_ = p.A[(p.M-1)*p.RowA+(p.K-1)*p.StepA]
	switch n := PackedLen(max(p.K, p.PanelRows), p.N); {
	case p.Half != nil:
		_ = p.Half[n-1]
	case p.Packed:
		_ = p.B[n-1]
	default:
		_ = p.B[(p.K-1)*p.StepB+(p.N-1)*p.ColB]
	}
}

// A slice is d steps of k, from l on, of some rows of a block.
type slice struct {
	*Product
	i, rows, tiles    int // rows from i on, cut into tiles
	l, d              int
	load              bool
	a                 []float32 // where the rows lie: A or a copy
	atA, rowA, stepA  int
	b                 []float32 // unless Half
	atB, stepB, nextB int       // nextB: from a panel to the next
	plain             bool      // b lies as it was given: its last panel is not padded
}

// copyAhead is how many steps ahead copySteps fetches.
const copyAhead = 8

// copySteps copies the part of a whose RowA is 1.
func (s *slice) copySteps(dst []float32) {
	from := s.A[s.i+s.l*s.StepA:]
	s.a, s.atA, s.stepA = dst, 0, aligned(s.rows)
	for l := range s.d {
		if far := l + copyAhead; l%copyAhead == 0 && far < s.d {
			fetch(from[far*s.StepA:], s.StepA, min(copyAhead, s.d-far), s.rows)
		}
		copy(dst[l*s.stepA:][:s.rows], from[l*s.StepA:])
	}
}

// strip computes one panel of columns from j on, or several where rows are few,
// and returns how many columns.
func (s *slice) strip(j, j0, j1 int) int {
	cols := min(Panel, j1-j)
	if wide := wideColumns(s.rows); wide > Panel && j1-j >= wide {
		cols = wide
	}
	a, b, c := s.atA, s.atB+(j-j0)/Panel*s.nextB, s.i*s.LDC+j
	// Rows are shared out evenly: the first tiles have one more.
	least, more := s.rows/s.tiles, s.rows%s.tiles
	if more > 0 {
		s.tile(least+1, more, cols, a, b, c)
		a, c = a+more*(least+1)*s.rowA, c+more*(least+1)*s.LDC
	}
	s.tile(least, s.tiles-more, cols, a, b, c)
	return cols
}

// tileGeneric is the plain twin of the inner loops: tiles of mr rows, cols
// columns up to Panel, from elements a, b and c of the operands on.
func (s *slice) tileGeneric(mr, tiles, cols, a, b, c int) {
	for r := range mr * tiles {
		var acc [Panel]float32
		out := s.C[c+r*s.LDC:][:cols]
		if s.load {
			copy(acc[:], out)
		}
		for l := range s.d {
			x := s.a[a+r*s.rowA+l*s.stepA]
			if s.Half != nil {
				for q, y := range s.Half[b+l*s.stepB:][:cols] {
					acc[q] += float32(x * widen(y))
				}
				continue
			}
			row := s.b[b+l*s.stepB:][:cols]
			if len(row) == Panel {
				w := (*[Panel]float32)(row)
				for q := range w {
					acc[q] += float32(x * w[q])
				}
				continue
			}
			for q, y := range row {
				acc[q] += float32(x * y)
			}
		}
		copy(out, acc[:])
	}
}

// widen returns a bfloat16 number.
func widen(h uint16) float32 { return math.Float32frombits(uint32(h) << 16) }
