package cpu

import (
	"espalier/trainer/kernel/elem"
	"espalier/trainer/kernel/finish"
	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// An epilogue is an op.Epilogue over slices, and alpha.
type epilogue struct {
	alpha               float32
	bias, residual, pre []float32
	act                 op.Act
	actLast             bool
	drop                elem.Mask
}

func makeEpilogue(e *op.Epilogue, alpha float32, out tensor.Tensor) epilogue {
	if alpha == 0 {
		alpha = 1
	}
	s := epilogue{alpha: alpha, bias: floats(e.Bias), residual: floats(e.Residual), pre: floats(e.Pre), act: e.Act, actLast: e.ActLast, drop: mask(e.Drop)}
	if s.actLast && s.drop.Below != 0 {
		panic("cpu: dropout with ActLast")
	}
	n := out.Len()
	if (s.bias != nil && len(s.bias) != out.Dim(-1)) || (s.residual != nil && len(s.residual) != n) || (s.pre != nil && len(s.pre) != n) {
		panic("cpu: epilogue does not fit the output")
	}
	return s
}

// empty reports whether there is nothing beside alpha.
func (e *epilogue) empty() bool {
	return e.bias == nil && e.residual == nil && e.pre == nil && e.act == op.None && e.drop.Below == 0
}

func (e *epilogue) nothing() bool { return e.alpha == 1 && e.empty() }

// apply finishes part of a row of the output: elements from at on, which are
// columns from j on.
func (e *epilogue) apply(c []float32, at, j int) {
	if e.short(c, at, j) {
		return
	}
	if e.alpha != 1 {
		scaleRow(c, e.alpha)
	}
	if e.bias != nil {
		elem.Add(c, c, e.bias[j:])
	}
	if e.actLast && e.residual != nil {
		elem.Add(c, c, e.residual[at:])
	}
	if e.pre != nil {
		copy(e.pre[at:], c)
	}
	if e.act != op.None {
		elem.Apply(elem.Func(e.act), c, c)
	}
	if e.drop.Below != 0 {
		elem.Drop(c, c, uint64(at), e.drop)
	}
	if !e.actLast && e.residual != nil {
		elem.Add(c, c, e.residual[at:])
	}
}

// short is apply for what residual networks do, in one pass; it reports whether
// the epilogue is such a one.
func (e *epilogue) short(c []float32, at, j int) bool {
	switch {
	case e.alpha != 1 || e.bias == nil || e.act != op.ReLU || e.pre != nil || e.drop.Below != 0:
		return false
	case e.residual == nil:
		finish.ReLU(c, e.bias[j:])
	case e.actLast:
		finish.AddReLU(c, e.bias[j:], e.residual[at:])
	default:
		return false
	}
	return true
}

func scaleRow(x []float32, alpha float32) { elem.Scale(x, x, alpha) }
