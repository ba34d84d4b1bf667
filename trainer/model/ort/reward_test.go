package ort

import (
	"math"
	"testing"

	"espalier/trainer/decode"
	"espalier/trainer/grad"
	"espalier/trainer/optim"
)

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
