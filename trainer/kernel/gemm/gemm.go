// Package gemm is the inner part of matrix products in float32.
//
// A [Product] says where three matrices lie; [Product.Block] computes a block
// of c on one thread, and whoever has several threads cuts c into blocks. An
// element of c is one chain of fused multiply-adds over ascending k, whatever
// the block, the packing and the instruction set; without FMA (the portable
// class) it is one chain of multiplications and additions.
//
// b is best packed: columns in panels of [Panel], each panel k rows of Panel
// numbers, the last padded with zeros. The inner loops take any strides, so a
// and b may also be used where they lie. Functions only read and write what
// their operands name; they keep nothing and may run at the same time.
package gemm

import (
	"math"

	"espalier/trainer/kernel/cpuinfo"
)

// Panel is the number of columns in a panel of packed b.
const Panel = 32

// depth is the number of steps of k that are done for a whole block before the
// next are begun, so that a panel of b stays in the first-level cache.
const depth = 256

// PackedLen is the length of a packed k by n matrix.
func PackedLen(k, n int) int { return (n + Panel - 1) / Panel * Panel * k }

// A Product is c = a*b, or c += a*b.
type Product struct {
	M, N, K int
	A       []float32
	RowA    int // from a row of a to the next
	StepA   int // from a step of k to the next
	B       []float32
	Packed  bool
	Half    []uint16 // packed b in bfloat16, instead of B
	// PanelRows is the number of rows that b was packed with, if more than K:
	// then only the first K are used.
	PanelRows int
	LDB       int // plain b: from a step of k to the next
	C         []float32
	LDC       int
	Load      bool // start from c, not from zero
}

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
// Panel, and so is j1 unless it is N.
func (p *Product) Block(i0, i1, j0, j1 int) {
	if i0 >= i1 || j0 >= j1 {
		return
	}
	if i0 < 0 || i1 > p.M || j0 < 0 || j1 > p.N || j0%Panel != 0 {
		panic("gemm: block outside the product")
	}
	p.check()
	rows, most := i1-i0, MaxRows()
	tiles := (rows + most - 1) / most
	step := depth
	if tiles == 1 {
		step = max(p.K, 1)
	}
	for l := 0; l == 0 || l < p.K; l += step {
		d := min(step, p.K-l)
		load := p.Load || l > 0
		for j := j0; j < j1; {
			j += p.strip(i0, rows, tiles, j, j1, l, d, load)
		}
	}
}

// check panics where an operand is too short for what the inner loops touch.
func (p *Product) check() {
	if p.C[(p.M-1)*p.LDC:][p.N-1:] == nil || p.K == 0 {
		return
	}
	_ = p.A[(p.M-1)*p.RowA+(p.K-1)*p.StepA]
	switch n := PackedLen(p.panelRows(), p.N); {
	case p.Half != nil:
		_ = p.Half[n-1]
	case p.Packed:
		_ = p.B[n-1]
	default:
		_ = p.B[(p.K-1)*p.LDB+p.N-1]
	}
}

func (p *Product) panelRows() int { return max(p.K, p.PanelRows) }

// strip computes one panel of columns from j on, or several where rows are few,
// and returns how many columns.
func (p *Product) strip(i, rows, tiles, j, j1, l, d int, load bool) int {
	cols := min(Panel, j1-j)
	at, ldb, next := l*p.LDB+j, p.LDB, Panel
	if p.Packed || p.Half != nil {
		k := p.panelRows()
		at, ldb, next = j/Panel*k*Panel+l*Panel, Panel, k*Panel
	}
	if wide := wideColumns(rows); wide > Panel && j1-j >= wide {
		cols = wide
	}
	// Rows are shared out evenly: the first tiles have one more.
	least, more := rows/tiles, rows%tiles
	if more > 0 {
		p.tile(least+1, more, i, j, cols, l, d, at, ldb, next, load)
		i += more * (least + 1)
	}
	p.tile(least, tiles-more, i, j, cols, l, d, at, ldb, next, load)
	return cols
}

// tileGeneric is the plain twin of the inner loops: tiles of mr rows, cols
// columns up to Panel, d steps of k.
func (p *Product) tileGeneric(mr, tiles, i, j, cols, l, d, at, ldb int, load bool) {
	for r := i; r < i+mr*tiles; r++ {
		var acc [Panel]float32
		c := p.C[r*p.LDC+j:][:cols]
		if load {
			copy(acc[:], c)
		}
		for s := range d {
			x := p.A[r*p.RowA+(l+s)*p.StepA]
			if p.Half != nil {
				for q, y := range p.Half[at+s*ldb:][:cols] {
					acc[q] += float32(x * widen(y))
				}
				continue
			}
			b := p.B[at+s*ldb:][:cols]
			if len(b) == Panel {
				w := (*[Panel]float32)(b)
				for q := range w {
					acc[q] += float32(x * w[q])
				}
				continue
			}
			for q, y := range b {
				acc[q] += float32(x * y)
			}
		}
		copy(c, acc[:])
	}
}

// widen returns a bfloat16 number.
func widen(h uint16) float32 { return math.Float32frombits(uint32(h) << 16) }
