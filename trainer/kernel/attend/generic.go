package attend

import "math"

// The plain twins.

func scoresGeneric(out, x, mask, bias []float32, scale, hidden float32) float32 {
	top := float32(math.Inf(-1))
	for i, v := range x {
		v *= scale
		if mask != nil && mask[i] == 0 {
			v = hidden
		}
		if bias != nil {
			v += bias[i]
		}
		if v > top {
			top = v
		}
		out[i] = v
	}
	return top
}

func gradGeneric(out, p, dp []float32, delta float32) {
	for i, v := range p {
		out[i] = v * (dp[i] - delta)
	}
}

func hideGeneric(out, x, mask []float32, alpha float32) {
	for i, v := range x {
		if mask[i] == 0 {
			out[i] = 0
		} else {
			out[i] = alpha * v
		}
	}
}
