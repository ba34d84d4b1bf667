package raster

import (
	"fmt"
	"math"

	"espalier/trainer/kernel/pixel"
)

// A Filter is a resampling filter of Pillow.
type Filter uint8

// Filters.
const (
	Nearest Filter = iota
	BoxFilter
	Bilinear
	Hamming
	Bicubic
	Lanczos
)

// support returns the half width of the filter's kernel.
func (f Filter) support() float64 {
	switch f {
	case BoxFilter:
		return 0.5
	case Bilinear, Hamming:
		return 1
	case Bicubic:
		return 2
	}
	return 3
}

// at returns the kernel at x. Products are rounded before they are summed, so
// that no machine fuses them.
func (f Filter) at(x float64) float64 {
	switch f {
	case BoxFilter:
		if x > -0.5 && x <= 0.5 {
			return 1
		}
		return 0
	case Bilinear:
		if x = math.Abs(x); x < 1 {
			return 1 - x
		}
		return 0
	case Hamming:
		x = math.Abs(x)
		if x == 0 {
			return 1
		}
		if x >= 1 {
			return 0
		}
		x *= math.Pi
		return math.Sin(x) / x * (float64(0.46*math.Cos(x)) + 0.54)
	case Bicubic:
		const a = -0.5
		x = math.Abs(x)
		if x < 1 {
			return float64(float64((float64((a+2)*x)-(a+3))*x)*x) + 1
		}
		if x < 2 {
			return (float64((float64((x-5)*x)+8)*x) - 4) * a
		}
		return 0
	}
	if x >= -3 && x < 3 {
		return sinc(x) * sinc(x/3)
	}
	return 0
}

func sinc(x float64) float64 {
	if x == 0 {
		return 1
	}
	x *= math.Pi
	return math.Sin(x) / x
}

// An Order says which pass of a resize comes first. The intermediate picture
// is rounded to bytes, so the result depends on it.
type Order uint8

// Orders. Pillow up to version 12 goes across first, always; version 13 goes
// down first if the picture loses more than twice as many rows as columns.
const (
	AcrossFirst Order = iota
	Pillow13
)

// A Box is a part of a picture, in pixels.
type Box struct{ X0, Y0, X1, Y1 float64 }

// taps are the source pixels and weights of each output pixel along an axis.
type taps struct {
	size   int // weights an output
	first  []int32
	count  []int32
	weight []int32 // 22 fractional bits
	exact  []float64
}

const weightBits = pixel.WeightBits

// makeTaps computes the taps of outputs lo to hi of a resize of in pixels,
// from box b0 to b1, to out pixels.
func makeTaps(in int, b0, b1 float64, out, lo, hi int, f Filter) taps {
	scale := (b1 - b0) / float64(out)
	filterScale := max(scale, 1)
	support := f.support() * filterScale
	size := int(math.Ceil(support))*2 + 1
	n := hi - lo
	t := taps{size, make([]int32, n), make([]int32, n), make([]int32, n*size), make([]float64, n*size)}
	inv := 1 / filterScale
	for i := range n {
		center := b0 + float64((float64(lo+i)+0.5)*scale)
		x0 := max(int(center-support+0.5), 0)
		x1 := min(int(center+support+0.5), in)
		k := t.exact[i*size:][:size]
		sum := 0.0
		for x := range x1 - x0 {
			w := f.at(float64((float64(x+x0) - center + 0.5) * inv))
			k[x] = w
			sum += w
		}
		for x := range x1 - x0 {
			if sum != 0 {
				k[x] /= sum
			}
			w := float64(k[x] * (1 << weightBits))
			if w < 0 {
				w -= 0.5
			} else {
				w += 0.5
			}
			t.weight[i*size+x] = int32(w)
		}
		t.first[i], t.count[i] = int32(x0), int32(x1-x0)
	}
	return t
}

