package hyperpelt

import (
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

// A world of two tasks with one text: a source is a thing, one task answers with
// the thing behind it, the other with the one before it.
const (
	things = 6
	first  = 2 // id of the first thing
	eos    = 1
)

func conflict(task int) *t5.Batch {
	b := &t5.Batch{Task: task}
	for i := range things {
		b.Source = append(b.Source, []int32{int32(first + i), eos})
		b.Target = append(b.Target, []int32{int32(first + (i+1+task*(things-2))%things), eos})
	}
	return b
}

// learn trains methods over a random model on both tasks and returns
// the share of right answers of each; task gives the task that the model is told.
func learn(t *testing.T, methods []peft.Method, told func(task int) int) (right [2]float64) {
	t.Helper()
	dev := cpu.New(2)
	defer dev.Close()
	none, end := 0.0, int32(eos)
	b, err := t5.Random(dev, t5.Config{Vocab: first + things, Width: 32, HeadWidth: 8, Hidden: 64, Layers: 2, Heads: 4, Drop: &none, EOS: &end}, 5)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	model, err := t5.New(b, t5.Options{Methods: methods, Given: peft.Given{Tasks: []string{"behind", "before"}}, Seed: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer model.Free()
	opt := optim.NewAdam(model.Params(), optim.AdamConfig{Beta1: 0.9, Beta2: 0.999, Eps: 1e-8})
	defer opt.Free()
	tape := grad.New(dev)
	for n := range 600 {
		batch := conflict(n % 2)
		batch.Task = told(n % 2)
		tape.Begin(grad.Step{Grad: true, Number: uint64(n)})
		model.Params().ZeroGrads()
		loss, _, err := model.Loss(tape, batch, t5.LossOptions{})
		if err != nil {
			t.Fatal(err)
		}
		tape.Backward(loss)
		opt.Update(5e-3)
	}
	g := decode.Generation{MaxNew: 2, EOS: eos}
	if err := g.Check(); err != nil {
		t.Fatal(err)
	}
	for task := range right {
		batch := conflict(task)
		st, err := model.Stepper(batch.Source, told(task), t5.Images{}, 1, 2)
		if err != nil {
			t.Fatal(err)
		}
		out, err := g.Run(t.Context(), st, make([]uint64, things))
		st.Close()
		if err != nil {
			t.Fatal(err)
		}
		for i := range out {
			if out[i][0].Tokens[0] == batch.Target[i][0] {
				right[task] += 1.0 / things
			}
		}
	}
	return right
}

// Two tasks with conflicting labels for the same texts are told apart by the
// task's embedding alone (spec/hyperpelt.md 18.13): with it both are learnt,
// without it at most one answer to each text can be right. Prefixes alone cannot
// make a random model answer, so with them the model is trained too.
func TestLearnsConflictingTasks(t *testing.T) {
	s := hyper.Settings{Rows: 9, Hidden: 32, Width: 16, Reduction: 2}
	for _, c := range []struct {
		name    string
		methods func() []peft.Method
	}{
		{"HyperPELT", func() []peft.Method { return []peft.Method{&Method{s}} }},
		{"HyperPrefix and the model", func() []peft.Method { return []peft.Method{&Prefix{s}, &full.Method{}} }},
	} {
		if right := learn(t, c.methods(), func(task int) int { return task }); right[0] < 0.95 || right[1] < 0.95 {
			t.Errorf("%s: shares of right answers %.2f, want 1", c.name, right)
		}
		if right := learn(t, c.methods(), func(int) int { return 0 }); right[0]+right[1] > 1.01 {
			t.Errorf("%s: shares of right answers %.2f although nothing tells the tasks apart", c.name, right)
		}
	}
}
