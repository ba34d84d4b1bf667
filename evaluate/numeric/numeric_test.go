package numeric

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// bigExp is e^x by a Taylor series with 300 bits.
func bigExp(x float64) *big.Float {
	const prec = 300
	k := 0
	for math.Abs(x) > 0.5 {
		x /= 2
		k++
	}
	bx := new(big.Float).SetPrec(prec).SetFloat64(x)
	sum := big.NewFloat(1).SetPrec(prec)
	term := big.NewFloat(1).SetPrec(prec)
	for i := int64(1); i < 80; i++ {
		term.Mul(term, bx)
		term.Quo(term, new(big.Float).SetInt64(i))
		sum.Add(sum, term)
	}
	for range k {
		sum.Mul(sum, sum)
	}
	return sum
}

// bigLog is ln x by Newton's method on bigExp's inverse, 300 bits.
func bigLog(x float64) *big.Float {
	const prec = 300
	y := new(big.Float).SetPrec(prec).SetFloat64(math.Log(x))
	for range 3 {
		// y += 2 (x-e)/(x+e), with e = exp(y) summed from y's float parts
		e := bigExpBig(y)
		num := new(big.Float).SetPrec(prec).SetFloat64(x)
		den := new(big.Float).SetPrec(prec).Add(num, e)
		num.Sub(num, e)
		num.Quo(num, den)
		num.Mul(num, big.NewFloat(2))
		y.Add(y, num)
	}
	return y
}

func bigExpBig(y *big.Float) *big.Float {
	const prec = 300
	k := 0
	x := new(big.Float).SetPrec(prec).Set(y)
	for {
		f, _ := x.Float64()
		if math.Abs(f) <= 0.5 {
			break
		}
		x.Quo(x, big.NewFloat(2))
		k++
	}
	sum := big.NewFloat(1).SetPrec(prec)
	term := big.NewFloat(1).SetPrec(prec)
	for i := int64(1); i < 80; i++ {
		term.Mul(term, x)
		term.Quo(term, new(big.Float).SetInt64(i))
		sum.Add(sum, term)
	}
	for range k {
		sum.Mul(sum, sum)
	}
	return sum
}

func round(b *big.Float) float64 {
	f, _ := b.Float64()
	return f
}

func TestExpIsCorrectlyRounded(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		x := r.NormFloat64() * math.Pow(10, float64(r.IntN(6)-3))
		if got, want := Exp(x), round(bigExp(x)); got != want && want != 0 && !math.IsInf(want, 0) && want > 1e-300 {
			t.Errorf("Exp(%v) = %v, want %v", x, got, want)
		}
	}
	for _, c := range []struct{ x, want float64 }{{0, 1}, {1, math.E}, {-800, 0}, {800, math.Inf(1)}, {-745, 5e-324}} {
		if got := Exp(c.x); got != c.want {
			t.Errorf("Exp(%v) = %v, want %v", c.x, got, c.want)
		}
	}
}

func TestLogIsCorrectlyRounded(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	xs := []float64{2, 3, 10, 5000, 113287, 0.5, 1e-300, 1e300, math.Nextafter(1, 2), math.Nextafter(1, 0)}
	for range 300 {
		xs = append(xs, float64(r.IntN(200000)+1), math.Exp(r.NormFloat64()*5))
	}
	for _, x := range xs {
		if x == 1 {
			continue
		}
		if got, want := Log(x), round(bigLog(x)); got != want {
			t.Errorf("Log(%v) = %v, want %v", x, got, want)
		}
	}
	if Log(1) != 0 || !math.IsInf(Log(0), -1) || !math.IsNaN(Log(-1)) {
		t.Error("Log at 1, 0 or -1 is wrong")
	}
}

func TestPowIsCorrectlyRounded(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		x := math.Exp(r.NormFloat64() * 8)
		for _, y := range []float64{1. / 3, 0.25, -1.7} {
			want := bigLog(x)
			want.Mul(want, big.NewFloat(y))
			if got, want := Pow(x, y), round(bigExpBig(want)); got != want {
				t.Errorf("Pow(%v, %v) = %v, want %v", x, y, got, want)
			}
		}
	}
	for _, c := range []struct{ x, y, want float64 }{{0, 0.25, 0}, {0, 0, 1}, {7, 1, 7}, {9, 0.5, 3}, {3, 2, 9}, {1e-200, 3, 0}} {
		if got := Pow(c.x, c.y); got != c.want {
			t.Errorf("Pow(%v, %v) = %v, want %v", c.x, c.y, got, c.want)
		}
	}
}

func TestSumIsExactInAnyOrderAndSplit(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for round := range 50 {
		n := 1 + r.IntN(300)
		x := make([]float64, n)
		exact := new(big.Float).SetPrec(3000)
		for i := range x {
			x[i] = r.NormFloat64() * math.Pow(10, float64(r.IntN(40)-20))
			exact.Add(exact, new(big.Float).SetPrec(3000).SetFloat64(x[i]))
		}
		want, _ := exact.Float64()
		var whole, left, right Sum
		for i, v := range x {
			whole.Add(v)
			if i%3 == 0 {
				left.Add(v)
			} else {
				right.Add(v)
			}
		}
		right.Merge(&left)
		if whole.Value() != want || right.Value() != want {
			t.Errorf("round %d: sum %v, merged %v, want %v", round, whole.Value(), right.Value(), want)
		}
	}
	var tie Sum // 1 + 2^-53 + 2^-106 is just above half-way
	tie.Add(1)
	tie.Add(0x1p-53)
	tie.Add(0x1p-106)
	if got, want := tie.Value(), math.Nextafter(1, 2); got != want {
		t.Errorf("half-way sum = %v, want %v", got, want)
	}
}

// The values are numpy.mean's (2.4.6) of ((i*i)%97)/7 + 0.1*i for i below n.
func TestMeanAddsAsNumPy(t *testing.T) {
	for _, c := range []struct {
		n    int
		want float64
	}{
		{1, 0},
		{7, 2.1571428571428575},
		{8, 2.85},
		{13, 4.545054945054945},
		{128, 13.005133928571428},
		{129, 13.100996677740865},
		{1000, 56.784285714285716},
		{5003, 256.95911310356644},
	} {
		x := make([]float64, c.n)
		for i := range x {
			x[i] = float64((i*i)%97)/7 + float64(0.1*float64(i))
		}
		if got := Mean(x); got != c.want {
			t.Errorf("Mean of %d = %v, want %v", c.n, got, c.want)
		}
	}
	if !math.IsNaN(Mean[float64](nil)) {
		t.Error("Mean of nothing is a number")
	}
}
