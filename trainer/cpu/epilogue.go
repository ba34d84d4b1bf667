package cpu

import (
	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// An epilogue is an op.Epilogue over slices, and alpha.
type epilogue struct {
	alpha               float32
	bias, residual, pre []float32
	act                 op.Act
	actLast             bool
}

func makeEpilogue(e *op.Epilogue, alpha float32, out tensor.Tensor) epilogue {
	if alpha == 0 {
		alpha = 1
	}
	s := epilogue{alpha, floats(e.Bias), floats(e.Residual), floats(e.Pre), e.Act, e.ActLast}
	n := out.Len()
	if (s.bias != nil && len(s.bias) != out.Dim(-1)) || (s.residual != nil && len(s.residual) != n) || (s.pre != nil && len(s.pre) != n) {
		panic("cpu: epilogue does not fit the output")
	}
	return s
}

// empty reports whether there is nothing beside alpha.
func (e *epilogue) empty() bool {
	return e.bias == nil && e.residual == nil && e.pre == nil && e.act == op.None
}

func (e *epilogue) nothing() bool { return e.alpha == 1 && e.empty() }

// apply finishes part of a row of the output: elements from at on, which are
// columns from j on.
func (e *epilogue) apply(c []float32, at, j int) {
	if e.alpha != 1 {
		for i := range c {
			c[i] *= e.alpha
		}
	}
	if e.bias != nil {
		for i, b := range e.bias[j:][:len(c)] {
			c[i] += b
		}
	}
	if e.actLast {
		e.addResidual(c, at)
	}
	if e.pre != nil {
		copy(e.pre[at:], c)
	}
	if e.act != op.None {
		for i, v := range c {
			c[i] = activate(e.act, v)
		}
	}
	if !e.actLast {
		e.addResidual(c, at)
	}
}

func (e *epilogue) addResidual(c []float32, at int) {
	if e.residual != nil {
		for i, r := range e.residual[at:][:len(c)] {
			c[i] += r
		}
	}
}
