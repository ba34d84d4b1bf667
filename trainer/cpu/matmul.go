package cpu

import (
	"unsafe"

	"espalier/trainer/kernel/gemm"
	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// A packed is the storage of a frozen matrix laid out in panels, float32 or
// bfloat16.
type packed struct {
	slab
	trans bool
	half  []uint16
}

// A product is a batch of matrix products over slices.
type product struct {
	batch, m, n, k      int
	stepA, stepB, stepC int // from one matrix of the batch to the next
}

// plan checks the shapes of a product.
func plan(c, a, b tensor.Tensor, g *op.Gemm) product {
	if len(a.Shape) < 2 || len(b.Shape) < 2 || len(c.Shape) < 2 {
		panic("cpu: a matrix has two axes")
	}
	p := product{batch: 1, m: a.Dim(-2), k: a.Dim(-1)}
	if g.TransA {
		p.m, p.k = p.k, p.m
	}
	kb, n := b.Dim(-2), b.Dim(-1)
	if g.TransB {
		kb, n = n, kb
	}
	p.n = n
	la, lb, lc := len(a.Shape)-2, len(b.Shape)-2, len(c.Shape)-2
	switch {
	case lb == 0 && !g.TransA: // leading dimensions are rows
		p.m = a.Rows()
		if kb != p.k || c.Rows() != p.m || c.Dim(-1) != n {
			panic("cpu: matrices do not fit")
		}
		return p
	case lc == 0 && g.TransA && !g.TransB: // leading dimensions are k: the gradient of a weight
		p.k, kb = a.Rows(), b.Rows()
	case lc != la || (lb != 0 && lb != lc):
		panic("cpu: batches do not fit")
	default:
		for i := range lc {
			if a.Shape[i] != c.Shape[i] || (lb != 0 && b.Shape[i] != c.Shape[i]) {
				panic("cpu: batches do not fit")
			}
			p.batch *= c.Shape[i]
		}
		p.stepA, p.stepC = p.m*p.k, p.m*p.n
		if lb != 0 {
			p.stepB = p.k * p.n
		}
	}
	if kb != p.k || c.Dim(-2) != p.m || c.Dim(-1) != n {
		panic("cpu: matrices do not fit")
	}
	return p
}

// Gemm computes c = epilogue(alpha * op(a) * op(b)).
func (d *Device) Gemm(c, a, b tensor.Tensor, g op.Gemm) {
	p := plan(c, a, b, &g)
	j := &d.matmul
	*j = matmulJob{d: d, product: p, a: Floats(a), c: Floats(c), ldb: p.n, ldc: p.n, load: g.Accumulate, e: makeEpilogue(&g.Epilogue, g.Alpha, c)}
	if p.batch == 0 || p.m == 0 || p.n == 0 {
		return
	}
	if g.Accumulate {
		if !j.e.empty() {
			panic("cpu: accumulation with an epilogue")
		}
		if j.e.alpha != 1 {
			j.a = d.scaled(j.a, j.e.alpha)
			j.e.alpha = 1
		}
	}
	j.rowA, j.colA = p.k, 1
	if g.TransA {
		j.rowA, j.colA = 1, p.m
	}
	if pk, ok := b.Store.(*packed); ok {
		if pk.trans != g.TransB {
			panic("cpu: matrix was packed for the other transposition")
		}
		j.panels, j.half = pk.words, pk.half
		j.blocks()
		return
	}
	if g.TransB {
		j.multiply(d.widened(b), 1, p.k)
	} else {
		j.multiply(d.widened(b), p.n, 1)
	}
}

// multiply runs a product with an unpacked b, whose element (l, n) is at
// l*row + n*col.
func (j *matmulJob) multiply(b []float32, row, col int) {
	if j.m == 0 || j.n == 0 {
		return
	}
	if col == 1 && j.m <= 2*gemm.MaxRows() { // packing would cost more than it saves
		j.plain, j.ldb = b, row
		j.blocks()
		return
	}
	j.packAndRun(b, row, col)
}

// widened returns a matrix's numbers, in scratch memory if they are not float32.
func (d *Device) widened(b tensor.Tensor) []float32 {
	if b.DType == tensor.Float32 {
		return Floats(b)
	}
	x := d.wide.take(b.Len())
	d.Read(x, b)
	return x
}

// scaled returns a copy of x times alpha in scratch memory.
func (d *Device) scaled(x []float32, alpha float32) []float32 {
	y := d.scale.take(len(x))
	d.runMap(mapJob{kind: mapScale, out: y, x: x, alpha: alpha})
	return y
}

// Pack lays a frozen matrix out once and for all.
func (d *Device) Pack(b tensor.Tensor, trans bool) tensor.Tensor {
	if len(b.Shape) != 2 {
		panic("cpu: only a 2-D matrix can be packed")
	}
	k, n, row, col := b.Shape[0], b.Shape[1], b.Shape[1], 1
	if trans {
		k, n, row, col = n, k, 1, n
	}
	pk := &packed{trans: trans}
	d.packJob = packJob{k: k, n: n, row: row, col: col, panels: panels(n), group: 4}
	dt := tensor.Float32
	if b.DType == tensor.BFloat16 {
		dt = b.DType
		pk.slab = *newSlab((gemm.PackedLen(k, n) + 1) / 2)
		t := tensor.Tensor{Shape: []int{gemm.PackedLen(k, n)}, DType: dt, Store: &pk.slab}
		pk.half, d.packJob.srcHalf = halves(t), halves(b)
		d.packJob.dstHalf = pk.half
	} else {
		pk.slab = *newSlab(gemm.PackedLen(k, n))
		d.packJob.dst, d.packJob.src = pk.words, d.widened(b)
	}
	d.packJob.run(d)
	d.kept += int64(pk.Bytes())
	d.measure()
	return tensor.Tensor{Shape: append([]int(nil), b.Shape...), DType: dt, Store: pk}
}

// panels returns the number of panels of n columns.
func panels(n int) int { return (n + gemm.Panel - 1) / gemm.Panel }

// A packJob packs matrices into panels.
type packJob struct {
	dst, src         []float32
	dstHalf, srcHalf []uint16 // instead
	k, n, row, col   int
	stepDst, stepSrc int
	panels, group    int // panels of a matrix, and of a tile
	batch            int
}

func (j *packJob) run(d *Device) {
	j.batch = max(j.batch, 1)
	d.pool.Run(j, j.batch*((j.panels+j.group-1)/j.group))
}

func (j *packJob) Tile(_, i int) {
	per := (j.panels + j.group - 1) / j.group
	m, lo := i/per, i%per*j.group
	if j.dstHalf != nil {
		gemm.PackHalf(j.dstHalf, j.srcHalf, j.row, j.col, j.k, j.n, lo, min(lo+j.group, j.panels))
		return
	}
	gemm.Pack(j.dst[m*j.stepDst:], j.src[m*j.stepSrc:], j.row, j.col, j.k, j.n, lo, min(lo+j.group, j.panels))
}

// A matmulJob is a product cut into blocks of c.
type matmulJob struct {
	d *Device
	product
	a, c       []float32
	rowA, colA int
	ldb, ldc   int
	plain      []float32 // b where it lies, or
	panels     []float32 // b packed, or
	half       []uint16  // b packed in bfloat16
	stepPanels int
	load       bool
	e          epilogue
	own        bool // c's blocks are computed apart, because the residual is c

	col0, cols       int // the columns of this pass
	batch0, batches  int // the matrices of this pass
	rowsTile, nTile  int
	gridRows, gridNs int
}

// packed b is kept below this many numbers; larger ones are done in passes.
const packLimit = 4 << 20

// packAndRun packs b, in passes if it is large, and multiplies.
func (j *matmulJob) packAndRun(b []float32, row, col int) {
	full := gemm.PackedLen(j.k, j.n)
	d := j.d
	if full > packLimit { // columns in passes, one matrix at a time
		step := max(packLimit/max(j.k, 1)/gemm.Panel, 1) * gemm.Panel
		for i := range j.batch {
			for at := 0; at < j.n; at += step {
				cols := min(step, j.n-at)
				buf := d.panelScratch.take(gemm.PackedLen(j.k, cols))
				d.packJob = packJob{dst: buf, src: b[i*j.stepB+at*col:], k: j.k, n: cols, row: row, col: col, panels: panels(cols), group: 4}
				d.packJob.run(d)
				j.panels, j.col0, j.cols, j.batch0, j.batches = buf, at, cols, i, 1
				j.pass()
			}
		}
		return
	}
	matrices, step := j.batch, full
	if j.stepB == 0 {
		matrices, step = 1, 0
	}
	most := max(packLimit/max(full, 1), 1)
	for i := 0; i < matrices; i += most {
		n := min(most, matrices-i)
		buf := d.panelScratch.take(n * full)
		d.packJob = packJob{dst: buf, src: b[i*j.stepB:], k: j.k, n: j.n, row: row, col: col, stepDst: full, stepSrc: j.stepB, panels: panels(j.n), group: 4, batch: n}
		d.packJob.run(d)
		j.panels, j.stepPanels, j.cols, j.batch0, j.batches = buf, step, j.n, i, n
		if j.stepB == 0 {
			j.batches = j.batch
		}
		j.pass()
	}
}

// blocks multiplies in one pass.
func (j *matmulJob) blocks() {
	j.cols, j.batches = j.n, j.batch
	j.pass()
}

// pass runs the blocks of a pass.
func (j *matmulJob) pass() {
	j.own = j.e.residual != nil && overlap(j.e.residual, j.c)
	j.cut()
	j.d.pool.Run(j, j.batches*j.gridRows*j.gridNs)
}

// cut chooses the block size: small enough for the second-level cache and for
// an even share of the threads, large enough to be worth a call.
func (j *matmulJob) cut() {
	most := gemm.MaxRows()
	even := func(n, size, unit int) int { // equal blocks, multiples of unit
		parts := (n + size - 1) / size
		return ((n+parts-1)/parts + unit - 1) / unit * unit
	}
	rows, cols := even(j.m, 336, most), even(j.cols, 512, gemm.Panel)
	threads := j.d.pool.Threads()
	for threads > 1 {
		grid := j.batches * ((j.m + rows - 1) / rows) * ((j.cols + cols - 1) / cols)
		if grid >= 4*threads || rows*cols*j.k < 1<<18 {
			break
		}
		switch {
		case cols > 4*gemm.Panel && cols >= rows:
			cols = even(j.cols, cols/2, gemm.Panel)
		case rows > 2*most:
			rows = even(j.m, rows/2, most)
		case cols > gemm.Panel:
			cols = even(j.cols, cols/2, gemm.Panel)
		default:
			rows = max(rows, 1)
			threads = 1
		}
	}
	j.rowsTile, j.nTile = rows, cols
	j.gridRows, j.gridNs = (j.m+rows-1)/rows, (j.cols+cols-1)/cols
}

// Tile computes one block.
func (j *matmulJob) Tile(thread, t int) {
	per := j.gridRows * j.gridNs
	batch := j.batch0 + t/per
	i0, n0 := t%per/j.gridNs*j.rowsTile, t%j.gridNs*j.nTile
	i1, n1 := min(i0+j.rowsTile, j.m), min(n0+j.nTile, j.cols)
	p := gemm.Product{
		M: j.m, N: j.cols, K: j.k,
		A: j.a[batch*j.stepA:], RowA: j.rowA, StepA: j.colA,
		C: j.c[batch*j.stepC+j.col0:], LDC: j.ldc, Load: j.load,
	}
	if j.half != nil {
		p.Half = j.half
	} else if j.panels != nil {
		p.B, p.Packed = j.panels[(batch-j.batch0)*j.stepPanels:], true
	} else {
		p.B, p.LDB = j.plain[batch*j.stepB:], j.ldb
	}
	if j.own { // rows i0 to i1 of a c of their own
		buf := j.d.local[thread].take((i1 - i0) * j.cols)
		p.A = p.A[i0*p.RowA:]
		p.M, p.C, p.LDC = i1-i0, buf, j.cols
		p.Block(0, i1-i0, n0, n1)
		for i := i0; i < i1; i++ {
			at := batch*j.stepC + i*j.ldc + j.col0
			row := buf[(i-i0)*j.cols:][n0:n1]
			j.e.apply(row, at+n0, j.col0+n0)
			copy(j.c[at+n0:], row)
		}
		return
	}
	p.Block(i0, i1, n0, n1)
	if j.e.nothing() {
		return
	}
	for i := i0; i < i1; i++ {
		at := batch*j.stepC + i*j.ldc + j.col0
		j.e.apply(j.c[at+n0:at+n1], at+n0, j.col0+n0)
	}
}

// overlap reports whether two slices share memory.
func overlap(x, y []float32) bool {
	if len(x) == 0 || len(y) == 0 {
		return false
	}
	a, b := uintptr(unsafe.Pointer(&x[0])), uintptr(unsafe.Pointer(&y[0]))
	return a < b+4*uintptr(len(y)) && b < a+4*uintptr(len(x))
}

// A scratch is memory that is kept from call to call and grows.
type scratch struct{ words []float32 }

// take returns n numbers, contents undefined.
func (s *scratch) take(n int) []float32 {
	if n > len(s.words) {
		s.words = newSlab(n + n/4).words
	}
	return s.words[:n:n]
}
