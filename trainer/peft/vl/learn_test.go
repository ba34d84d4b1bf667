package vl

import (
	"math/rand/v2"
	"testing"

	"espalier/trainer/cpu"
	"espalier/trainer/decode"
	"espalier/trainer/grad"
	"espalier/trainer/model/t5"
	"espalier/trainer/optim"
	"espalier/trainer/peft"
	"espalier/trainer/peft/full"
	"espalier/trainer/peft/hyper"
)

// A world of images of a few cells, each of some colour: a question names a
// cell, the answer is its colour.
const (
	cells    = 4
	tints    = 3
	eos      = 1
	question = 2                // id of the question about the first cell
	answer   = question + cells // id of the first colour
	length   = cells * tints    // of a feature: which cell, of which colour
)

// ask makes questions about random images. Blind images have features of zeros.
func ask(r *rand.Rand, n int, blind bool) *t5.Batch {
	b := &t5.Batch{Images: t5.Images{Cells: cells, Dim: length, Features: make([]float32, n*cells*length)}}
	for i := range n {
		about := r.IntN(cells)
		var tint int
		for c := range cells {
			colour := r.IntN(tints)
			if c == about {
				tint = colour
			}
			if !blind {
				b.Images.Features[(i*cells+c)*length+c*tints+colour] = 1
			}
		}
		b.Source = append(b.Source, []int32{int32(question + about), eos})
		b.Target = append(b.Target, []int32{int32(answer + tint), eos})
	}
	return b
}

// learn trains a method over a random model and returns its share of right
// answers to questions about other images.
func learn(t *testing.T, steps int, blind bool, methods ...peft.Method) float64 {
	t.Helper()
	dev := cpu.New(2)
	defer dev.Close()
	none, end := 0.0, int32(eos)
	b, err := t5.Random(dev, t5.Config{Vocab: answer + tints, Width: 32, HeadWidth: 8, Hidden: 64, Layers: 2, Heads: 4, Drop: &none, EOS: &end}, 5)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	model, err := t5.New(b, t5.Options{Methods: methods, Given: peft.Given{Tasks: []string{"vqa"}, Visual: length, Cells: cells}, Seed: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer model.Free()
	opt := optim.NewAdam(model.Params(), optim.AdamConfig{Beta1: 0.9, Beta2: 0.999, Eps: 1e-8})
	defer opt.Free()
	tape := grad.New(dev)
	r := rand.New(rand.NewPCG(1, 2))
	for n := range steps {
		tape.Begin(grad.Step{Grad: true, Number: uint64(n)})
		model.Params().ZeroGrads()
		loss, _, err := model.Loss(tape, ask(r, 32, blind), t5.LossOptions{})
		if err != nil {
			t.Fatal(err)
		}
		tape.Backward(loss)
		opt.Update(3e-3)
	}
	g := decode.Generation{MaxNew: 2, EOS: eos}
	if err := g.Check(); err != nil {
		t.Fatal(err)
	}
	const asked = 200
	batch := ask(r, asked, blind)
	st, err := model.Stepper(batch.Source, 0, batch.Images, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	out, err := g.Run(t.Context(), st, make([]uint64, asked))
	if err != nil {
		t.Fatal(err)
	}
	right := 0
	for i := range out {
		if out[i][0].Tokens[0] == batch.Target[i][0] {
			right++
		}
	}
	return float64(right) / asked
}

// The colour of a cell is learnt through the image alone (spec/hyperpelt.md
// 18.14): with it nearly all answers about other images are right, with
// features of zeros about one in three. The models are random, so they are
// trained too.
func TestLearnsColours(t *testing.T) {
	s := hyper.Settings{Rows: cells, Hidden: 32, Width: 16, Reduction: 2}
	for _, c := range []struct {
		name    string
		steps   int
		methods func() []peft.Method
	}{
		{"VL-HyperPELT", 2500, func() []peft.Method { return []peft.Method{&HyperPELT{Settings: s}, &full.Method{}} }},
		{"CLIP-T5", 500, func() []peft.Method { return []peft.Method{&Tokens{Embedding: Embedding{Orders: 1}}} }},
	} {
		if right := learn(t, c.steps, false, c.methods()...); right < 0.95 {
			t.Errorf("%s: %.3f of the answers are right, want 0.95", c.name, right)
		}
		if right := learn(t, 500, true, c.methods()...); right > 0.5 {
			t.Errorf("%s: %.2f of the answers are right although nothing shows the images", c.name, right)
		}
	}
}
