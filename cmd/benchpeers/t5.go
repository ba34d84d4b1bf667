package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"espalier/cmd/benchpeers/duel"
	"espalier/trainer/ckpt"
	"espalier/trainer/cpu"
	"espalier/trainer/decode"
	"espalier/trainer/grad"
	"espalier/trainer/kernel/peak"
	"espalier/trainer/model/t5"
	"espalier/trainer/optim"
	"espalier/trainer/peft"
	"espalier/trainer/peft/adapter"
	"espalier/trainer/peft/full"
	"espalier/trainer/peft/hyperpelt"
)

// Sizes of T5's work: T5-base, 8 texts of 128 tokens with targets of 32.
const (
	t5Rows    = 8
	t5Source  = 128
	t5Target  = 32
	t5Adapter = 24 // width of an adapter
)

var t5Base = t5.Config{Vocab: 32128, Width: 768, HeadWidth: 64, Hidden: 3072, Layers: 12, Heads: 12}

// closeHalfLoss is how close the loss with weights in bfloat16 must be.
const closeHalfLoss = 2e-2

// t5Group is training steps and generation at the size of T5-base.
func t5Group(ctx context.Context, b *bench) error {
	t := &t5Work{bench: b, ctx: ctx, folder: filepath.Join(b.work, "t5")}
	var errs []error
	do := func(work string, threads int, f func(work string) error) {
		work = fmt.Sprintf("T5-base %s, %s", work, threadText(threads))
		errs = append(errs, b.do(ctx, work, func() error {
			t.threads = threads
			if err := t.write(); err != nil {
				return err
			}
			return errors.Join(f(work), b.retire())
		}))
	}
	step := fmt.Sprintf("step, batch %dx%d/%d, ", t5Rows, t5Source, t5Target)
	for _, n := range b.threads {
		do(step+"full", n, func(w string) error { return t.train(w, nil, false, 1.15) })
	}
	for _, n := range b.threads {
		do(step+"adapters", n, func(w string) error { return t.train(w, t.adapters(), false, 1.1) })
	}
	most := slices.Max(b.threads)
	do(step+"adapters, bf16 weights", most, func(w string) error { return t.train(w, t.adapters(), true, 1.6) })
	do(step+"HyperPELT over adapters", most, t.hyper)
	do("greedy, 32 tokens, batch 8x128", most, func(w string) error { return t.generate(w, 1, 1.8) })
	do("beam 4, 32 tokens, batch 8x128", most, func(w string) error { return t.generate(w, 4, 2.2) })
	do(step+"adapters, peak memory", most, t.memory)
	return errors.Join(errs...)
}

type t5Work struct {
	*bench
	ctx     context.Context
	threads int
	folder  string // of the weights, once they are written
	written bool
}

// adapters is an adapter beside each feed-forward; the norms are trained too.
func (t *t5Work) adapters() peft.Method {
	none := false
	return &adapter.Method{
		Sites: adapter.Sites{Sites: []string{"feed_forward"}}, Place: adapter.Place{Position: "parallel"}, Bottleneck: t5Adapter, PostNorm: &none,
	}
}

// write writes a random model, its adapters and a batch for both sides.
func (t *t5Work) write() error {
	if t.written {
		return nil
	}
	if err := os.MkdirAll(t.folder, 0o777); err != nil {
		return err
	}
	dev := cpu.New(1)
	defer dev.Close()
	back, err := t5.Random(dev, t5Base, 1)
	if err != nil {
		return err
	}
	m, err := t5.New(back, t5.Options{Methods: []peft.Method{t.adapters()}, Seed: 2})
	if err != nil {
		return err
	}
	defer m.Free()
	c := t5Base
	sizes := map[string]any{"vocab_size": c.Vocab, "d_model": c.Width, "d_kv": c.HeadWidth, "d_ff": c.Hidden, "num_layers": c.Layers, "num_heads": c.Heads}
	config := jsonText(back.Config)
	source, target := t.batch()
	flat := func(name string, rows [][]int32) ckpt.Tensor {
		x := ckpt.Tensor{Name: name, Shape: []int{len(rows), len(rows[0])}}
		for _, r := range rows {
			for _, id := range r {
				x.Ints = append(x.Ints, int64(id))
			}
		}
		return x
	}
	err = errors.Join(
		os.WriteFile(filepath.Join(t.folder, "config.json"), []byte(config), 0o666),
		os.WriteFile(filepath.Join(t.folder, "sizes.json"), []byte(jsonText(sizes)), 0o666),
		writeTensors(filepath.Join(t.folder, "model.safetensors"), back.Tensors()),
		writeTensors(filepath.Join(t.folder, "adapters.safetensors"), ckpt.Params(m.Params(), false)),
		writeTensors(filepath.Join(t.folder, "batch.safetensors"), []ckpt.Tensor{flat("source", source), flat("target", target)}),
		back.Close())
	t.written = err == nil
	return err
}

