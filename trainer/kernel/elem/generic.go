package elem

import (
	"espalier/trainer/kernel/scalar"
)

// The plain twins.

func addGeneric(out, x, y []float32) {
	for i := range out {
		out[i] = x[i] + y[i]
	}
}

func mulGeneric(out, x, y []float32) {
	for i := range out {
		out[i] = x[i] * y[i]
	}
}

func axpyGeneric(y, x []float32, alpha float32) {
	for i := range y {
		y[i] += float32(alpha * x[i])
	}
}

func scaleGeneric(out, x []float32, alpha float32) {
	for i := range out {
		out[i] = alpha * x[i]
	}
}

const (
	sqrt2OverPi = 0.7978845608028654
	geluCube    = 0.044715
	sqrt2Pi     = 2.5066282746310002
)

// value returns f(v).
func value(f Func, v float32) float32 {
	x := float64(v)
	switch f {
	case ReLU:
		if v < 0 {
			return 0
		}
		return v
	case GELUTanh:
		return float32(x * scalar.Sigmoid(geluArgument(x)))
	case GELUErf:
		below, _ := scalar.Normal(x)
		return float32(x * below)
	case QuickGELU:
		return float32(x * scalar.Sigmoid(1.702*x))
	case SiLU:
		return float32(x * scalar.Sigmoid(x))
	case Tanh:
		return float32(scalar.Tanh(x))
	case Sigmoid:
		return float32(scalar.Sigmoid(x))
	}
	panic("elem: unknown activation")
}

// slope returns f'(v).
func slope(f Func, v float32) float32 {
	x := float64(v)
	switch f {
	case ReLU:
		if v > 0 {
			return 1
		}
		return 0
	case GELUTanh:
		return float32(logistic(scalar.Sigmoid(geluArgument(x)), x*2*sqrt2OverPi*(1+float64(3*geluCube*x*x))))
	case GELUErf:
		below, density := scalar.Normal(x)
		return float32(below + float64(x*density)/sqrt2Pi)
	case QuickGELU:
		return float32(logistic(scalar.Sigmoid(1.702*x), 1.702*x))
	case SiLU:
		return float32(logistic(scalar.Sigmoid(x), x))
	case Tanh:
		t := scalar.Tanh(x)
		return float32(1 - float64(t*t))
	case Sigmoid:
		s := scalar.Sigmoid(x)
		return float32(s * (1 - s))
	}
	panic("elem: unknown activation")
}

// geluArgument is 2u, where tanh(u) = 2*sigmoid(2u) - 1.
func geluArgument(x float64) float64 {
	return 2 * sqrt2OverPi * (x + float64(geluCube*x*x*x))
}

// logistic is s + y*s*(1-s).
func logistic(s, y float64) float64 { return s + float64(y*s*(1-s)) }

func applyGeneric(f Func, out, x []float32) {
	for i, v := range x {
		out[i] = value(f, v)
	}
}

func applyBackGeneric(f Func, out, dy, x []float32) {
	for i, v := range x {
		out[i] = dy[i] * slope(f, v)
	}
}

func signsGeneric(bits []uint32, x []float32) {
	clear(bits)
	for i, v := range x {
		if v > 0 {
			bits[i/32] |= 1 << (i % 32)
		}
	}
}

func keepSignsGeneric(out, dy []float32, bits []uint32) {
	for i, v := range dy {
		out[i] = v * float32(bits[i/32]>>(i%32)&1)
	}
}

func logFloorGeneric(out, x []float32, floor float32) {
	for i, v := range x {
		out[i] = float32(scalar.Log(float64(max(v, floor))))
	}
}

func logFloorBackGeneric(out, dy, x []float32, floor float32) {
	for i, v := range x {
		d := float32(0)
		if v > floor {
			d = dy[i] / v
		}
		out[i] = d
	}
}

func mix(x uint32) uint32 {
	x ^= x >> 16
	x *= 0x7feb352d
	x ^= x >> 15
	x *= 0x846ca68b
	return x ^ x>>16
}

func dropGeneric(out, x []float32, from uint32, m Mask) {
	for i, v := range x {
		h := mix(mix(from+uint32(i)^m.K0) ^ m.K1)
		if uint64(h) < m.Below {
			out[i] = 0
		} else {
			out[i] = v * m.Scale
		}
	}
}
