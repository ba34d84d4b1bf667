package hyper

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"espalier/trainer/ckpt"
	"espalier/trainer/decode"
	"espalier/trainer/grad"
	"espalier/trainer/model/t5"
	"espalier/trainer/nn"
	"espalier/trainer/peft"
	"espalier/trainer/peft/pefttest"
)

// A probe is HyperPELT that lets a test see what it builds and the last pass.
type probe struct {
	s     Settings
	parts Parts
	b     *Builder
	pass  *peft.Pass
}

func (m *probe) Edit(e *peft.Editor) (err error) {
	if m.b, err = New(e, &m.s, m.parts); err != nil {
		return err
	}
	m.b.Task()
	e.Begin(func(p *peft.Pass) { m.pass = p })
	return nil
}

func read(t *grad.Tape, v grad.Var) []float32 {
	x := make([]float32, t.Value(v).Len())
	t.Read(x, v)
	return x
}

// What the hypernetworks make is what the reference makes, site by site.
func TestGenerated(t *testing.T) {
	for _, file := range []string{"hyperprefix", "hyperpelt"} {
		m := &probe{}
		if file == "hyperpelt" {
			m.parts = WithAdapters
		}
		seen := func(t *testing.T, w ckpt.Weights, _ *t5.Model, tape *grad.Tape) {
			g := m.b.branches[0].groups[0]
			made, e := g.made(m.pass), g.embed(m.pass)
			var lambda []float32
			if g.lambda != nil {
				lambda = pefttest.Value(tape.Device(), g.lambda)
			}
			for i, sub := range g.subs {
				kind := map[peft.Kind]string{peft.SelfAttention: "self", peft.CrossAttention: "cross", peft.FeedForward: "ffn"}[sub.Kind]
				name := fmt.Sprintf("generated/t/%s.%d.%s/", sub.Stack.String()[:3], sub.Layer, kind)
				near := func(what string, v grad.Var, scale float32) {
					want := pefttest.Floats(t, w, name+what)
					for j := range want {
						want[j] *= scale
					}
					pefttest.Near(t, name+what, read(tape, v), want, 2e-6*(1+pefttest.Largest(want)))
				}
				if sub.Kind != peft.FeedForward {
					near("embedding", e.cut(m.pass, e.value, i, g.b.s.Rows, g.b.s.Width), 1)
					near("prefix_k", made[2*i], 1)
					near("prefix_v", made[2*i+1], 1)
				} else if m.parts == WithAdapters {
					a := g.adapter(made, i-g.attentions)
					near("pooled", e.cut(m.pass, g.pool(m.pass, e.value), i, g.b.s.Width), 1)
					near("down", a.Down, 1)
					near("up", a.Up, lambda[i-g.attentions])
				}
			}
		}
		pefttest.Paper{File: file, Rename: pefttest.HyperPath, Seen: seen}.RunBoth(t, func(z pefttest.Sizes) []peft.Method {
			m.s = Settings{Rows: z.Rows, Hidden: z.Mid, Width: z.Embedding, Bottleneck: z.Bottleneck}
			return []peft.Method{m}
		})
	}
}

var given = peft.Given{Tasks: pefttest.Tasks}

// plainLoss is the loss of a model on the toy's batch.
func plainLoss(t *testing.T, m *t5.Model) float64 {
	t.Helper()
	return pefttest.Loss(t, m, grad.New(m.Params().Device()), pefttest.ToyBatch(given), false)
}

