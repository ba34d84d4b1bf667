package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"espalier/cmd/benchpeers/duel"
	"espalier/trainer/cpu"
	"espalier/trainer/kernel/peak"
	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// Bounds of the difference of results, as a share of the largest value.
const (
	closeFloat = 2e-5 // float32, another order of sums
	closeGrad  = 2e-4 // gradients
	closeHalf  = 2e-2 // bfloat16 operands
)

// gemmGroup is the kernels.
func gemmGroup(ctx context.Context, b *bench) error {
	for _, threads := range b.threads {
		k := kernels{b, ctx, threads, cpu.New(threads)}
		err := k.all()
		if e := k.dev.Close(); err == nil {
			err = e
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// kernels are the works of one number of threads.
type kernels struct {
	*bench
	ctx     context.Context
	threads int
	dev     *cpu.Device
}

func (k *kernels) all() error {
	var errs []error
	do := func(work string, f func(work string) error) {
		work = fmt.Sprintf("%s, %s", work, threadText(k.threads))
		if len(errs) == 0 || errs[len(errs)-1] == nil {
			errs = append(errs, k.do(k.ctx, work, func() error { return f(work) }))
		}
	}
	for _, s := range [][3]int{{512, 512, 512}, {1024, 1024, 1024}, {4096, 768, 3072}, {1500, 512, 512}} {
		do(fmt.Sprintf("f32 product %dx%dx%d", s[0], s[1], s[2]), func(w string) error { return k.product(w, s[0], s[1], s[2]) })
	}
	for _, s := range [][3]int{{512, 512, 512}, {1024, 1024, 1024}, {4096, 768, 3072}, {1500, 512, 512}} {
		do(fmt.Sprintf("bf16 weights, product %dx%dx%d", s[0], s[1], s[2]), func(w string) error { return k.half(w, s[0], s[1], s[2]) })
	}
	for _, s := range [][3]int{{1, 512, 2048}, {5, 512, 2048}, {8, 512, 2048}, {1, 2048, 16384}, {5, 2048, 16384}, {8, 2048, 16384}} {
		do(fmt.Sprintf("decoding, f32 product %dx%dx%d", s[0], s[1], s[2]), func(w string) error { return k.decode(w, s[0], s[1], s[2]) })
	}
	for _, tokens := range []int{128, 512} {
		do(fmt.Sprintf("attention and gradient, bias, 8 heads x 64, %d tokens", tokens), func(w string) error { return k.attention(w, 8, tokens) })
	}
	for _, kind := range []string{"softmax", "layer norm", "GELU, erf", "GELU, tanh"} {
		do(kind+", 1M elements", func(w string) error { return k.rows(w, kind) })
	}
	do("Adam, 1M elements", k.adam)
	return errors.Join(errs...)
}

func threadText(n int) string {
	if n == 1 {
		return "1 thread"
	}
	return fmt.Sprintf("%d threads", n)
}

// tensor is kept memory with numbers from a seed.
func (k *kernels) tensor(seed uint32, shape ...int) tensor.Tensor {
	t := k.dev.Keep(tensor.Float32, shape...)
	duel.Fill(cpu.Floats(t), seed)
	return t
}

// ours is a side that calls the device.
func (k *kernels) ours(f func()) duel.Side {
	return duel.Func("espalier", func() error {
		f()
		return k.dev.Err()
	})
}

func (k *kernels) args(kv ...any) map[string]any {
	m := map[string]any{"threads": k.threads}
	for i := 0; i < len(kv); i += 2 {
		m[kv[i].(string)] = kv[i+1]
	}
	return m
}

// A ceiling is the machine's own peak as a side: so much work at the rate that
// is measured in each turn.
type ceiling struct {
	name string
	work float64 // in 1e9
	rate func() float64
}

func (c ceiling) Name() string { return c.name }

func (c ceiling) Time(context.Context, int) ([]float64, error) {
	return []float64{c.work / c.rate()}, nil
}

func (k *kernels) flops(gflop float64) ceiling {
	return ceiling{"FMA peak", gflop, func() float64 { return peak.FMA(k.threads, 20*time.Millisecond) }}
}

// blisKernels are values of BLIS_ARCH_TYPE worth trying where BLIS does not know the
// processor: its own choice, skx (AVX-512), zen3.
var blisKernels = []string{"", "BLIS_ARCH_TYPE=0", "BLIS_ARCH_TYPE=6"}

// blas returns the libraries of matrix products that this machine has.
func (k *kernels) blas(args map[string]any, ours map[string][]float64) ([]duel.Side, error) {
	torch, err := k.peer(k.ctx, "PyTorch", "kernels_torch", "gemm", args, ours, closeFloat)
	if err != nil {
		return nil, err
	}
	sides := []duel.Side{torch}
	numpy, err := k.peer(k.ctx, "NumPy", "kernels_numpy", "gemm", args, ours, closeFloat)
	if err != nil {
		return nil, err
	}
	sides = append(sides, numpy)
	var best duel.Side
	least := 0.0
	for _, env := range blisKernels {
		blis, err := k.peer(k.ctx, "BLIS", "kernels_blis", "gemm", args, ours, closeFloat, strings.Fields(env)...)
		if errors.Is(err, duel.ErrMissing) {
			return sides, nil // it is not part of the environment, but of the system
		} else if err != nil {
			return nil, err
		}
		t, err := blis.Time(k.ctx, 5)
		if err != nil {
			return nil, err
		}
		if m := duel.Median(t); best == nil || m < least {
			best, least = blis, m
		}
	}
	return append(sides, best), nil
}

func (k *kernels) product(work string, m, n, inner int) error {
	x, w, c := k.tensor(1, m, inner), k.tensor(2, inner, n), k.dev.Keep(tensor.Float32, m, n)
	f := func() { k.dev.Gemm(c, x, w, op.Gemm{}) }
	f()
	rivals, err := k.blas(k.args("m", m, "n", n, "k", inner), map[string][]float64{"c": duel.Sample(cpu.Floats(c))})
	if err != nil {
		return err
	}
	var names []string
	for _, r := range rivals {
		names = append(names, r.Name())
	}
	gflop := 2 * float64(m) * float64(n) * float64(inner) / 1e9
	top := k.flops(gflop)
	targets := []duel.Target{{Rivals: names, AtLeast: 1}}
	if m*n*inner >= 1<<30 {
		targets = append(targets, duel.Target{Rivals: []string{top.name}, AtLeast: 0.92})
	}
	return k.runner.Run(k.ctx, duel.Contest{
		Group: "gemm", Work: work, Unit: duel.Unit{Name: "GFLOP/s", Amount: gflop}, Ours: k.ours(f), Rivals: append(rivals, top), Targets: targets,
	})
}

func (k *kernels) half(work string, m, n, inner int) error {
	x, w, c := k.tensor(1, m, inner), k.tensor(2, inner, n), k.dev.Keep(tensor.Float32, m, n)
	frozen := k.dev.Keep(tensor.BFloat16, inner, n)
	k.dev.Copy(frozen, w)
	frozen = k.dev.PackRounding(frozen, false)
	f := func() { k.dev.Gemm(c, x, frozen, op.Gemm{}) }
	f()
	torch, err := k.peer(k.ctx, "PyTorch", "kernels_torch", "gemm_bf16", k.args("m", m, "n", n, "k", inner), map[string][]float64{"c": duel.Sample(cpu.Floats(c))}, closeHalf)
	if err != nil {
		return err
	}
	gflop := 2 * float64(m) * float64(n) * float64(inner) / 1e9
	return k.runner.Run(k.ctx, duel.Contest{
		Group: "gemm", Work: work, Unit: duel.Unit{Name: "GFLOP/s", Amount: gflop}, Ours: k.ours(f), Rivals: []duel.Side{torch}, Targets: []duel.Target{{AtLeast: 1}},
	})
}

// farBytes is more than a cache holds.
const farBytes = 64 << 20

func (k *kernels) decode(work string, m, n, inner int) error {
	x, w, c := k.tensor(1, m, inner), k.tensor(2, inner, n), k.dev.Keep(tensor.Float32, m, n)
	packed := k.dev.Pack(w, false)
	f := func() { k.dev.Gemm(c, x, packed, op.Gemm{}) }
	f()
	torch, err := k.peer(k.ctx, "PyTorch", "kernels_torch", "decode", k.args("m", m, "n", n, "k", inner), map[string][]float64{"c": duel.Sample(cpu.Floats(c))}, closeFloat)
	if err != nil {
		return err
	}
	gb := 4 * float64(n) * float64(inner) / 1e9
	contest := duel.Contest{
		Group: "gemm", Work: work, Unit: duel.Unit{Name: "GB/s", Amount: gb}, Ours: k.ours(f), Rivals: []duel.Side{torch},
		Targets: []duel.Target{{Rivals: []string{torch.Name()}, AtLeast: 1.2}},
	}
	if 4*n*inner >= farBytes {
		stream := ceiling{"streaming read", gb, func() float64 { return peak.Read(k.threads, 4*n*inner/k.threads, 60*time.Millisecond) }}
		contest.Rivals = append(contest.Rivals, stream)
		contest.Targets = append(contest.Targets, duel.Target{Rivals: []string{stream.name}, AtLeast: 0.85})
	}
	return k.runner.Run(k.ctx, contest)
}

func (k *kernels) attention(work string, batch, tokens int) error {
	const heads, width = 8, 64
	dim := heads * width
	in := func(seed uint32) tensor.Tensor { return k.tensor(seed, batch, tokens, dim) }
	q, key, v, dout := in(1), in(2), in(3), in(4)
	out, dq, dk, dv, lse := in(0), in(0), in(0), in(0), k.tensor(0, batch, heads, tokens)
	a := op.Attention{Heads: heads, Scale: 0.125, Bias: k.tensor(5, 1, heads, tokens, tokens)}
	f := func() {
		k.dev.Attend(out, lse, q, key, v, a)
		k.dev.AttendBack(dq, dk, dv, tensor.Tensor{}, dout, out, lse, q, key, v, a)
	}
	f()
	ours := map[string][]float64{}
	for name, t := range map[string]tensor.Tensor{"out": out, "dq": dq, "dk": dk, "dv": dv} {
		ours[name] = duel.Sample(cpu.Floats(t))
	}
	torch, err := k.peer(k.ctx, "PyTorch", "kernels_torch", "attention", k.args("batch", batch, "heads", heads, "tokens", tokens, "width", width), ours, closeGrad)
	if err != nil {
		return err
	}
	gflop := 4 * 3.5 * float64(batch*dim) * float64(tokens*tokens) / 1e9 // 2 products forward, 5 back
	return k.runner.Run(k.ctx, duel.Contest{
		Group: "gemm", Work: work, Unit: duel.Unit{Name: "GFLOP/s", Amount: gflop}, Ours: k.ours(f), Rivals: []duel.Side{torch}, Targets: []duel.Target{{AtLeast: 1.5}},
	})
}

func (k *kernels) rows(work, kind string) error {
	const rows, width = 2048, 512
	x, y := k.tensor(1, rows, width), k.dev.Keep(tensor.Float32, rows, width)
	k.dev.Scale(x, x, 4)
	var f func()
	switch kind {
	case "softmax":
		f = func() { k.dev.Softmax(y, x) }
	case "layer norm":
		gain, shift, stats := k.tensor(2, width), k.tensor(3, width), k.dev.Keep(tensor.Float32, rows, 2)
		f = func() { k.dev.Norm(y, stats, x, gain, shift, op.Norm{Eps: 1e-5}) }
	case "GELU, erf":
		f = func() { k.dev.Activate(y, x, op.GELUErf) }
	case "GELU, tanh":
		f = func() { k.dev.Activate(y, x, op.GELUTanh) }
	}
	f()
	torch, err := k.peer(k.ctx, "PyTorch", "kernels_torch", "rows", k.args("kind", kind, "rows", rows, "width", width), map[string][]float64{"out": duel.Sample(cpu.Floats(y))}, closeFloat)
	if err != nil {
		return err
	}
	return k.elements(work, 8*rows*width, f, torch)
}

func (k *kernels) adam(work string) error {
	const n = 1 << 20
	p, g, m, v := k.tensor(1, n), k.tensor(2, n), k.dev.Keep(tensor.Float32, n), k.dev.Keep(tensor.Float32, n)
	a := op.Adam{Rate: 1e-3, Beta1: 0.9, Beta2: 0.98, Eps: 1e-9}
	f := func() {
		a.Step++
		k.dev.Adam(p, g, m, v, a)
	}
	f()
	torch, err := k.peer(k.ctx, "PyTorch", "kernels_torch", "adam", k.args("n", n), map[string][]float64{"p": duel.Sample(cpu.Floats(p))}, closeFloat)
	if err != nil {
		return err
	}
	return k.elements(work, 28*n, f, torch)
}

// elements is a contest of work that moves bytes.
func (k *kernels) elements(work string, bytes float64, f func(), torch duel.Side) error {
	return k.runner.Run(k.ctx, duel.Contest{
		Group: "gemm", Work: work, Unit: duel.Unit{Name: "GB/s", Amount: bytes / 1e9}, Ours: k.ours(f), Rivals: []duel.Side{torch}, Targets: []duel.Target{{AtLeast: 1.2}},
	})
}
