// Package update is the arithmetic of optimisers on float32 slices: Adam, SGD
// and the steps of Adafactor.
//
// A function works on the length of its first operand, which the others must
// have. Functions keep nothing and may run at the same time. AVX2 and AVX-512
// give the same bits: an element's depend on its operands alone, and sums keep
// 32 partial results as those of package norm do.
package update

// An Adam is the numbers of an update: with x = g*Scale kept within ±Clip, plus
// L2*p, m = Beta1*m + Rest1*x, v = Beta2*v + Rest2*x², p = Decay*p -
// Rate*m/(sqrt(v)*Root + Eps).
type Adam struct {
	Scale, Clip, Beta1, Rest1, Beta2, Rest2, Rate, Root, Eps, Decay, L2 float32
}

// Update updates p, m and v by the gradient g.
func (a Adam) Update(p, g, m, v []float32) {
	if n := len(p); n > 0 {
		adam(p, g[:n], m[:n], v[:n], a)
	}
}

// An SGD is the numbers of an update: with x = g*Scale kept within ±Clip, plus
// L2*p, m = Momentum*m + Rest*x, p -= Rate*m, or Rate*(x + Ahead*m) where Ahead
// is not 0.
type SGD struct {
	Scale, Clip, Rate, L2, Momentum, Rest, Ahead float32
}

// Update updates p and m by the gradient g; with a nil m, p -= Rate*x.
func (s SGD) Update(p, g, m []float32) {
	n := len(p)
	switch {
	case n == 0:
	case m == nil:
		sgd(p, g[:n], s)
	case s.Ahead == 0:
		sgdMomentum(p, g[:n], m[:n], s)
	default:
		sgdNesterov(p, g[:n], m[:n], s)
	}
}

// SumSquares adds the squares of the rows of x, ld apart, to out.
func SumSquares(out, x []float32, ld, rows int) {
	n := len(out)
	if n == 0 || rows == 0 {
		return
	}
	_ = x[(rows-1)*ld+n-1]
	sumSquares(out, x, ld, rows)
}

// ProductSquares adds up (x*y)².
func ProductSquares(x, y []float32) float32 {
	if n := len(x); n > 0 {
		return productSquares(x, y[:n])
	}
	return 0
}

// Means makes v = beta*v + (1-beta)*(x² + eps), x = scale*g, and adds up x²/v.
// v must come out above 0.
func Means(v, g []float32, scale, eps, beta float32) float32 {
	if n := len(v); n > 0 {
		return means(v, g[:n], scale, eps, beta)
	}
	return 0
}

// Adafactor moves p by u = g*y, or g/sqrt(y) if root: p = decay*p - alpha*u, or
// with m, m = beta*m + alpha*u, p = decay*p - m.
func Adafactor(p, g, y, m []float32, root bool, alpha, decay, beta float32) {
	n := len(p)
	switch {
	case n == 0:
	case m == nil && root:
		adafactorRoot(p, g[:n], y[:n], alpha, decay)
	case m == nil:
		adafactor(p, g[:n], y[:n], alpha, decay)
	case root:
		adafactorRootMomentum(p, g[:n], y[:n], m[:n], alpha, decay, beta)
	default:
		adafactorMomentum(p, g[:n], y[:n], m[:n], alpha, decay, beta)
	}
}
