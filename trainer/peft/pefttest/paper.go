package pefttest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"espalier/internal/shared"
	"espalier/trainer/ckpt"
	"espalier/trainer/decode"
	"espalier/trainer/grad"
	"espalier/trainer/model/t5"
	"espalier/trainer/nn"
	"espalier/trainer/op"
	"espalier/trainer/peft"
)

// PaperPath returns the parameter that the HyperPELT goldens call by a short
// name, such as enc.0.self.q for encoder.block.0.layer.0.SelfAttention.q.weight,
// or "" if the name is none of the backbone's. What stands behind the name stays
// behind the path without ".weight": enc.0.self.q.a gives
// encoder.block.0.layer.0.SelfAttention.q.a.
func PaperPath(name string) string {
	switch name {
	case "shared":
		return "shared.weight"
	case "enc.norm", "dec.norm":
		return name[:3] + "oder.final_layer_norm.weight"
	case "enc.relative_bias", "dec.relative_bias":
		return name[:3] + "oder.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
	}
	m := regexp.MustCompile(`^(enc|dec)\.(\d+)\.(self|cross|ffn|norm_self|norm_cross|norm_ffn)(\.(q|k|v|o|wi|wo))?(\..*)?$`).FindStringSubmatch(name)
	if m == nil {
		return ""
	}
	kind := strings.TrimPrefix(m[3], "norm_")
	layer, module := 0, "SelfAttention"
	switch {
	case kind == "cross":
		layer, module = 1, "EncDecAttention"
	case kind == "ffn" && m[1] == "enc":
		layer, module = 1, "DenseReluDense"
	case kind == "ffn":
		layer, module = 2, "DenseReluDense"
	}
	path := fmt.Sprintf("%soder.block.%s.layer.%d.", m[1], m[2], layer)
	if kind != m[3] {
		return path + "layer_norm.weight" + m[6]
	}
	path += module + m[4]
	if m[6] != "" || m[4] == "" {
		return path + m[6]
	}
	return path + ".weight"
}

// A renamed is weights under other names.
type renamed struct {
	ckpt.Weights
	names map[string]string
}

func (r renamed) Info(name string) (ckpt.Info, bool)    { return r.Weights.Info(r.names[name]) }
func (r renamed) Raw(name string) ([]byte, error)       { return r.Weights.Raw(r.names[name]) }
func (r renamed) Floats(name string) ([]float32, error) { return r.Weights.Floats(r.names[name]) }
func (r renamed) Names() []string                       { return nil }

// Sizes are those of the models of the HyperPELT goldens.
type Sizes struct {
	Width, Heads, Hidden, Layers, Vocab, Buckets, Far int // of the backbone
	Rows, Mid, Embedding                              int // of hyper-embeddings
	Bottleneck, TaskWidth, PrefixMid                  int
	Feature                                           int // length of a visual feature; Rows of them
}

// readSizes reads the sizes of a folder of goldens.
func readSizes(t testing.TB, dir string) Sizes {
	t.Helper()
	var about struct{ Config map[string]int }
	JSON(t, &about, dir, "hyperpelt.json")
	c := about.Config
	return Sizes{
		c["d"], c["heads"], c["ffn"], c["layers"], c["vocab"], c["buckets"], c["far"],
		c["rows"], c["mid"], c["d_i"], c["d_mid"], c["task_dim"], c["prefix_mid"], c["feat"],
	}
}

// paperDir is the folder of the shared goldens.
func paperDir(t testing.TB) string { return shared.Dir(t, "goldens", "papers", "hyperpelt") }

// smallDir is the folder of the small ones, which lie in the repository.
func smallDir(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	for err == nil {
		if _, missing := os.Stat(filepath.Join(dir, "go.mod")); missing == nil {
			break
		}
		if up := filepath.Dir(dir); up != dir {
			dir = up
			continue
		}
		err = errors.New("pefttest: no go.mod above the test")
	}
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "trainer", "peft", "pefttest", "testdata", "hyperpelt")
}

