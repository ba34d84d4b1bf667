package t5_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"espalier/internal/shared"
	"espalier/trainer/ckpt"
	"espalier/trainer/cpu"
	"espalier/trainer/grad"
	"espalier/trainer/model/t5"
	"espalier/trainer/nn"
	"espalier/trainer/op"
	"espalier/trainer/peft"
	"espalier/trainer/peft/lora"
	"espalier/trainer/peft/pefttest"
)

// everything is a method that uses every hook, with values that differ by
// example and by task.
type everything struct{ place peft.Place }

func (m everything) Edit(e *peft.Editor) error {
	g, d := e.Given(), e.Layout().Width
	task := e.PerTask(e.New("all.task", nn.Normal(1), e.Tasks(), g.Cells, g.Visual))
	weights := e.Memo()
	seen := func(p *peft.Pass) grad.Var { // [examples, cells, visual]
		row := p.Row(task.Var(p.Tape), p.Task)
		return p.Once(weights, func() []grad.Var {
			return []grad.Var{p.Tape.Activate(p.Tape.Add(p.Visual, row), op.Tanh)}
		})[0]
	}
	for _, s := range e.Layout().Subs {
		path := "all." + s.Path
		switch s.Kind {
		case peft.FeedForward:
			down := e.New(path+".down", nn.Normal(0.3), g.Visual, d)
			shift := e.New(path+".shift", nn.Normal(0.3), g.Cells, g.Visual)
			e.Outer(s, func(p *peft.Pass, _, x, y grad.Var) grad.Var {
				t := p.Tape
				z := t.Linear(x, down.Var(t), 0, grad.Out{Act: op.GELUTanh}) // [.., visual]
				bias := p.Mean(t.Permute(seen(p), 0, 2, 1))                  // [examples, cells]
				z = p.Linear(z, seen(p), bias, grad.Out{Act: op.Tanh})       // by example: [.., cells]
				z = t.Linear(z, t.Permute(shift.Var(t), 1, 0), 0, grad.Out{})
				return t.Linear(z, t.Permute(down.Var(t), 1, 0), 0, grad.Out{Residual: y})
			})
		default:
			key, value := e.New(path+".key", nn.Normal(0.5), s.Inner, g.Visual), e.New(path+".value", nn.Normal(0.5), s.Inner, g.Visual)
			e.Prefix(s, peft.Prefix{Len: g.Cells, Place: m.place, Make: func(p *peft.Pass) (k, v grad.Var) {
				t := p.Tape
				return t.Linear(seen(p), key.Var(t), 0, grad.Out{}), t.Linear(seen(p), value.Var(t), 0, grad.Out{})
			}})
			shared := e.New(path+".shared", nn.Normal(0.5), 2, s.Inner)
			e.Prefix(s, peft.Prefix{Len: 2, Make: func(p *peft.Pass) (k, v grad.Var) {
				return shared.Var(p.Tape), shared.Var(p.Tape)
			}})
			gate := e.New(path+".gate", nn.Normal(1), s.Inner)
			e.Heads(s, func(p *peft.Pass, q, y grad.Var) grad.Var {
				return p.Tape.Add(y, p.Tape.Mul(q, gate.Var(p.Tape)))
			})
		}
		if s.Kind == peft.SelfAttention {
			in := e.New(path+".inner", nn.Normal(0.3), d)
			e.Inner(s, func(p *peft.Pass, h, x, y grad.Var) grad.Var {
				t := p.Tape
				return t.Add(y, t.Mul(t.Add(h, x), in.Var(t)))
			})
		}
	}
	for _, l := range e.Maps("**.{wo,v}") {
		scale, bias := e.New("all."+l.Path+".scale", nn.Normal(1), l.In), e.New("all."+l.Path+".bias", nn.Normal(0.2), l.Out)
		e.Input(l, func(p *peft.Pass, x grad.Var) grad.Var { return p.Tape.Mul(x, scale.Var(p.Tape)) })
		e.Output(l, func(p *peft.Pass, _, y grad.Var) grad.Var { return p.Tape.Add(y, bias.Var(p.Tape)) })
	}
	gain := e.New("all.gain", nn.Const(1.2), d)
	e.Gain(e.Layout().Norms[1], func(p *peft.Pass) grad.Var { return gain.Var(p.Tape) })
	front, back := e.New("all.front", nn.Normal(1), 3, d), e.New("all.back", nn.Normal(1), d, g.Visual)
	e.Tokens(peft.Encoder, peft.Tokens{Len: 3, Make: func(p *peft.Pass) grad.Var { return front.Var(p.Tape) }})
	e.Tokens(peft.Encoder, peft.Tokens{Len: g.Cells, Back: true, Apart: true, Make: func(p *peft.Pass) grad.Var {
		return p.Tape.Linear(p.Visual, back.Var(p.Tape), 0, grad.Out{})
	}})
	e.Tokens(peft.Decoder, peft.Tokens{Len: 3, Make: func(p *peft.Pass) grad.Var { return front.Var(p.Tape) }})
	return nil
}

