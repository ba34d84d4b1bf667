package cpu

import (
	"espalier/trainer/kernel/gemm"
	"espalier/trainer/tensor"
)

// PackRounding lays a frozen bfloat16 matrix out for products that round.
func (d *Device) PackRounding(b tensor.Tensor, trans bool) tensor.Tensor {
	if len(b.Shape) != 2 || b.DType != tensor.BFloat16 {
		panic("cpu: only a 2-D bfloat16 matrix can be packed for rounding")
	}
	k, n, row, col := b.Shape[0], b.Shape[1], b.Shape[1], 1
	if trans {
		k, n, row, col = n, k, 1, n
	}
	size := gemm.PairsLen(k, n)
	pk := &packed{slab: *newSlab((size + 1) / 2), trans: trans, pairs: true}
	pk.half = halves(tensor.Tensor{Shape: []int{size}, DType: tensor.BFloat16, Store: &pk.slab})
	d.packJob = packJob{dstHalf: pk.half, srcHalf: halves(b), pairs: true, k: k, n: n, row: row, col: col, panels: panels(n), group: 4}
	d.packJob.run(d)
	d.kept += int64(pk.Bytes())
	d.measure()
	return tensor.Tensor{Shape: append([]int(nil), b.Shape...), DType: b.DType, Store: pk}
}

// A roundJob rounds rows of a matrix to bfloat16.
type roundJob struct {
	dst       []uint16
	src       []float32
	k, stride int
	rows      int // in all
	group     int // of a tile
}

// roundStride is how far rows of k rounded numbers lie apart: even, and rows a
// multiple of 1024 bytes apart would share sets of the cache.
func roundStride(k int) int {
	stride := (k + 31) &^ 31
	if stride%512 == 0 {
		stride += 32
	}
	return stride
}

// roundRows rounds all rows of j's a; else each block rounds its own.
func (d *Device) roundRows(j *matmulJob) {
	j.rounded = asHalves(d.rounded.take((j.m*j.stride + 1) / 2))
	r := &d.round
	*r = roundJob{dst: j.rounded, src: j.a, k: j.k, stride: j.stride, rows: j.m, group: max(1, piece/max(j.k, 1))}
	d.pool.Run(r, (r.rows+r.group-1)/r.group)
}

// Tile rounds some rows.
func (j *roundJob) Tile(_, t int) { j.do(t*j.group, min((t+1)*j.group, j.rows)) }

func (j *roundJob) do(lo, hi int) {
	for r := lo; r < hi; r++ {
		y := j.dst[r*j.stride:][:j.stride]
		gemm.RoundHalf(y[:j.k], j.src[r*j.k:][:j.k])
		if j.k&1 != 0 {
			y[j.k] = 0
		}
	}
}

// roundedTile computes one block of a product that rounds.
func (j *matmulJob) roundedTile(thread, i0, i1, n0, n1 int) {
	m, words, own := i1-i0, 0, 0
	if j.rounded == nil {
		words = (m*j.stride + 1) / 2
	}
	if j.own {
		own = m * j.n
	}
	buf := j.d.local[thread].take(words + own)
	// Rows i0 to i1 are those of a part of a and of c.
	p := gemm.Rounded{M: m, N: j.n, K: j.k, RowA: j.stride, B: j.half, C: j.c[i0*j.ldc:], LDC: j.ldc, Load: j.load}
	if j.rounded != nil {
		p.A = j.rounded[i0*j.stride:]
	} else {
		p.A = asHalves(buf[:words])
		r := roundJob{dst: p.A, src: j.a[i0*j.k:], k: j.k, stride: j.stride}
		r.do(0, m)
	}
	if j.own { // a c of their own
		p.C, p.LDC = buf[words:], j.n
		p.Block(0, m, n0, n1)
		for i := range m {
			row, at := p.C[i*j.n:][n0:n1], (i0+i)*j.ldc+n0
			j.e.apply(row, at, n0)
			copy(j.c[at:], row)
		}
		return
	}
	p.Block(0, m, n0, n1)
	if !j.e.nothing() {
		for i := i0; i < i1; i++ {
			j.e.apply(j.c[i*j.ldc+n0:i*j.ldc+n1], i*j.ldc+n0, n0)
		}
	}
}
