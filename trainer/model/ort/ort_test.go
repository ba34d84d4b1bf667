package ort

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"espalier/internal/shared"
	"espalier/trainer/ckpt"
	"espalier/trainer/cpu"
	"espalier/trainer/decode"
	"espalier/trainer/grad"
	"espalier/trainer/nn"
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

func TestParameterCounts(t *testing.T) {
	word := Config{Vocab: 10001, BOS: 2, EOS: 3, MaxLen: 18}
	radix := func(v int) Config {
		return Config{Vocab: v + 3, BOS: int32(v + 1), EOS: int32(v + 2), MaxLen: 26}
	}
	tokens := func(c, with Config) Config {
		c.Vocab, c.BOS, c.EOS, c.MaxLen = with.Vocab, with.BOS, with.EOS, with.MaxLen
		return c
	}
	base, _ := Preset("ort-base")
	with := func(f func(*Config)) Config { c := base; f(&c); return c }
	maps := func(at ...int) Config { return with(func(c *Config) { c.EncoderMap, c.DecoderMap = at, at }) }
	for name, c := range map[string]struct {
		config Config
		want   int
	}{
		"ort-base":      {tokens(base, word), 55_443_777},
		"radix 256":     {tokens(base, radix(256)), 45_458_227},
		"radix 512":     {tokens(base, radix(512)), 45_720_627},
		"radix 768":     {tokens(base, radix(768)), 45_983_027},
		"radix 1024":    {tokens(base, radix(1024)), 46_245_427},
		"map of 1":      {tokens(maps(0, 0, 0, 0, 0, 0), word), 18_659_097},
		"map of 2":      {tokens(maps(0, 0, 0, 1, 1, 1), word), 26_016_033},
		"map of 3":      {tokens(maps(0, 0, 1, 1, 2, 2), word), 33_372_969},
		"map of 4":      {tokens(maps(0, 1, 2, 3, 3, 3), word), 40_729_905},
		"map of 5":      {tokens(maps(0, 1, 2, 3, 4, 4), word), 48_086_841},
		"kv":            {tokens(with(func(c *Config) { c.EncoderShare, c.DecoderShare = nn.ShareKV, nn.ShareKV }), word), 50_715_969},
		"qk":            {tokens(with(func(c *Config) { c.EncoderShare, c.DecoderShare = nn.ShareQK, nn.ShareQK }), word), 50_715_969},
		"kv in encoder": {tokens(with(func(c *Config) { c.EncoderShare = nn.ShareKV }), word), 53_867_841},
		"kv in decoder": {tokens(with(func(c *Config) { c.DecoderShare = nn.ShareKV }), word), 52_291_905},
	} {
		if got := count(t, c.config); got != c.want {
			t.Errorf("%s: %d parameters, want %d", name, got, c.want)
		}
	}
	for name, want := range map[string]int{
		"ort-base": 55_443_777, "ort-base-4": 40_729_905, "ort-base-2": 26_016_033, "ort-small": 16_718_401, "ort-xsmall": 4_143_897,
		"acort-base": 14_979_347, "acort-base-al": 8_410_379, "acort-small": 4_213_779, "acort-xsmall": 2_567_435,
	} {
		c, ok := Preset(name)
		if !ok || !slices.Contains(Presets(), name) {
			t.Errorf("no preset %s", name)
		}
		if strings.HasPrefix(name, "acort") {
			c = tokens(c, radix(768))
		} else {
			c = tokens(c, word)
		}
		if got := count(t, c); got != want {
			t.Errorf("%s: %d parameters, want %d", name, got, want)
		}
	}
	if len(Presets()) != 9 {
		t.Errorf("%d presets", len(Presets()))
	}
}

func count(t *testing.T, c Config) int {
	t.Helper()
	m, err := declare(nil, c, 1)
	if err != nil {
		t.Fatal(err)
	}
	return m.params.Count()
}

