// Package gauge times each family of kernels on this machine and sets it against
// what the machine can do: the fused multiply-adds and the bytes that package
// peak measures in the same run.
package gauge

import (
	"context"
	"fmt"
	"time"

	"espalier/trainer/cpu"
	"espalier/trainer/kernel/peak"
	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// A Row is one line of the table: the best rate seen.
type Row struct {
	Kernel  string
	Size    string
	Threads int
	Rate    float64 // in 1e9 of Unit
	Unit    string  // "FLOP/s" or "B/s"
	// Peak is what the machine did in the same unit, read from the cache level
	// that the operands fit in; Fraction is Rate/Peak. A peak's own row has 0.
	Peak, Fraction float64
}

// Bytes of the slices whose reading is measured: one stays in a core's
// second-level cache, one in the last level's, one in none.
const (
	nearBytes = 1 << 19
	midBytes  = 1 << 23
	farBytes  = 1 << 27
)

// Rows yields the table: the peaks, then each family, every line measured for
// about so long. It stops where ctx ends or yield returns false.
func Rows(ctx context.Context, threads int, each time.Duration, yield func(Row) bool) error {
	fma := peak.FMA(threads, each)
	near, mid, far := peak.Read(threads, nearBytes, each), peak.Read(threads, midBytes, each), peak.Read(threads, farBytes, each)
	for _, r := range []Row{
		{Kernel: "fused multiply-add", Size: "registers", Rate: fma, Unit: "FLOP/s"},
		{Kernel: "read", Size: sizeText(nearBytes), Rate: near, Unit: "B/s"},
		{Kernel: "read", Size: sizeText(midBytes), Rate: mid, Unit: "B/s"},
		{Kernel: "read", Size: sizeText(farBytes), Rate: far, Unit: "B/s"},
	} {
		r.Threads = threads
		if !yield(r) {
			return nil
		}
	}
	for _, c := range cases() {
		if err := ctx.Err(); err != nil {
			return err
		}
		r := Row{Kernel: c.kernel, Size: c.size, Threads: threads, Unit: "FLOP/s", Peak: fma}
		work := c.flops
		if c.bytes > 0 {
			r.Unit, r.Peak, work = "B/s", far, c.bytes
			switch {
			case c.bytes <= nearBytes:
				r.Peak = near
			case c.bytes <= 2*midBytes:
				r.Peak = mid
			}
		}
		t, err := c.time(ctx, threads, each)
		if err != nil {
			return err
		}
		r.Rate = work / t.Seconds() / 1e9
		r.Fraction = r.Rate / r.Peak
		if !yield(r) {
			return nil
		}
	}
	return nil
}

func sizeText(bytes int) string {
	if bytes >= 1<<20 {
		return fmt.Sprintf("%d MiB", bytes>>20)
	}
	return fmt.Sprintf("%d KiB", bytes>>10)
}

// A work is what is timed: floating-point operations or bytes a run.
type work struct {
	kernel, size string
	flops, bytes float64
	setup        func(b bench) func()
}

// time returns the shortest run.
func (c *work) time(ctx context.Context, threads int, each time.Duration) (time.Duration, error) {
	d := cpu.New(threads)
	defer d.Close()
	run := c.setup(bench{d})
	run()
	best := time.Duration(1<<63 - 1)
	for begin := time.Now(); ; {
		t := time.Now()
		run()
		best = min(best, max(time.Since(t), 1))
		if time.Since(begin) >= each {
			return best, d.Err()
		}
		if err := ctx.Err(); err != nil {
			return 0, err
		}
	}
}

// A bench makes operands.
type bench struct{ d *cpu.Device }

func (b bench) tensor(shape ...int) tensor.Tensor {
	t := b.d.Keep(tensor.Float32, shape...)
	x := cpu.Floats(t)
	for i := range x { // from -1.7 to 1.7, in no pattern
		x[i] = float32(int32(uint32(i)*2654435761)) * 0x1.bp-31
	}
	return t
}

func cases() []work {
	var all []work
	for _, s := range [][3]int{{512, 512, 512}, {1024, 1024, 1024}, {4096, 768, 3072}, {1500, 512, 512}} {
		all = append(all, product(s[0], s[1], s[2], false), product(s[0], s[1], s[2], true))
	}
	all = append(all, rounding(1024, 1024, 1024), rounding(4096, 768, 3072), gradient(512, 2048, 1500))
	for _, m := range []int{1, 5, 8} {
		all = append(all, decode(m, 512, 2048), decode(m, 2048, 16384))
	}
	for _, s := range [][3]int{{8, 128, 12}, {8, 512, 8}} {
		all = append(all, attention(s[0], s[1], s[2], false), attention(s[0], s[1], s[2], true))
	}
	all = append(all, convolution(14, 256, 1024, 1), convolution(14, 256, 256, 3), convolution(56, 64, 64, 3))
	return append(all, rows()...)
}

func product(m, n, k int, packed bool) work {
	name := "product"
	if packed {
		name = "product, frozen"
	}
	return work{name, fmt.Sprintf("%dx%dx%d", m, n, k), 2 * float64(m) * float64(n) * float64(k), 0, func(b bench) func() {
		x, w, c := b.tensor(m, k), b.tensor(k, n), b.tensor(m, n)
		if packed {
			w = b.d.Pack(w, false)
		}
		return func() { b.d.Gemm(c, x, w, op.Gemm{}) }
	}}
}

// rounding is a product of bfloat16 matrices.
func rounding(m, n, k int) work {
	return work{"product, bfloat16", fmt.Sprintf("%dx%dx%d", m, n, k), 2 * float64(m) * float64(n) * float64(k), 0, func(b bench) func() {
		x, w, half, c := b.tensor(m, k), b.tensor(k, n), b.d.Keep(tensor.BFloat16, k, n), b.tensor(m, n)
		b.d.Copy(half, w)
		w = b.d.PackRounding(half, false)
		return func() { b.d.Gemm(c, x, w, op.Gemm{}) }
	}}
}

// gradient is the gradient of a k by n weight over m rows.
func gradient(k, n, m int) work {
	return work{"product, gradient", fmt.Sprintf("%dx%dx%d", k, n, m), 2 * float64(m) * float64(n) * float64(k), 0, func(b bench) func() {
		x, dy, dw := b.tensor(m, k), b.tensor(m, n), b.tensor(k, n)
		return func() { b.d.Gemm(dw, x, dy, op.Gemm{TransA: true, Accumulate: true}) }
	}}
}

// decode is a product of few rows, whose weight is read once.
func decode(m, n, k int) work {
	return work{"product, few rows", fmt.Sprintf("%dx%dx%d", m, n, k), 0, 4 * float64(n) * float64(k), func(b bench) func() {
		x, w, c := b.tensor(m, k), b.d.Pack(b.tensor(k, n), false), b.tensor(m, n)
		return func() { b.d.Gemm(c, x, w, op.Gemm{}) }
	}}
}

func attention(batch, t, heads int, back bool) work {
	const dh = 64
	c := work{kernel: "attention", size: fmt.Sprintf("%d of %d heads, %d tokens", batch, heads, t)}
	c.flops = 4 * float64(batch*heads*dh) * float64(t*t)
	if back {
		c.kernel, c.flops = "attention, gradient", c.flops*2.5
	}
	c.setup = func(b bench) func() {
		dim := heads * dh
		q, k, v, out, lse := b.tensor(batch, t, dim), b.tensor(batch, t, dim), b.tensor(batch, t, dim), b.tensor(batch, t, dim), b.tensor(batch, heads, t)
		a := op.Attention{Heads: heads, Scale: 0.125, Bias: b.tensor(1, heads, t, t)}
		if !back {
			return func() { b.d.Attend(out, lse, q, k, v, a) }
		}
		b.d.Attend(out, lse, q, k, v, a)
		dout, dq, dk, dv, dbias := b.tensor(batch, t, dim), b.tensor(batch, t, dim), b.tensor(batch, t, dim), b.tensor(batch, t, dim), b.tensor(1, heads, t, t)
		return func() { b.d.AttendBack(dq, dk, dv, dbias, dout, out, lse, q, k, v, a) }
	}
	return c
}

func convolution(hw, in, out, k int) work {
	return work{"convolution", fmt.Sprintf("%dx%dx%d to %d, %dx%d", hw, hw, in, out, k, k), 2 * float64(hw*hw*in) * float64(out*k*k), 0, func(b bench) func() {
		x, w, y, bias := b.tensor(1, hw, hw, in), b.d.PackConv(b.tensor(k, k, in, out)), b.tensor(1, hw, hw, out), b.tensor(out)
		return func() {
			b.d.Conv(y, x, w, op.Conv{Pad: k / 2, Epilogue: op.Epilogue{Bias: bias, Act: op.ReLU}})
		}
	}}
}

// rows are the families that move bytes rather than multiply: a million
// elements, in rows of 512 where there are rows.
func rows() []work {
	const n, c = 1 << 20, 512
	var all []work
	add := func(name string, perElement float64, setup func(b bench) func()) {
		all = append(all, work{name, "1M elements", 0, perElement * n, setup})
	}
	for _, s := range []struct {
		name string
		act  op.Act
	}{{"ReLU", op.ReLU}, {"GELU, tanh", op.GELUTanh}, {"GELU, erf", op.GELUErf}, {"SiLU", op.SiLU}} {
		add(s.name, 8, func(b bench) func() {
			x, y := b.tensor(n), b.tensor(n)
			return func() { b.d.Activate(y, x, s.act) }
		})
	}
	add("GELU, tanh, gradient", 12, func(b bench) func() {
		x, y, z := b.tensor(n), b.tensor(n), b.tensor(n)
		return func() { b.d.ActivateBack(z, y, x, op.GELUTanh) }
	})
	add("softmax", 8, func(b bench) func() {
		x, y := b.tensor(n/c, c), b.tensor(n/c, c)
		return func() { b.d.Softmax(y, x) }
	})
	add("layer norm", 8, func(b bench) func() {
		x, y, g, s, st := b.tensor(n/c, c), b.tensor(n/c, c), b.tensor(c), b.tensor(c), b.tensor(n/c, 2)
		return func() { b.d.Norm(y, st, x, g, s, op.Norm{Eps: 1e-5}) }
	})
	add("layer norm, gradient", 12, func(b bench) func() {
		x, y, g, s, st, dx, dy := b.tensor(n/c, c), b.tensor(n/c, c), b.tensor(c), b.tensor(c), b.tensor(n/c, 2), b.tensor(n/c, c), b.tensor(n/c, c)
		b.d.Norm(y, st, x, g, s, op.Norm{Eps: 1e-5})
		return func() { b.d.NormBack(dx, g, s, dy, x, g, st, op.Norm{Eps: 1e-5}) }
	})
	add("cross-entropy", 4, func(b bench) func() {
		x, loss, lse, ids := b.tensor(n/c, c), b.tensor(n/c), b.tensor(n/c), b.d.Keep(tensor.Int32, n/c)
		return func() { b.d.CrossEntropy(loss, lse, x, ids, op.CrossEntropy{}) }
	})
	add("dropout", 8, func(b bench) func() {
		x, y := b.tensor(n), b.tensor(n)
		return func() { b.d.Drop(y, x, op.Dropout{P: 0.1, Key: 1}) }
	})
	add("Adam", 28, func(b bench) func() {
		p, g, m, v := b.tensor(n), b.tensor(n), b.tensor(n), b.d.Keep(tensor.Float32, n)
		a := op.Adam{Rate: 1e-6, Beta1: 0.9, Beta2: 0.98, Eps: 1e-9, Step: 1}
		return func() { b.d.Adam(p, g, m, v, a) }
	})
	add("Adafactor", 4*(4+3), func(b bench) func() { // the gradient four times, the weights thrice
		p, g, r, s := b.tensor(n/c, c), b.tensor(n/c, c), b.d.Keep(tensor.Float32, n/c), b.d.Keep(tensor.Float32, c)
		a := op.Adafactor{Rate: 1e-6, Decay: 0.8, Eps: 1e-30, Clip: 1, Step: 1, Scaled: true, MinScale: 1e-3}
		return func() { b.d.Adafactor(p, g, r, s, tensor.Tensor{}, a) }
	})
	return all
}