// PaperBackbone opens the backbone of the HyperPELT goldens.
func PaperBackbone(t testing.TB, dev op.Device) *t5.Backbone {
	t.Helper()
	return backbone(t, dev, paperDir(t))
}

func backbone(t testing.TB, dev op.Device, dir string) *t5.Backbone {
	t.Helper()
	w := Weights(t, dir, "base.safetensors")
	r := renamed{w, map[string]string{}}
	for _, name := range w.Names() {
		if path := PaperPath(name); path != "" {
			r.names[path] = name
		}
	}
	z, none := readSizes(t, dir), 0.0
	b, err := t5.NewBackbone(dev, t5.Config{
		Vocab: z.Vocab, Width: z.Width, HeadWidth: z.Width / z.Heads, Hidden: z.Hidden, Layers: z.Layers, Heads: z.Heads,
		Buckets: z.Buckets, MaxDistance: z.Far, Drop: &none,
	}, r, t5.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Tasks are the tasks of the HyperPELT goldens.
var Tasks = []string{"a", "b", "c"}

// A Paper is a case of the HyperPELT goldens: three tasks, of which the batch
// is the second, and grids of features.
type Paper struct {
	File string // such as hyperpelt
	// Rename gives the path of a parameter for the golden's name, "" for those
	// that are not ours; path[2] is the third row of its first axis. Names of the
	// backbone are renamed by PaperPath.
	Rename func(name string) string
	Images bool // give the model the images
	Boxes  bool // which the method reads too
	// Zero are patterns of trained parameters that the golden does not have;
	// they are set to zero.
	Zero []string
	// Seen, if set, is called behind the pass over the golden's batch.
	Seen func(t *testing.T, w ckpt.Weights, m *t5.Model, tape *grad.Tape)
}

// Given is what the shared goldens' models are run on.
func (g Paper) Given() peft.Given { return g.given(Sizes{Feature: 11, Rows: 9}) }

func (g Paper) given(z Sizes) peft.Given {
	if g.Images {
		return peft.Given{Tasks: Tasks, Visual: z.Feature, Cells: z.Rows}
	}
	return peft.Given{Tasks: Tasks}
}

// RunBoth runs the case on the small goldens of the repository and on the shared
// ones, with the methods that fit their sizes.
func (g Paper) RunBoth(t *testing.T, methods func(z Sizes) []peft.Method) {
	t.Helper()
	t.Run("small", func(t *testing.T) { g.run(t, smallDir(t), methods) })
	t.Run("shared", func(t *testing.T) { g.run(t, paperDir(t), methods) })
}

// Run runs the case on the shared goldens: it edits the backbone with the
// methods, sets all trained parameters to the golden's, and compares logits,
// loss, all gradients and what greedy search gives.
func (g Paper) Run(t *testing.T, methods ...peft.Method) {
	t.Helper()
	g.run(t, paperDir(t), func(Sizes) []peft.Method { return methods })
}

func (g Paper) run(t *testing.T, dir string, methods func(z Sizes) []peft.Method) {
	t.Helper()
	w := Weights(t, dir, g.File+".safetensors")
	var about struct {
		Methods map[string]struct {
			Loss      float64 `json:"loss_f64"`
			Trainable int     `json:"trainable"`
		}
		Losses map[string][]float64 `json:"losses_by_task"`
	}
	JSON(t, &about, dir, "hyperpelt.json")
	method := about.Methods[g.File]
	want := &run{logits: Wide(t, w, "logits_f64"), loss: []float64{method.Loss}}
	exact := g.on(t, Exact(), dir, methods, w)
	if g.Boxes {
		exact.near(t, want, boxesWithin)
	} else {
		exact.near(t, want, exactWithin)
	}
	got := g.on(t, Fast(), dir, methods, w)
	Near(t, "logits", got.logits, want.logits, 1e-4)
	Near(t, "loss", got.loss, want.loss, 1e-5)
	for task, want := range about.Losses[g.File] {
		Near(t, fmt.Sprintf("float64: loss of task %d", task), exact.tasks[task:][:1], []float64{want}, 2e-6) // of a float32 run
		Near(t, fmt.Sprintf("loss of task %d", task), got.tasks[task:][:1], exact.tasks[task:][:1], 1e-5)
	}
	if len(g.Zero) == 0 && got.trained != method.Trainable {
		t.Errorf("%d trained values, want %d", got.trained, method.Trainable)
	}
	// The golden's gradients are of a float32 run, as ours are: both are held to
	// those in float64.
	for name := range exact.gradients {
		if _, ok := w.Info("grad/" + name); !ok {
			delete(exact.gradients, name)
		}
	}
	theirs := &run{gradients: map[string][]float64{}}
	for _, name := range w.Names() {
		if short, ok := strings.CutPrefix(name, "grad/"); ok {
			theirs.gradients[short] = Wide(t, w, name)
			if exact.gradients[short] == nil {
				t.Errorf("%s has no gradient", name)
			}
		}
	}
	near := within(g.on(t, Rounding(), dir, methods, w).farthest(exact))
	theirs.nearGradients(t, "golden's ", exact, near)
	got.nearGradients(t, "", exact, near)
}

// on computes the golden's case on a device.
func (g Paper) on(t *testing.T, d op.Device, dir string, methods func(z Sizes) []peft.Method, w ckpt.Weights) *run {
	t.Helper()
	defer d.Close()
	b := backbone(t, d, dir)
	defer b.Close()
	z := readSizes(t, dir)
	m, err := t5.New(b, t5.Options{Methods: methods(z), Given: g.given(z), Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Free()
	paths := g.set(t, m, w)
	in := Weights(t, dir, "base.safetensors")
	src, labels := Rows(t, in, "inputs/source", "inputs/source_mask"), Rows(t, in, "inputs/labels", "")
	var im t5.Images
	if g.Images {
		im = images(t, dir)
	}
	tape := grad.New(d)
	tape.Begin(grad.Step{})
	logits, err := m.Logits(tape, src, Rows(t, in, "inputs/decoder_input", ""), 1, im)
	if err != nil {
		t.Fatal(err)
	}
	out := &run{logits: Numbers(d, tape.Value(logits)), gradients: map[string][]float64{}, trained: m.Params().CountTrained()}
	if g.Seen != nil {
		g.Seen(t, w, m, tape)
	}
	batch := &t5.Batch{Source: Texts(src), Target: Texts(labels), Task: 1, Images: im}
	loss := func(s grad.Step, b *t5.Batch) grad.Var {
		tape.Begin(s)
		l, _, err := m.Loss(tape, b, t5.LossOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	m.Params().Train()
	l := loss(grad.Step{Grad: true}, batch)
	out.loss = Numbers(d, tape.Value(l))
	tape.Backward(l)
	for short, at := range paths {
		path, row := rowOf(at)
		if p := m.Params().Get(path); p != nil && !p.Grad.IsZero() {
			out.gradients[short] = part(row, p, Numbers(d, p.Grad))
		}
	}
	for task := range Tasks {
		of := *batch
		of.Task = task
		out.tasks = append(out.tasks, Numbers(d, tape.Value(loss(grad.Step{}, &of)))...)
	}
	g.greedy(t, m, w, batch)
	if err := d.Err(); err != nil {
		t.Error(err)
	}
	return out
}

// set gives trained parameters the golden's values and returns the path of
// each name; gains keep those of the backbone.
func (g Paper) set(t *testing.T, m *t5.Model, w ckpt.Weights) map[string]string {
	t.Helper()
	paths, done := map[string]string{}, map[string]bool{}
	for _, name := range w.Names() {
		if gain, ok := strings.CutPrefix(name, "grad/gain/"); ok {
			paths["gain/"+gain] = PaperPath(gain)
			done[PaperPath(gain)] = true
		}
		short, ok := strings.CutPrefix(name, "x/")
		if !ok {
			continue
		}
		paths[short] = g.Rename(short)
		if paths[short] == "" {
			continue
		}
		path, row := rowOf(paths[short])
		x := Floats(t, w, name)
		if p := m.Params().Get(path); p != nil && row >= 0 {
			all := Value(m.Params().Device(), p)
			copy(part(row, p, all), x)
			x = all
		}
		if err := m.Params().Set(path, x); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		done[path] = true
	}
	for _, p := range m.Params().All() {
		if p.Frozen || done[p.Path] {
			continue
		}
		if slices.ContainsFunc(g.Zero, func(pattern string) bool { return peft.Match(pattern, p.Path) }) {
			if err := m.Params().Set(p.Path, make([]float32, p.Len())); err != nil {
				t.Error(err)
			}
			continue
		}
		t.Errorf("%s is trained, the golden has no such parameter", p.Path)
	}
	return paths
}

// A row is one of a parameter's first axis; -1 is all.
type row int

// rowOf splits a path as Rename gives it.
func rowOf(path string) (string, row) {
	name, rest, ok := strings.Cut(path, "[")
	if !ok {
		return path, -1
	}
	n, err := strconv.Atoi(strings.TrimSuffix(rest, "]"))
	if err != nil {
		panic("pefttest: a row is a number")
	}
	return name, row(n)
}

// part returns a row's part of a parameter's values.
func part[F float32 | float64](r row, p *nn.Param, x []F) []F {
	if r < 0 {
		return x
	}
	n := len(x) / p.Shape[0]
	return x[int(r)*n:][:n]
}

// PaperImages are the grids of the goldens' batch, with their boxes and the
// boxes' area.
func PaperImages(t testing.TB) t5.Images {
	t.Helper()
	return images(t, paperDir(t))
}

func images(t testing.TB, dir string) t5.Images {
	t.Helper()
	in, z := Weights(t, dir, "base.safetensors"), readSizes(t, dir)
	im := t5.Images{Cells: z.Rows, Dim: z.Feature, Features: Floats(t, in, "inputs/grid_features")}
	boxes := Floats(t, in, "inputs/boxes_x1x2y1y2")
	for i := 0; i < len(boxes); i += 4 {
		b := boxes[i:][:4]
		im.Boxes = append(append(im.Boxes, b...), float32((b[1]-b[0])*(b[3]-b[2])))
	}
	return im
}

// Model opens the backbone with the methods, without images, for tests of what
// generated weights do. The caller frees the model.
func Model(t testing.TB, dev op.Device, g peft.Given, methods ...peft.Method) *t5.Model {
	t.Helper()
	b := PaperBackbone(t, dev)
	defer b.Close()
	m, err := t5.New(b, t5.Options{Methods: methods, Given: g, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Value reads a parameter.
func Value(dev op.Device, p *nn.Param) []float32 {
	x := make([]float32, p.Len())
	dev.Read(x, p.Value)
	return x
}

// greedy compares what greedy search gives, without a stop at EOS.
func (g Paper) greedy(t *testing.T, m *t5.Model, w ckpt.Weights, b *t5.Batch) {
	t.Helper()
	in, ok := w.Info("greedy")
	if !ok {
		return
	}
	n := in.Shape[1] - 1
	s := decode.Generation{MaxNew: n, EOS: -1}
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	st, err := m.Stepper(b.Source, b.Task, b.Images, 1, n)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	got, err := s.Run(t.Context(), st, make([]uint64, len(b.Source)))
	if err != nil {
		t.Fatal(err)
	}
	want := Ints(t, w, "greedy")
	for i := range got {
		if row := want[i*(n+1)+1:][:n]; !slices.Equal(got[i][0].Tokens, row) {
			t.Errorf("greedy search of input %d gives %v, want %v", i, got[i][0].Tokens, row)
		}
	}
}
