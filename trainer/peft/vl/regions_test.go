package vl

import (
	"math"
	"slices"
	"strings"
	"testing"

	"espalier/trainer/grad"
	"espalier/trainer/model/t5"
	"espalier/trainer/peft"
	"espalier/trainer/peft/adapter"
	"espalier/trainer/peft/hyper"
	"espalier/trainer/peft/pefttest"
)

// An image of fewer regions than there is room for gives what a model with room
// for just these gives, whatever stands in the rows that are padding: the loss,
// and the gradients of all that is trained.
func TestRegionsArePadded(t *testing.T) {
	const dim, room, real = 5, 4, 3
	given := func(cells int) peft.Given { return peft.Given{Tasks: []string{"a", "b"}, Visual: dim, Cells: cells} }
	methods := map[string]func() peft.Method{
		"vl-t5":      func() peft.Method { return &Tokens{} },
		"vl-adapter": func() peft.Method { return &Adapter{Adapter: adapter.Method{Bottleneck: 2}} },
	}
	for name, method := range methods {
		wide, narrow := pefttest.Toy(t, given(room), method()), pefttest.Toy(t, given(real), method())
		for _, source := range [][][]int32{{{4, 5, 6, 7, 1}}, {{4, 5, 6, 7, 1}, {8, 9, 1}}} { // without and with padding of texts
			var losses [2]float64
			var gradients [2][]float32
			for i, m := range []*t5.Model{narrow, wide} {
				cells := []int{real, room}[i]
				b := &t5.Batch{Source: source, Images: t5.Images{Cells: cells, Dim: dim}}
				for r := range source {
					b.Target = append(b.Target, []int32{10, 11, 1})
					b.Images.Counts = append(b.Images.Counts, real)
					for c := range cells {
						for d := range dim {
							v := float32(math.Cos(float64(7*r + 3*c + d)))
							if c >= real {
								v = 1e3
							}
							b.Images.Features = append(b.Images.Features, v)
						}
						x := float32(c) / 8
						b.Images.Boxes = append(b.Images.Boxes, x, x+0.5, 0, 1, 0.5)
					}
				}
				losses[i] = pefttest.Loss(t, m, grad.New(m.Params().Device()), b, true)
				for _, p := range m.Params().All() {
					if !p.Frozen {
						g := make([]float32, p.Len())
						m.Params().Device().Read(g, p.Grad)
						gradients[i] = append(gradients[i], g...)
					}
				}
				m.Params().ZeroGrads()
			}
			if math.Abs(losses[0]-losses[1]) > 1e-6 || losses[0] == 0 {
				t.Errorf("%s: loss %g with padding, %g without", name, losses[1], losses[0])
			}
			pefttest.Near(t, name+": gradients with padding", gradients[1], gradients[0], 1e-6*pefttest.Largest(gradients[0]))
		}
	}
}

// Counts that cannot be are refused, and so is padding where a method makes
// weights of every vector.
func TestRegionsRefused(t *testing.T) {
	g := peft.Given{Tasks: []string{"a"}, Visual: 3, Cells: 4}
	tokens := pefttest.Toy(t, g, &Tokens{})
	weights := pefttest.Toy(t, g, &HyperPELT{Settings: hyper.Settings{Rows: 4, Hidden: 3, Width: 3, Bottleneck: 2}})
	for _, c := range []struct {
		m      *t5.Model
		counts []int
		want   string
	}{
		{tokens, []int{4, 4}, ""},
		{weights, []int{4, 4}, ""},
		{tokens, []int{4}, "counts of 1 images for 2 examples"},
		{tokens, []int{4, 5}, "image 1 has 5 vectors, want 1 to 4"},
		{tokens, []int{0, 4}, "image 0 has 0 vectors, want 1 to 4"},
		{weights, []int{4, 3}, "image 1 has 3 vectors, others 4: the method needs as many of every image"},
	} {
		b := pefttest.ToyBatch(g)
		b.Images.Counts = slices.Clone(c.counts)
		tape := grad.New(c.m.Params().Device())
		tape.Begin(grad.Step{})
		_, _, err := c.m.Loss(tape, b, t5.LossOptions{})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("counts %v: error %v, want %q", c.counts, err, c.want)
		}
	}
}
