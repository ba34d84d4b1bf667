package cpu

import (
	"math"
	"math/rand/v2"
	"testing"

	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// TestShares runs what a step of decoding does on numbers of rows around those
// that threads share out in one go; all give one thread's bits.
func TestShares(t *testing.T) {
	for _, rows := range []int{62, 63, 64, 65, 75, 96, 97, 191, 192, 193, 288, 289} {
		var want []float32
		for _, threads := range []int{1, 2, 3, 7} {
			got := decodeStep(threads, rows)
			if want == nil {
				want = got
			}
			for i := range want {
				if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
					t.Fatalf("%d rows, %d threads: number %d is %g, with one thread %g", rows, threads, i, got[i], want[i])
				}
			}
		}
	}
}

func TestShare(t *testing.T) {
	for _, c := range []struct{ threads, rows, want int }{
		{1, 75, 0}, {2, 0, 0}, {2, 60, 0}, {2, 61, 32}, {2, 64, 32}, {2, 65, 34}, {2, 75, 38}, {2, 192, 96}, {2, 193, 0}, {3, 75, 0}, {3, 96, 32},
	} {
		d := New(c.threads)
		if got := d.share(c.rows); got != c.want {
			t.Errorf("share of %d rows of %d threads is %d, want %d", c.rows, c.threads, got, c.want)
		}
		d.Close()
	}
}

// decodeStep returns what some operations make of random rows.
func decodeStep(threads, rows int) []float32 {
	const c, wide, heads, keys = 64, 1100, 4, 9
	d := New(threads)
	defer d.Close()
	r := rand.New(rand.NewPCG(7, uint64(rows)))
	random := func(shape ...int) tensor.Tensor {
		x := d.Keep(tensor.Float32, shape...)
		for i, y := 0, Floats(x); i < len(y); i++ {
			y[i] = float32(r.NormFloat64())
		}
		return x
	}
	x, w, v, bias := random(rows, 1, c), random(c, c), random(wide, c), random(wide)
	gain, cache, shared := random(c), random(1, 50, c), random(1, keys, c)
	slots := d.Keep(tensor.Int32, rows, keys)
	for i, s := 0, ints(slots); i < len(s); i++ {
		s[i] = int32(r.IntN(50))
	}
	y, z, logits := d.Keep(tensor.Float32, rows, 1, c), d.Keep(tensor.Float32, rows, 1, c), d.Keep(tensor.Float32, rows, wide)
	d.Norm(y, tensor.Tensor{}, x, gain, gain, op.Norm{Kind: op.StdNorm, Eps: 1e-6})
	d.Gemm(z, y, d.Pack(w, true), op.Gemm{TransB: true, Epilogue: op.Epilogue{Bias: gain}})
	a := op.Attention{Heads: heads, Scale: 0.2, Slots: slots}
	d.Attend(y, tensor.Tensor{}, z, cache, cache, a)
	d.Gemm(x, y, d.Pack(w, true), op.Gemm{TransB: true, Epilogue: op.Epilogue{Bias: gain, Act: op.ReLU, Residual: x}})
	a = op.Attention{Heads: heads, Scale: 0.2, Group: rows}
	d.Attend(y, tensor.Tensor{}, x, shared, shared, a)
	d.Gemm(logits, y, d.Pack(v, true), op.Gemm{TransB: true, Epilogue: op.Epilogue{Bias: bias}})
	out := append([]float32(nil), Floats(logits)...)
	d.LogSoftmax(logits, logits)
	return append(append(out, Floats(logits)...), Floats(x)...)
}
