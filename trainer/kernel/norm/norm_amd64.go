//go:build !purego

package norm

import "espalier/trainer/kernel/cpuinfo"

//go:generate go -C ../_asm run ./norm -pkg norm -out ../norm/norm_amd64.s -stubs ../norm/norm_asm_amd64.go

func largest(x []float32) float32 {
	var res [1]float32
	switch {
	case cpuinfo.AVX512:
		largestAVX512(&x[0], len(x), &res[0])
	case cpuinfo.AVX2:
		largestAVX2(&x[0], len(x), &res[0])
	default:
		return largestGeneric(x)
	}
	return res[0]
}

func sum(x []float32) float32 {
	var res [1]float32
	switch {
	case cpuinfo.AVX512:
		sumAVX512(&x[0], len(x), &res[0])
	case cpuinfo.AVX2:
		sumAVX2(&x[0], len(x), &res[0])
	default:
		return sumGeneric(x)
	}
	return res[0]
}

func sums(x, y []float32) (a, b float32) {
	var res [2]float32
	switch {
	case cpuinfo.AVX512:
		sumsAVX512(&x[0], &y[0], len(x), &res[0])
	case cpuinfo.AVX2:
		sumsAVX2(&x[0], &y[0], len(x), &res[0])
	default:
		return sumsGeneric(x, y)
	}
	return res[0], res[1]
}

func bothDeviations(x, y []float32, mean, other float32) (a, b float32) {
	var res [2]float32
	switch {
	case cpuinfo.AVX512:
		bothDeviationsAVX512(&x[0], &y[0], len(x), mean, other, &res[0])
	case cpuinfo.AVX2:
		bothDeviationsAVX2(&x[0], &y[0], len(x), mean, other, &res[0])
	default:
		return bothDeviationsGeneric(x, y, mean, other)
	}
	return res[0], res[1]
}

func squares(x []float32) float32 {
	var res [1]float32
	switch {
	case cpuinfo.AVX512:
		squaresAVX512(&x[0], len(x), &res[0])
	case cpuinfo.AVX2:
		squaresAVX2(&x[0], len(x), &res[0])
	default:
		return squaresGeneric(x)
	}
	return res[0]
}

func dot(x, y []float32) float32 {
	var res [1]float32
	switch {
	case cpuinfo.AVX512:
		dotAVX512(&x[0], &y[0], len(x), &res[0])
	case cpuinfo.AVX2:
		dotAVX2(&x[0], &y[0], len(x), &res[0])
	default:
		return dotGeneric(x, y)
	}
	return res[0]
}

func deviations(x []float32, mean float32) float32 {
	var res [1]float32
	switch {
	case cpuinfo.AVX512:
		deviationsAVX512(&x[0], len(x), mean, &res[0])
	case cpuinfo.AVX2:
		deviationsAVX2(&x[0], len(x), mean, &res[0])
	default:
		return deviationsGeneric(x, mean)
	}
	return res[0]
}

func expSum(out, x []float32, top float32) float32 {
	var res [1]float32
	switch {
	case cpuinfo.AVX512:
		expSumAVX512(&out[0], &x[0], len(out), top, &res[0])
	case cpuinfo.AVX2:
		expSumAVX2(&out[0], &x[0], len(out), top, &res[0])
	default:
		return expSumGeneric(out, x, top)
	}
	return res[0]
}

func expTotal(x []float32, top float32) float32 {
	var res [1]float32
	switch {
	case cpuinfo.AVX512:
		expTotalAVX512(&x[0], len(x), top, &res[0])
	case cpuinfo.AVX2:
		expTotalAVX2(&x[0], len(x), top, &res[0])
	default:
		return expTotalGeneric(x, top)
	}
	return res[0]
}

func surprise(x []float32, top, l float32) float32 {
	var res [1]float32
	switch {
	case cpuinfo.AVX512:
		surpriseAVX512(&x[0], len(x), top, l, &res[0])
	case cpuinfo.AVX2:
		surpriseAVX2(&x[0], len(x), top, l, &res[0])
	default:
		return surpriseGeneric(x, top, l)
	}
	return res[0]
}

