package cpu

import (
	"math"
	"math/rand/v2"
	"testing"

	"espalier/trainer/kernel/cpuinfo"
	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// A convolution that rounds is the definition's sum over rounded numbers, and
// has the same bits for every number of threads and set of instructions.
func TestRoundedConv(t *testing.T) {
	for _, c := range []struct{ n, hw, in, k, out, stride, pad int }{
		{1, 5, 4, 3, 6, 1, 1}, {2, 9, 3, 3, 40, 2, 1}, {3, 7, 33, 1, 70, 1, 0}, {1, 12, 3, 7, 5, 2, 3}, {2, 14, 64, 3, 64, 1, 1}, {2, 6, 8, 1, 32, 2, 0},
	} {
		r := rand.New(rand.NewPCG(1, 2))
		o := (c.hw+2*c.pad-c.k)/c.stride + 1
		x, w, bias := make([]float32, c.n*c.hw*c.hw*c.in), make([]float32, c.k*c.k*c.in*c.out), make([]float32, c.out)
		residual := make([]float32, c.n*o*o*c.out)
		for _, s := range [][]float32{x, w, bias, residual} {
			for i := range s {
				s[i] = float32(r.NormFloat64())
			}
		}
		rounded := func(v float32) float64 { return float64(math.Float32frombits(uint32(toBF16(v)) << 16)) }
		var first []float32
		run := func(threads int) {
			d := New(threads)
			defer d.Close()
			put := func(dt tensor.DType, v []float32, shape ...int) tensor.Tensor {
				t := d.Keep(dt, shape...)
				d.Write(t, v)
				return t
			}
			kk := c.k * c.k * c.in
			p := d.PackRounding(put(tensor.BFloat16, w, kk, c.out), false).View(c.k, c.k, c.in, c.out)
			y := put(tensor.Float32, residual, c.n, o, o, c.out) // the residual is the output
			d.Conv(y, put(tensor.Float32, x, c.n, c.hw, c.hw, c.in), p, op.Conv{
				Stride: c.stride, Pad: c.pad,
				Epilogue: op.Epilogue{Bias: put(tensor.Float32, bias, c.out), Residual: y, Act: op.ReLU, ActLast: true},
			})
			got := make([]float32, y.Len())
			d.Read(got, y)
			if first == nil {
				first = got
			}
			for i, v := range got {
				if math.Float32bits(v) != math.Float32bits(first[i]) {
					t.Fatalf("%+v: number %d is %g with %d threads, %v, and %g before", c, i, v, threads, cpuinfo.Best(), first[i])
				}
			}
		}
		for _, l := range cpuinfo.Levels() {
			if l == cpuinfo.Portable && len(cpuinfo.Levels()) > 1 {
				continue // a numerics class of its own
			}
			restore := cpuinfo.Limit(l)
			run(1)
			run(3)
			restore()
		}
		for at, v := range first {
			ch, j, i, b := at%c.out, at/c.out%o, at/(c.out*o)%o, at/(c.out*o*o)
			want := float64(bias[ch]) + float64(residual[at])
			for di := range c.k {
				for dj := range c.k {
					row, col := i*c.stride+di-c.pad, j*c.stride+dj-c.pad
					if row < 0 || row >= c.hw || col < 0 || col >= c.hw {
						continue
					}
					for k := range c.in {
						want += rounded(x[((b*c.hw+row)*c.hw+col)*c.in+k]) * rounded(w[((di*c.k+dj)*c.in+k)*c.out+ch])
					}
				}
			}
			if want = max(want, 0); math.Abs(float64(v)-want) > 2e-4 {
				t.Fatalf("%+v: number %d is %g, want %g", c, at, v, want)
			}
		}
	}
}

// Images and outputs in bfloat16 are those in float32, rounded.
func TestRoundedConvTypes(t *testing.T) {
	d := New(2)
	defer d.Close()
	r := rand.New(rand.NewPCG(3, 4))
	for _, c := range [][3]int{{1, 32, 40}, {3, 17, 33}, {1, 7, 5}} {
		k, in, out := c[0], c[1], c[2]
		fill := func(dt tensor.DType, shape ...int) tensor.Tensor {
			x := make([]float32, tensor.Size(shape))
			for i := range x {
				x[i] = float32(r.NormFloat64())
			}
			t := d.Keep(dt, shape...)
			d.Write(t, x)
			return t
		}
		w := d.PackRounding(fill(tensor.BFloat16, k*k*in, out), false).View(k, k, in, out)
		half := fill(tensor.BFloat16, 2, 9, 9, in)
		x := d.Keep(tensor.Float32, 2, 9, 9, in)
		d.Copy(x, half)
		e := op.Conv{Pad: k / 2, Epilogue: op.Epilogue{Bias: fill(tensor.Float32, out), Act: op.ReLU}}
		run := func(dt tensor.DType, x tensor.Tensor) []float32 {
			y := d.Keep(dt, 2, 9, 9, out)
			d.Conv(y, x, w, e)
			got := make([]float32, y.Len())
			d.Read(got, y)
			return got
		}
		want, got, rounded := run(tensor.Float32, x), run(tensor.Float32, half), run(tensor.BFloat16, half)
		for i, v := range want {
			if got[i] != v || toBF16(rounded[i]) != toBF16(v) {
				t.Fatalf("%v: number %d is %g and %g, want %g", c, i, got[i], rounded[i], v)
			}
		}
	}
}
