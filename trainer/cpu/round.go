package cpu

import (
	"unsafe"

	"espalier/trainer/kernel/gemm"
	"espalier/trainer/op"
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

// roundRows makes j a product that rounds.
func (d *Device) roundRows(j *matmulJob, g *op.Gemm) {
	if g.TransA {
		panic("cpu: a transposed matrix is not rounded")
	}
	// Rows a multiple of 4096 bytes apart would share sets of the cache.
	j.stride = (j.k + 31) &^ 31
	if j.stride%512 == 0 {
		j.stride += 32
	}
	words := d.rounded.take((j.m*j.stride + 1) / 2)
	j.rounded = unsafe.Slice((*uint16)(unsafe.Pointer(unsafe.SliceData(words))), 2*len(words))
	r := &d.round
	*r = roundJob{dst: j.rounded, src: j.a, k: j.k, stride: j.stride, rows: j.m, group: max(1, piece/max(j.k, 1))}
	d.pool.Run(r, (r.rows+r.group-1)/r.group)
}

// Tile rounds some rows.
func (j *roundJob) Tile(_, t int) {
	for r := t * j.group; r < min((t+1)*j.group, j.rows); r++ {
		y := j.dst[r*j.stride:][:j.stride]
		gemm.RoundHalf(y[:j.k], j.src[r*j.k:][:j.k])
		if j.k&1 != 0 {
			y[j.k] = 0
		}
	}
}

// roundedTile computes one block of a product that rounds.
func (j *matmulJob) roundedTile(thread, i0, i1, n0, n1 int) {
	p := gemm.Rounded{M: j.m, N: j.n, K: j.k, A: j.rounded, RowA: j.stride, B: j.half, C: j.c, LDC: j.ldc, Load: j.load}
	if j.own { // rows i0 to i1 of a c of their own
		own := j.d.local[thread].take((i1 - i0) * j.n)
		p.A, p.M, p.C, p.LDC = p.A[i0*j.stride:], i1-i0, own, j.n
		p.Block(0, i1-i0, n0, n1)
		for i := i0; i < i1; i++ {
			row := own[(i-i0)*j.n:][n0:n1]
			j.e.apply(row, i*j.ldc+n0, n0)
			copy(j.c[i*j.ldc+n0:], row)
		}
		return
	}
	p.Block(i0, i1, n0, n1)
	if !j.e.nothing() {
		for i := i0; i < i1; i++ {
			j.e.apply(j.c[i*j.ldc+n0:i*j.ldc+n1], i*j.ldc+n0, n0)
		}
	}
}