// Hyper-embeddings of the factored projector are those of the plain one, which
// is [z; l; b] through two maps.
func TestFactored(t *testing.T) {
	for _, s := range []Settings{{}, {LayerTable: "each"}, {Networks: "stack"}, {Tables: "stack"}, {Tables: "all", Networks: "stack", LayerTable: "each"}} {
		s.Rows, s.Hidden, s.Width, s.Bottleneck = 3, 5, 4, 2
		m := &probe{s: s, parts: WithAdapters}
		model := pefttest.Toy(t, given, m)
		dev := model.Params().Device()
		tape := grad.New(dev)
		pefttest.Loss(t, model, tape, pefttest.ToyBatch(given), false)
		value := func(p *nn.Param) []float32 { return pefttest.Value(dev, p) }
		for _, g := range m.b.branches[0].groups {
			got := read(tape, g.embed(m.pass).value)
			tasks := value(m.b.tasks[g.subs[0].Stack])
			in, c1, out, c2 := value(g.net.in.weight), value(g.net.in.bias), value(g.net.out.weight), value(g.net.out.bias)
			const rows, d, hidden, width = 3, 8, 5, 4
			var want []float32
			for i := range g.subs {
				for r := range rows {
					at := func(table []float32, k int) []float32 { return table[(k*rows+r)*d:][:d] }
					x := slices.Concat(at(tasks, 1), at(value(g.tables.layer), int(g.layer[i])), at(value(g.tables.block), int(g.block[i])))
					var h [hidden]float64
					for j := range h {
						h[j] = float64(c1[j])
						for k := range x {
							h[j] += float64(in[j*3*d+k]) * float64(x[k])
						}
						h[j] = max(h[j], 0)
					}
					for j := range width {
						y := float64(c2[j])
						for k := range h {
							y += float64(out[j*hidden+k]) * h[k]
						}
						want = append(want, float32(y))
					}
				}
			}
			pefttest.Near(t, fmt.Sprintf("%+v", m.s), got, want, 1e-5)
		}
	}
}

// Each switch has the parameters it should, all of which get a gradient, and
// gradients are those of finite differences.
func TestSwitches(t *testing.T) {
	off, fixed := false, 0.5
	// Rows of width 8: 3 tasks, 2 layers, 5 blocks; the projector; heads of the
	// keys and values (width 6), then of an adapter of width 2; 3 lambdas; the gains
	// of 9 norms.
	const row, projector, head = 3 * 8, 24*5 + 5 + 5*4 + 4, 5
	const prefix, adapter = 2 * 6 * head, (16 + 16 + 2 + 8) * head
	const base = 10*row + projector + prefix + adapter
	for _, c := range []struct {
		name string
		s    Settings
		want int // without gains
	}{
		{"canonical", Settings{}, base + 3},
		{"D1", Settings{LayerTable: "each"}, base + row + 3},
		{"D2", Settings{Networks: "stack"}, base + projector + prefix + adapter + 3},
		{"tables", Settings{Tables: "stack"}, base + 7*row + 3},
		{"all tables", Settings{Tables: "all"}, base + 10*row + 3},
		{"D3", Settings{PrefixHeads: "one"}, base - 6*head + 3},
		{"D4", Settings{AdapterBias: &off}, base - 10*head + 3},
		{"D5 max", Settings{Pool: "max"}, base + 3},
		{"D5 rows", Settings{Pool: "rows"}, base - 16*head + 3},
		{"D6", Settings{AdapterInput: "stream"}, base + 3},
		{"D7 trained", Settings{AdapterNorm: "trained"}, base + 3*16 + 3},
		{"D7 generated", Settings{AdapterNorm: "generated"}, base + 16*head + 3},
		{"D8 stack", Settings{Lambda: "stack"}, base + 2},
		{"D8 one", Settings{Lambda: "one"}, base + 1},
		{"D8 fixed", Settings{Lambda: "fixed", LambdaInit: &fixed}, base},
		{"D9", Settings{Act: "gelu"}, base + 3},
		{"D10", Settings{PrefixPlace: "inside"}, base + 3},
		{"D12 frozen", Settings{Norms: "frozen"}, base + 3 - 72},
		{"D12 generated", Settings{Norms: "generated"}, base + 8*head + 3 - 56},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := c.s
			s.Rows, s.Hidden, s.Width, s.Bottleneck, s.HeadStd = 3, 5, 4, 2, 0.5
			m := &probe{s: s, parts: WithAdapters}
			model := pefttest.Gradients(t, given, m)
			if got := model.Params().CountTrained() - 72; got != c.want {
				t.Errorf("%d trained values without gains, want %d", got, c.want)
			}
		})
	}
}

// With lambda at zero an adapter changes nothing, and without prefixes the model
// is the plain one.
func TestNoAdapter(t *testing.T) {
	m := &probe{s: Settings{Rows: 3, Hidden: 5, Width: 4, Bottleneck: 2, HeadStd: 0.5}, parts: AdaptersAlone}
	model := pefttest.Toy(t, given, m)
	want := plainLoss(t, pefttest.Toy(t, given))
	if got := plainLoss(t, model); math.Abs(got-want) < 1e-3 {
		t.Errorf("adapters do not change the loss, %g", got)
	}
	if err := model.Params().Set("hyper.task.lambda", make([]float32, 3)); err != nil {
		t.Fatal(err)
	}
	if got := plainLoss(t, model); math.Abs(got-want) > 1e-6 {
		t.Errorf("loss %g with lambda 0, want that of the plain model, %g", got, want)
	}
}

