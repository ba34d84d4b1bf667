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
	trans  bool
	half   []uint16
	pairs  bool      // half is in pairs, for products that round
	places []float32 // of filters: transformed for winogradJob
	// placesHalf is those for roundedTilesJob.
	placesHalf []uint16
}

// Bytes returns the length in bytes.
func (p *packed) Bytes() int { return p.slab.Bytes() + 4*len(p.places) + 2*len(p.placesHalf) }

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
	*j = matmulJob{d: d, product: p, a: Floats(a), c: Floats(c), ldc: p.n, load: g.Accumulate, e: makeEpilogue(&g.Epilogue, g.Alpha, c)}
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
		if j.panels, j.half, j.rounds = pk.words, pk.half, pk.pairs; j.rounds {
			if g.TransA {
				panic("cpu: a transposed matrix is not rounded")
			}
			j.stride = roundStride(j.k)
		}
	} else {
		j.plain, j.rowB, j.colB = d.widened(b), p.n, 1
		if g.TransB {
			j.rowB, j.colB = 1, p.k
		}
	}
	j.run()
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
	panels, group    int // panels in all, and of a tile
	pairs            bool
}

func (j *packJob) run(d *Device) {
	d.pool.Run(j, (j.panels+j.group-1)/j.group)
}

func (j *packJob) Tile(_, i int) {
	lo := i * j.group
	switch {
	case j.pairs:
		gemm.PackPairs(j.dstHalf, j.srcHalf, j.row, j.col, j.k, j.n, lo, min(lo+j.group, j.panels))
		return
	case j.dstHalf != nil:
		gemm.PackHalf(j.dstHalf, j.srcHalf, j.row, j.col, j.k, j.n, lo, min(lo+j.group, j.panels))
		return
	}
	gemm.Pack(j.dst, j.src, j.row, j.col, j.k, j.n, lo, min(lo+j.group, j.panels))
}

// A matmulJob is a product cut into blocks of c.
type matmulJob struct {
	d *Device
	product
	a, c       []float32
	rowA, colA int // steps of a along its rows and along k
	rowB, colB int // steps of b along k and along its columns
	ldc        int
	plain      []float32 // b where it lies, or
	panels     []float32 // b packed, or
	half       []uint16  // b packed in bfloat16
	rounds     bool      // a is rounded to bfloat16,
	rounded    []uint16  // here, or block by block;
	stride     int       // from a row to the next
	load       bool
	e          epilogue
	own        bool // blocks of c are computed apart, because the residual is c

	rows, cols         int // of a block
	gridRows, gridCols int
}

// run multiplies.
func (j *matmulJob) run() {
	if j.batch == 0 || j.m == 0 || j.n == 0 {
		return
	}
	j.own = j.e.residual != nil && overlap(j.e.residual, j.c)
	j.cut()
	if j.rounds && (j.gridRows == 1 || j.gridCols > 2) {
		j.d.roundRows(j)
	}
	parts := max((j.k+gemm.Depth-1)/gemm.Depth, 1)
	if j.own { // blocks of c are not kept in between
		parts = 1
	}
	depth := (j.k + parts - 1) / parts
	if j.gridRows == 1 || j.plain == nil || j.stepB != 0 || j.k == 0 || gemm.PackedLen(depth, j.n) > sharedPanels {
		j.d.pool.Run(j, j.batch*j.gridRows*j.gridCols)
		return
	}
	j.share(depth)
}

// share multiplies with a b that many blocks read: for so many steps of k at a
// time all threads pack it together first.
func (j *matmulJob) share(depth int) {
	d, a, b, k, load, e := j.d, j.a, j.plain, j.k, j.load, j.e
	j.plain = nil
	for l := 0; l < k; l += j.k {
		j.k = min(depth, k-l)
		j.panels = d.panelScratch.take(gemm.PackedLen(j.k, j.n))
		d.packJob = packJob{dst: j.panels, src: b[l*j.rowB:], k: j.k, n: j.n, row: j.rowB, col: j.colB, panels: panels(j.n), group: 4}
		d.packJob.run(d)
		j.a, j.load = a[l*j.colA:], load || l > 0
		if j.e = e; l+j.k < k {
			j.e = epilogue{alpha: 1}
		}
		d.pool.Run(j, j.batch*j.gridRows*j.gridCols)
	}
}

