package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"espalier/cmd/benchpeers/duel"
	"espalier/trainer/ckpt"
	"espalier/trainer/cpu"
	"espalier/trainer/decode"
	"espalier/trainer/grad"
	"espalier/trainer/kernel/peak"
	"espalier/trainer/model/ort"
	"espalier/trainer/optim"
)

// Sizes of ACORT's work: a batch as it is trained, with region features.
const (
	acortImages   = 15
	acortCaptions = 5 // of an image
	acortBoxes    = 36
	acortFeatures = 2048
	acortVocab    = 771
	acortLength   = 26 // tokens with BOS and EOS
	acortBeam     = 5
	acortHeads    = 8
)

// How close results must be: sums of log-probabilities, as a share; gradients
// behind six layers that have logarithms with a floor, as one of the largest.
const (
	closeScoreSum = 1e-4
	closeDeep     = 1e-2
)

// acortGroup is a training step and decoding of ACORT.
func acortGroup(ctx context.Context, b *bench) error {
	var errs []error
	for _, name := range []string{"acort-base", "acort-small"} {
		for _, threads := range b.threads {
			a := acort{bench: b, ctx: ctx, name: name, threads: threads}
			for _, w := range []struct {
				work string
				f    func(work string) error
			}{
				{"training step, 15 images x 5 captions", a.train},
				{"beam 5, 15 images", func(work string) error { return a.beam(work, acortImages, 2.5) }},
				{"beam 5, 1 image", func(work string) error { return a.beam(work, 1, 5) }},
			} {
				if name == "acort-base" && w.work != "training step, 15 images x 5 captions" {
					continue // no target
				}
				work := fmt.Sprintf("%s %s, %s", name, w.work, threadText(threads))
				errs = append(errs, b.do(ctx, work, func() error {
					if err := a.open(); err != nil {
						return err
					}
					return errors.Join(w.f(work), a.dev.Close())
				}))
			}
		}
	}
	return errors.Join(errs...)
}

// acort is the works of a model and a number of threads.
type acort struct {
	*bench
	ctx     context.Context
	name    string
	threads int

	dev            *cpu.Device
	model          *ort.Model
	batch          ort.Batch
	weights, items string // files
}

// open makes the model and a batch and writes both for the peer.
func (a *acort) open() error {
	a.dev = cpu.New(a.threads)
	c, ok := ort.Preset(a.name)
	if !ok {
		return fmt.Errorf("no model %s", a.name)
	}
	c.Features, c.Vocab, c.BOS, c.EOS, c.MaxLen = acortFeatures, acortVocab, acortVocab-2, acortVocab-1, acortLength
	var err error
	if a.model, err = ort.New(a.dev, c, 8888); err != nil {
		return err
	}
	feats, places, lengths := make([]float32, acortImages*acortBoxes*acortFeatures), make([]float32, acortImages*acortBoxes*4), make([]float32, acortImages*acortCaptions)
	ids := make([]float32, len(lengths)*acortLength)
	duel.Fill(feats, 1)
	duel.Fill(places, 2)
	duel.Fill(lengths, 3)
	duel.Fill(ids, 4)
	for i, v := range feats {
		feats[i] = max(v, 0)
	}
	for i := range places { // x1 y1 from 0 to 0.6, then a size from 0 to 0.4
		if i%4 < 2 {
			places[i] = (places[i] + 1) * 0.3
		} else {
			places[i] = min(places[i-2]+(places[i]+1)*0.2, 1)
		}
	}
	a.batch = ort.Batch{Images: ort.Images{N: acortImages, Cells: acortBoxes, Feats: feats, Boxes: places}}
	seqs := make([]int64, len(ids))
	for r, v := range lengths {
		n := acortLength/2 + int((v+1)/2*float32(acortLength/2+1))
		n = min(n, acortLength)
		caption := []int32{c.BOS}
		for i := 1; i < n-1; i++ {
			caption = append(caption, 4+min(int32((ids[r*acortLength+i]+1)/2*765), 764))
		}
		caption = append(caption, c.EOS)
		for i, id := range caption {
			seqs[r*acortLength+i] = int64(id)
		}
		a.batch.Captions = append(a.batch.Captions, caption)
	}
	a.weights, a.items = filepath.Join(a.work, "acort.safetensors"), filepath.Join(a.work, "batch.safetensors")
	return errors.Join(
		writeTensors(a.weights, ckpt.Params(a.model.Params(), true)),
		writeTensors(a.items, []ckpt.Tensor{
			ckpt.Slice("feats", feats, acortImages, acortBoxes, acortFeatures),
			ckpt.Slice("boxes", places, acortImages, acortBoxes, 4),
			{Name: "seqs", Shape: []int{acortImages * acortCaptions, acortLength}, Ints: seqs},
		}))
}

func writeTensors(path string, t []ckpt.Tensor) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(ckpt.Write(f, t, nil), f.Close())
}