// The order of an embedding's rows does not matter if all embeddings change it
// alike.
func TestRowOrder(t *testing.T) {
	m := &probe{s: Settings{Rows: 3, Hidden: 5, Width: 4, Bottleneck: 2, HeadStd: 0.5}, parts: WithAdapters}
	model := pefttest.Toy(t, given, m)
	dev := model.Params().Device()
	want := plainLoss(t, model)
	for _, path := range []string{"hyper.tasks", "hyper.layers", "hyper.blocks"} {
		x := pefttest.Value(dev, model.Params().Get(path))
		y := slices.Clone(x)
		for i := range len(x) / 24 {
			for r := range 3 {
				copy(y[i*24+(r+1)%3*8:][:8], x[i*24+r*8:][:8])
			}
		}
		if err := model.Params().Set(path, y); err != nil {
			t.Fatal(err)
		}
	}
	if got := plainLoss(t, model); math.Abs(got-want) > 1e-6 {
		t.Errorf("loss %g with rows in another order, want %g", got, want)
	}
}

// While tokens are generated, what the hypernetworks make is made once, and kept
// to the bit.
func TestKept(t *testing.T) {
	m := &probe{s: Settings{Rows: 3, Hidden: 5, Width: 4, Bottleneck: 2, HeadStd: 0.5}, parts: WithAdapters}
	var seen [][]float32
	watch := watcher(func(p *peft.Pass) {
		var all []float32
		for _, v := range m.b.branches[0].groups[0].made(p) {
			all = append(all, read(p.Tape, v)...)
		}
		seen = append(seen, all)
	})
	model := pefttest.Toy(t, given, m, watch)
	g := decode.Generation{MaxNew: 3, EOS: -1}
	if err := g.Check(); err != nil {
		t.Fatal(err)
	}
	st, err := model.Stepper(pefttest.ToyBatch(given).Source, 1, t5.Images{}, 1, 3)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if _, err := g.Run(t.Context(), st, make([]uint64, 2)); err != nil {
		t.Fatal(err)
	}
	if len(seen) < 3 {
		t.Fatalf("%d passes, want one for the source and one a token", len(seen))
	}
	for i, x := range seen {
		if !slices.Equal(x, seen[0]) {
			t.Errorf("pass %d has other weights than the first", i)
		}
	}
}

// A watcher sees each pass.
type watcher func(p *peft.Pass)

func (w watcher) Edit(e *peft.Editor) error {
	e.Begin(w)
	return nil
}

// A grids method has a branch of images beside the tasks'.
type grids struct{ s Settings }

func (m *grids) Edit(e *peft.Editor) error {
	b, err := New(e, &m.s, WithAdapters)
	if err != nil {
		return err
	}
	b.Task()
	d, n := e.Layout().Width, e.Given().Visual
	w, c := e.New("grids.weight", nn.FanIn(n), d, n), e.New("grids.bias", nn.Const(0), d)
	b.Branch("visual", Shared, func(p *peft.Pass) grad.Var {
		return p.Tape.Linear(p.Visual, w.Var(p.Tape), c.Var(p.Tape), grad.Out{})
	})
	return nil
}

// A branch whose rows differ by example has weights that do too.
func TestExamples(t *testing.T) {
	rename := func(name string) string {
		switch name {
		case "visual.w":
			return "grids.weight"
		case "visual.c":
			return "grids.bias"
		}
		return pefttest.HyperPath(name)
	}
	pefttest.Paper{File: "vl_hyperpelt", Rename: rename, Images: true}.RunBoth(t, func(z pefttest.Sizes) []peft.Method {
		return []peft.Method{&grids{Settings{Rows: z.Rows, Hidden: z.Mid, Width: z.Embedding, Bottleneck: z.Bottleneck}}}
	})
}

// So have generated LayerNorms.
func TestExampleNorms(t *testing.T) {
	for _, norm := range []string{"generated", "trained"} {
		s := Settings{Rows: 3, Hidden: 5, Width: 4, Bottleneck: 2, HeadStd: 0.5, AdapterNorm: norm}
		pefttest.Gradients(t, peft.Given{Tasks: pefttest.Tasks, Visual: 3, Cells: 3}, &grids{s})
	}
}
