package raster

import (
	"math"

	"espalier/trainer/kernel/pixel"
)

// A plane is a picture under way: w*h pixels of m bytes.
type plane struct {
	pix  []byte
	w, h int
	m    int
}

// crop returns a part of the plane; whole rows are not copied.
func (p plane) crop(x0, y0, x1, y1 int) plane {
	out := plane{w: x1 - x0, h: y1 - y0, m: p.m}
	if out.w == p.w {
		out.pix = p.pix[y0*p.w*p.m : y1*p.w*p.m]
		return out
	}
	out.pix = make([]byte, out.w*out.h*p.m)
	for y := range out.h {
		copy(out.pix[y*out.w*p.m:(y+1)*out.w*p.m], p.pix[((y0+y)*p.w+x0)*p.m:])
	}
	return out
}

// passes are the two halves of a resize. t's taps count from the plane's first
// column or row.
type passes struct {
	across func(out, in plane, t taps)
	down   func(out, in plane, t taps)
}

// doAcross runs the horizontal pass, or cuts the columns out from at x if it
// changes nothing. The plane's columns begin at column off of the source.
func (ps passes) doAcross(p plane, t taps, needed bool, x, off int) plane {
	n := len(t.first)
	if !needed {
		return p.crop(x-off, 0, x-off+n, p.h)
	}
	out := plane{make([]byte, n*p.h*p.m), n, p.h, p.m}
	ps.across(out, p, t.shift(off))
	return out
}

// doDown runs the vertical pass, or cuts the rows out from at y.
func (ps passes) doDown(p plane, t taps, needed bool, y int) plane {
	n := len(t.first)
	if !needed {
		return p.crop(0, y, p.w, y+n)
	}
	out := plane{make([]byte, p.w*n*p.m), p.w, n, p.m}
	ps.down(out, p, t)
	return out
}

// acrossBytes resamples rows: (2^21 + sum of weight*byte) >> 22, clamped.
func acrossBytes(out, in plane, t taps) {
	m := in.m
	if m == 3 {
		p := pixel.NewTaps(t.first, t.weight, t.size)
		for y := range in.h {
			pixel.Across(out.pix[y*out.w*3:(y+1)*out.w*3], in.pix[y*in.w*3:], p)
		}
		return
	}
	for y := range in.h {
		src := in.pix[y*in.w*m : (y+1)*in.w*m]
		dst := out.pix[y*out.w*m : (y+1)*out.w*m]
		for i, first := range t.first {
			k := t.weight[i*t.size:][:t.count[i]]
			s := src[int(first)*m:][:len(k)*m]
			for c := range m {
				var a int32 = 1 << (weightBits - 1)
				for j, w := range k {
					a += w * int32(s[j*m+c])
				}
				dst[i*m+c] = clampInt32(a >> weightBits)
			}
		}
	}
}

// downBytes resamples columns.
func downBytes(out, in plane, t taps) {
	n := in.w * in.m
	for i, first := range t.first {
		pixel.Down(out.pix[i*n:(i+1)*n], in.pix[int(first)*n:], n, t.weight[i*t.size:][:t.count[i]])
	}
}

func clampInt32(v int32) byte {
	if uint32(v) > 255 {
		v = ^(v >> 31)
	}
	return byte(v)
}

// across16 resamples rows of 16-bit grey in float64.
func across16(out, in plane, t taps) {
	for y := range in.h {
		for i, first := range t.first {
			k := t.exact[i*t.size:][:t.count[i]]
			ss := 0.0
			for j, w := range k {
				ss += float64(w * get16(in.pix, y*in.w+int(first)+j))
			}
			put16(out.pix, y*out.w+i, ss)
		}
	}
}

// down16 resamples columns of 16-bit grey.
func down16(out, in plane, t taps) {
	for i, first := range t.first {
		k := t.exact[i*t.size:][:t.count[i]]
		for x := range in.w {
			ss := 0.0
			for j, w := range k {
				ss += float64(w * get16(in.pix, (int(first)+j)*in.w+x))
			}
			put16(out.pix, i*out.w+x, ss)
		}
	}
}

func get16(p []byte, i int) float64 { return float64(int(p[2*i]) | int(p[2*i+1])<<8) }

// put16 rounds half up and clamps.
func put16(p []byte, i int, v float64) {
	n := min(max(int(math.Floor(v+0.5)), 0), 65535)
	p[2*i], p[2*i+1] = byte(n), byte(n>>8)
}
