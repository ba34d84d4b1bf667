//go:build !amd64 || purego

package attend

func scores(out, x, mask, bias []float32, scale, hidden float32) float32 {
	return scoresGeneric(out, x, mask, bias, scale, hidden)
}

func grad(out, p, dp []float32, delta float32) { gradGeneric(out, p, dp, delta) }

func hide(out, x, mask []float32, alpha float32) { hideGeneric(out, x, mask, alpha) }
