package cpu

import (
	"espalier/trainer/kernel/finish"
	"espalier/trainer/kernel/gemm"
	"espalier/trainer/kernel/winograd"
	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// PackConvRounding lays frozen filters out for convolutions that round. Those
// of 3 by 3 that [quickFilters] allows are transformed for step 1 and are
// rounded once after that; all others are rounded as they are.
func (d *Device) PackConvRounding(w tensor.Tensor) tensor.Tensor {
	if len(w.Shape) != 4 || w.DType != tensor.Float32 {
		panic("cpu: filters have four axes and are float32")
	}
	k, out := w.Shape[0]*w.Shape[1]*w.Shape[2], w.Shape[3]
	half := newSlab((w.Len() + 1) / 2)
	plain := tensor.Tensor{Shape: []int{k, out}, DType: tensor.BFloat16, Store: half}
	d.Copy(plain, w.View(k, out))
	p := d.PackRounding(plain, false)
	p.Shape = append([]int(nil), w.Shape...)
	if !quickFilters(w.Shape) {
		return p
	}
	in := w.Shape[2]
	n := in * out
	wide := d.wide.take(winograd.Places * n)
	const part = 4096
	d.filters = filterJob{dst: wide, src: Floats(w), n: n, part: part}
	d.pool.Run(&d.filters, (n+part-1)/part)
	each := gemm.PairsLen(in, out)
	pk := p.Store.(*packed)
	pk.placesHalf = asHalves(newSlab((winograd.Places*each + 1) / 2).words)
	rounded := asHalves(newSlab((n + 1) / 2).words)[:n]
	for place := range winograd.Places {
		d.flat = flatJob{dst: rounded, src: wide[place*n:][:n], part: part}
		d.pool.Run(&d.flat, (n+part-1)/part)
		d.packJob = packJob{dstHalf: pk.placesHalf[place*each:][:each], srcHalf: rounded, pairs: true, k: in, n: out, row: out, col: 1, panels: panels(out), group: 4}
		d.packJob.run(d)
	}
	d.kept += int64(2 * len(pk.placesHalf))
	d.measure()
	return p
}

// A roundedTilesJob is a convolution by Winograd's transforms that rounds: tiles
// of 2 by 2 output pixels, some at a time, in the order of rows of all images.
type roundedTilesJob struct {
	*convJob
	places       []uint16
	across, down int // tiles of an image
	tiles, turn  int // tiles in all, and of a turn
	stride       int // from a tile to the next, transformed
	cols         int // channels of the output that are made at once
	plain        bool
}

const (
	// roundedTiles is about how many tiles a turn takes, and tilesBytes how much
	// of the second-level cache they may take, transformed.
	roundedTiles = 56
	tilesBytes   = 1 << 19
	// tileCols is how many channels of the output are made at once, so that what
	// lies between products and pixels stays near too.
	tileCols = 2 * gemm.Panel
)

// roundedTiling runs a convolution of a bfloat16 image.
func (d *Device) roundedTiling(j *convJob, images int, places []uint16) {
	w := &d.roundedTiles
	*w = roundedTilesJob{convJob: j, places: places, across: (j.ow + 1) / 2, down: (j.oh + 1) / 2, cols: min(tileCols, j.outs)}
	w.tiles = images * w.down * w.across
	// Rows a multiple of 1024 bytes apart would share sets of the cache.
	w.stride = (j.in + 15) &^ 15
	if w.stride%512 == 0 {
		w.stride += 32
	}
	w.turn = max(8, min(roundedTiles, tilesBytes/(2*winograd.Places*w.stride)&^7))
	threads := d.pool.Threads()
	turns := (w.tiles + w.turn - 1) / w.turn
	turns = (turns + threads - 1) / threads * threads
	w.turn = (w.tiles + turns - 1) / turns
	e := &j.e
	w.plain = j.yHalf != nil && e.alpha == 1 && e.bias != nil && e.act == op.ReLU && e.residual == nil && e.pre == nil && e.drop.Below == 0
	d.pool.Run(w, (w.tiles+w.turn-1)/w.turn)
}

// Tile computes some tiles, all channels.
func (j *roundedTilesJob) Tile(thread, t int) {
	lo, hi := t*j.turn, min((t+1)*j.turn, j.tiles)
	tiles := hi - lo
	stepIn, stepOut := tiles*j.stride, tiles*j.cols
	edgeIn := winograd.Places * j.in
	words := (winograd.Places*stepIn + edgeIn + 1) / 2
	buf := j.d.local[thread].take(words + winograd.Places*stepOut + 4*j.cols)
	v := asHalves(buf[:words])
	edge := v[winograd.Places*stepIn:][:edgeIn]
	m, pixels := buf[words:][:winograd.Places*stepOut], buf[words+winograd.Places*stepOut:]
	for i := range tiles {
		j.transform(v[i*j.stride:], stepIn, edge, lo+i)
	}
	if j.in&1 != 0 {
		for i := range winograd.Places * tiles {
			v[i*j.stride+j.in] = 0
		}
	}
	each := gemm.PairsLen(j.in, j.outs)
	for c := 0; c < j.outs; c += j.cols {
		cols := min(j.cols, j.outs-c)
		p := gemm.Rounded{M: tiles, N: cols, K: j.in, RowA: j.stride, LDC: cols}
		for k := range winograd.Places {
			p.A, p.B, p.C = v[k*stepIn:][:stepIn], j.places[k*each+gemm.PairsLen(j.in, c):], m[k*stepOut:]
			p.Block(0, tiles, 0, cols)
		}
		for i := range tiles {
			j.merge(m[i*cols:], stepOut, pixels, lo+i, c, cols)
		}
	}
}

// transform fills out with what a tile sees.
func (j *roundedTilesJob) transform(out []uint16, step int, edge []uint16, tile int) {
	image, r, c := tile/(j.down*j.across), tile/j.across%j.down, tile%j.across
	y, x := 2*r-j.pad, 2*c-j.pad
	if y >= 0 && x >= 0 && y+4 <= j.ih && x+4 <= j.iw {
		winograd.InputHalf(out, step, j.rounded[((image*j.ih+y)*j.iw+x)*j.in:], j.iw*j.in, j.in, j.in)
		return
	}
	left, right := max(-x, 0), min(4, j.iw-x) // columns inside the image
	for i := range 4 {
		row := edge[i*4*j.in:][:4*j.in]
		if y+i < 0 || y+i >= j.ih || left >= right {
			clear(row)
			continue
		}
		clear(row[:left*j.in])
		copy(row[left*j.in:right*j.in], j.rounded[((image*j.ih+y+i)*j.iw+x+left)*j.in:])
		clear(row[right*j.in:])
	}
	winograd.InputHalf(out, step, edge, 4*j.in, j.in, j.in)
}

// merge writes channels c to c+cols of the pixels of a tile.
func (j *roundedTilesJob) merge(in []float32, step int, pixels []float32, tile, c, cols int) {
	image, y, x := tile/(j.down*j.across), tile/j.across%j.down*2, tile%j.across*2
	at := ((image*j.oh+y)*j.ow+x)*j.outs + c
	high, wide := min(2, j.oh-y), min(2, j.ow-x)
	if j.plain {
		if high == 2 && wide == 2 {
			winograd.OutputHalf(j.yHalf[at:], j.ow*j.outs, j.outs, in, step, j.e.bias[c:], cols)
			return
		}
		half := asHalves(pixels)
		winograd.OutputHalf(half, 2*cols, cols, in, step, j.e.bias[c:], cols)
		for i := range high {
			for k := range wide {
				copy(j.yHalf[at+(i*j.ow+k)*j.outs:], half[(2*i+k)*cols:][:cols])
			}
		}
		return
	}
	winograd.Output(pixels, 2*cols, cols, in, step, cols)
	for i := range high {
		for k := range wide {
			row, to := pixels[(2*i+k)*cols:][:cols], at+(i*j.ow+k)*j.outs
			j.e.apply(row, to, c)
			if j.yHalf != nil {
				finish.Half(j.yHalf[to:to+cols], row)
			} else {
				copy(j.y[to:], row)
			}
		}
	}
}