// A Resize says how a picture is resized.
type Resize struct {
	Width, Height int // of the whole result
	Filter        Filter
	Order         Order
	Box           *Box // part of the source; nil for all of it
	// Coarse takes weights of as many bits as fit 15, as torchvision does with
	// tensors of bytes; Order is then AcrossFirst.
	Coarse bool
	// Crop is the part of the result that is wanted, in pixels; the zero value
	// means all. Only what it needs is computed.
	Crop Rect
}

// A Rect is a part of a picture in whole pixels, from (X0, Y0) to before
// (X1, Y1).
type Rect struct{ X0, Y0, X1, Y1 int }

// Apply resizes im as Pillow's Image.resize does, in im's mode: pictures in
// modes "1" and P are resampled by nearest neighbour, those with alpha are
// premultiplied while they are resampled. If nothing changes, the result is im
// itself.
func (r Resize) Apply(im *Image) (*Image, error) {
	if r.Width <= 0 || r.Height <= 0 {
		return nil, fmt.Errorf("raster: resize to %d x %d", r.Width, r.Height)
	}
	if r.Crop == (Rect{}) {
		r.Crop = Rect{0, 0, r.Width, r.Height}
	}
	c := r.Crop
	if c.X0 < 0 || c.Y0 < 0 || c.X1 > r.Width || c.Y1 > r.Height || c.X0 >= c.X1 || c.Y0 >= c.Y1 {
		return nil, fmt.Errorf("raster: crop %v of %d x %d", c, r.Width, r.Height)
	}
	w, h := float64(im.Width), float64(im.Height)
	box := Box{0, 0, w, h}
	if r.Box != nil {
		box = *r.Box
	}
	if box.X0 < 0 || box.Y0 < 0 || box.X1 > w || box.Y1 > h || box.X0 >= box.X1 || box.Y0 >= box.Y1 {
		return nil, fmt.Errorf("raster: box %v of %d x %d", box, im.Width, im.Height)
	}
	if r.Width == im.Width && r.Height == im.Height && box == (Box{0, 0, w, h}) {
		return im.crop(c), nil
	}
	filter := r.Filter
	if im.Mode == ModeBit || im.Mode == ModeP {
		filter = Nearest
	}
	if filter == Nearest {
		return r.nearest(im, box), nil
	}
	across := r.Width != im.Width || box.X0 != 0 || box.X1 != float64(r.Width)
	down := r.Height != im.Height || box.Y0 != 0 || box.Y1 != float64(r.Height)
	tx := makeTaps(im.Width, box.X0, box.X1, r.Width, c.X0, c.X1, filter)
	ty := makeTaps(im.Height, box.Y0, box.Y1, r.Height, c.Y0, c.Y1, filter)
	if r.Coarse {
		tx.coarsen(makeTaps(im.Width, box.X0, box.X1, r.Width, 0, r.Width, filter))
		ty.coarsen(makeTaps(im.Height, box.Y0, box.Y1, r.Height, 0, r.Height, filter))
	}
	downFirst := r.Order == Pillow13 && im.Height > r.Height && im.Height-r.Height > 2*(im.Width-r.Width)

	src := im
	alpha := im.Mode == ModeRGBA || im.Mode == ModeLA
	if alpha {
		src = premultiply(im)
	}
	m := im.Mode.Bytes()
	x0, x1 := tx.span()
	y0, y1 := ty.span()
	p := plane{src.Pix, im.Width, im.Height, m}
	pass := passes{across: acrossBytes, down: downBytes}
	if im.Mode == ModeI16 {
		pass = passes{across: across16, down: down16}
	}
	if downFirst {
		p = p.crop(x0, 0, x1, im.Height)
		p = pass.doDown(p, ty, down, c.Y0)
		p = pass.doAcross(p, tx, across, c.X0, x0)
	} else {
		p = p.crop(0, y0, im.Width, y1)
		p = pass.doAcross(p, tx, across, c.X0, 0)
		p = pass.doDown(p, ty.shift(y0), down, c.Y0-y0)
	}
	out := &Image{Width: p.w, Height: p.h, Mode: im.Mode, Pix: p.pix}
	if alpha {
		unpremultiply(out)
	}
	return out, nil
}