// All 25 configurations that the public classes were instantiated with, by
// groups of tensors, and the names and shapes of two.
func TestParameterCountsByGroup(t *testing.T) {
	f, err := os.Open(shared.Dir(t, "goldens", "papers", "acort", "parameter_counts.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<20)
	lines := 0
	for ; sc.Scan(); lines++ {
		var line struct {
			refJSON
			Name    string
			Total   int
			Groups  map[string]int
			Unique  int              `json:"unique_tensors"`
			Tensors map[string][]int `json:"tensors"`
		}
		if err := json.Unmarshal(sc.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		m, err := declare(nil, line.config(), 1)
		if err != nil {
			t.Fatalf("%s: %v", line.Name, err)
		}
		if got := m.params.Count(); got != line.Total {
			t.Errorf("%s: %d parameters, want %d", line.Name, got, line.Total)
		}
		groups := map[string]int{}
		for _, p := range m.params.All() {
			groups[groupOf(p.Path)] += p.Len()
		}
		for g, want := range line.Groups {
			if groups[g] != want {
				t.Errorf("%s: %d parameters in %s, want %d", line.Name, groups[g], g, want)
			}
		}
		unique := 0
		for _, p := range m.Published() {
			unique += len(p.Names)
			for _, name := range p.Names {
				want, ok := line.Tensors[name]
				if got := shapeOf(m.params.Get(p.Path).Shape, len(p.Names)); line.Tensors != nil && (!ok || !slices.Equal(got, want)) {
					t.Errorf("%s: %s has shape %v, want %v", line.Name, name, got, want)
				}
			}
		}
		if unique != line.Unique {
			t.Errorf("%s: %d published tensors, want %d", line.Name, unique, line.Unique)
		}
	}
	if lines != 25 {
		t.Errorf("%d lines, want 25", lines)
	}
}

func groupOf(path string) string {
	kind, _, _ := strings.Cut(path, ".")
	switch {
	case strings.HasPrefix(path, "feature"):
		return "feature_embedding"
	case strings.HasPrefix(path, "token"):
		return "token_embedding"
	case strings.HasPrefix(path, "output"):
		return "output_layer"
	case strings.HasPrefix(path, kind+".norm"):
		return kind + "_final_norm"
	case strings.Contains(path, "_norm."):
		return kind + "_layer_norms"
	case strings.Contains(path, "geometry"):
		return kind + "_geometry"
	case strings.Contains(path, ".ffn."):
		return kind + "_ffn"
	case strings.Contains(path, "cross_attn"):
		return kind + "_cross_attention"
	}
	return kind + "_self_attention"
}

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
}

func TestAdvantages(t *testing.T) {
	rewards := []float64{5.310805, 5.586917, 0.499461, 1, 1, 4}
	all, err := Advantages(rewards, 3, MeanOfAll)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "mean of all", all[:3], []float32{1.511744, 1.787856, -3.299600}, 2e-6)
	others, err := Advantages(rewards, 3, LeaveOneOut)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "leave one out", others[:3], []float32{2.267616, 2.681784, -4.949400}, 2e-6)
	for i := range all {
		if math.Abs(float64(others[i]-1.5*all[i])) > 1e-5 {
			t.Errorf("advantage %d: %g and %g, want a factor 3/2", i, all[i], others[i])
		}
	}
	for _, a := range [][]float32{all, others} {
		for i := 0; i < len(a); i += 3 {
			if sum := a[i] + a[i+1] + a[i+2]; math.Abs(float64(sum)) > 1e-5 {
				t.Errorf("advantages of an image sum to %g", sum)
			}
		}
	}
	if _, err := Advantages(rewards, 1, LeaveOneOut); err == nil {
		t.Error("leave-one-out of one sample: no error")
	}
	if _, err := Advantages(rewards, 4, MeanOfAll); err == nil {
		t.Error("six rewards in groups of four: no error")
	}
	if _, err := Advantages(rewards, 3, "median"); err == nil {
		t.Error("unknown baseline: no error")
	}
}

// A sampled PAD counts for nothing, EOS counts.
func TestSampleLossMask(t *testing.T) {
	m := newModel(t, small(nil))
	m.Params().Train()
	s := noise(1)
	im := &grids(&s).Images
	tp := grad.New(m.dev)
	run := func(samples [][]int32, advantage []float32) (float32, int, []float32) {
		m.Params().ZeroGrads()
		tp.Begin(grad.Step{Grad: true})
		l, n, err := m.SampleLoss(tp, im, samples, advantage)
		if err != nil {
			t.Fatal(err)
		}
		x, g := make([]float32, 1), make([]float32, 13)
		tp.Read(x, l)
		tp.Backward(l)
		m.dev.Read(g, m.Params().Get("output.bias").Grad)
		return x[0], n, g
	}
	_, tokens, g := run([][]int32{{3, 0, 12}, {4, 12}, {5, 6}}, []float32{1, 0, 0})
	if tokens != 6 {
		t.Errorf("%d tokens, want 6: PAD does not count", tokens)
	}
	if !(g[12] < 0 && g[3] < 0 && g[0] > 0) {
		t.Errorf("gradient of the biases %v: want the sampled token and EOS to rise, PAD to fall", g)
	}
	loss, _, g := run([][]int32{{3, 0, 12}, {4, 12}, {5, 6}}, []float32{0, 0, 0})
	if loss != 0 || largest(g) != 0 {
		t.Errorf("without advantage: loss %g, gradient %g", loss, largest(g))
	}
}

