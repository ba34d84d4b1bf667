package optest

import (
	"math"

	"espalier/trainer/tensor"
)

func testMemory(h *harness) {
	keep := h.d.Keep(tensor.Float32, 3, 5)
	h.near("kept tensors start as zeros", keep, make([]float64, 15), 0)
	x := make([]float32, 15)
	for i := range x {
		x[i] = float32(i) - 7
	}
	h.d.Write(keep, x)
	shape := []int{3, 5}
	a, b := h.d.Alloc(tensor.Float32, shape...), h.d.Alloc(tensor.Int32, 4)
	shape[0] = 99
	if a.Shape[0] != 3 {
		h.Error("Alloc holds on to the caller's shape")
	}
	h.d.WriteInts(b, []int32{1, -2, math.MaxInt32, math.MinInt32})
	h.d.Copy(a, keep)
	h.same("copy", h.read(a), x)
	h.same("rows of a slice", h.read(a.Slice(1, 2)), x[5:10])
	got := make([]int32, 4)
	h.d.ReadInts(got, b)
	if got[0] != 1 || got[1] != -2 || got[2] != math.MaxInt32 || got[3] != math.MinInt32 {
		h.Errorf("ints read back as %v", got)
	}
	h.d.Zero(a.Slice(0, 1))
	h.same("zeroed row", h.read(a), append(make([]float32, 5), x[5:]...))
	if h.d.PeakBytes() < 15*4*2+16 {
		h.Errorf("peak is %d bytes", h.d.PeakBytes())
	}

	for range 4 { // the arena grows and is reused
		h.d.Reset()
		var all []tensor.Tensor
		for i := range 40 {
			n := 1 + i*i*40
			t := h.d.Alloc(tensor.Float32, n)
			y := make([]float32, n)
			for j := range y {
				y[j] = float32(i*100000 + j)
			}
			h.d.Write(t, y)
			all = append(all, t)
		}
		for i, t := range all {
			y := h.read(t)
			if y[0] != float32(i*100000) || y[len(y)-1] != float32(i*100000+len(y)-1) {
				h.Fatalf("tensor %d was overwritten", i)
			}
		}
	}
	testRelease(h)
	h.same("kept tensors outlive steps", h.read(keep), x)
	h.d.Free(keep)
	h.d.Free(tensor.Tensor{})
	empty := h.d.Alloc(tensor.Float32, 0, 7)
	h.d.Write(empty, nil)
	h.d.Zero(empty)
	h.d.Copy(empty, empty)
}

// testRelease gives tensors back in an order of no kind, and watches those that
// are left. Memory that was given back is used again.
func testRelease(h *harness) {
	type held struct {
		t tensor.Tensor
		x float32
	}
	for range 3 {
		h.d.Reset()
		h.d.Release(tensor.Tensor{})
		var all []held
		for i := range 600 {
			if len(all) > 20 || len(all) > 0 && h.r.IntN(3) == 0 {
				k := h.r.IntN(len(all))
				got := h.read(all[k].t)
				for _, v := range got {
					if v != all[k].x {
						h.Fatalf("a tensor of %g has become %g", all[k].x, v)
					}
				}
				t := all[k].t
				if k%2 == 0 {
					t = t.View(t.Len())
				}
				h.d.Release(t)
				all[k] = all[len(all)-1]
				all = all[:len(all)-1]
				continue
			}
			dt := []tensor.DType{tensor.Float32, tensor.BFloat16, tensor.Int32}[h.r.IntN(3)]
			e := held{h.d.Alloc(dt, 1+h.r.IntN(3), h.r.IntN(300)), float32(i % 256)}
			x := make([]float32, e.t.Len())
			for j := range x {
				x[j] = e.x
			}
			h.d.Write(e.t, x)
			all = append(all, e)
		}
		for _, e := range all {
			h.d.Release(e.t)
		}
	}
	h.d.Reset()
	before := h.d.PeakBytes()
	for range 1000 {
		h.d.Release(h.d.Alloc(tensor.Float32, 1000))
	}
	if got := h.d.PeakBytes(); got != before {
		h.Errorf("tensors that were given back count: %d bytes, want %d", got, before)
	}
}

func testHalves(h *harness) {
	x := []float32{0, 1, -2, 1.00390625, 1.01171875, 3.140625, 65504, 65520, 1e30, 6e-8, 2e-8, float32(math.Inf(-1)), 5.9604645e-8}
	for _, c := range []struct {
		dt   tensor.DType
		want []float32
	}{
		{tensor.BFloat16, []float32{0, 1, -2, 1, 1.015625, 3.140625, 65536, 65536, 1.00025555e30, 6.00703e-8, 2.0023435e-8, float32(math.Inf(-1)), 5.9604645e-8}},
		{tensor.Float16, []float32{0, 1, -2, 1.00390625, 1.01171875, 3.140625, 65504, float32(math.Inf(1)), float32(math.Inf(1)), 5.9604645e-8, 0, float32(math.Inf(-1)), 5.9604645e-8}},
	} {
		t := h.d.Keep(c.dt, len(x))
		h.d.Write(t, x)
		got := h.read(t)
		for i, w := range c.want {
			if !within(float64(got[i]), float64(w), 0) && math.Abs(float64(got[i]/w)-1) > 1e-4 {
				h.Errorf("%v: %g becomes %g, want %g", c.dt, x[i], got[i], w)
			}
		}
		back := h.d.Alloc(tensor.Float32, len(x))
		h.d.Copy(back, t)
		h.same("copy from "+c.dt.String(), h.read(back), got)
		again := h.d.Alloc(c.dt, len(x))
		h.d.Copy(again, back)
		h.same("copy to "+c.dt.String(), h.read(again), got)
		h.d.Free(t)
	}
}

func testPaste(h *harness) {
	for axis := range 3 {
		whole, part := []int{2, 3, 4}, []int{2, 3, 4}
		whole[axis] = 7
		for at := range 7 - part[axis] + 1 {
			src := h.in(part...)
			dst, first := h.sum(whole...)
			h.d.Paste(dst, src.t, axis, at)
			want := append([]float64(nil), first...)
			each3(part, func(i [3]int, n int) {
				i[axis] += at
				want[(i[0]*whole[1]+i[1])*whole[2]+i[2]] = src.x[n]
			})
			name := named("axis %d at %d", axis, at)
			h.near("paste "+name, dst, want, 0)
			sum, first := h.sum(whole...)
			h.d.PasteAdd(sum, src.t, axis, at)
			each3(part, func(i [3]int, n int) {
				i[axis] += at
				first[(i[0]*whole[1]+i[1])*whole[2]+i[2]] += src.x[n]
			})
			h.near("paste and add "+name, sum, first, 1e-6)
			back := h.out(part...)
			h.d.Cut(back, dst, axis, at)
			h.near("cut "+name, back, src.x, 0)
			h.done(name)
		}
	}
	empty := h.out(2, 0, 4)
	whole := h.in(2, 3, 4)
	h.d.Paste(whole.t, empty, 1, 3)
	h.d.Cut(empty, whole.t, 1, 3)
	h.done("empty part")
}

func each3(shape []int, f func(i [3]int, n int)) {
	n := 0
	for i := range shape[0] {
		for j := range shape[1] {
			for k := range shape[2] {
				f([3]int{i, j, k}, n)
				n++
			}
		}
	}
}
