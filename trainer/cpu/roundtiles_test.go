package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"espalier/trainer/kernel/cpuinfo"
	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// everyInstruction calls f for each level of the numerics class and, where the
// processor has bfloat16 instructions, without them.
func everyInstruction(f func(name string)) {
	for _, l := range cpuinfo.Levels() {
		if l == cpuinfo.Portable && len(cpuinfo.Levels()) > 1 {
			continue
		}
		restore := cpuinfo.Limit(l)
		f(l.String())
		if cpuinfo.BF16 {
			cpuinfo.BF16 = false
			f(l.String() + " without bfloat16")
			cpuinfo.BF16 = true
		}
		restore()
	}
}

// Convolutions by transforms of bfloat16 numbers are near the direct ones, and
// have the same bits for every number of threads and set of instructions.
func TestRoundedTiles(t *testing.T) {
	for _, c := range []struct {
		n, h, w, in, out, pad int
		act                   op.Act
		residual              bool
		dt                    tensor.DType
	}{
		{1, 4, 4, 16, 16, 1, op.ReLU, false, tensor.BFloat16},
		{2, 7, 7, 40, 72, 1, op.ReLU, false, tensor.BFloat16},
		{1, 9, 5, 17, 33, 1, op.ReLU, false, tensor.BFloat16},
		{3, 14, 14, 64, 130, 1, op.ReLU, false, tensor.Float32},
		{1, 8, 6, 32, 64, 0, op.ReLU, true, tensor.Float32},
		{2, 3, 10, 16, 20, 2, op.None, true, tensor.BFloat16},
		{1, 1, 1, 16, 16, 1, op.GELUTanh, false, tensor.Float32},
		{1, 6, 6, 512, 64, 1, op.ReLU, false, tensor.BFloat16},
		{0, 6, 6, 16, 16, 1, op.ReLU, false, tensor.BFloat16},
	} {
		r := rand.New(rand.NewPCG(1, 2))
		random := func(n int, scale float64) []float32 {
			x := make([]float32, n)
			for i := range x {
				x[i] = float32(r.NormFloat64() * scale)
			}
			return x
		}
		oh, ow := c.h+2*c.pad-2, c.w+2*c.pad-2
		x, w, bias := random(c.n*c.h*c.w*c.in, 1), random(9*c.in*c.out, 1/math.Sqrt(float64(9*c.in))), random(c.out, 1)
		residual := random(c.n*oh*ow*c.out, 1)
		conv := func(threads int, tiles bool, xt tensor.DType) []float32 {
			d := New(threads)
			defer d.Close()
			put := func(dt tensor.DType, v []float32, shape ...int) tensor.Tensor {
				t := d.Keep(dt, shape...)
				d.Write(t, v)
				return t
			}
			var p tensor.Tensor
			if tiles {
				p = d.PackConvRounding(put(tensor.Float32, w, 3, 3, c.in, c.out))
			} else {
				p = d.PackRounding(put(tensor.BFloat16, w, 9*c.in, c.out), false).View(3, 3, c.in, c.out)
			}
			y := d.Keep(c.dt, c.n, oh, ow, c.out)
			e := op.Epilogue{Bias: put(tensor.Float32, bias, c.out), Act: c.act, ActLast: true}
			if c.residual {
				e.Residual = put(tensor.Float32, residual, c.n, oh, ow, c.out)
			}
			d.Conv(y, put(xt, x, c.n, c.h, c.w, c.in), p, op.Conv{Pad: c.pad, Epilogue: e})
			got := make([]float32, y.Len())
			d.Read(got, y)
			return got
		}
		want := conv(1, false, tensor.Float32)
		first := conv(1, true, tensor.Float32)
		var diff, size float64
		for i, v := range first {
			diff += float64(v-want[i]) * float64(v-want[i])
			size += float64(want[i]) * float64(want[i])
		}
		if !(diff <= 2e-4*size) {
			t.Errorf("%+v: squares of differences to the direct convolution are %g of %g", c, diff, size)
		}
		same := func(name string, got []float32) {
			if !slices.EqualFunc(got, first, func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }) {
				t.Errorf("%+v: %s gives other bits", c, name)
			}
		}
		same("an image in bfloat16", conv(1, true, tensor.BFloat16))
		everyInstruction(func(name string) {
			for _, threads := range []int{1, 3} {
				same(fmt.Sprint(name, ", threads ", threads), conv(threads, true, tensor.Float32))
			}
		})
	}
}

