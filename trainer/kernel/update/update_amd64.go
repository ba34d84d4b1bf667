//go:build !purego

package update

import "espalier/trainer/kernel/cpuinfo"

//go:generate go -C ../_asm run ./update -pkg update -out ../update/update_amd64.s -stubs ../update/update_asm_amd64.go

func adam(p, g, m, v []float32, a Adam) {
	pp, gp, mp, vp, n := &p[0], &g[0], &m[0], &v[0], len(p)
	switch {
	case cpuinfo.AVX512 && a.L2 == 0:
		adamAVX512(pp, mp, vp, gp, n, a.Scale, a.Clip, a.Beta1, a.Rest1, a.Beta2, a.Rest2, a.Rate, a.Root, a.Eps, a.Decay)
	case cpuinfo.AVX512:
		adamL2AVX512(pp, mp, vp, gp, n, a.Scale, a.Clip, a.Beta1, a.Rest1, a.Beta2, a.Rest2, a.Rate, a.Root, a.Eps, a.Decay, a.L2)
	case cpuinfo.AVX2 && a.L2 == 0:
		adamAVX2(pp, mp, vp, gp, n, a.Scale, a.Clip, a.Beta1, a.Rest1, a.Beta2, a.Rest2, a.Rate, a.Root, a.Eps, a.Decay)
	case cpuinfo.AVX2:
		adamL2AVX2(pp, mp, vp, gp, n, a.Scale, a.Clip, a.Beta1, a.Rest1, a.Beta2, a.Rest2, a.Rate, a.Root, a.Eps, a.Decay, a.L2)
	default:
		adamGeneric(p, g, m, v, a)
	}
}

func sgd(p, g []float32, s SGD) {
	switch {
	case cpuinfo.AVX512:
		sgdAVX512(&p[0], &g[0], len(p), s.Scale, s.Clip, s.Rate, s.L2)
	case cpuinfo.AVX2:
		sgdAVX2(&p[0], &g[0], len(p), s.Scale, s.Clip, s.Rate, s.L2)
	default:
		sgdGeneric(p, g, nil, s)
	}
}

func sgdMomentum(p, g, m []float32, s SGD) {
	switch {
	case cpuinfo.AVX512:
		sgdMomentumAVX512(&p[0], &m[0], &g[0], len(p), s.Scale, s.Clip, s.Rate, s.L2, s.Momentum, s.Rest)
	case cpuinfo.AVX2:
		sgdMomentumAVX2(&p[0], &m[0], &g[0], len(p), s.Scale, s.Clip, s.Rate, s.L2, s.Momentum, s.Rest)
	default:
		sgdGeneric(p, g, m, s)
	}
}

func sgdNesterov(p, g, m []float32, s SGD) {
	switch {
	case cpuinfo.AVX512:
		sgdNesterovAVX512(&p[0], &m[0], &g[0], len(p), s.Scale, s.Clip, s.Rate, s.L2, s.Momentum, s.Rest, s.Ahead)
	case cpuinfo.AVX2:
		sgdNesterovAVX2(&p[0], &m[0], &g[0], len(p), s.Scale, s.Clip, s.Rate, s.L2, s.Momentum, s.Rest, s.Ahead)
	default:
		sgdGeneric(p, g, m, s)
	}
}

func sumSquares(out, x []float32, ld, rows int) {
	switch {
	case cpuinfo.AVX512:
		sumSquaresAVX512(&out[0], &x[0], len(out), 4*ld, rows)
	case cpuinfo.AVX2:
		sumSquaresAVX2(&out[0], &x[0], len(out), 4*ld, rows)
	default:
		sumSquaresGeneric(out, x, ld, rows)
	}
}

func productSquares(x, y []float32) float32 {
	var res [1]float32
	switch {
	case cpuinfo.AVX512:
		productSquaresAVX512(&x[0], &y[0], len(x), &res[0])
	case cpuinfo.AVX2:
		productSquaresAVX2(&x[0], &y[0], len(x), &res[0])
	default:
		return productSquaresGeneric(x, y)
	}
	return res[0]
}

func means(v, g []float32, scale, eps, beta float32) float32 {
	var res [1]float32
	switch {
	case cpuinfo.AVX512:
		meansAVX512(&v[0], &g[0], len(v), scale, eps, beta, 1-beta, &res[0])
	case cpuinfo.AVX2:
		meansAVX2(&v[0], &g[0], len(v), scale, eps, beta, 1-beta, &res[0])
	default:
		return meansGeneric(v, g, scale, eps, beta)
	}
	return res[0]
}

func adafactor(p, g, y []float32, alpha, decay float32) {
	switch {
	case cpuinfo.AVX512:
		adafactorAVX512(&p[0], &g[0], &y[0], len(p), alpha, decay)
	case cpuinfo.AVX2:
		adafactorAVX2(&p[0], &g[0], &y[0], len(p), alpha, decay)
	default:
		adafactorGeneric(p, g, y, nil, false, alpha, decay, 0)
	}
}

func adafactorRoot(p, g, y []float32, alpha, decay float32) {
	switch {
	case cpuinfo.AVX512:
		adafactorRootAVX512(&p[0], &g[0], &y[0], len(p), alpha, decay)
	case cpuinfo.AVX2:
		adafactorRootAVX2(&p[0], &g[0], &y[0], len(p), alpha, decay)
	default:
		adafactorGeneric(p, g, y, nil, true, alpha, decay, 0)
	}
}

func adafactorMomentum(p, g, y, m []float32, alpha, decay, beta float32) {
	switch {
	case cpuinfo.AVX512:
		adafactorMomentumAVX512(&p[0], &m[0], &g[0], &y[0], len(p), alpha, decay, beta)
	case cpuinfo.AVX2:
		adafactorMomentumAVX2(&p[0], &m[0], &g[0], &y[0], len(p), alpha, decay, beta)
	default:
		adafactorGeneric(p, g, y, m, false, alpha, decay, beta)
	}
}

func adafactorRootMomentum(p, g, y, m []float32, alpha, decay, beta float32) {
	switch {
	case cpuinfo.AVX512:
		adafactorRootMomentumAVX512(&p[0], &m[0], &g[0], &y[0], len(p), alpha, decay, beta)
	case cpuinfo.AVX2:
		adafactorRootMomentumAVX2(&p[0], &m[0], &g[0], &y[0], len(p), alpha, decay, beta)
	default:
		adafactorGeneric(p, g, y, m, true, alpha, decay, beta)
	}
}
