package cpu

import (
	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// Conv is a convolution of NHWC images.
func (d *Device) Conv(out, x, w tensor.Tensor, c op.Conv) {
	if len(x.Shape) != 4 || len(w.Shape) != 4 || len(out.Shape) != 4 || w.Shape[2] != x.Shape[3] || w.Shape[3] != out.Shape[3] {
		panic("cpu: image and filters do not fit")
	}
	n, ih, iw, in := x.Shape[0], x.Shape[1], x.Shape[2], x.Shape[3]
	kh, kw, outs := w.Shape[0], w.Shape[1], w.Shape[3]
	stride := max(c.Stride, 1)
	oh, ow := (ih+2*c.Pad-kh)/stride+1, (iw+2*c.Pad-kw)/stride+1
	if out.Shape[0] != n || out.Shape[1] != oh || out.Shape[2] != ow {
		panic("cpu: output of a convolution does not fit")
	}
	e := makeEpilogue(&c.Epilogue, 1, out)
	xs, ys := Floats(x), Floats(out)
	var ws []float32
	if pk, ok := w.Store.(*packed); ok {
		ws = pk.words
	} else {
		ws = Floats(w)
	}
	d.each(n*oh*ow, func(t int) {
		b, i, j := t/(oh*ow), t/ow%oh, t%ow
		row := make([]float32, outs)
		for di := range kh {
			for dj := range kw {
				y, z := i*stride+di-c.Pad, j*stride+dj-c.Pad
				if y < 0 || y >= ih || z < 0 || z >= iw {
					continue
				}
				for k, v := range xs[((b*ih+y)*iw+z)*in:][:in] {
					for o, u := range ws[((di*kw+dj)*in+k)*outs:][:outs] {
						row[o] += float32(v * u)
					}
				}
			}
		}
		e.apply(row, t*outs, 0)
		copy(ys[t*outs:], row)
	})
}

// PackConv lays frozen filters out once and for all.
func (d *Device) PackConv(w tensor.Tensor) tensor.Tensor {
	if len(w.Shape) != 4 {
		panic("cpu: filters have four axes")
	}
	flat := d.Pack(w.View(w.Shape[0]*w.Shape[1]*w.Shape[2], w.Shape[3]), false)
	flat.Shape = append([]int(nil), w.Shape...)
	return flat
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
	xs, ys := Floats(x), Floats(out)
	share := 1 / float32(size*size)
	d.each(n*oh*ow, func(t int) {
		b, i, j := t/(oh*ow), t/ow%oh, t%ow
		y := ys[t*c:][:c]
		clear(y)
		for di := range size {
			for dj := range size {
				for k, v := range xs[((b*ih+i*size+di)*iw+j*size+dj)*c:][:c] {
					y[k] += v
				}
			}
		}
		for k := range y {
			y[k] *= share
		}
	})
}
