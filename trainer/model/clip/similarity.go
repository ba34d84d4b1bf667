package clip

import "math"

// Unit divides each vector of dim numbers by its length, in place. Sums are in
// float64, in order.
func Unit(x []float32, dim int) {
	for ; len(x) >= dim; x = x[dim:] {
		s := 0.0
		for _, v := range x[:dim] {
			s += float64(float64(v) * float64(v))
		}
		if s = math.Sqrt(s); s > 0 {
			for i, v := range x[:dim] {
				x[i] = float32(float64(v) / s)
			}
		}
	}
}

// Logits returns exp(logitScale) times the products of unit image vectors [n,
// dim] and unit text vectors [m, dim], as [n, m].
func Logits(images, texts []float32, dim int, logitScale float32) []float32 {
	scale := math.Exp(float64(logitScale))
	n, m := len(images)/dim, len(texts)/dim
	out := make([]float32, 0, n*m)
	for i := range n {
		for j := range m {
			s := 0.0
			for k := range dim {
				s += float64(float64(images[i*dim+k]) * float64(texts[j*dim+k]))
			}
			out = append(out, float32(s*scale))
		}
	}
	return out
}
