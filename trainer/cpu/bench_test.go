package cpu

import (
	"fmt"
	"testing"

	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// BenchmarkFewRows multiplies few rows with a frozen matrix that no cache holds,
// as decoding does, at each precision of the matrix.
func BenchmarkFewRows(b *testing.B) {
	const n, k = 2048, 16384
	d := New(1)
	defer d.Close()
	w, half := d.Keep(tensor.Float32, k, n), d.Keep(tensor.BFloat16, k, n)
	for i := range Floats(w) {
		Floats(w)[i] = float32(i%7) - 3
	}
	d.Copy(half, w)
	for _, f := range []struct {
		name string
		w    tensor.Tensor
	}{{"float32", d.Pack(w, false)}, {"bfloat16", d.Pack(half, false)}, {"rounding", d.PackRounding(half, false)}} {
		for _, m := range []int{1, 5, 8} {
			b.Run(fmt.Sprintf("%s/m=%d", f.name, m), func(b *testing.B) {
				x, y := d.Keep(tensor.Float32, m, k), d.Keep(tensor.Float32, m, n)
				b.SetBytes(int64(n * k * f.w.DType.Bytes()))
				for b.Loop() {
					d.Gemm(y, x, f.w, op.Gemm{})
				}
			})
		}
	}
}