// A step that is not 1 takes the filters as they are, rounded.
func TestRoundedStride(t *testing.T) {
	d := New(2)
	defer d.Close()
	r := rand.New(rand.NewPCG(5, 6))
	fill := func(shape ...int) tensor.Tensor {
		t := d.Keep(tensor.Float32, shape...)
		for i := range Floats(t) {
			Floats(t)[i] = float32(r.NormFloat64())
		}
		return t
	}
	x, w := fill(2, 9, 9, 16), fill(3, 3, 16, 32)
	half := d.Keep(tensor.BFloat16, 9*16, 32)
	d.Copy(half, w.View(9*16, 32))
	run := func(p tensor.Tensor) []float32 {
		y := d.Keep(tensor.Float32, 2, 5, 5, 32)
		d.Conv(y, x, p, op.Conv{Stride: 2, Pad: 1})
		return Floats(y)
	}
	got, want := run(d.PackConvRounding(w)), run(d.PackRounding(half, false).View(3, 3, 16, 32))
	if !slices.Equal(got, want) {
		t.Error("a convolution of step 2 differs from the direct one")
	}
}

// A residual in bfloat16 is the same numbers in float32, for outputs of either
// type, and may be the output; so are images in bfloat16 that are pooled.
func TestRoundedResidual(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	d := New(2)
	defer d.Close()
	fill := func(dt tensor.DType, shape ...int) tensor.Tensor {
		x := make([]float32, tensor.Size(shape))
		for i := range x {
			x[i] = float32(r.NormFloat64())
		}
		t := d.Keep(dt, shape...)
		d.Write(t, x)
		return t
	}
	read := func(t tensor.Tensor) []float32 {
		x := make([]float32, t.Len())
		d.Read(x, t)
		return x
	}
	for _, c := range [][3]int{{1, 32, 64}, {1, 20, 72}, {3, 16, 40}, {3, 8, 33}} {
		k, in, out := c[0], c[1], c[2]
		x, w, bias := fill(tensor.BFloat16, 2, 7, 9, in), d.PackConvRounding(fill(tensor.Float32, k, k, in, out)), fill(tensor.Float32, out)
		half := fill(tensor.BFloat16, 2, 7, 9, out)
		wide := d.Keep(tensor.Float32, 2, 7, 9, out)
		d.Copy(wide, half)
		for _, e := range []op.Epilogue{{Act: op.ReLU, ActLast: true}, {Act: op.ReLU}, {}, {Act: op.GELUErf, ActLast: true}} {
			run := func(dt tensor.DType, residual tensor.Tensor) []float32 {
				y := d.Keep(dt, 2, 7, 9, out)
				e := e
				e.Bias, e.Residual = bias, residual
				d.Conv(y, x, w, op.Conv{Pad: k / 2, Epilogue: e})
				return read(y)
			}
			want, got, rounded := run(tensor.Float32, wide), run(tensor.Float32, half), run(tensor.BFloat16, half)
			e.Bias, e.Residual = bias, half
			own := d.Keep(tensor.BFloat16, 2, 7, 9, out)
			d.Copy(own, half)
			e.Residual = own
			d.Conv(own, x, w, op.Conv{Pad: k / 2, Epilogue: e})
			same := read(own)
			for i, v := range want {
				near := v
				if math.Abs(float64(v)) < 0x1p-126 { // rounding makes denormals zeros
					near = float32(math.Copysign(0, float64(v)))
				}
				if got[i] != v || toBF16(rounded[i]) != toBF16(near) || same[i] != rounded[i] {
					t.Fatalf("%v, %+v: number %d is %g, %g and %g, want %g", c, e.Act, i, got[i], rounded[i], same[i], v)
				}
			}
		}
		for _, size := range []int{1, 2, 3} {
			shape := []int{2, 7 / size, 9 / size, out}
			y, z, h := d.Keep(tensor.Float32, shape...), d.Keep(tensor.Float32, shape...), d.Keep(tensor.BFloat16, shape...)
			d.AvgPool(y, wide, size)
			d.AvgPool(z, half, size)
			d.AvgPool(h, half, size)
			got, rounded := read(z), read(h)
			for i, v := range read(y) {
				if got[i] != v || toBF16(rounded[i]) != toBF16(v) {
					t.Fatalf("pool of %d: number %d is %g and %g, want %g", size, i, got[i], rounded[i], v)
				}
			}
		}
	}
}
