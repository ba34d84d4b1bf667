package cpu

import (
	"espalier/trainer/kernel/gemm"
	"espalier/trainer/kernel/winograd"
	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// quick reports whether a convolution goes by Winograd's transforms: filters of
// 3 by 3 in float32, step by step, over channels enough. It is a matter of
// shapes alone.
func quick(w tensor.Tensor, stride int) bool {
	return w.DType == tensor.Float32 && quickFilters(w.Shape) && stride == 1
}

func quickFilters(shape []int) bool {
	return shape[0] == 3 && shape[1] == 3 && shape[2] >= winograd.Least && shape[3] >= winograd.Least
}

// placesLen is the length of packed transformed filters.
func placesLen(in, out int) int { return winograd.Places * gemm.PackedLen(in, out) }

// A filterJob transforms filters [9][n] into [Places][n].
type filterJob struct {
	dst, src []float32
	n, part  int
}

func (j *filterJob) Tile(_, t int) {
	winograd.Filter(j.dst, j.src, j.n, t*j.part, min((t+1)*j.part, j.n))
}

// places transforms and packs filters [3, 3, in, out] into dst.
func (d *Device) places(dst, src []float32, in, out int) {
	n := in * out
	plain := d.wide.take(winograd.Places * n)
	const part = 4096
	d.filters = filterJob{dst: plain, src: src, n: n, part: part}
	d.pool.Run(&d.filters, (n+part-1)/part)
	each := gemm.PackedLen(in, out)
	for p := range winograd.Places {
		d.packJob = packJob{dst: dst[p*each:][:each], src: plain[p*n:][:n], k: in, n: out, row: out, col: 1, panels: panels(out), group: 4}
		d.packJob.run(d)
	}
}

// A winogradJob is a convolution by Winograd's transforms: tiles of 2 by 2
// output pixels, some rows of tiles at a time, of one image or of several.
type winogradJob struct {
	*convJob
	places          []float32
	across, down    int // tiles of an image
	rows, tilesRows int // rows of tiles in all, and of a turn
}

// tilesAtOnce is about how many tiles a turn takes: enough for the products to
// use filters often, few enough for what lies between to stay near.
const tilesAtOnce = 56

// winograd runs a convolution; its job is set up and its filters fit.
func (d *Device) winograd(j *convJob, images int, places []float32) {
	w := &d.tiles
	*w = winogradJob{convJob: j, places: places, across: (j.ow + 1) / 2, down: (j.oh + 1) / 2}
	w.rows = images * w.down
	w.tilesRows = max((tilesAtOnce+w.across-1)/w.across, 1)
	if threads := d.pool.Threads(); threads > 1 {
		for w.tilesRows > 1 && (w.rows+w.tilesRows-1)/w.tilesRows < 4*threads {
			w.tilesRows = (w.tilesRows + 1) / 2
		}
	}
	d.pool.Run(w, (w.rows+w.tilesRows-1)/w.tilesRows)
}

// Tile computes some rows of tiles, all channels.
func (j *winogradJob) Tile(thread, t int) {
	lo, hi := t*j.tilesRows, min((t+1)*j.tilesRows, j.rows)
	tiles := (hi - lo) * j.across
	p := gemm.Product{M: tiles, N: j.outs, K: j.in, RowA: j.in, StepA: 1, Packed: true, LDC: j.outs}
	need := p.ScratchLen(tiles, j.outs)
	stepIn, stepOut := tiles*j.in, tiles*j.outs
	patch := winograd.Places * max(j.in, j.outs)
	buf := j.d.local[thread].take(patch + need + winograd.Places*(stepIn+stepOut))
	edge, scratch, v := buf[:patch], buf[patch:][:need], buf[patch+need:]
	m := v[winograd.Places*stepIn:]
	for r := lo; r < hi; r++ {
		for c := range j.across {
			j.transform(v[((r-lo)*j.across+c)*j.in:], stepIn, edge, r, c)
		}
	}
	each := gemm.PackedLen(j.in, j.outs)
	for k := range winograd.Places {
		p.A, p.B, p.C = v[k*stepIn:][:stepIn], j.places[k*each:][:each], m[k*stepOut:][:stepOut]
		p.Block(0, tiles, 0, j.outs, scratch)
	}
	for r := lo; r < hi; r++ {
		for c := range j.across {
			j.merge(m[((r-lo)*j.across+c)*j.outs:], stepOut, edge, r, c)
		}
	}
}

// transform fills out with what the tile in row r of tiles, place c, sees.
func (j *winogradJob) transform(out []float32, step int, edge []float32, r, c int) {
	image, y, x := r/j.down, r%j.down*2-j.pad, 2*c-j.pad
	if y >= 0 && x >= 0 && y+4 <= j.ih && x+4 <= j.iw {
		winograd.Input(out, step, j.x[((image*j.ih+y)*j.iw+x)*j.in:], j.iw*j.in, j.in, j.in)
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
		copy(row[left*j.in:right*j.in], j.x[((image*j.ih+y+i)*j.iw+x+left)*j.in:])
		clear(row[right*j.in:])
	}
	winograd.Input(out, step, edge, 4*j.in, j.in, j.in)
}

// merge writes the pixels of a tile.
func (j *winogradJob) merge(in []float32, step int, edge []float32, r, c int) {
	y, x := r%j.down*2, 2*c
	at := ((r/j.down*j.oh+y)*j.ow + x) * j.outs
	high, wide := min(2, j.oh-y), min(2, j.ow-x)
	n := wide * j.outs
	if high == 2 && wide == 2 && !j.own {
		winograd.Output(j.y[at:], j.ow*j.outs, j.outs, in, step, j.outs)
		for i := range high {
			for k := range wide {
				to := at + (i*j.ow+k)*j.outs
				j.e.apply(j.y[to:][:j.outs], to, 0)
			}
		}
		return
	}
	winograd.Output(edge, 2*j.outs, j.outs, in, step, j.outs)
	for i := range high {
		to := at + i*j.ow*j.outs
		row := edge[i*2*j.outs:][:n]
		for k := range wide {
			j.e.apply(row[k*j.outs:][:j.outs], to+k*j.outs, 0)
		}
		copy(j.y[to:], row)
	}
}

// PackConv lays frozen filters out once and for all.
func (d *Device) PackConv(w tensor.Tensor) tensor.Tensor {
	if len(w.Shape) != 4 {
		panic("cpu: filters have four axes")
	}
	flat := d.Pack(w.View(w.Shape[0]*w.Shape[1]*w.Shape[2], w.Shape[3]), false)
	flat.Shape = append([]int(nil), w.Shape...)
	if quick(w, 1) {
		pk := flat.Store.(*packed)
		pk.places = newSlab(placesLen(w.Shape[2], w.Shape[3])).words
		d.places(pk.places, Floats(w), w.Shape[2], w.Shape[3])
		d.kept += int64(4 * len(pk.places))
		d.measure()
	}
	return flat
}

var _ op.Convolve = (*Device)(nil)
