// Package attend is the row arithmetic of attention: scores with scale, mask
// and bias, and the gradient of softmax. Products are package gemm's, softmax
// package norm's.
//
// Functions work on len(out) elements; out may be an operand. They keep nothing
// and may run at the same time. AVX2 and AVX-512 give the same bits.
package attend

// Scores fills out with scale*x, or hidden where mask is 0, plus bias, and
// returns the maximum, passing over NaN. mask and bias may be nil.
func Scores(out, x, mask, bias []float32, scale, hidden float32) float32 {
	n := len(out)
	x = x[:n]
	if mask != nil {
		mask = mask[:n]
	}
	if bias != nil {
		bias = bias[:n]
	}
	return scores(out, x, mask, bias, scale, hidden)
}

// Grad fills out with p*(dp-delta): the gradient of scores whose softmax is p.
func Grad(out, p, dp []float32, delta float32) {
	if n := len(out); n > 0 {
		grad(out, p[:n], dp[:n], delta)
	}
}

// Hide fills out with alpha*x where mask is not 0, else with 0.
func Hide(out, x, mask []float32, alpha float32) {
	if n := len(out); n > 0 {
		hide(out, x[:n], mask[:n], alpha)
	}
}
