package ort

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"espalier/trainer/ckpt"
	"espalier/trainer/cpu"
	"espalier/trainer/decode"
	"espalier/trainer/grad"
	"espalier/trainer/kernel/cpuinfo"
	"espalier/trainer/nn"
	"espalier/trainer/op/optest"
	"espalier/trainer/optim"
)

// noise is a small generator of values in (-1, 1).
type noise uint64

func (s *noise) next() float32 {
	*s = *s*6364136223846793005 + 1442695040888963407
	return float32(int32(*s>>32)) / (1 << 31)
}

func (s *noise) below(n int) int { return int((s.next() + 1) / 2 * float32(n) * 0.999) }

func (s *noise) slice(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = s.next()
	}
	return x
}

// small is a configuration for tests, without dropout.
func small(change func(*Config)) Config {
	none := 0.0
	c := Config{
		Width: 16, Hidden: 24, Heads: 4, Features: 6, Layers: 2, Vocab: 13, BOS: 11, EOS: 12, MaxLen: 7,
		DropSource: &none, Drop: &none,
	}
	if change != nil {
		change(&c)
	}
	return c
}

func newModel(t *testing.T, c Config) *Model {
	t.Helper()
	dev := cpu.New(2)
	t.Cleanup(func() { dev.Close() })
	m, err := New(dev, c, 5)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// regions returns a batch of regions with captions; grids one of grids.
func regions(s *noise) *Batch {
	b := &Batch{Images: Images{N: 3, Cells: 5, Counts: []int{5, 1, 3}}}
	b.Feats = s.slice(3 * 5 * 6)
	for i := range 15 {
		var box [4]float32
		if i%5 < b.Counts[i/5] {
			x, y := (s.next()+1)/4, (s.next()+1)/4
			box = [4]float32{x, y, x + (s.next()+1)/4, y + (s.next()+1)/4}
		}
		b.Boxes = append(b.Boxes, box[:]...)
	}
	b.caption(s, 2)
	return b
}

func grids(s *noise) *Batch {
	b := &Batch{Images: Images{N: 3, Cells: 6, Height: 2, Width: 3}}
	b.Feats = s.slice(3 * 6 * 6)
	b.caption(s, 2)
	return b
}

func (b *Batch) caption(s *noise, each int) {
	for range b.N * each {
		c := []int32{11}
		for range 1 + s.below(5) {
			c = append(c, int32(1+s.below(9)))
		}
		if s.next() > -0.6 {
			c = append(c, 12)
		}
		b.Captions = append(b.Captions, c)
	}
}

// schemes are the sharing schemes of spec/acort.md 14, test 8.
func schemes(f func(name string, change func(*Config))) {
	for _, share := range []nn.Share{nn.ShareNone, nn.ShareKV, nn.ShareQK} {
		for _, at := range [][]int{{0, 1}, {0, 0, 0, 1, 1, 1}, {0, 0}, {0, 0, 0, 0, 0, 0}, {0, 1, 1, 0}} {
			f(fmt.Sprintf("%s%v", share, at), func(c *Config) {
				c.EncoderShare, c.DecoderShare, c.EncoderMap, c.DecoderMap = share, share, at, at
			})
		}
	}
}

// The numbers of spec/acort.md 3.6 and 3.7.
func TestNormAndPlaces(t *testing.T) {
	dev := cpu.New(1)
	defer dev.Close()
	ps := nn.NewParams(dev, 1)
	n := nn.NewNorm(ps, "n", 4, normKind)
	ps.Alloc()
	tp := grad.New(dev)
	tp.Begin(grad.Step{})
	got := make([]float32, 4)
	tp.Read(got, n.Apply(tp, tp.Floats([]float32{1, 2, 3, 4}, 1, 4)))
	near(t, "LN(1,2,3,4)", got, []float32{-1.161894, -0.387298, 0.387298, 1.161894}, 1e-6)
	near(t, "position 1", sinusoids(2, 512)[512:516], []float32{0.841471, 0.540302, 0.821856, 0.569695}, 1e-6)
	near(t, "position 0", sinusoids(1, 4), []float32{0, 1, 0, 1}, 0)
}

// The derivative along a random direction, against central differences: all
// parts together, dropout included.
func TestDirectionalDerivative(t *testing.T) {
	loss := func(m *Model, tp *grad.Tape, b *Batch, scst bool) grad.Var {
		tp.Begin(grad.Step{Grad: true, Drop: true, Seed: 1, Number: 2})
		var l grad.Var
		var err error
		if scst {
			var samples [][]int32
			for _, c := range b.Captions {
				samples = append(samples, c[1:])
			}
			l, _, err = m.SampleLoss(tp, &b.Images, samples, []float32{1, -0.5, 0.3, -0.7, 0.2, 0.9})
		} else {
			l, _, err = m.Loss(tp, b, 0.1)
		}
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	run := func(name string, change func(*Config), b *Batch, scst bool) {
		t.Run(name, func(t *testing.T) {
			p := 0.15
			m := newModel(t, small(func(c *Config) { change(c); c.Drop, c.DropSource = &p, &p }))
			tp := grad.New(m.dev)
			ps := m.Params()
			for _, q := range ps.All() { // away from the kink of the logarithm, on both sides
				if strings.HasSuffix(q.Path, "geometry.bias") {
					m.dev.Write(q.Value, []float32{8, -8, 9, 10})
				}
			}
			ps.Train()
			tp.Backward(loss(m, tp, b, scst))
			s := noise(9)
			dir, val, want := map[*nn.Param][]float32{}, map[*nn.Param][]float32{}, 0.0
			for _, q := range ps.All() {
				g := make([]float32, q.Len())
				m.dev.Read(g, q.Grad)
				dir[q], val[q] = s.slice(q.Len()), make([]float32, q.Len())
				size := float32(largest(g))
				for i, v := range dir[q] { // partly along the gradient, so that the slope is not small
					if size > 0 {
						v = 0.2*v + g[i]/size
					}
					dir[q][i] = v
					want += float64(v) * float64(g[i])
				}
				m.dev.Read(val[q], q.Value)
			}
			at := func(h float32) float64 {
				for _, q := range ps.All() {
					x := slices.Clone(val[q])
					for i := range x {
						x[i] += h * dir[q][i]
					}
					m.dev.Write(q.Value, x)
				}
				x := make([]float32, 1)
				tp.Read(x, loss(m, tp, b, scst))
				return float64(x[0])
			}
			const h = 1.0 / 4096
			got := (8*(at(h/2)-at(-h/2)) - (at(h) - at(-h))) / (6 * h)
			if math.Abs(got-want) > 5e-3*math.Abs(want) {
				t.Errorf("derivative %g, gradient says %g", got, want)
			}
		})
	}
	s := noise(8)
	rs, gs := regions(&s), grids(&s)
	schemes(func(name string, change func(*Config)) { run(name, change, rs, false) })
	run("grid", func(*Config) {}, gs, false)
	run("raw boxes", func(c *Config) { c.RawBoxes = true }, rs, false)
	run("samples", func(c *Config) { c.DecoderShare = nn.ShareKV }, rs, true)
}

// Training gives the same bits with any number of threads, and when it goes on
// from a checkpoint.
func TestTrainingIsReproducible(t *testing.T) {
	train := func(threads, stop int, from []byte) []byte {
		dev := cpu.New(threads)
		defer dev.Close()
		m, err := New(dev, small(func(c *Config) {
			c.Drop, c.DropSource = nil, nil
			c.DecoderMap, c.DecoderShare = []int{0, 0, 1}, nn.ShareKV
		}), 7)
		if err != nil {
			t.Fatal(err)
		}
		adam := optim.NewAdam(m.Params(), optim.AdamConfig{Beta1: 0.9, Beta2: 0.98, Eps: 1e-9, ClipValue: 0.1, ClipNorm: 2})
		if from != nil {
			f, err := ckpt.Open(bytes.NewReader(from), int64(len(from)), "checkpoint")
			if err != nil {
				t.Fatal(err)
			}
			if err := m.Load(f); err != nil {
				t.Fatal(err)
			}
			if err := adam.Restore(f); err != nil {
				t.Fatal(err)
			}
		}
		tp := grad.New(dev)
		for adam.Step() < stop {
			s := noise(100 + adam.Step())
			b := regions(&s)
			if adam.Step()%2 == 1 {
				b = grids(&s)
			}
			m.Params().ZeroGrads()
			tp.Begin(grad.Step{Grad: true, Drop: true, Seed: 3, Number: uint64(adam.Step())})
			l, _, err := m.Loss(tp, b, 0)
			if err != nil {
				t.Fatal(err)
			}
			tp.Backward(l)
			adam.Update(1e-2)
		}
		var out bytes.Buffer
		if err := ckpt.Write(&out, append(ckpt.Params(m.Params(), true), adam.Tensors()...), nil); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	want := train(1, 6, nil)
	for _, threads := range []int{2, 7} {
		if !bytes.Equal(train(threads, 6, nil), want) {
			t.Errorf("%d threads give other bits than one", threads)
		}
	}
	for stop := range 6 {
		if !bytes.Equal(train(2, 6, train(1, stop, nil)), want) {
			t.Errorf("resumed after %d updates: other bits", stop)
		}
	}
	want = train(1, 10, nil)
	for _, l := range cpuinfo.Levels() {
		restore := cpuinfo.Limit(l)
		got := train(2, 10, nil)
		restore()
		if l != cpuinfo.Portable && !bytes.Equal(got, want) {
			t.Errorf("ten updates with %v give other bits", l)
		}
	}
}

// Cross-entropy learns captions that depend on the image and on where things
// are.
func TestCrossEntropyLearns(t *testing.T) {
	m := newModel(t, small(func(c *Config) { c.EncoderShare, c.DecoderShare, c.EncoderMap = nn.ShareKV, nn.ShareKV, []int{0, 0} }))
	s := noise(21)
	b := grids(&s)
	b.Captions = [][]int32{{11, 1, 2, 3, 12}, {11, 1, 2, 4, 12}, {11, 5, 12}, {11, 5, 12}, {11, 6, 7, 8, 9, 12}, {11, 6, 7, 8, 9, 12}}
	adam := optim.NewAdam(m.Params(), optim.AdamConfig{Beta1: 0.9, Beta2: 0.98, Eps: 1e-9, ClipValue: 0.1})
	tp := grad.New(m.dev)
	x := make([]float32, 1)
	for step := range 150 {
		m.Params().ZeroGrads()
		tp.Begin(grad.Step{Grad: true, Number: uint64(step)})
		l, _, err := m.Loss(tp, b, 0)
		if err != nil {
			t.Fatal(err)
		}
		tp.Backward(l)
		tp.Read(x, l)
		adam.Update(5e-3)
	}
	if want := 2 * math.Ln2 / 22; float64(x[0]) > want+0.05 { // the entropy of the one free choice
		t.Errorf("loss %g, want about %g", x[0], want)
	}
	st, err := m.Stepper(&b.Images, 1, false)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	search := decode.Search{Beam: 1, MaxLen: 7, BOS: 11, EOS: 12}
	out, err := search.Run(t.Context(), st, 3)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(out[1][0].Tokens, []int32{5, 12}) || !slices.Equal(out[2][0].Tokens, []int32{6, 7, 8, 9, 12}) || out[0][0].Tokens[0] != 1 {
		t.Errorf("captions %v %v %v", out[0][0].Tokens, out[1][0].Tokens, out[2][0].Tokens)
	}
}

// A step of training allocates nothing besides what the device does.
func TestStepAllocatesNothing(t *testing.T) {
	dev := optest.NewIdle()
	m, err := New(dev, small(func(c *Config) { c.Drop, c.DropSource, c.EncoderMap = nil, nil, []int{0, 0, 1} }), 1)
	if err != nil {
		t.Fatal(err)
	}
	s := noise(1)
	rs, gs := regions(&s), grids(&s)
	adam := optim.NewAdam(m.Params(), optim.AdamConfig{Beta1: 0.9, Beta2: 0.98, Eps: 1e-9, ClipNorm: 1})
	tp := grad.New(dev)
	step := func() {
		for _, b := range []*Batch{rs, gs} {
			m.Params().ZeroGrads()
			tp.Begin(grad.Step{Grad: true, Drop: true, Number: uint64(adam.Step())})
			l, _, err := m.Loss(tp, b, 0.1)
			if err != nil {
				t.Fatal(err)
			}
			tp.Backward(l)
			adam.Update(1e-3)
		}
	}
	for range 3 {
		step()
	}
	if got := testing.AllocsPerRun(10, step); got != 0 {
		t.Errorf("two steps allocate %.1f times", got)
	}
}

func TestFaults(t *testing.T) {
	bad := Config{Width: 15, Heads: 4, EncoderMap: []int{0, 2, 2}, DecoderMap: []int{}, EncoderShare: "vk", EOS: 9}
	one := 1.0
	bad.Drop = &one
	err := bad.Check()
	for _, want := range []string{"width: 15", "heads: 4", "encoder_map: [0 2 2] leaves layer 1 out", "decoder_map: 0 positions", `encoder_share: "vk"`, "vocab: 0", "max_len: 0", "eos: 9", "drop: 1"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	m := newModel(t, small(nil))
	tp := grad.New(m.dev)
	for want, change := range map[string]func(*Batch){
		"0 captions":           func(b *Batch) { b.Captions = nil },
		"5 captions":           func(b *Batch) { b.Captions = b.Captions[:5] },
		"caption 1: token 1":   func(b *Batch) { b.Captions[1][1] = 13 },
		"caption 2: 1 tokens":  func(b *Batch) { b.Captions[2] = b.Captions[2][:1] },
		"caption 0: 9 tokens":  func(b *Batch) { b.Captions[0] = make([]int32, 9) },
		"feature values":       func(b *Batch) { b.Feats = b.Feats[1:] },
		"image 1: 0 vectors":   func(b *Batch) { b.Counts = []int{5, 0, 3} },
		"image 2: box 1":       func(b *Batch) { b.Boxes[4*11+2] = 1.5 },
		"grid of 0x0":          func(b *Batch) { b.Boxes = nil },
		"2 counts for 3 image": func(b *Batch) { b.Counts = b.Counts[:2] },
	} {
		s := noise(4)
		b := regions(&s)
		change(b)
		tp.Begin(grad.Step{})
		if _, _, err := m.Loss(tp, b, 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	s := noise(4)
	st, err := m.Stepper(&regions(&s).Images, 2, false)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	for _, c := range []struct {
		want          string
		source, token []int32
	}{
		{"row 0 continues row 3", []int32{3}, []int32{1}},
		{"row 0: token 13", []int32{0}, []int32{13}},
		{"another image", []int32{0, 1, 1, 1}, []int32{1, 1, 1, 1}},
		{"4 rows of 3 images", []int32{0, 1, 1, 2}, []int32{1, 1, 1, 1}},
		{"more rows than the stepp", slices.Repeat([]int32{0}, 100), make([]int32, 100)},
	} {
		if _, err := st.Step(c.source, c.token); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("step %v: error %v, want %q", c.source, err, c.want)
		}
	}
}
