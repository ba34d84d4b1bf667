package elem

import "math"

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
)

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

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
		return float32(x * sigmoid(2*sqrt2OverPi*(x+geluCube*x*x*x)))
	case GELUErf:
		return float32(0.5 * x * math.Erfc(-x/math.Sqrt2))
	case QuickGELU:
		return float32(x * sigmoid(1.702*x))
	case SiLU:
		return float32(x * sigmoid(x))
	case Tanh:
		return float32(math.Tanh(x))
	case Sigmoid:
		return float32(sigmoid(x))
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
		s := sigmoid(2 * sqrt2OverPi * (x + geluCube*x*x*x))
		return float32(s + x*s*(1-s)*2*sqrt2OverPi*(1+3*geluCube*x*x))
	case GELUErf:
		return float32(0.5*math.Erfc(-x/math.Sqrt2) + x*math.Exp(-x*x/2)/math.Sqrt(2*math.Pi))
	case QuickGELU:
		s := sigmoid(1.702 * x)
		return float32(s + 1.702*x*s*(1-s))
	case SiLU:
		s := sigmoid(x)
		return float32(s + x*s*(1-s))
	case Tanh:
		t := math.Tanh(x)
		return float32(1 - t*t)
	case Sigmoid:
		s := sigmoid(x)
		return float32(s * (1 - s))
	}
	panic("elem: unknown activation")
}

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

func logFloorGeneric(out, x []float32, floor float32) {
	for i, v := range x {
		out[i] = float32(math.Log(float64(max(v, floor))))
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

func adamGeneric(p, g, m, v []float32, a Adam) {
	for i := range p {
		x := min(max(g[i]*a.Scale, -a.Clip), a.Clip)
		m[i] = float32(a.Beta1*m[i]) + float32((1-a.Beta1)*x)
		v[i] = float32(a.Beta2*v[i]) + float32((1-a.Beta2)*float32(x*x))
		root := float32(math.Sqrt(float64(v[i])))
		p[i] = float32(p[i]*a.Decay) - a.Rate*m[i]/(float32(root*a.Root)+a.Eps)
	}
}