// A bandit: the reward is the share of one token, and it rises.
func TestSamplesLearn(t *testing.T) {
	m := newModel(t, small(nil))
	s := noise(1)
	im := &grids(&s).Images
	adam := optim.NewAdam(m.Params(), optim.AdamConfig{Beta1: 0.9, Beta2: 0.999, Eps: 1e-8})
	tp := grad.New(m.dev)
	const n = 8
	mean := func(step int) float64 {
		draw := decode.Sampling{N: n, MaxLen: 5, BOS: 11, EOS: 12, Temperature: 1, Seed: uint64(step)}
		st, err := m.Stepper(im, n, false)
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		out, err := draw.Run(t.Context(), st, []uint64{1, 2, 3})
		if err != nil {
			t.Fatal(err)
		}
		var samples [][]int32
		var rewards []float64
		total := 0.0
		for _, hs := range out {
			for _, h := range hs {
				r := 0.0
				for _, id := range h.Tokens {
					if id == 4 {
						r++
					}
				}
				samples, rewards, total = append(samples, h.Tokens), append(rewards, r/5), total+r/5
			}
		}
		advantage, err := Advantages(rewards, n, LeaveOneOut)
		if err != nil {
			t.Fatal(err)
		}
		m.Params().ZeroGrads()
		tp.Begin(grad.Step{Grad: true})
		l, _, err := m.SampleLoss(tp, im, samples, advantage)
		if err != nil {
			t.Fatal(err)
		}
		tp.Backward(l)
		adam.Update(2e-3)
		return total / (3 * n)
	}
	first, last := 0.0, 0.0
	for step := range 60 {
		r := mean(step)
		if step == 0 {
			first = r
		}
		if step >= 55 {
			last += r / 5
		}
	}
	if last < 2*first || last < 0.7 {
		t.Errorf("mean reward %g at first, %g at last: it did not rise", first, last)
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

// A state dictionary of the public code names shared tensors once for each
// position and holds the table of positions.
func TestLoadStateDictionary(t *testing.T) {
	change := func(c *Config) { c.EncoderMap, c.DecoderMap = []int{0, 1, 1}, []int{0, 0} }
	a, b := newModel(t, small(change)), newModel(t, small(change))
	for _, p := range b.Params().All() {
		b.dev.Zero(p.Value)
	}
	var tensors []ckpt.Tensor
	for _, p := range a.Published() {
		param := a.Params().Get(p.Path)
		x := make([]float32, param.Len())
		a.dev.Read(x, param.Value)
		size := len(x) / len(p.Names)
		for i, name := range p.Names {
			part := x[i*size:][:size]
			shape := shapeOf(param.Shape, len(p.Names))
			tensors = append(tensors, ckpt.Slice(name, part, shape...))
			if strings.Contains(name, "encoder.layers.1.") {
				tensors = append(tensors, ckpt.Slice(strings.Replace(name, "layers.1.", "layers.2.", 1), part, shape...))
			}
		}
	}
	tensors = append(tensors, ckpt.Slice("model.tgt_embed.1.pe", make([]float32, 8), 1, 8))
	load := func(ts []ckpt.Tensor) error {
		var buf bytes.Buffer
		if err := ckpt.Write(&buf, ts, nil); err != nil {
			t.Fatal(err)
		}
		f, err := ckpt.Open(bytes.NewReader(buf.Bytes()), int64(buf.Len()), "state")
		if err != nil {
			t.Fatal(err)
		}
		return b.Load(f)
	}
	if err := load(tensors); err != nil {
		t.Fatal(err)
	}
	for _, p := range a.Params().All() {
		x, y := make([]float32, p.Len()), make([]float32, p.Len())
		a.dev.Read(x, p.Value)
		b.dev.Read(y, b.Params().Get(p.Path).Value)
		if !slices.Equal(x, y) {
			t.Errorf("%s differs after loading", p.Path)
		}
	}
	if err := load(tensors[1:]); err == nil || !strings.Contains(err.Error(), "att_embed.0.weight is missing") {
		t.Errorf("missing tensor: %v", err)
	}
	tensors[0] = ckpt.Slice("att_embed.0.weight", make([]float32, 16), 2, 8)
	if err := load(tensors); err == nil || !strings.Contains(err.Error(), "att_embed.0.weight has shape [2 8], want [16 6]") {
		t.Errorf("other shape: %v", err)
	}
}