// batch is texts of random tokens.
func (t *t5Work) batch() (source, target [][]int32) {
	x := make([]float32, t5Rows*(t5Source+t5Target))
	duel.Fill(x, 7)
	for i := range t5Rows {
		ids := make([]int32, 0, t5Source+t5Target)
		for _, v := range x[i*(t5Source+t5Target):][:t5Source+t5Target] {
			ids = append(ids, 3+min(int32((v+1)/2*31000), 30999))
		}
		source, target = append(source, ids[:t5Source]), append(target, ids[t5Source:])
	}
	return source, target
}

// A t5Step is a model that is trained.
type t5Step struct {
	dev   *cpu.Device
	model *t5.Model
	adam  *optim.Adam
	tape  *grad.Tape
	batch t5.Batch
	loss  [1]float32
}

// open makes a model ready for training; method nil trains all of it.
func (t *t5Work) open(method peft.Method, half bool) (_ *t5Step, err error) {
	if method == nil {
		method = &full.Method{}
	}
	s := &t5Step{dev: cpu.New(t.threads)}
	back, err := t5.Open(s.dev, t.folder, t5.OpenOptions{Half: half, Round: half})
	if err != nil {
		return nil, errors.Join(err, s.dev.Close())
	}
	none := 0.0
	s.model, err = t5.New(back, t5.Options{Methods: []peft.Method{method}, Given: peft.Given{Tasks: []string{"task"}}, Seed: 2, Drop: &none})
	if err = errors.Join(err, back.Close()); err != nil {
		return nil, errors.Join(err, s.dev.Close())
	}
	s.batch.Source, s.batch.Target = t.batch()
	s.adam = optim.NewAdam(s.model.Params(), optim.AdamConfig{Beta1: 0.9, Beta2: 0.999, Eps: 1e-8, WeightDecay: 0.01})
	s.tape = grad.New(s.dev)
	return s, nil
}

func (s *t5Step) close() error {
	s.adam.Free()
	s.model.Free()
	return s.dev.Close()
}

func (s *t5Step) backward() error {
	s.tape.Begin(grad.Step{Grad: true, Drop: true, Number: uint64(s.adam.Step())})
	s.model.Params().ZeroGrads()
	l, _, err := s.model.Loss(s.tape, &s.batch, t5.LossOptions{})
	if err != nil {
		return err
	}
	s.tape.Read(s.loss[:], l)
	s.tape.Backward(l)
	return s.dev.Err()
}

func (s *t5Step) step() error {
	err := s.backward()
	s.adam.Update(1e-4)
	return err
}

func (t *t5Work) train(work string, method peft.Method, half bool, target float64) error {
	s, err := t.open(method, half)
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.backward(); err != nil {
		return err
	}
	name, width, factor, bound := "encoder.block.0.layer.1.DenseReluDense.wo.weight", 0, 3.0, 1e-2
	if method != nil {
		name, width, factor = "encoder.block.0.layer.1.adapter.up.weight", t5Adapter, 2
	}
	if half {
		bound = 0.2
	}
	p := s.model.Params().Get(name)
	if p == nil || p.Grad.IsZero() {
		return fmt.Errorf("no gradient of %s", name)
	}
	ours := map[string][]float64{"gradient": duel.Sample(cpu.Floats(p.Grad))}
	w, err := t.worker(t.ctx, "t5")
	if err != nil {
		return err
	}
	ready, err := w.Prepare("train", map[string]any{"folder": t.folder, "threads": t.threads, "adapters": width})
	if err != nil {
		return err
	}
	lossBound := 1e-4
	if half {
		lossBound = closeHalfLoss
	}
	if err := errors.Join(
		duel.Same(ours, ready.Values, bound),
		duel.Same(map[string][]float64{"loss": {float64(s.loss[0])}}, ready.Values, lossBound)); err != nil {
		return err
	}
	for k, v := range ready.Versions {
		t.versions[k] = v
	}
	gflop := 2 * factor * t5MACs() / 1e9
	return t.runner.Run(t.ctx, duel.Contest{
		Group: "t5", Work: work, Unit: duel.Seconds, Ours: duel.Func("espalier", s.step), Rivals: []duel.Side{w.Side("PyTorch (" + ready.Variant + ")")},
		Targets: []duel.Target{{AtLeast: target}}, Budget: 25 * time.Second,
		Note: func(seconds float64) string {
			return fmt.Sprintf("%.0f %% of the FMA peak", 100*gflop/seconds/peak.FMA(t.threads, 100*time.Millisecond))
		},
	})
}

