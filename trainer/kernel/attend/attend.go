// Package attend is the arithmetic on rows of attention scores: softmax with
// scale, mask, causal hiding and bias, and its gradient. Products are package
// gemm's.
//
// Functions work in place on what their [Rows] name, keep nothing and may run
// at the same time. AVX2 and AVX-512 give the same bits: elements take the same
// few roundings, sums are those of package norm.
package attend

import (
	"math"

	"espalier/trainer/kernel/scalar"
)

// Rows are M rows of N products of a query with keys, LD apart. A score is
// Scale times the product, or Hidden where the key is hidden, plus the bias.
type Rows struct {
	X             []float32
	LD, M, N      int
	See           int       // row r sees the first See + r*SeeStep keys
	SeeStep       int       // 0 or 1
	Mask          []float32 // of N keys, the same for all rows: 0 hides; or nil
	Bias          []float32 // of the first row; or nil
	BiasStep      int       // from a row's to the next's, 0 for the same
	Scale, Hidden float32
}

// Softmax turns products into the exponentials of scores less the row's
// maximum, and fills top and sum with that maximum and the sum of the
// exponentials. The maximum passes over NaN and is at least -MaxFloat32: a row
// of -Inf becomes zeros, with a sum of 0.
func (r *Rows) Softmax(top, sum []float32) {
	if r.M == 0 || !r.check() {
		return
	}
	r.softmax(top[:r.M], sum[:r.M])
}

// Gradient turns products into probabilities p = exp(score - lse), and dp, the
// gradients of probabilities laid out like X, into those of products: Scale*
// p*(dp - delta), and 0 where the key is hidden. p*(dp - delta) is added to
// dbias, laid out like Bias, if it is not nil.
func (r *Rows) Gradient(dp, lse, delta, dbias []float32) {
	if r.M == 0 || !r.check() {
		return
	}
	_ = dp[(r.M-1)*r.LD+r.N-1]
	if dbias != nil {
		_ = dbias[(r.M-1)*r.BiasStep+r.N-1]
	}
	r.gradient(dp, lse[:r.M], delta[:r.M], dbias)
}

// Slice returns rows lo to hi.
func (r *Rows) Slice(lo, hi int) Rows {
	part := *r
	part.X, part.M, part.See = r.X[lo*r.LD:], hi-lo, r.See+lo*r.SeeStep
	if r.Bias != nil {
		part.Bias = r.Bias[lo*r.BiasStep:]
	}
	return part
}

// check panics where an operand is too short, and reports whether there is
// anything to do.
func (r *Rows) check() bool {
	if r.N == 0 {
		return false
	}
	_ = r.X[(r.M-1)*r.LD+r.N-1]
	if r.Mask != nil {
		_ = r.Mask[r.N-1]
	}
	if r.Bias != nil {
		_ = r.Bias[(r.M-1)*r.BiasStep+r.N-1]
	}
	return true
}

// score returns the score at column j of row i, and whether the key is seen.
func (r *Rows) score(i, j int) (v float32, seen bool) {
	v, seen = float32(r.X[i*r.LD+j]*r.Scale), j < r.See+i*r.SeeStep && (r.Mask == nil || r.Mask[j] != 0)
	if !seen {
		v = r.Hidden
	}
	if r.Bias != nil {
		v += r.Bias[i*r.BiasStep+j]
	}
	return v, seen
}

// Scale multiplies each of the rows of n numbers, ld apart, by its own of by.
func Scale(x, by []float32, ld, n int) {
	if n > 0 && len(by) > 0 {
		_ = x[(len(by)-1)*ld+n-1]
		scaleRows(x, by, ld, n)
	}
}

// Dot fills out with the sums of products of rows of n numbers, ld apart.
func Dot(out, x, y []float32, ld, n int) {
	if len(out) == 0 {
		return
	}
	if n == 0 {
		clear(out)
		return
	}
	last := (len(out)-1)*ld + n - 1
	_, _ = x[last], y[last]
	dotRows(out, x, y, ld, n)
}

// Copy copies rows of n numbers: to lie ld, and from those that lie from apart.
func Copy(dst, src []float32, ld, from, rows, n int) {
	if rows > 0 && n > 0 {
		_, _ = dst[(rows-1)*ld+n-1], src[(rows-1)*from+n-1]
		copyRows(dst, src, ld, from, rows, n)
	}
}

// The plain twins.

func (r *Rows) softmaxGeneric(top, sum []float32) {
	for i := range r.M {
		row := r.X[i*r.LD:][:r.N]
		m := float32(-math.MaxFloat32)
		for j := range row {
			row[j], _ = r.score(i, j)
			if row[j] > m {
				m = row[j]
			}
		}
		var s lanes
		for j, v := range row {
			row[j] = exp(v - m)
			s[j%width] += row[j]
		}
		top[i], sum[i] = m, s.total()
	}
}

func (r *Rows) gradientGeneric(dp, lse, delta, dbias []float32) {
	for i := range r.M {
		for j := range r.N {
			v, seen := r.score(i, j)
			p := exp(v - lse[i])
			d := float32(p * (dp[i*r.LD+j] - delta[i]))
			if dbias != nil {
				dbias[i*r.BiasStep+j] += d
			}
			if seen {
				d *= r.Scale
			} else {
				d = 0
			}
			r.X[i*r.LD+j], dp[i*r.LD+j] = p, d
		}
	}
}

func scaleRowsGeneric(x, by []float32, ld, n int) {
	for i, a := range by {
		for j := range n {
			x[i*ld+j] *= a
		}
	}
}

func dotRowsGeneric(out, x, y []float32, ld, n int) {
	for i := range out {
		var s lanes
		for j := range n {
			s[j%width] += float32(x[i*ld+j] * y[i*ld+j])
		}
		out[i] = s.total()
	}
}

func copyRowsGeneric(dst, src []float32, ld, from, rows, n int) {
	for r := range rows {
		copy(dst[r*ld:][:n], src[r*from:])
	}
}

const width = 32

// lanes are partial sums, joined as package norm joins them.
type lanes [width]float32

func (s *lanes) total() float32 {
	for h := width / 2; h > 0; h /= 2 {
		for i := range h {
			s[i] += s[i+h]
		}
	}
	return s[0]
}

func exp(x float32) float32 { return float32(scalar.Exp(float64(x))) }
