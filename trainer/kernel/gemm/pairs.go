package gemm

import "math"

// A Rounded is c = a*b, or c += a*b, of bfloat16 matrices, as processors with
// VDPBF16PS make it: k is taken in pairs, the product of the odd one is added
// before that of the even one, each sum is rounded to nearest even, and
// denormals count as zeros and become zeros. An element of c is one chain of
// such sums over ascending pairs, whatever the block and the instruction set.
type Rounded struct {
	M, N, K int
	A       []uint16 // rows from [RoundHalf], RowA apart, with zeros behind an odd K
	RowA    int      // even
	B       []uint16 // from PackPairs
	C       []float32
	LDC     int
	Load    bool // start from c, not from zero
}

// pairDepth is the number of pairs that are done for a whole block before the
// next are begun, and pairHeight the number of rows whose part of a stays in the
// second-level cache meanwhile.
const (
	pairDepth  = 768
	pairHeight = 128
)

// PairsLen is the length of a k by n matrix in pairs.
func PairsLen(k, n int) int { return (n + Panel - 1) / Panel * Panel * (k + k&1) }

// PackPairs lays panels p0 to p1 of a k by n matrix of bfloat16, whose element
// (l, j) is b[l*step + j*col], out in dst, which holds all panels: for each pair
// of k, Panel pairs of numbers, the even k's first.
func PackPairs(dst, b []uint16, step, col, k, n, p0, p1 int) {
	pairs := (k + 1) / 2
	for p := p0; p < p1; p++ {
		cols := min(Panel, n-p*Panel)
		panel := dst[p*Panel*2*pairs:][:Panel*2*pairs]
		if k&1 != 0 {
			clear(panel[(pairs-1)*2*Panel:])
		}
		for l := range k {
			y := panel[l/2*2*Panel+l&1:]
			for j := range cols {
				y[2*j] = b[l*step+(p*Panel+j)*col]
			}
		}
	}
}

// RoundHalf rounds x to bfloat16: to nearest, ties to even; a NaN stays one.
func RoundHalf(dst []uint16, x []float32) {
	dst = dst[:len(x)]
	n := roundHalf(dst, x)
	for i, v := range x[n:] {
		dst[n+i] = half(v)
	}
}

// half rounds one number.
func half(v float32) uint16 {
	b := math.Float32bits(v)
	if b&0x7fffffff > 0x7f800000 {
		return uint16(b>>16) | 0x40
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}

// Block computes rows i0 to i1 and columns j0 to j1 of c; j0 is a multiple of
// Panel, and so is j1 unless it is N.
func (p *Rounded) Block(i0, i1, j0, j1 int) {
	if i0 >= i1 || j0 >= j1 {
		return
	}
	if i0 < 0 || i1 > p.M || j0 < 0 || j1 > p.N || j0%Panel != 0 || p.RowA&1 != 0 {
		panic("gemm: block outside the product")
	}
	pairs := (p.K + 1) / 2
	if len(p.C) < (p.M-1)*p.LDC+p.N { // not read: its last element may be another tile's
		panic("gemm: c is too short")
	}
	if p.K > 0 {
		_ = p.A[(p.M-1)*p.RowA+2*pairs-1]
		_ = p.B[PairsLen(p.K, p.N)-1]
	}
	most := pairRows()
	depth := even(pairs, pairDepth)
	if i1-i0 <= most {
		depth = max(pairs, 1) // b is read once: c may as well stay in registers
	}
	height := even(i1-i0, pairHeight)
	for l := 0; l == 0 || l < pairs; l += depth {
		d := min(depth, pairs-l)
		for i := i0; i < i1; i += height {
			rows := min(height, i1-i)
			all := (rows + most - 1) / most
			least, more := rows/all, rows%all // the first tiles have one row more
			for j := j0; j < j1; j += Panel {
				cols := min(Panel, j1-j)
				if more > 0 {
					p.tile(least+1, more, all, i, j, cols, l, d, pairs)
				}
				p.tile(least, all-more, all, i+more*(least+1), j, cols, l, d, pairs)
			}
		}
	}
}

// tileGeneric is the plain twin of the inner loops: tiles of mr rows from i on,
// columns from j on, d pairs from l on.
func (p *Rounded) tileGeneric(mr, tiles, i, j, cols, l, d, pairs int) {
	panel := p.B[j/Panel*Panel*2*pairs:]
	for r := i; r < i+mr*tiles; r++ {
		var acc [Panel]float32
		out := p.C[r*p.LDC+j:][:cols]
		if p.Load || l > 0 {
			copy(acc[:], out)
		}
		for q := l; q < l+d; q++ {
			even, odd := flushed(p.A[r*p.RowA+2*q]), flushed(p.A[r*p.RowA+2*q+1])
			row := panel[q*2*Panel:][:2*Panel]
			for c := range cols {
				s := flush(flush(acc[c]) + float32(odd*flushed(row[2*c+1])))
				acc[c] = flush(s + float32(even*flushed(row[2*c])))
			}
		}
		copy(out, acc[:])
	}
}

// flush makes a denormal a zero of its sign.
func flush(v float32) float32 {
	if b := math.Float32bits(v); b&0x7f800000 == 0 {
		return math.Float32frombits(b & 0x80000000)
	}
	return v
}

func flushed(h uint16) float32 { return flush(widen(h)) }
