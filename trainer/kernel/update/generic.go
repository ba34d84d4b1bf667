package update

import "math"

// The plain twins.

func clipped(g, scale, clip float32) float32 { return min(max(g*scale, -clip), clip) }

func root(x float32) float32 { return float32(math.Sqrt(float64(x))) }

func adamGeneric(p, g, m, v []float32, a Adam) {
	for i := range p {
		x := clipped(g[i], a.Scale, a.Clip)
		if a.L2 != 0 {
			x += float32(a.L2 * p[i])
		}
		m[i] = float32(a.Beta1*m[i]) + float32(a.Rest1*x)
		v[i] = float32(a.Beta2*v[i]) + float32(a.Rest2*float32(x*x))
		p[i] = float32(p[i]*a.Decay) - a.Rate*m[i]/(float32(root(v[i])*a.Root)+a.Eps)
	}
}

// sgdGeneric is all kinds of SGD; m may be nil.
func sgdGeneric(p, g, m []float32, s SGD) {
	for i := range p {
		x := clipped(g[i], s.Scale, s.Clip) + float32(s.L2*p[i])
		if m != nil {
			m[i] = float32(s.Momentum*m[i]) + float32(s.Rest*x)
			if s.Ahead == 0 {
				x = m[i]
			} else {
				x += float32(s.Ahead * m[i])
			}
		}
		p[i] -= float32(s.Rate * x)
	}
}

const width = 32

type lanes [width]float32

// total joins the lanes.
func (s *lanes) total() float32 {
	for h := width / 2; h > 0; h /= 2 {
		for i := range h {
			s[i] += s[i+h]
		}
	}
	return s[0]
}

func sumSquaresGeneric(out, x []float32, ld, rows int) {
	for r := range rows {
		for j := range out {
			out[j] += float32(x[r*ld+j] * x[r*ld+j])
		}
	}
}

func productSquaresGeneric(x, y []float32) float32 {
	var s lanes
	for i, v := range x {
		v *= y[i]
		s[i%width] += float32(v * v)
	}
	return s.total()
}

func meansGeneric(v, g []float32, scale, eps, beta float32) float32 {
	var s lanes
	for i := range v {
		x := g[i] * scale
		x *= x
		v[i] = float32(beta*v[i]) + float32((1-beta)*(x+eps))
		s[i%width] += x / v[i]
	}
	return s.total()
}

// adafactorGeneric is all kinds of Adafactor; m may be nil.
func adafactorGeneric(p, g, y, m []float32, isRoot bool, alpha, decay, beta float32) {
	for i := range p {
		u := g[i]
		if isRoot {
			u /= root(y[i])
		} else {
			u *= y[i]
		}
		step := float32(alpha * u)
		if m != nil {
			m[i] = float32(beta*m[i]) + step
			step = m[i]
		}
		p[i] = float32(decay*p[i]) - step
	}
}
