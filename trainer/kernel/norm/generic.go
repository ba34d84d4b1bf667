package norm

import (
	"math"

	"espalier/trainer/kernel/scalar"
)

// The plain twins.

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

func exp(x float32) float32 { return float32(scalar.Exp(float64(x))) }

func largestGeneric(x []float32) float32 {
	top := float32(math.Inf(-1))
	for _, v := range x {
		if v > top {
			top = v
		}
	}
	return top
}

func sumGeneric(x []float32) float32 {
	var s lanes
	for i, v := range x {
		s[i%width] += v
	}
	return s.total()
}

func sumsGeneric(x, y []float32) (a, b float32) { return sumGeneric(x), sumGeneric(y) }

func bothDeviationsGeneric(x, y []float32, mean, other float32) (a, b float32) {
	return deviationsGeneric(x, mean), deviationsGeneric(y, other)
}

func squaresGeneric(x []float32) float32 {
	var s lanes
	for i, v := range x {
		s[i%width] += float32(v * v)
	}
	return s.total()
}

func dotGeneric(x, y []float32) float32 {
	var s lanes
	for i, v := range x {
		s[i%width] += float32(v * y[i])
	}
	return s.total()
}

func deviationsGeneric(x []float32, mean float32) float32 {
	var s lanes
	for i, v := range x {
		s[i%width] += float32((v - mean) * (v - mean))
	}
	return s.total()
}

func expSumGeneric(out, x []float32, top float32) float32 {
	var s lanes
	for i, v := range x {
		out[i] = exp(v - top)
		s[i%width] += out[i]
	}
	return s.total()
}

func expTotalGeneric(x []float32, top float32) float32 {
	var s lanes
	for i, v := range x {
		s[i%width] += exp(v - top)
	}
	return s.total()
}

func surpriseGeneric(x []float32, top, l float32) float32 {
	var s lanes
	for i, v := range x {
		s[i%width] += l - (v - top)
	}
	return s.total()
}

func slopesGeneric(dy, gain, x []float32, mean float32) (float32, float32) {
	var s, d lanes
	for i, v := range x {
		grad := float32(dy[i] * gain[i])
		s[i%width] += grad
		d[i%width] += float32(grad * (v - mean))
	}
	return s.total(), d.total()
}

func applyGeneric(out, x, gain, shift []float32, mean, inv float32) {
	for i, v := range x {
		out[i] = float32(float32((v-mean)*inv)*gain[i]) + shift[i]
	}
}

func applyBareGeneric(out, x, gain []float32, mean, inv float32) {
	for i, v := range x {
		out[i] = float32((v-mean)*inv) * gain[i]
	}
}

func backGeneric(out, dy, gain, x []float32, mean, inv, sum, slope float32) {
	for i, v := range x {
		out[i] = inv * (float32(dy[i]*gain[i]) - sum - float32((v-mean)*slope))
	}
}

func lessGeneric(out, x []float32, a, b float32) {
	for i, v := range x {
		out[i] = v - a - b
	}
}

func shareGeneric(out, x []float32, lse, w, off float32) {
	for i, v := range x {
		out[i] = float32(w * (exp(v-lse) - off))
	}
}

func sumRowsGeneric(out, x []float32, ld, rows int) {
	for r := range rows {
		for j := range out {
			out[j] += x[r*ld+j]
		}
	}
}

func gainsGeneric(dgain, dy, x, stats []float32, ld, rows int) {
	for r := range rows {
		mean, inv := stats[2*r], stats[2*r+1]
		for j := range dgain {
			dgain[j] += float32(dy[r*ld+j] * float32((x[r*ld+j]-mean)*inv))
		}
	}
}

func gainsAndShiftsGeneric(dgain, dshift, dy, x, stats []float32, ld, rows int) {
	for r := range rows {
		mean, inv := stats[2*r], stats[2*r+1]
		for j := range dgain {
			dgain[j] += float32(dy[r*ld+j] * float32((x[r*ld+j]-mean)*inv))
			dshift[j] += dy[r*ld+j]
		}
	}
}
