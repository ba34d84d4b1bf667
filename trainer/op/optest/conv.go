package optest

import (
	"espalier/trainer/op"
)

// convolve is the reference.
func convolve(x, w []float64, xs, ws, os []int, stride, pad int) []float64 {
	y := make([]float64, os[0]*os[1]*os[2]*os[3])
	for at := range y {
		o, j, i, b := at%os[3], at/os[3]%os[2], at/(os[3]*os[2])%os[1], at/(os[3]*os[2]*os[1])
		for di := range ws[0] {
			for dj := range ws[1] {
				r, c := i*stride+di-pad, j*stride+dj-pad
				if r < 0 || r >= xs[1] || c < 0 || c >= xs[2] {
					continue
				}
				for k := range xs[3] {
					y[at] += x[((b*xs[1]+r)*xs[2]+c)*xs[3]+k] * w[((di*ws[1]+dj)*ws[2]+k)*ws[3]+o]
				}
			}
		}
	}
	return y
}

func testConv(h *harness) {
	for _, c := range []struct{ n, hw, in, k, out, stride, pad int }{
		{1, 1, 1, 1, 1, 1, 0},
		{2, 5, 3, 1, 7, 1, 0},
		{1, 7, 16, 1, 33, 1, 0},
		{3, 8, 5, 1, 9, 2, 0},
		{1, 5, 4, 3, 6, 1, 1},
		{2, 9, 3, 3, 8, 2, 1},
		{1, 14, 17, 3, 40, 1, 1},
		{2, 6, 8, 3, 16, 1, 0},
		{1, 12, 3, 7, 5, 2, 3},
		{1, 16, 3, 4, 9, 4, 0},
		{0, 4, 2, 3, 2, 1, 1},
		{1, 3, 2, 5, 2, 1, 2},
		{1, 28, 32, 3, 64, 1, 1},
	} {
		o := (c.hw+2*c.pad-c.k)/c.stride + 1
		shape := []int{c.n, o, o, c.out}
		for bits := range 8 {
			x, w, bias, res := h.in(c.n, c.hw, c.hw, c.in), h.in(c.k, c.k, c.in, c.out), h.in(c.out), h.in(shape...)
			v := op.Conv{Stride: c.stride, Pad: c.pad}
			var bx, rx []float64
			if bits&1 != 0 {
				v.Bias, bx = bias.t, bias.x
			}
			if bits&2 != 0 {
				v.Residual, rx = res.t, res.x
			}
			if bits&4 != 0 {
				v.Act, v.ActLast = op.ReLU, true
			}
			_, want := finish(convolve(x.x, w.x, x.shape, w.shape, shape, c.stride, c.pad), bx, rx, c.out, 1, v.Act, v.ActLast)
			name := named("%+v bits=%03b", c, bits)
			y := h.out(shape...)
			h.d.Conv(y, x.t, w.t, v)
			h.near(name, y, want, 3e-5)
			p := h.d.PackConv(w.t)
			z := h.out(shape...)
			h.d.Conv(z, x.t, p, v)
			h.same(name+" packed", h.read(z), h.read(y))
			h.d.Free(p)
			h.done(name)
		}
	}
}

func testAvgPool(h *harness) {
	for _, c := range [][4]int{{1, 4, 1, 2}, {2, 7, 5, 2}, {1, 7, 33, 7}, {3, 6, 16, 3}, {1, 3, 8, 1}, {0, 4, 4, 2}} {
		n, hw, ch, size := c[0], c[1], c[2], c[3]
		o := hw / size
		x, y := h.in(n, hw, hw, ch), h.out(n, o, o, ch)
		want := make([]float64, n*o*o*ch)
		for at := range want {
			k, j, i, b := at%ch, at/ch%o, at/(ch*o)%o, at/(ch*o*o)
			for di := range size {
				for dj := range size {
					want[at] += x.x[((b*hw+i*size+di)*hw+j*size+dj)*ch+k] / float64(size*size)
				}
			}
		}
		h.d.AvgPool(y, x.t, size)
		h.near(named("%v", c), y, want, 1e-6)
		h.done("pool")
	}
}
