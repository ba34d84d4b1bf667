//go:build !amd64 || purego

package norm

func largest(x []float32) float32 { return largestGeneric(x) }

func sum(x []float32) float32 { return sumGeneric(x) }

func sums(x, y []float32) (a, b float32) { return sumsGeneric(x, y) }

func bothDeviations(x, y []float32, mean, other float32) (a, b float32) {
	return bothDeviationsGeneric(x, y, mean, other)
}

func squares(x []float32) float32 { return squaresGeneric(x) }

func dot(x, y []float32) float32 { return dotGeneric(x, y) }

func deviations(x []float32, mean float32) float32 { return deviationsGeneric(x, mean) }

func expSum(out, x []float32, top float32) float32 { return expSumGeneric(out, x, top) }

func expTotal(x []float32, top float32) float32 { return expTotalGeneric(x, top) }

func surprise(x []float32, top, l float32) float32 { return surpriseGeneric(x, top, l) }

func slopes(dy, gain, x []float32, mean float32) (float32, float32) {
	return slopesGeneric(dy, gain, x, mean)
}

func apply(out, x, gain, shift []float32, mean, inv float32) {
	applyGeneric(out, x, gain, shift, mean, inv)
}

func applyBare(out, x, gain []float32, mean, inv float32) { applyBareGeneric(out, x, gain, mean, inv) }

func back(out, dy, gain, x []float32, mean, inv, sum, slope float32) {
	backGeneric(out, dy, gain, x, mean, inv, sum, slope)
}

func less(out, x []float32, a, b float32) { lessGeneric(out, x, a, b) }

func share(out, x []float32, lse, w, off float32) { shareGeneric(out, x, lse, w, off) }

func sumRows(out, x []float32, ld, rows int) { sumRowsGeneric(out, x, ld, rows) }

func gains(dgain, dy, x, stats []float32, ld, rows int) { gainsGeneric(dgain, dy, x, stats, ld, rows) }

func gainsAndShifts(dgain, dshift, dy, x, stats []float32, ld, rows int) {
	gainsAndShiftsGeneric(dgain, dshift, dy, x, stats, ld, rows)
}
