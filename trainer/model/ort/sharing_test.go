package ort

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"espalier/trainer/decode"
	"espalier/trainer/grad"
	"espalier/trainer/nn"
)

// A shared model equals an unshared one with copies, to the bit, and its
// gradients are the sums of the copies' (spec/acort.md 4.3).
func TestSharedEqualsCopies(t *testing.T) {
	at := []int{0, 1, 1, 0}
	a := newModel(t, small(func(c *Config) {
		c.EncoderMap, c.DecoderMap, c.EncoderShare, c.DecoderShare = at, at, nn.ShareKV, nn.ShareQK
	}))
	b := newModel(t, small(func(c *Config) { c.Layers = 4 }))
	source := func(path string) string { // of b's parameter in a
		for _, kind := range []string{"encoder", "decoder"} {
			for i, j := range at {
				if rest, ok := strings.CutPrefix(path, fmt.Sprintf("%s.layers.%d.", kind, i)); ok {
					path = fmt.Sprintf("%s.layers.%d.%s", kind, j, rest)
					if kind == "encoder" {
						path = strings.NewReplacer("attn.k.", "attn.kv.", "attn.v.", "attn.kv.").Replace(path)
					} else {
						path = strings.NewReplacer("attn.q.", "attn.qk.", "attn.k.", "attn.qk.").Replace(path)
					}
					return path
				}
			}
		}
		return path
	}
	for _, p := range b.Params().All() {
		x := make([]float32, p.Len())
		q := a.Params().Get(source(p.Path))
		if q == nil {
			t.Fatalf("%s has no source", p.Path)
		}
		a.dev.Read(x, q.Value)
		b.dev.Write(p.Value, x)
	}
	s := noise(5)
	batch := regions(&s)
	run := func(m *Model) float32 {
		m.Params().Train()
		tp := grad.New(m.dev)
		tp.Begin(grad.Step{Grad: true})
		l, _, err := m.Loss(tp, batch, 0)
		if err != nil {
			t.Fatal(err)
		}
		x := make([]float32, 1)
		tp.Read(x, l)
		tp.Backward(l)
		return x[0]
	}
	if x, y := run(a), run(b); x != y {
		t.Errorf("loss %g shared, %g with copies", x, y)
	}
	sums := map[string][]float32{}
	for _, p := range b.Params().All() {
		g := make([]float32, p.Len())
		b.dev.Read(g, p.Grad)
		into := sums[source(p.Path)]
		if into == nil {
			into = make([]float32, len(g))
		}
		for i, v := range g {
			into[i] += v
		}
		sums[source(p.Path)] = into
	}
	for _, p := range a.Params().All() {
		g := make([]float32, p.Len())
		a.dev.Read(g, p.Grad)
		near(t, p.Path, g, sums[p.Path], 2e-6*max(1, largest(g)))
	}
}

// Incremental decoding equals the full pass, with the rows of a beam
// reordered, images leaving the batch, and with padding.
func TestIncrementalEqualsWhole(t *testing.T) {
	s := noise(12)
	rs, gs := regions(&s), grids(&s)
	schemes(func(name string, change func(*Config)) {
		t.Run(name, func(t *testing.T) {
			m := newModel(t, small(change))
			// Weights large enough that captions differ and end early.
			for _, p := range m.Params().All() {
				if strings.HasSuffix(p.Path, "weight") {
					m.dev.Scale(p.Value, p.Value, 1.6)
				}
			}
			for _, im := range []*Images{&rs.Images, &gs.Images} {
				for _, k := range []int{1, 3} {
					search := decode.Search{Beam: k, MaxLen: 7, BOS: 11, EOS: 12}
					st, err := m.Stepper(im, k, false)
					if err != nil {
						t.Fatal(err)
					}
					defer st.Close()
					got, err := search.Run(t.Context(), st, im.N)
					if err != nil {
						t.Fatal(err)
					}
					want, err := search.Run(t.Context(), newWhole(m, im), im.N)
					if err != nil {
						t.Fatal(err)
					}
					for i := range want {
						for j := range want[i] {
							if !slices.Equal(got[i][j].Tokens, want[i][j].Tokens) {
								t.Errorf("beam %d image %d: %v, want %v", k, i, got[i][j].Tokens, want[i][j].Tokens)
								continue
							}
							near(t, "log-probabilities", got[i][j].LogProbs, want[i][j].LogProbs, 2e-5)
						}
					}
				}
			}
		})
	})
}

// Packed weights decode to the same bits.
func TestPackedDecoding(t *testing.T) {
	m := newModel(t, small(nil))
	s := noise(12)
	im := &grids(&s).Images
	run := func() string {
		st, err := m.Stepper(im, 2, false)
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		search := decode.Search{Beam: 2, MaxLen: 7, BOS: 11, EOS: 12}
		out, err := search.Run(t.Context(), st, im.N)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(out)
	}
	want := run()
	m.Pack()
	if got := run(); got != want {
		t.Errorf("packed: %s, want %s", got, want)
	}
	m.Unpack()
}