func editedModel(t *testing.T, dev op.Device, place peft.Place) (*t5.Model, [][]int32, t5.Images) {
	t.Helper()
	dir := shared.Dir(t, "goldens", "models", "t5-v1_0")
	b, err := t5.Open(dev, dir, t5.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	none := 0.0
	m, err := t5.New(b, t5.Options{
		Methods: []peft.Method{everything{place}}, Drop: &none, Seed: 7,
		Given: peft.Given{Tasks: []string{"a", "b"}, Visual: 5, Cells: 4},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Free)
	in := pefttest.Weights(t, dir, "inputs.safetensors")
	im := t5.Images{Cells: 4, Dim: 5}
	for i := range 3 * 4 * 5 {
		im.Features = append(im.Features, float32((i*37)%11)/5-1)
	}
	return m, pefttest.Texts(pefttest.Rows(t, in, "main/input_ids", "main/attention_mask")), im
}

// Generation token by token gives the scores of the whole sequence whatever is
// edited, also when rows are reordered and examples leave.
func TestCacheOfEditedModels(t *testing.T) {
	for name, place := range map[string]peft.Place{"nowhere": peft.Nowhere, "before": peft.Before, "inside": peft.Inside} {
		dev := cpu.New(2)
		defer dev.Close()
		m, sources, im := editedModel(t, dev, place)
		for task := range 2 {
			checkCache(t, name, m, grad.New(dev), sources, task, im)
		}
		m.Pack()
		checkCache(t, name+", packed", m, grad.New(dev), sources, 1, im)
	}
}

// Two tasks and two images give different scores; a batch is its examples alone.
func TestEditsDependOnTaskAndImage(t *testing.T) {
	dev := cpu.New(2)
	defer dev.Close()
	m, sources, im := editedModel(t, dev, peft.Nowhere)
	tape := grad.New(dev)
	loss := func(task int, rows ...int) float32 {
		b := &t5.Batch{Task: task}
		one := t5.Images{Cells: im.Cells, Dim: im.Dim}
		for _, r := range rows {
			b.Source, b.Target = append(b.Source, sources[r]), append(b.Target, []int32{4, 9, 1})
			one.Features = append(one.Features, im.Features[r*20:][:20]...)
		}
		b.Images = one
		tape.Begin(grad.Step{})
		v, _, err := m.Loss(tape, b, t5.LossOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var x [1]float32
		tape.Read(x[:], v)
		return x[0]
	}
	all := loss(0, 0, 1, 2)
	alone := (loss(0, 0) + loss(0, 1) + loss(0, 2)) / 3
	pefttest.Near(t, "loss of a batch", []float32{all}, []float32{alone}, 1e-4)
	if d := loss(1, 0, 1, 2) - all; d*d < 1e-6 {
		t.Error("the task makes no difference")
	}
	im.Features = slices.Concat(im.Features[20:], im.Features[:20])
	if d := loss(0, 0, 1, 2) - all; d*d < 1e-6 {
		t.Error("the images make no difference")
	}
}

// Every hook passes gradients on: a step along them lowers the loss by what they
// say.
func TestEditsHaveGradients(t *testing.T) {
	dev := cpu.New(2)
	defer dev.Close()
	m, sources, im := editedModel(t, dev, peft.Inside)
	tape := grad.New(dev)
	batch := &t5.Batch{Source: sources, Target: [][]int32{{4, 1}, {9, 3, 1}, {5, 6, 7, 1}}, Task: 1, Images: im}
	m.Params().Train()
	run := func(record bool) float64 {
		tape.Begin(grad.Step{Grad: record})
		v, _, err := m.Loss(tape, batch, t5.LossOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var x [1]float32
		tape.Read(x[:], v)
		if record {
			tape.Backward(v)
		}
		return float64(x[0])
	}
	run(true)
	for _, p := range m.Params().All() {
		if p.Frozen {
			continue
		}
		g, x := make([]float32, p.Len()), pefttest.Value(dev, p)
		dev.Read(g, p.Grad)
		norm := 0.0
		for _, v := range g {
			norm += float64(v) * float64(v)
		}
		if norm == 0 {
			t.Errorf("%s has no gradient", p.Path)
			continue
		}
		// Central difference along the gradient.
		h := 2e-3 / max(pefttest.Largest(g), 1e-3)
		at := func(s float64) float64 {
			y := slices.Clone(x)
			for i := range y {
				y[i] += float32(s * h * float64(g[i]))
			}
			if err := m.Params().Set(p.Path, y); err != nil {
				t.Fatal(err)
			}
			return run(false)
		}
		slope := (8*(at(0.5)-at(-0.5)) - (at(1) - at(-1))) / (6 * h)
		if err := m.Params().Set(p.Path, x); err != nil {
			t.Fatal(err)
		}
		if d := abs(slope - norm); d > 0.03*norm+1e-3 {
			t.Errorf("%s: slope %g along the gradient, want %g", p.Path, slope, norm)
		}
	}
}

// With matrices as bfloat16 scores stay near, changes of them are trained, and a
// matrix that is itself trained starts as the file has it.
func TestHalf(t *testing.T) {
	dir := shared.Dir(t, "goldens", "models", "t5-v1_1")
	dev := cpu.New(2)
	defer dev.Close()
	b, err := t5.Open(dev, dir, t5.OpenOptions{Half: true})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	none := 0.0
	m, err := t5.New(b, t5.Options{Methods: []peft.Method{&lora.Method{}, trainOne{}}, Drop: &none})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Free()
	q := "encoder.block.1.layer.0.SelfAttention.q.weight"
	want := pefttest.Floats(t, pefttest.Weights(t, dir, "model.safetensors"), q)
	if got := pefttest.Value(dev, m.Params().Get(q)); !slices.Equal(got, want) {
		t.Error("a trained matrix is rounded")
	}
	in := pefttest.Weights(t, dir, "inputs.safetensors")
	src, labels := pefttest.Rows(t, in, "main/input_ids", "main/attention_mask"), pefttest.Rows(t, in, "main/labels", "")
	tape := grad.New(dev)
	tape.Begin(grad.Step{})
	logits, err := m.Logits(tape, src, pefttest.Shifted(m, labels), 0, t5.Images{})
	if err != nil {
		t.Fatal(err)
	}
	got := make([]float32, tape.Value(logits).Len())
	tape.Read(got, logits)
	exact := pefttest.Floats(t, pefttest.Weights(t, dir, "outputs64.safetensors"), "main/logits")
	pefttest.Near(t, "logits", got, exact, 0.06*pefttest.Largest(exact))
	if slices.Equal(got, exact) {
		t.Error("nothing was rounded")
	}
	m.Params().Train()
	tape.Begin(grad.Step{Grad: true})
	loss, _, err := m.Loss(tape, &t5.Batch{Source: pefttest.Texts(src), Target: pefttest.Texts(labels)}, t5.LossOptions{})
	if err != nil {
		t.Fatal(err)
	}
	tape.Backward(loss)
	p := m.Params().Get("encoder.block.0.layer.0.SelfAttention.q.lora_B.weight")
	g := make([]float32, p.Len())
	if dev.Read(g, p.Grad); pefttest.Largest(g) == 0 {
		t.Error("no gradient through matrices of bfloat16")
	}
	if err := dev.Err(); err != nil {
		t.Error(err)
	}
}

// trainOne trains one matrix.
type trainOne struct{}

func (trainOne) Edit(e *peft.Editor) error {
	e.Train("encoder.block.1.layer.0.SelfAttention.q.weight")
	return nil
}

// Weights in shards are the same model, and a mapped backbone stays whole while
// a model of it is left.
func TestShards(t *testing.T) {
	dir := shared.Dir(t, "goldens", "models", "t5-v1_1")
	w := pefttest.Weights(t, dir, "model.safetensors")
	out := t.TempDir()
	config, err := os.ReadFile(filepath.Join(dir, "config.json"))
	if err != nil {
		t.Fatal(err)
	}
	index := map[string]map[string]string{"weight_map": {}}
	parts := map[string][]ckpt.Tensor{}
	for i, name := range w.Names() {
		file := fmt.Sprintf("model-%05d-of-00003.safetensors", i%3+1)
		in, _ := w.Info(name)
		parts[file] = append(parts[file], ckpt.Slice(name, pefttest.Floats(t, w, name), in.Shape...))
		index["weight_map"][name] = file
	}
	text, err := json.Marshal(index)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"config.json": config, "model.safetensors.index.json": text} {
		if err := os.WriteFile(filepath.Join(out, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, tensors := range parts {
		f, err := os.Create(filepath.Join(out, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(ckpt.Write(f, tensors, nil), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	dev := cpu.New(1)
	defer dev.Close()
	whole, err := t5.Open(dev, dir, t5.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer whole.Close()
	b, err := t5.Open(dev, out, t5.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if b.Digest != whole.Digest || b.Mapped() == 0 {
		t.Errorf("digest %.12s of %d mapped tensors, want %.12s", b.Digest, b.Mapped(), whole.Digest)
	}
	m, err := t5.New(b, t5.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	p := m.Params().Get("decoder.block.1.layer.2.DenseReluDense.wo.weight")
	if got := pefttest.Value(dev, p); !p.Bound() || !slices.Equal(got, pefttest.Floats(t, w, p.Path)) {
		t.Error("a shared tensor has other values once its backbone is closed")
	}
	m.Free()
}
