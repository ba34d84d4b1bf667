// Package vl is the methods that make a text model answer about images.
//
// [HyperPELT] generates prefixes and adapters from the cells of an image as it
// does from a task's embedding (Zhang et al. 2022, section 3.5). [Tokens] gives
// the encoder the cells as tokens behind the text (CLIP-T5; VL-T5 with regions
// and boxes, Cho et al. 2021), [Adapter] besides trains adapters alone
// (VL-Adapter, Sung et al. 2022).
package vl

import (
	"errors"
	"fmt"

	"espalier/trainer/grad"
	"espalier/trainer/nn"
	"espalier/trainer/op"
	"espalier/trainer/peft"
)

// Embedding says how the vectors of an image become tokens:
//
//	norm(W_f f + c_f) + norm(W_b [box, area] + c_b) + order of the image + object
//
// norm is RMSNorm. The box of a cell of a grid is zero. Object i is the i-th row
// of the token table from its end. Plain leaves all out but the first map.
type Embedding struct {
	Plain  bool `yaml:"plain" json:"plain,omitempty" doc:"a linear map of the features alone: no norms, boxes or orders"`
	Orders int  `yaml:"orders" json:"orders,omitempty" doc:"rows of the image-order embedding; by default 2"`

	order []int32 // of the image of each vector, for tests; nil: all of the first
}

func (m *Embedding) check() error {
	if m.Orders == 0 && !m.Plain {
		m.Orders = 2
	}
	if m.Orders < 0 || m.Plain && m.Orders != 0 {
		return fmt.Errorf("orders: %d, want at least 1, and none if plain", m.Orders)
	}
	return nil
}

// errNoImages says that the job gives no features.
var errNoImages = errors.New("want an input of image features")

// boxValues are the numbers of a box: x1, x2, y1, y2, area.
const boxValues = 5

// mapped is a linear map and the gain of the norm behind it.
type mapped struct{ weight, bias, gain *nn.Param }

func declare(e *peft.Editor, path string, in int, norm bool) mapped {
	d := e.Layout().Width
	m := mapped{weight: e.New(path+".weight", nn.FanIn(in), d, in), bias: e.New(path+".bias", nn.Const(0), d)}
	if norm {
		m.gain = e.New(path+".norm.weight", nn.Const(1), d)
	}
	return m
}

// normEps is that of T5.
const normEps = 1e-6

func (m mapped) apply(t *grad.Tape, x grad.Var) grad.Var {
	y := t.Linear(x, m.weight.Var(t), m.bias.Var(t), grad.Out{})
	if m.gain == nil {
		return y
	}
	return t.Norm(y, m.gain.Var(t), 0, op.Norm{Kind: op.RMSNorm, Eps: normEps})
}

// edit puts the tokens behind those of the text.
func (m *Embedding) edit(e *peft.Editor) error {
	g, l := e.Given(), e.Layout()
	if g.Visual == 0 {
		return errNoImages
	}
	feats := declare(e, "visual.features", g.Visual, !m.Plain)
	var boxes mapped
	var orders, table *nn.Param
	object, image := make([]int32, g.Cells), make([]int32, g.Cells)
	if !m.Plain {
		if g.Cells > l.Vocab {
			return fmt.Errorf("%d vectors of an image, the token table has %d rows", g.Cells, l.Vocab)
		}
		boxes = declare(e, "visual.boxes", boxValues, true)
		orders = e.New("visual.image_order", nn.Normal(0.02), m.Orders, l.Width)
		table = e.Param(l.Table)
		for i := range object {
			object[i] = int32(l.Vocab - 1 - i)
		}
		copy(image, m.order)
	}
	var none []float32
	tokens := func(p *peft.Pass) grad.Var {
		t := p.Tape
		x := feats.apply(t, p.Visual)
		if m.Plain {
			return x
		}
		b := p.Boxes
		if b == 0 {
			if n := p.Inputs * g.Cells * boxValues; len(none) < n {
				none = append(none, make([]float32, n-len(none))...)
			}
			b = t.Floats(none[:p.Inputs*g.Cells*boxValues], p.Inputs, g.Cells, boxValues)
		}
		x = t.Add(x, boxes.apply(t, b))
		x = t.Add(x, t.Gather(orders.Var(t), t.Ints(image, g.Cells), 1))
		return t.Add(x, t.Gather(table.Var(t), t.Ints(object, g.Cells), 1))
	}
	e.Tokens(peft.Encoder, peft.Tokens{Len: g.Cells, Back: true, Apart: true, Visual: true, Make: tokens})
	return nil
}
