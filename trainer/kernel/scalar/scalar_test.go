package scalar

import (
	"math"
	"testing"
)

func TestFunctions(t *testing.T) {
	near := func(name string, x, got, want, tol float64) {
		t.Helper()
		if got == want || (got != got && want != want) {
			return
		}
		if !(math.Abs(got-want) <= tol*math.Abs(want)+1e-300) {
			t.Errorf("%s(%g) = %g, want %g", name, x, got, want)
		}
	}
	for x := -800.0; x < 800; x += 0.0371 {
		near("Exp", x, Exp(x), math.Exp(x), 1e-13)
		near("Sigmoid", x, Sigmoid(x), 1/(1+math.Exp(-x)), 1e-13)
		near("Tanh", x/40, Tanh(x/40), math.Tanh(x/40), 1e-12)
		near("Pow", x, Pow(0.98, int(x+800)), math.Pow(0.98, float64(int(x+800))), 1e-12)
	}
	for x := 1e-300; x < 1e300; x *= 1.37 { // math.Log is wrong on denormals
		near("Log", x, Log(x), math.Log(x), 1e-13)
		near("Tanh", x, Tanh(x), math.Tanh(x), 1e-9)
		near("Tanh", -x, Tanh(-x), math.Tanh(-x), 1e-9)
	}
	for x := -13.0; x < 13; x += 0.0173 {
		below, density := Normal(x)
		near("Normal", x, below, math.Erfc(-x/math.Sqrt2)/2, 2e-8)
		near("density", x, density, math.Exp(-x*x/2), 1e-13)
	}
	near("Log", 1.0001, Log(1.0001), math.Log(1.0001), 1e-13)
	inf, nan := math.Inf(1), math.NaN()
	for _, x := range []float64{inf, -inf, nan, 0, -1} {
		near("Exp", x, Exp(x), math.Exp(x), 1e-13)
		near("Log", x, Log(x), math.Log(x), 1e-13)
		near("Tanh", x, Tanh(x), math.Tanh(x), 1e-13)
		near("Sigmoid", x, Sigmoid(x), 1/(1+math.Exp(-x)), 1e-13)
		below, _ := Normal(x)
		near("Normal", x, below, math.Erfc(-x/math.Sqrt2)/2, 2e-8)
	}
}

// TestBits pins bits that every architecture and every GOAMD64 must give.
func TestBits(t *testing.T) {
	var sum uint64
	mix := func(x float64) { sum = sum*0x9e3779b97f4a7c15 + math.Float64bits(x) }
	for x := -30.0; x < 30; x += 0.0078125 {
		mix(Exp(x))
		mix(Log(x + 31))
		mix(Tanh(x))
		below, density := Normal(x)
		mix(below)
		mix(density)
		mix(Pow(x/32, 7))
	}
	if want := uint64(0xe23e4d236050dac7); sum != want {
		t.Errorf("digest of bits %#x, want %#x", sum, want)
	}
}