func slopes(dy, gain, x []float32, mean float32) (float32, float32) {
	var res [2]float32
	switch {
	case cpuinfo.AVX512:
		slopesAVX512(&dy[0], &gain[0], &x[0], len(dy), mean, &res[0])
	case cpuinfo.AVX2:
		slopesAVX2(&dy[0], &gain[0], &x[0], len(dy), mean, &res[0])
	default:
		return slopesGeneric(dy, gain, x, mean)
	}
	return res[0], res[1]
}

func apply(out, x, gain, shift []float32, mean, inv float32) {
	switch {
	case cpuinfo.AVX512:
		applyAVX512(&out[0], &x[0], &gain[0], &shift[0], len(out), mean, inv)
	case cpuinfo.AVX2:
		applyAVX2(&out[0], &x[0], &gain[0], &shift[0], len(out), mean, inv)
	default:
		applyGeneric(out, x, gain, shift, mean, inv)
	}
}

func applyBare(out, x, gain []float32, mean, inv float32) {
	switch {
	case cpuinfo.AVX512:
		applyBareAVX512(&out[0], &x[0], &gain[0], len(out), mean, inv)
	case cpuinfo.AVX2:
		applyBareAVX2(&out[0], &x[0], &gain[0], len(out), mean, inv)
	default:
		applyBareGeneric(out, x, gain, mean, inv)
	}
}

func back(out, dy, gain, x []float32, mean, inv, sum, slope float32) {
	switch {
	case cpuinfo.AVX512:
		backAVX512(&out[0], &dy[0], &gain[0], &x[0], len(out), mean, inv, sum, slope)
	case cpuinfo.AVX2:
		backAVX2(&out[0], &dy[0], &gain[0], &x[0], len(out), mean, inv, sum, slope)
	default:
		backGeneric(out, dy, gain, x, mean, inv, sum, slope)
	}
}

func less(out, x []float32, a, b float32) {
	switch {
	case cpuinfo.AVX512:
		lessAVX512(&out[0], &x[0], len(out), a, b)
	case cpuinfo.AVX2:
		lessAVX2(&out[0], &x[0], len(out), a, b)
	default:
		lessGeneric(out, x, a, b)
	}
}

func share(out, x []float32, lse, w, off float32) {
	switch {
	case cpuinfo.AVX512:
		shareAVX512(&out[0], &x[0], len(out), lse, w, off)
	case cpuinfo.AVX2:
		shareAVX2(&out[0], &x[0], len(out), lse, w, off)
	default:
		shareGeneric(out, x, lse, w, off)
	}
}

func sumRows(out, x []float32, ld, rows int) {
	switch {
	case cpuinfo.AVX512:
		sumRowsAVX512(&out[0], &x[0], len(out), 4*ld, rows)
	case cpuinfo.AVX2:
		sumRowsAVX2(&out[0], &x[0], len(out), 4*ld, rows)
	default:
		sumRowsGeneric(out, x, ld, rows)
	}
}

func gains(dgain, dy, x, stats []float32, ld, rows int) {
	switch {
	case cpuinfo.AVX512:
		gainsAVX512(&dgain[0], &dy[0], &x[0], &stats[0], len(dgain), 4*ld, rows)
	case cpuinfo.AVX2:
		gainsAVX2(&dgain[0], &dy[0], &x[0], &stats[0], len(dgain), 4*ld, rows)
	default:
		gainsGeneric(dgain, dy, x, stats, ld, rows)
	}
}

func gainsAndShifts(dgain, dshift, dy, x, stats []float32, ld, rows int) {
	switch {
	case cpuinfo.AVX512:
		gainsAndShiftsAVX512(&dgain[0], &dshift[0], &dy[0], &x[0], &stats[0], len(dgain), 4*ld, rows)
	case cpuinfo.AVX2:
		gainsAndShiftsAVX2(&dgain[0], &dshift[0], &dy[0], &x[0], &stats[0], len(dgain), 4*ld, rows)
	default:
		gainsAndShiftsGeneric(dgain, dshift, dy, x, stats, ld, rows)
	}
}
