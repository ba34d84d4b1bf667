package adapter

import (
	"fmt"

	"espalier/trainer/grad"
	"espalier/trainer/op"
	"espalier/trainer/peft"
)

// Weights are those of a bottleneck, wherever they come from. Down is [r, in],
// Up [out, r], the others vectors; all of them may differ by example, with a
// leading axis of the examples of the batch.
type Weights struct {
	Down, DownBias grad.Var
	Up, UpBias     grad.Var
	Gain, Shift    grad.Var // of a LayerNorm on the result; zero without
}

// Eps is that of the LayerNorm on a bottleneck's result.
const Eps = 1e-5

// Apply returns norm(up(act(down(x)))) + residual, which is optional.
func (w *Weights) Apply(p *peft.Pass, x grad.Var, act op.Act, residual grad.Var) grad.Var {
	t := p.Tape
	low := p.Linear(x, w.Down, w.DownBias, grad.Out{Act: act})
	if w.Gain == 0 {
		return p.Linear(low, w.Up, w.UpBias, grad.Out{Residual: residual})
	}
	y := p.Linear(low, w.Up, w.UpBias, grad.Out{})
	layer := op.Norm{Kind: op.LayerNorm, Eps: Eps}
	if len(t.Value(w.Gain).Shape) == 1 {
		y = t.Norm(y, w.Gain, w.Shift, layer)
	} else {
		ones := make([]float32, t.Dim(y, -1))
		for i := range ones {
			ones[i] = 1
		}
		y = t.Norm(y, t.Floats(ones, len(ones)), 0, layer)
		y = t.Add(t.Mul(y, spread(p, w.Gain, y)), spread(p, w.Shift, y))
	}
	if residual != 0 {
		y = t.Add(y, residual)
	}
	return y
}

// spread repeats a vector of each example, [examples, n], for the rows of y.
func spread(p *peft.Pass, v, y grad.Var) grad.Var {
	t := p.Tape
	rows := t.Value(y).Rows()
	ids := make([]int32, rows)
	for i := range ids {
		ids[i] = int32(i / (rows / p.Inputs))
	}
	return t.View(t.Gather(p.Each(v), t.Ints(ids, rows), 1), t.Value(y).Shape...)
}

// Act returns the activation of a name.
func Act(name string) (op.Act, error) {
	switch name {
	case "relu":
		return op.ReLU, nil
	case "gelu_new":
		return op.GELUTanh, nil
	case "gelu":
		return op.GELUErf, nil
	case "swish", "silu":
		return op.SiLU, nil
	case "tanh":
		return op.Tanh, nil
	}
	return op.None, fmt.Errorf("act: %q, want relu, gelu_new (the tanh form), gelu (the exact form), silu or tanh", name)
}

// Bottleneck returns the width of a bottleneck: width if it is not zero, else
// that of the stream over the reduction factor.
func Bottleneck(width, reduction, stream int) (int, error) {
	if width == 0 {
		width = stream / reduction
	}
	if width < 1 {
		return 0, fmt.Errorf("reduction: %d leaves nothing of a width of %d", reduction, stream)
	}
	return width, nil
}
