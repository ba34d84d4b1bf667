//go:build !amd64 || purego

package update

func adam(p, g, m, v []float32, a Adam) { adamGeneric(p, g, m, v, a) }

func sgd(p, g []float32, s SGD) { sgdGeneric(p, g, nil, s) }

func sgdMomentum(p, g, m []float32, s SGD) { sgdGeneric(p, g, m, s) }

func sgdNesterov(p, g, m []float32, s SGD) { sgdGeneric(p, g, m, s) }

func sumSquares(out, x []float32, ld, rows int) { sumSquaresGeneric(out, x, ld, rows) }

func productSquares(x, y []float32) float32 { return productSquaresGeneric(x, y) }

func means(v, g []float32, scale, eps, beta float32) float32 {
	return meansGeneric(v, g, scale, eps, beta)
}

func adafactor(p, g, y []float32, alpha, decay float32) {
	adafactorGeneric(p, g, y, nil, false, alpha, decay, 0)
}

func adafactorRoot(p, g, y []float32, alpha, decay float32) {
	adafactorGeneric(p, g, y, nil, true, alpha, decay, 0)
}

func adafactorMomentum(p, g, y, m []float32, alpha, decay, beta float32) {
	adafactorGeneric(p, g, y, m, false, alpha, decay, beta)
}

func adafactorRootMomentum(p, g, y, m []float32, alpha, decay, beta float32) {
	adafactorGeneric(p, g, y, m, true, alpha, decay, beta)
}
