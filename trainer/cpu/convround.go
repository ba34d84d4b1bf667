package cpu

import (
	"unsafe"

	"espalier/trainer/kernel/finish"
	"espalier/trainer/kernel/gemm"
	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// asHalves is memory of numbers as memory of bfloat16 numbers.
func asHalves(words []float32) []uint16 {
	return unsafe.Slice((*uint16)(unsafe.Pointer(unsafe.SliceData(words))), 2*len(words))
}

// A flatJob rounds numbers to bfloat16, part by part.
type flatJob struct {
	dst  []uint16
	src  []float32
	part int
}

func (j *flatJob) Tile(_, t int) {
	lo, hi := t*j.part, min((t+1)*j.part, len(j.src))
	finish.Half(j.dst[lo:hi], j.src[lo:hi])
}

// roundedConv runs a convolution whose filters are packed for rounding: the
// image is rounded once, and rows of it are gathered as bfloat16; those of a 1x1
// filter are rounded tile by tile.
func (d *Device) roundedConv(j *convJob, images int, places []uint16) {
	j.cut(8)
	if !j.pointwise() && j.rounded == nil {
		d.roundImage(j)
	}
	if places != nil && j.stride == 1 {
		d.roundedTiling(j, images, places)
		return
	}
	d.pool.Run(j, (j.pixels+j.rows-1)/j.rows)
}

// roundImage rounds the image of a convolution.
func (d *Device) roundImage(j *convJob) {
	image := asHalves(d.rounded.take((len(j.x) + 1) / 2))[:len(j.x)]
	const part = 1 << 14
	d.flat = flatJob{dst: image, src: j.x, part: part}
	d.pool.Run(&d.flat, (len(j.x)+part-1)/part)
	j.rounded = image
}

// halfResidual sets up a residual in bfloat16, which is widened first unless
// the tiles of an output in bfloat16 take it as it is.
func (d *Device) halfResidual(j *convJob, x, w tensor.Tensor) {
	if !j.round {
		panic("cpu: a bfloat16 residual of a convolution that does not round")
	}
	j.resHalf = halves(x)
	if pk := w.Store.(*packed); j.yHalf != nil && j.simple() && (pk.placesHalf == nil || j.stride > 1) {
		return
	}
	j.resHalf, j.e.residual = nil, d.scale.take(x.Len())
	d.Read(j.e.residual, x)
}

// simple reports whether the epilogue is one of finish.Tile's or TileHalf's.
func (j *convJob) simple() bool {
	e := &j.e
	return e.alpha == 1 && e.bias != nil && e.pre == nil && e.drop.Below == 0 && (e.act == op.None || e.act == op.ReLU) &&
		(e.residual == nil && j.resHalf == nil || e.actLast || e.act == op.None) && !j.own && (e.residual == nil || j.yHalf == nil)
}

// roundedTile computes pixels lo to hi, all channels. Panels of them are
// finished while they are near, if the epilogue allows it.
func (j *convJob) roundedTile(thread, lo, hi int) {
	k, m := j.kh*j.kw*j.in, hi-lo
	// Rows a multiple of 4096 bytes apart would share sets of the cache.
	stride := (k + 31) &^ 31
	if stride%512 == 0 {
		stride += 32
	}
	direct := j.pointwise() && j.rounded != nil && k&1 == 0
	words := (m*stride + 1) / 2
	if direct {
		words = 0
	}
	simple, width := j.simple(), j.outs
	if simple {
		width = gemm.Panel
	}
	buf := j.d.local[thread].take(words + m*width)
	a, c := asHalves(buf[:words]), buf[words:]
	if j.yHalf == nil && !j.own && !simple {
		c = j.y[lo*j.outs : hi*j.outs]
	}
	if direct {
		a, stride = j.rounded[lo*k:hi*k], k
	}
	for r := 0; r < m && !direct; r++ {
		row := a[r*stride:][:k+k&1]
		if j.rounded == nil {
			finish.Half(row[:k], j.x[(lo+r)*k:][:k])
		} else {
			gather(j, row[:k], j.rounded, lo+r)
		}
		clear(row[k:])
	}
	if simple {
		j.panelsOf(a, stride, c, lo, m)
		return
	}
	p := gemm.Rounded{M: m, N: j.outs, K: k, A: a, RowA: stride, B: j.half, C: c, LDC: j.outs}
	p.Block(0, m, 0, j.outs)
	j.finish(c, lo, m)
	if j.yHalf != nil {
		finish.Half(j.yHalf[lo*j.outs:hi*j.outs], c)
	}
}

// panelsOf computes m pixels from lo on, some channels at a time, in c, and
// finishes them from there.
func (j *convJob) panelsOf(a []uint16, stride int, c []float32, lo, m int) {
	k := j.kh * j.kw * j.in
	relu := j.e.act == op.ReLU
	for n := 0; n < j.outs; n += gemm.Panel {
		cols := min(gemm.Panel, j.outs-n)
		p := gemm.Rounded{M: m, N: cols, K: k, A: a, RowA: stride, B: j.half[gemm.PairsLen(k, n):], C: c, LDC: gemm.Panel}
		p.Block(0, m, 0, cols)
		at := lo*j.outs + n
		switch {
		case j.yHalf != nil:
			var residual []uint16
			if j.resHalf != nil {
				residual = j.resHalf[at:]
			}
			finish.TileHalf(j.yHalf[at:], j.outs, c, j.e.bias[n:], residual, m, cols, relu)
		case j.e.residual != nil:
			finish.Tile(j.y[at:], j.outs, c, j.e.bias[n:], j.e.residual[at:], m, cols, relu)
		default:
			finish.Tile(j.y[at:], j.outs, c, j.e.bias[n:], nil, m, cols, relu)
		}
	}
}
