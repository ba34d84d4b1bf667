package prompt

import (
	"fmt"

	"espalier/trainer/grad"
	"espalier/trainer/nn"
	"espalier/trainer/op"
	"espalier/trainer/peft"
)

// lstmLayers is the layers of the LSTM of P-tuning.
const lstmLayers = 2

// A direction is one direction of a layer of an LSTM. Its maps give the input,
// forget, cell and output gates, in this order.
type direction struct {
	in, state         *nn.Param // [4 hidden, in], [4 hidden, hidden]
	inBias, stateBias *nn.Param
	hidden            int
	back              bool
}

// lstm declares a bidirectional LSTM over n rows of width d, and two maps behind
// it.
func lstm(e *peft.Editor, d, hidden, n int) func(t *grad.Tape, x grad.Var) grad.Var {
	var layers [lstmLayers][2]direction
	in := d
	for i := range layers {
		for k, name := range []string{"forward", "backward"} {
			path := fmt.Sprintf("prompt.lstm.%d.%s.", i, name)
			init := nn.FanIn(hidden)
			layers[i][k] = direction{
				in: e.New(path+"input.weight", init, 4*hidden, in), state: e.New(path+"state.weight", init, 4*hidden, hidden),
				inBias: e.New(path+"input.bias", init, 4*hidden), stateBias: e.New(path+"state.bias", init, 4*hidden),
				hidden: hidden, back: k == 1,
			}
		}
		in = 2 * hidden
	}
	head := mlp(e, in, in, d)
	return func(t *grad.Tape, x grad.Var) grad.Var {
		for i := range layers {
			x = t.Join(1, layers[i][0].run(t, x, n), layers[i][1].run(t, x, n))
		}
		return head(t, x)
	}
}

// run returns the states of a direction over the rows of x, [n, hidden].
func (l *direction) run(t *grad.Tape, x grad.Var, n int) grad.Var {
	gates := t.Linear(x, l.in.Var(t), l.inBias.Var(t), grad.Out{})
	h := t.Floats(make([]float32, l.hidden), 1, l.hidden)
	c := h
	var out grad.Var
	for i := range n {
		at := i
		if l.back {
			at = n - 1 - i
		}
		g := t.Linear(h, l.state.Var(t), l.stateBias.Var(t), grad.Out{Residual: t.Cut(gates, 0, at, at+1)})
		gate := func(k int, act op.Act) grad.Var { return t.Activate(t.Cut(g, 1, k*l.hidden, (k+1)*l.hidden), act) }
		c = t.Add(t.Mul(gate(1, op.Sigmoid), c), t.Mul(gate(0, op.Sigmoid), gate(2, op.Tanh)))
		h = t.Mul(gate(3, op.Sigmoid), t.Activate(c, op.Tanh))
		switch {
		case i == 0:
			out = h
		case l.back:
			out = t.Join(0, h, out)
		default:
			out = t.Join(0, out, h)
		}
	}
	return out
}