// t5MACs is the multiply-adds of the forward products with weights.
func t5MACs() float64 {
	d, f, n := float64(t5Base.Width), float64(t5Base.Hidden), float64(t5Base.Layers)
	source, target := float64(t5Rows*t5Source), float64(t5Rows*t5Target)
	return n*(source*(4*d*d+2*d*f)+target*(6*d*d+2*d*f)+source*2*d*d) + target*d*float64(t5Base.Vocab)
}

// hyper compares a step of HyperPELT with one of plain adapters.
func (t *t5Work) hyper(work string) error {
	h, err := t.open(&hyperpelt.Method{}, false)
	if err != nil {
		return err
	}
	defer h.close()
	a, err := t.open(t.adapters(), false)
	if err != nil {
		return err
	}
	defer a.close()
	return t.runner.Run(t.ctx, duel.Contest{
		Group: "t5", Work: work, Unit: duel.Seconds, Ours: duel.Func("HyperPELT", h.step), Rivals: []duel.Side{duel.Func("espalier's adapters", a.step)},
		Targets: []duel.Target{{AtLeast: 1 / 1.10}}, Budget: 15 * time.Second,
	})
}

func (t *t5Work) generate(work string, beams int, target float64) error {
	s, err := t.open(t.adapters(), false) // of which nothing but the backbone is used
	if err != nil {
		return err
	}
	defer s.close()
	back, err := t5.Open(s.dev, t.folder, t5.OpenOptions{})
	if err != nil {
		return err
	}
	m, err := t5.New(back, t5.Options{})
	if err = errors.Join(err, back.Close()); err != nil {
		return err
	}
	defer m.Free()
	g := decode.Generation{Beams: beams, MaxNew: t5Target, EOS: -1}
	if err := g.Check(); err != nil {
		return err
	}
	m.Pack()
	var found [][]decode.Hypothesis
	run := func() error {
		st, err := m.Stepper(s.batch.Source, 0, t5.Images{}, g.Rows(), t5Target)
		if err != nil {
			return err
		}
		defer st.Close()
		found, err = g.Run(t.ctx, st, make([]uint64, t5Rows))
		return err
	}
	if err := run(); err != nil {
		return err
	}
	var ids []float64
	for _, h := range found {
		for _, id := range h[0].Tokens {
			ids = append(ids, float64(id))
		}
	}
	rival, err := t.peer(t.ctx, "HF", "t5", "generate", map[string]any{"folder": t.folder, "threads": t.threads, "beams": beams, "tokens": t5Target}, map[string][]float64{"ids": ids}, 0)
	if err != nil {
		return err
	}
	return t.runner.Run(t.ctx, duel.Contest{
		Group: "t5", Work: work, Unit: duel.Unit{Name: "tok/s", Amount: t5Rows * t5Target}, Ours: duel.Func("espalier", run), Rivals: []duel.Side{rival},
		Targets: []duel.Target{{AtLeast: target}}, Budget: 12 * time.Second,
	})
}

// memoryEnv makes this program a process that makes two steps with adapters,
// whose memory is measured.
const memoryEnv = "BENCHPEERS_T5_MEMORY"

// stepsOf makes two steps of the model in a folder.
func stepsOf(folder string, threads int) error {
	t := &t5Work{threads: threads, folder: folder}
	s, err := t.open(t.adapters(), false)
	if err != nil {
		return err
	}
	return errors.Join(s.step(), s.step(), s.close())
}

// memory compares the most memory of a process that makes steps with adapters:
// ours whole, theirs without that of its imports.
func (t *t5Work) memory(work string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	ours := &duel.Program{Argv: []string{self}, Env: []string{memoryEnv + "=" + t.folder, "GOMAXPROCS=" + strconv.Itoa(t.threads)}, Watch: true}
	if _, err := ours.Time(t.ctx, 1); err != nil {
		return err
	}
	theirs := 0.0
	argv := append(append([]string(nil), t.python...), filepath.Join(t.peers, "t5.py"), t.folder, strconv.Itoa(t.threads), strconv.Itoa(t5Adapter))
	peer := &duel.Program{Argv: argv, After: func(out []byte) error {
		_, err := fmt.Sscan(string(out), &theirs)
		return err
	}}
	if _, err := peer.Time(t.ctx, 1); err != nil {
		return err
	}
	l := duel.Limit("t5", work, "MB", ours.PeakMB, 0.6*theirs, fmt.Sprintf("PyTorch %.0f MB beyond its imports", theirs))
	l.Against = "0.6 of PyTorch"
	t.emit(l)
	return nil
}
