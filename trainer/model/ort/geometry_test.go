package ort

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"espalier/trainer/grad"
)

// The numbers of spec/acort.md 3.3.
func TestRelation(t *testing.T) {
	boxes := []float32{0.1, 0.2, 0.5, 0.6, 0.3, 0.3, 0.9, 0.8, 0, 0, 0, 0}
	p, e := make([]float64, 4*9), make([]float32, 64*9)
	relate(e, p, boxes, false)
	at := func(i, j int) []float32 {
		out := make([]float32, 4)
		for k := range out {
			out[k] = float32(p[4*(3*i+j)+k])
		}
		return out
	}
	near(t, "p(0,0)", at(0, 0), []float32{-6.907755, -6.907755, 0, 0}, 1e-5)
	near(t, "p(0,1)", at(0, 1), []float32{-1.540445, -2.233592, -0.133531, -0.068993}, 1e-5)
	near(t, "p(1,0)", at(1, 0), []float32{-1.673976, -2.302585, 0.133531, 0.068993}, 1e-5)
	near(t, "p(0,pad)", at(0, 2), []float32{-1.540445, -1.252763, 0.336472, 0.336472}, 1e-5)
	e01 := e[64:128]
	near(t, "E(0,1)[0:12]", e01[:12], []float32{0.106254, -0.848644, -0.771324, 0.849303, 0.987398, -0.885410, -0.761909, -0.357227, 0.301384, 0.057943, -0.900621, 0.863221}, 1e-3)
	near(t, "E(0,1)[16:19]", e01[16:19], []float32{-0.708071, 0.606949, -0.694002}, 1e-3)
	near(t, "E(0,1)[32:36]", e01[32:36], []float32{-0.994339, -0.528965, -0.636443, 0.527905}, 1e-3)
	if !slices.Equal(e[:64], e[64*4:64*5]) || !slices.Equal(e[:64], e[64*8:]) {
		t.Error("E(i,i) differs between boxes")
	}
	raw := make([]float32, 36)
	relate(raw, p, boxes, true)
	if !slices.Equal(raw[4:8], at(0, 1)) {
		t.Errorf("raw (0,1) is %v, want %v", raw[4:8], at(0, 1))
	}
	near(t, "grid", gridBoxes(2, 4)[4*5:4*6], []float32{0.25, 0.5, 0.5, 1}, 0)
}

func (m *Model) memory(t *testing.T, im *Images) []float32 {
	t.Helper()
	tp := grad.New(m.dev)
	tp.Begin(grad.Step{})
	mem, err := m.Encode(tp, im)
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float32, tp.Value(mem.Value).Len())
	tp.Read(x, mem.Value)
	return x
}

// Permuting the boxes of an image permutes its memory.
func TestBoxesPermute(t *testing.T) {
	m := newModel(t, small(nil))
	s := noise(3)
	im := Images{N: 1, Cells: 4, Feats: s.slice(24), Boxes: []float32{0, 0, .5, .5, .2, .1, .9, .4, .5, .5, 1, 1, .1, .6, .3, .7}}
	want := m.memory(t, &im)
	order := []int{2, 0, 3, 1}
	p := Images{N: 1, Cells: 4}
	for _, i := range order {
		p.Feats = append(p.Feats, im.Feats[6*i:6*i+6]...)
		p.Boxes = append(p.Boxes, im.Boxes[4*i:4*i+4]...)
	}
	got := m.memory(t, &p)
	for j, i := range order {
		near(t, fmt.Sprint("box ", i), got[16*j:][:16], want[16*i:][:16], 1e-5)
	}
	moved := im
	moved.Boxes = slices.Clone(im.Boxes)
	moved.Boxes[2] = 0.8
	if slices.Equal(m.memory(t, &moved), want) {
		t.Error("the memory does not depend on the boxes")
	}
}

// What lies in padded rows changes nothing, to the bit.
func TestPaddingIsNotSeen(t *testing.T) {
	m := newModel(t, small(nil))
	s := noise(4)
	b := regions(&s)
	loss := func(b *Batch) float32 {
		tp := grad.New(m.dev)
		tp.Begin(grad.Step{})
		l, _, err := m.Loss(tp, b, 0)
		if err != nil {
			t.Fatal(err)
		}
		x := make([]float32, 1)
		tp.Read(x, l)
		return x[0]
	}
	want := loss(b)
	filled := *b
	filled.Feats, filled.Boxes = slices.Clone(b.Feats), slices.Clone(b.Boxes)
	for i := range 15 {
		if i%5 >= b.Counts[i/5] {
			for j := range 6 {
				filled.Feats[6*i+j] = 7
			}
			copy(filled.Boxes[4*i:], []float32{0.1, 0.1, 0.7, 0.9})
		}
	}
	if got := loss(&filled); got != want {
		t.Errorf("loss %g with other padding, want %g", got, want)
	}
	// One image more cells wide: all padding.
	wide := Batch{Images: Images{N: 3, Cells: 7, Counts: b.Counts}, Captions: b.Captions}
	for i := range 3 {
		wide.Feats = append(append(wide.Feats, b.Feats[30*i:30*i+30]...), make([]float32, 12)...)
		wide.Boxes = append(append(wide.Boxes, b.Boxes[20*i:20*i+20]...), make([]float32, 8)...)
	}
	if got := loss(&wide); math.Abs(float64(got-want)) > 1e-6 {
		t.Errorf("loss %g with more padding, want %g", got, want)
	}
}

// A grid is an image whose boxes are the cells.
func TestGridIsBoxes(t *testing.T) {
	m := newModel(t, small(nil))
	s := noise(6)
	im := grids(&s).Images
	want := m.memory(t, &im)
	boxed := im
	boxed.Height, boxed.Width = 0, 0
	for range 3 {
		boxed.Boxes = append(boxed.Boxes, gridBoxes(2, 3)...)
	}
	near(t, "memory", m.memory(t, &boxed), want, 1e-6)
	if got := m.memory(t, &im); !slices.Equal(got, want) {
		t.Error("the kept embedding gives another memory")
	}
}

// Geometry weights below the floor take no gradient.
func TestGeometryFloor(t *testing.T) {
	m := newModel(t, small(nil))
	ps := m.Params()
	ps.Train()
	bias := ps.Get("encoder.layers.0.geometry.bias")
	m.dev.Write(bias.Value, []float32{-1000, -1000, -1000, 1})
	s := noise(2)
	tp := grad.New(m.dev)
	tp.Begin(grad.Step{Grad: true})
	l, _, err := m.Loss(tp, regions(&s), 0)
	if err != nil {
		t.Fatal(err)
	}
	tp.Backward(l)
	g := make([]float32, 4)
	m.dev.Read(g, bias.Grad)
	if g[0] != 0 || g[1] != 0 || g[2] != 0 || g[3] == 0 {
		t.Errorf("gradients %v: want three zeros and one other", g)
	}
}
