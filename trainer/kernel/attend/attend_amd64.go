//go:build !purego

package attend

import "espalier/trainer/kernel/cpuinfo"

//go:generate go -C ../_asm run ./attend -pkg attend -out ../attend/attend_amd64.s -stubs ../attend/attend_asm_amd64.go

func scores(out, x, mask, bias []float32, scale, hidden float32) float32 {
	if !cpuinfo.AVX2 || len(out) == 0 {
		return scoresGeneric(out, x, mask, bias, scale, hidden)
	}
	var res [1]float32
	y, p, n, wide := &out[0], &x[0], len(out), cpuinfo.AVX512
	switch {
	case mask == nil && bias == nil && wide:
		scoresAVX512(y, p, n, scale, &res[0])
	case mask == nil && bias == nil:
		scoresAVX2(y, p, n, scale, &res[0])
	case bias == nil && wide:
		scoresMaskAVX512(y, p, &mask[0], n, scale, hidden, &res[0])
	case bias == nil:
		scoresMaskAVX2(y, p, &mask[0], n, scale, hidden, &res[0])
	case mask == nil && wide:
		scoresBiasAVX512(y, p, &bias[0], n, scale, &res[0])
	case mask == nil:
		scoresBiasAVX2(y, p, &bias[0], n, scale, &res[0])
	case wide:
		scoresMaskBiasAVX512(y, p, &mask[0], &bias[0], n, scale, hidden, &res[0])
	default:
		scoresMaskBiasAVX2(y, p, &mask[0], &bias[0], n, scale, hidden, &res[0])
	}
	return res[0]
}

func grad(out, p, dp []float32, delta float32) {
	switch {
	case cpuinfo.AVX512:
		gradAVX512(&out[0], &p[0], &dp[0], len(out), delta)
	case cpuinfo.AVX2:
		gradAVX2(&out[0], &p[0], &dp[0], len(out), delta)
	default:
		gradGeneric(out, p, dp, delta)
	}
}

func hide(out, x, mask []float32, alpha float32) {
	switch {
	case cpuinfo.AVX512:
		hideAVX512(&out[0], &x[0], &mask[0], len(out), alpha)
	case cpuinfo.AVX2:
		hideAVX2(&out[0], &x[0], &mask[0], len(out), alpha)
	default:
		hideGeneric(out, x, mask, alpha)
	}
}