// Blocks have at most so many rows and columns. What a thread reads of a, and
// then a panel of b, stay in its second-level cache; no block is of less work
// than is worth a turn of a thread.
const (
	blockRows = 192
	blockCols = 1024
	blockWork = 1 << 18
)

// copyCols is how many columns of a block repay a copy of a.
const copyCols = 128

// sharedPanels is how many numbers of b at most are packed at a time.
const sharedPanels = 1 << 23

// cut chooses the size of blocks.
func (j *matmulJob) cut() {
	most := gemm.MaxRows()
	even := func(n, size, unit int) int { // equal blocks, multiples of unit
		parts := (n + size - 1) / size
		return ((n+parts-1)/parts + unit - 1) / unit * unit
	}
	grid := func(n, size int) int { return (n + size - 1) / size }
	threads := j.d.pool.Threads()
	rows, cols := even(j.m, blockRows, 2), even(j.n, blockCols, gemm.Panel)
	for threads > 1 && j.batch*grid(j.m, rows)*grid(j.n, cols) < 4*threads && rows*cols*j.k >= blockWork {
		switch { // one block of rows packs nothing twice, many columns read a once
		case cols > 4*gemm.Panel && (rows >= j.m || rows <= 8*most):
			cols = even(j.n, cols/2, gemm.Panel)
		case rows > 2*most:
			rows = even(j.m, rows/2, 2)
		case cols > gemm.Panel:
			cols = even(j.n, cols/2, gemm.Panel)
		default:
			threads = 1
		}
	}
	if share := j.d.share(j.m); share > 0 && j.batch == 1 && j.plain == nil {
		rows, cols, threads = share, even(j.n, j.n, gemm.Panel), 1
	}
	// All threads have as many blocks.
	if parts := grid(j.m, rows); threads > 1 && j.batch == 1 && parts > 1 && rows > 4*most {
		for parts*grid(j.n, cols)%threads != 0 {
			parts++
		}
		rows = even(j.m, (j.m+parts-1)/parts, 2)
	}
	j.rows, j.cols, j.gridRows, j.gridCols = rows, cols, grid(j.m, rows), grid(j.n, cols)
}

// Tile computes one block.
func (j *matmulJob) Tile(thread, t int) {
	per := j.gridRows * j.gridCols
	batch := t / per
	i0, n0 := t%per/j.gridCols*j.rows, t%j.gridCols*j.cols
	i1, n1 := min(i0+j.rows, j.m), min(n0+j.cols, j.n)
	p := gemm.Product{
		M: j.m, N: j.n, K: j.k,
		A: j.a[batch*j.stepA:], RowA: j.rowA, StepA: j.colA,
		B: j.panels, Packed: j.panels != nil, Half: j.half,
		C: j.c[batch*j.stepC:], LDC: j.ldc, Load: j.load, CopyA: j.rowA == 1 && n1-n0 >= copyCols,
	}
	if j.plain != nil {
		p.B, p.Packed, p.StepB, p.ColB = j.plain[batch*j.stepB:], false, j.rowB, j.colB
	}
	if j.rounds {
		j.roundedTile(thread, i0, i1, n0, n1)
		return
	}
	need := p.ScratchLen(i1-i0, n1-n0)
	if j.own { // rows i0 to i1 of a c of their own
		buf := j.d.local[thread].take(need + (i1-i0)*j.n)
		own := buf[need:]
		p.A = p.A[min(i0*p.RowA, len(p.A)):]
		p.M, p.C, p.LDC = i1-i0, own, j.n
		p.Block(0, i1-i0, n0, n1, buf[:need])
		for i := i0; i < i1; i++ {
			at := batch*j.stepC + i*j.ldc
			row := own[(i-i0)*j.n:][n0:n1]
			j.e.apply(row, at+n0, n0)
			copy(j.c[at+n0:], row)
		}
		return
	}
	p.Block(i0, i1, n0, n1, j.d.local[thread].take(need))
	if j.e.nothing() {
		return
	}
	for i := i0; i < i1; i++ {
		at := batch*j.stepC + i*j.ldc
		j.e.apply(j.c[at+n0:at+n1], at+n0, n0)
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