// args are the arguments of the peer's works.
func (a *acort) args() map[string]any {
	c := a.model.Config()
	return map[string]any{
		"weights": a.weights, "batch": a.items, "threads": a.threads,
		"config": map[string]any{"d": c.Width, "hidden": c.Hidden, "heads": c.Heads, "features": c.Features, "vocab": c.Vocab, "at": c.EncoderMap, "length": c.MaxLen},
	}
}

func (a *acort) train(work string) error {
	ps := a.model.Params()
	adam := optim.NewAdam(ps, optim.AdamConfig{Beta1: 0.9, Beta2: 0.98, Eps: 1e-9, ClipValue: 0.1})
	tape := grad.New(a.dev)
	var loss [1]float32
	backward := func(drop bool) error {
		ps.ZeroGrads()
		tape.Begin(grad.Step{Grad: true, Drop: drop, Seed: 1, Number: uint64(adam.Step())})
		l, _, err := a.model.Loss(tape, &a.batch, 0)
		if err != nil {
			return err
		}
		tape.Read(loss[:], l)
		tape.Backward(l)
		return a.dev.Err()
	}
	if err := backward(false); err != nil {
		return err
	}
	first := map[string][]float64{"loss": {float64(loss[0])}}
	ours := map[string][]float64{}
	for name, path := range map[string]string{
		"dtoken": "token.weight", "dfeature": "feature.weight", "dquery": "encoder.layers.0.self_attn.q.weight", "dkv": "decoder.layers.0.cross_attn.kv.weight",
	} {
		ours[name] = duel.Sample(cpu.Floats(ps.Get(path).Grad))
	}
	if _, err := a.peer(a.ctx, "PyTorch", "acort", "train", a.args(), first, closeFloat); err != nil {
		return err
	}
	rival, err := a.peer(a.ctx, "PyTorch", "acort", "train", a.args(), ours, closeDeep)
	if err != nil {
		return err
	}
	step := func() error {
		err := backward(true)
		adam.Update(1e-4)
		return err
	}
	gflop := a.gflop()
	return a.runner.Run(a.ctx, duel.Contest{
		Group: "acort", Work: work, Unit: duel.Seconds, Ours: duel.Func("espalier", step), Rivals: []duel.Side{rival}, Targets: []duel.Target{{AtLeast: 1.3}}, Budget: 12 * time.Second,
		Note: func(s float64) string {
			return fmt.Sprintf("%.0f %% of the FMA peak", 100*gflop/s/peak.FMA(a.threads, 100*time.Millisecond))
		},
	})
}

// gflop counts the products of a training step: three times those of the
// forward pass. A layer's geometry and its keys of the image are made once.
func (a *acort) gflop() float64 {
	c := a.model.Config()
	tokens := 0
	for _, s := range a.batch.Captions {
		tokens += len(s) - 1
	}
	d, f := float64(c.Width), float64(c.Hidden)
	cells, rows := float64(acortImages*acortBoxes), float64(acortImages*acortCaptions*(acortLength-1))
	encoder := cells * (3*d*d + 2*acortBoxes*d + 2*d*f)
	decoder := rows * (5*d*d + 2*(acortLength-1)*d + 2*acortBoxes*d + 2*d*f)
	layers := cells * (acortBoxes*64*acortHeads + d*d) * 2 // independent ones
	positions := float64(len(c.EncoderMap))
	return 2 * 3 * (cells*acortFeatures*d + positions*(encoder+decoder) + layers + float64(tokens)*d*acortVocab) / 1e9
}

func (a *acort) beam(work string, images int, target float64) error {
	c := a.model.Config()
	search := decode.Search{Beam: acortBeam, MaxLen: acortLength, BOS: c.BOS, EOS: c.EOS}
	if err := search.Check(); err != nil {
		return err
	}
	im := a.batch.Images
	im.N, im.Feats, im.Boxes = images, im.Feats[:images*acortBoxes*acortFeatures], im.Boxes[:images*acortBoxes*4]
	a.model.Pack()
	defer a.model.Unpack()
	var found [][]decode.Hypothesis
	run := func() error {
		st, err := a.model.Stepper(&im, acortBeam, false)
		if err != nil {
			return err
		}
		defer st.Close()
		found, err = search.Run(a.ctx, st, images)
		return err
	}
	if err := run(); err != nil {
		return err
	}
	var scores []float64
	for _, h := range found {
		scores = append(scores, h[0].Score)
	}
	args := a.args()
	args["images"], args["beam"], args["bos"], args["eos"], args["steps"] = images, acortBeam, c.BOS, c.EOS, acortLength
	rival, err := a.peer(a.ctx, "PyTorch", "acort", "decode", args, map[string][]float64{"scores": scores}, closeScoreSum)
	if err != nil {
		return err
	}
	return a.runner.Run(a.ctx, duel.Contest{
		Group: "acort", Work: work, Unit: duel.Seconds, Ours: duel.Func("espalier", run), Rivals: []duel.Side{rival}, Targets: []duel.Target{{AtLeast: target}},
	})
}
