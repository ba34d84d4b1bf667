package ort

import (
	"math"

	"espalier/trainer/kernel/angle"
)

// Relational embedding of boxes (spec/acort.md 3.3; ORT eq. 6-7). The factor
// 100 and the wave length 1000 are the public code's; it keeps the frequencies
// in float32.
const (
	waves      = 8
	waveLength = 1000
	waveScale  = 100
	leastGap   = 1e-3
)

var frequencies = func() (f [waves]float64) {
	for k := range f {
		f[k] = float64(float32(math.Pow(waveLength, -float64(k)/waves)))
	}
	return f
}()

// positions fills dst [n, n, 4] with the relative positions of n boxes (x1 y1
// x2 y2, relative to the image): for query i and key j the logarithms of the
// distances of the centres over i's size, and of the ratios of the sizes.
func positions(dst []float64, boxes []float32) {
	n := len(boxes) / 4
	for i := range n {
		a := boxAt(boxes, i)
		for j := range n {
			b, p := boxAt(boxes, j), dst[4*(i*n+j):][:4]
			p[0] = math.Log(max(math.Abs(a.x-b.x)/a.w, leastGap))
			p[1] = math.Log(max(math.Abs(a.y-b.y)/a.h, leastGap))
			p[2] = math.Log(a.w / b.w)
			p[3] = math.Log(a.h / b.h)
		}
	}
}

// A box is its centre and its size plus one.
type box struct{ x, y, w, h float64 }

func boxAt(boxes []float32, i int) box {
	x1, y1, x2, y2 := float64(boxes[4*i]), float64(boxes[4*i+1]), float64(boxes[4*i+2]), float64(boxes[4*i+3])
	return box{(x1 + x2) / 2, (y1 + y2) / 2, x2 - x1 + 1, y2 - y1 + 1}
}

// relate fills dst [n, n, 64] with the sines and then the cosines of the
// positions times eight frequencies, or [n, n, 4] with the positions if raw.
// p is scratch of n*n*4 elements.
func relate(dst []float32, p []float64, boxes []float32, raw bool) {
	positions(p, boxes)
	if raw {
		for i, v := range p {
			dst[i] = float32(v)
		}
		return
	}
	const half = 4 * waves
	var angles [half]float64
	for i := range len(p) / 4 {
		for c, v := range p[4*i:][:4] {
			for k, f := range frequencies {
				angles[waves*c+k] = waveScale * v * f
			}
		}
		e := dst[2*half*i:][:2*half]
		angle.Sincos(e[:half], e[half:], angles[:])
	}
}

// A runner is a device that lends its threads to other work of the host.
type runner interface {
	Threads() int
	Run(t interface{ Tile(thread, i int) }, tiles int)
}

// A relateJob is relate for the boxes of some images.
type relateJob struct {
	dst   []float32
	pairs []float64 // scratch of each thread
	boxes []float32
	cells int
	size  int // numbers of an image's relations
	raw   bool
}

// Tile does one image.
func (j *relateJob) Tile(thread, i int) {
	boxes, pairs := 4*j.cells, j.cells*j.cells
	relate(j.dst[i*j.size:][:j.size], j.pairs[4*pairs*thread:][:4*pairs], j.boxes[i*boxes:][:boxes], j.raw)
}

// gridBoxes returns the boxes of the cells of a grid, row by row.
func gridBoxes(height, width int) []float32 {
	out := make([]float32, 0, 4*height*width)
	for y := range height {
		for x := range width {
			out = append(out,
				float32(x)/float32(width), float32(y)/float32(height),
				float32(x+1)/float32(width), float32(y+1)/float32(height))
		}
	}
	return out
}
