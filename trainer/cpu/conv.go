package cpu

import (
	"math"

	"espalier/trainer/kernel/finish"
	"espalier/trainer/kernel/gemm"
	"espalier/trainer/kernel/norm"
	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// A convJob is a convolution as a product: a row for each output pixel, k over
// the filter's rows, columns and channels. Rows are gathered tile by tile; those
// of a 1x1 filter of stride 1 are used where they lie, and a winogradJob takes
// most of those of 3 by 3. Tiles have all channels, so that the epilogue finds
// them near.
type convJob struct {
	d                    *Device
	x, y                 []float32
	panels               []float32
	half                 []uint16 // instead
	round                bool     // x is rounded to bfloat16
	rounded              []uint16 // x rounded, if rows of it are gathered or it came so
	yHalf                []uint16 // y in bfloat16 instead
	resHalf              []uint16 // residual in bfloat16, of y in bfloat16
	ih, iw, in           int
	kh, kw, stride, pad  int
	oh, ow, outs, pixels int
	rows                 int // pixels of a tile
	e                    epilogue
	own                  bool // the residual is the output
}

// Conv is a convolution of NHWC images.
func (d *Device) Conv(out, x, w tensor.Tensor, c op.Conv) {
	if len(x.Shape) != 4 || len(w.Shape) != 4 || len(out.Shape) != 4 || w.Shape[2] != x.Shape[3] || w.Shape[3] != out.Shape[3] {
		panic("cpu: image and filters do not fit")
	}
	j := &d.conv
	half := c.Residual
	if c.Residual.DType != tensor.BFloat16 {
		half = tensor.Tensor{}
	} else if c.Residual = (tensor.Tensor{}); half.Len() != out.Len() {
		panic("cpu: residual does not fit the output")
	}
	*j = convJob{
		d: d, ih: x.Shape[1], iw: x.Shape[2], in: x.Shape[3],
		kh: w.Shape[0], kw: w.Shape[1], stride: max(c.Stride, 1), pad: c.Pad, outs: w.Shape[3], e: makeEpilogue(&c.Epilogue, 1, out),
	}
	pk, frozen := w.Store.(*packed)
	j.round = frozen && pk.pairs
	if j.round && x.DType == tensor.BFloat16 {
		j.rounded = halves(x)
	} else {
		j.x = Floats(x)
	}
	if j.round && out.DType == tensor.BFloat16 {
		j.yHalf = halves(out)
	} else {
		j.y = Floats(out)
	}
	if half.Store != nil {
		d.halfResidual(j, half, w)
	}
	j.oh, j.ow = (j.ih+2*c.Pad-j.kh)/j.stride+1, (j.iw+2*c.Pad-j.kw)/j.stride+1
	if out.Shape[0] != x.Shape[0] || out.Shape[1] != j.oh || out.Shape[2] != j.ow {
		panic("cpu: output of a convolution does not fit")
	}
	j.pixels = x.Shape[0] * j.oh * j.ow
	if j.pixels == 0 || j.outs == 0 {
		return
	}
	j.own = j.e.residual != nil && overlap(j.e.residual, j.y)
	k := j.kh * j.kw * j.in
	if quick(w, j.stride) {
		var places []float32
		if frozen {
			places = pk.places
		} else {
			places = d.panelScratch.take(placesLen(j.in, j.outs))
			d.places(places, Floats(w), j.in, j.outs)
		}
		d.winograd(j, x.Shape[0], places)
		return
	}
	if j.round {
		j.half = pk.half
		d.roundedConv(j, x.Shape[0], pk.placesHalf)
		return
	}
	if frozen {
		j.panels, j.half = pk.words, pk.half
	} else {
		j.panels = d.panelScratch.take(gemm.PackedLen(k, j.outs))
		d.packJob = packJob{dst: j.panels, src: d.widened(w), k: k, n: j.outs, row: j.outs, col: 1, panels: panels(j.outs), group: 4}
		d.packJob.run(d)
	}
	j.cut(gemm.MaxRows())
	d.pool.Run(j, (j.pixels+j.rows-1)/j.rows)
}

// cut chooses the number of pixels of a tile; the inner loops take most at once.
func (j *convJob) cut(most int) {
	j.rows = 8 * most
	if threads := j.d.pool.Threads(); threads > 1 {
		for j.rows > 2*most && (j.pixels+j.rows-1)/j.rows < 4*threads {
			j.rows /= 2
		}
	}
}

// Tile computes some pixels, all channels.
func (j *convJob) Tile(thread, t int) {
	lo, hi := t*j.rows, min((t+1)*j.rows, j.pixels)
	if j.round {
		j.roundedTile(thread, lo, hi)
		return
	}
	k := j.kh * j.kw * j.in
	m := hi - lo
	p := gemm.Product{M: m, N: j.outs, K: k, RowA: k, StepA: 1, B: j.panels, Packed: true, Half: j.half, LDC: j.outs}
	need := p.ScratchLen(m, j.outs)
	gathered := m * k
	if j.pointwise() {
		gathered = 0
	}
	buf := j.d.local[thread].take(need + gathered + m*j.outs)
	a, c := buf[need:][:gathered], j.y[lo*j.outs:hi*j.outs]
	if j.own {
		c = buf[need+gathered:]
	}
	if j.pointwise() {
		a = j.x[lo*k : hi*k]
	} else {
		for r := range m {
			gather(j, a[r*k:][:k], j.x, lo+r)
		}
	}
	p.A, p.C = a, c
	p.Block(0, m, 0, j.outs, buf[:need])
	j.finish(c, lo, m)
}

// pointwise reports whether the rows of the product are those of the image.
func (j *convJob) pointwise() bool { return j.kh == 1 && j.kw == 1 && j.stride == 1 && j.pad == 0 }

// finish applies the epilogue to m pixels in c, which are those from lo on.
func (j *convJob) finish(c []float32, lo, m int) {
	for r := range m {
		row, at := c[r*j.outs:][:j.outs], (lo+r)*j.outs
		j.e.apply(row, at, 0)
		if j.own {
			copy(j.y[at:], row)
		}
	}
}

// gather fills row with what output pixel t sees of image x, zeros outside it.
func gather[T float32 | uint16](j *convJob, row, x []T, t int) {
	b, i, l := t/(j.oh*j.ow), t/j.ow%j.oh, t%j.ow
	left := l*j.stride - j.pad
	lo, hi := max(0, -left), min(j.kw, j.iw-left) // columns of the filter inside the image
	for di := range j.kh {
		part := row[di*j.kw*j.in:][:j.kw*j.in]
		y := i*j.stride + di - j.pad
		if y < 0 || y >= j.ih || lo >= hi {
			clear(part)
			continue
		}
		clear(part[:lo*j.in])
		copy(part[lo*j.in:hi*j.in], x[((b*j.ih+y)*j.iw+left+lo)*j.in:])
		clear(part[hi*j.in:])
	}
}

// AvgPool averages squares of size by size.
func (d *Device) AvgPool(out, x tensor.Tensor, size int) {
	if len(x.Shape) != 4 || len(out.Shape) != 4 || size < 1 {
		panic("cpu: pooling takes images")
	}
	n, ih, iw, c := x.Shape[0], x.Shape[1], x.Shape[2], x.Shape[3]
	oh, ow := ih/size, iw/size
	if out.Shape[0] != n || out.Shape[1] != oh || out.Shape[2] != ow || out.Shape[3] != c {
		panic("cpu: output of a pool does not fit")
	}
	j := &d.average
	*j = averageJob{d: d, ih: ih, iw: iw, oh: oh, ow: ow, c: c, size: size}
	if x.DType == tensor.BFloat16 {
		j.xHalf = halves(x)
	} else {
		j.x = Floats(x)
	}
	if out.DType == tensor.BFloat16 {
		j.yHalf = halves(out)
	} else {
		j.y = Floats(out)
	}
	d.pool.Run(j, n*oh)
}

// An averageJob is an average pool.
type averageJob struct {
	d                       *Device
	x, y                    []float32
	xHalf, yHalf            []uint16 // instead
	ih, iw, oh, ow, c, size int
}

// Tile fills one row of pixels.
func (j *averageJob) Tile(thread, t int) {
	b, i := t/j.oh, t%j.oh
	row := j.d.local[thread].take(j.c)
	for l := range j.ow {
		to := (t*j.ow + l) * j.c
		y := row
		if j.yHalf == nil {
			y = j.y[to:][:j.c]
		}
		clear(y)
		for di := range j.size {
			at := ((b*j.ih+i*j.size+di)*j.iw + l*j.size) * j.c
			if j.xHalf == nil {
				norm.SumRows(y, j.x[at:], j.c, j.size)
				continue
			}
			for dj := range j.size {
				addHalves(y, j.xHalf[at+dj*j.c:])
			}
		}
		scaleRow(y, 1/float32(j.size*j.size))
		if j.yHalf != nil {
			finish.Half(j.yHalf[to:][:j.c], y)
		}
	}
}

// addHalves adds bfloat16 numbers to y.
func addHalves(y []float32, x []uint16) {
	x = x[:len(y)]
	for i, v := range x {
		y[i] += math.Float32frombits(uint32(v) << 16)
	}
}
