package cpu

import (
	"math"

	"espalier/trainer/op"
)

const (
	sqrt2OverPi = 0.7978845608028654
	geluCube    = 0.044715
)

func exp32(x float32) float32  { return float32(math.Exp(float64(x))) }
func log32(x float32) float32  { return float32(math.Log(float64(x))) }
func sqrt32(x float32) float32 { return float32(math.Sqrt(float64(x))) }

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// activate returns act(v).
func activate(a op.Act, v float32) float32 {
	x := float64(v)
	switch a {
	case op.None:
		return v
	case op.ReLU:
		if v < 0 {
			return 0
		}
		return v
	case op.GELUTanh:
		return float32(0.5 * x * (1 + math.Tanh(sqrt2OverPi*(x+geluCube*x*x*x))))
	case op.GELUErf:
		return float32(0.5 * x * math.Erfc(-x/math.Sqrt2))
	case op.QuickGELU:
		return float32(x * sigmoid(1.702*x))
	case op.SiLU:
		return float32(x * sigmoid(x))
	case op.Tanh:
		return float32(math.Tanh(x))
	case op.Sigmoid:
		return float32(sigmoid(x))
	}
	panic("cpu: unknown activation")
}

// slope returns act'(v).
func slope(a op.Act, v float32) float32 {
	x := float64(v)
	switch a {
	case op.None:
		return 1
	case op.ReLU:
		if v > 0 {
			return 1
		}
		return 0
	case op.GELUTanh:
		t := math.Tanh(sqrt2OverPi * (x + geluCube*x*x*x))
		return float32(0.5*(1+t) + 0.5*x*(1-t*t)*sqrt2OverPi*(1+3*geluCube*x*x))
	case op.GELUErf:
		return float32(0.5*math.Erfc(-x/math.Sqrt2) + x*math.Exp(-x*x/2)/math.Sqrt(2*math.Pi))
	case op.QuickGELU:
		s := sigmoid(1.702 * x)
		return float32(s + 1.702*x*s*(1-s))
	case op.SiLU:
		s := sigmoid(x)
		return float32(s + x*s*(1-s))
	case op.Tanh:
		t := math.Tanh(x)
		return float32(1 - t*t)
	case op.Sigmoid:
		s := sigmoid(x)
		return float32(s * (1 - s))
	}
	panic("cpu: unknown activation")
}