// coarsen rounds weights to as many fractional bits as leave the largest of all
// of the axis below 2^15. A sum of them rounds as one of the same weights with
// weightBits bits.
func (t taps) coarsen(all taps) {
	largest := 0.0
	for _, w := range all.exact {
		largest = max(largest, w)
	}
	bits := 0
	for bits < weightBits && int(0.5+float64(largest*float64(int(2)<<bits))) < 1<<15 {
		bits++
	}
	for i, v := range t.exact {
		w := float64(v * float64(int(1)<<bits))
		if w < 0 {
			w -= 0.5
		} else {
			w += 0.5
		}
		t.weight[i] = int32(w) << (weightBits - bits)
	}
}

// span returns the range of source pixels that the taps touch.
func (t taps) span() (lo, hi int) {
	lo, hi = math.MaxInt, 0
	for i, f := range t.first {
		lo, hi = min(lo, int(f)), max(hi, int(f+t.count[i]))
	}
	return lo, hi
}

// shift renumbers source pixels after the first by have been cut off.
func (t taps) shift(by int) taps {
	first := make([]int32, len(t.first))
	for i, f := range t.first {
		first[i] = f - int32(by)
	}
	t.first = first
	return t
}

// crop returns a part of im, or im itself.
func (im *Image) crop(c Rect) *Image {
	if c == (Rect{0, 0, im.Width, im.Height}) {
		return im
	}
	m := im.Mode.Bytes()
	p := plane{im.Pix, im.Width, im.Height, m}.crop(c.X0, c.Y0, c.X1, c.Y1)
	return &Image{Width: p.w, Height: p.h, Mode: im.Mode, Pix: p.pix, Palette: im.Palette}
}

// nearest resamples without a filter. Positions grow by repeated addition.
func (r Resize) nearest(im *Image, b Box) *Image {
	at := func(b0, b1 float64, in, n int) []int {
		scale := (b1 - b0) / float64(n)
		pos := b0 + float64(scale*0.5)
		idx := make([]int, n)
		for i := range idx {
			idx[i] = min(max(int(pos), 0), in-1)
			pos += scale
		}
		return idx
	}
	xs, ys := at(b.X0, b.X1, im.Width, r.Width), at(b.Y0, b.Y1, im.Height, r.Height)
	c, m := r.Crop, im.Mode.Bytes()
	out := newImage(c.X1-c.X0, c.Y1-c.Y0, im.Mode)
	out.Palette = im.Palette
	o := 0
	for _, y := range ys[c.Y0:c.Y1] {
		for _, x := range xs[c.X0:c.X1] {
			i := (y*im.Width + x) * m
			o += copy(out.Pix[o:o+m], im.Pix[i:])
		}
	}
	return out
}

// premultiply multiplies colours by alpha, as Pillow's modes RGBa and La.
func premultiply(im *Image) *Image {
	out := newImage(im.Width, im.Height, im.Mode)
	m := im.Mode.Bytes()
	for i := 0; i < len(im.Pix); i += m {
		a := im.Pix[i+m-1]
		for c := range m - 1 {
			out.Pix[i+c] = byte(muldiv255(int(im.Pix[i+c]), int(a)))
		}
		out.Pix[i+m-1] = a
	}
	return out
}

// unpremultiply undoes it in place.
func unpremultiply(im *Image) {
	m := im.Mode.Bytes()
	for i := 0; i < len(im.Pix); i += m {
		a := int(im.Pix[i+m-1])
		if a == 0 || a == 255 {
			continue
		}
		for c := range m - 1 {
			im.Pix[i+c] = clamp8(255 * int(im.Pix[i+c]) / a)
		}
	}
}
