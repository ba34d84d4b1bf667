package trainer

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"espalier/trainer/feed"
	"espalier/trainer/grad"
	"espalier/trainer/model/t5"
)

// loop makes all updates that are left.
func (r *tuning) loop(ctx context.Context) (err error) {
	s := r.stage
	r.t.Meter.Expect(s.Steps, "steps")
	r.t.Meter.Add(r.st.Step)
	for _, st := range r.set.Stats() {
		r.t.Log.Info("task", "task", st.Name, "examples", st.Examples, "share", fmt.Sprintf("%.4f", st.Rate))
	}
	r.t.Log.Info("training", "method", s.Method.Name, "trained", r.info.Trained, "backbone", r.info.Size, "steps", s.Steps, "feed_bytes", r.set.MemoryBytes())
	stream := r.set.Stream(ctx, r.st.Step)
	defer stream.Close()
	r.keeper.start(s.saveEvery, r.save)
	for {
		if r.due() {
			if err := r.validate(ctx); err != nil {
				return r.keeper.stop(ctx, r.st.Step, err)
			}
		}
		if r.st.Step == s.Steps || r.exhausted() {
			r.t.Log.Info("trained", "steps", r.st.Step, "device_bytes", r.dev.PeakBytes())
			return nil
		}
		if err := r.step(ctx, stream); err != nil {
			return r.keeper.stop(ctx, r.st.Step, err)
		}
		if f := s.stepped; f != nil {
			if err := f(r.st.Step); err != nil {
				return r.keeper.stop(ctx, r.st.Step, err)
			}
		}
	}
}

// exhausted reports whether the patience is at its end.
func (r *tuning) exhausted() bool {
	p := r.stage.Validate.Patience
	return p > 0 && r.st.Stale >= p
}

// step makes one update.
func (r *tuning) step(ctx context.Context, stream *feed.Stream) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	b, err := stream.Next(ctx)
	if err != nil {
		return err
	}
	defer b.Release()
	began := time.Now()
	n := r.st.Step
	task := slices.Index(r.info.Tasks, b.Source)
	all := 0
	for i, x := range b.Targets {
		if len(b.Inputs[i]) == 0 || len(x) == 0 {
			return fmt.Errorf("step %d: %s (%s) has an empty source or target", n, b.IDs[i], b.Source)
		}
		all += len(x)
	}
	im := textImages(&b.Features, r.info.Pool, r.info.Cells)
	r.model.Params().ZeroGrads()
	size := len(b.Targets)
	micro := cmp.Or(r.stage.Batch.Micro, size)
	passes := (size + micro - 1) / micro
	loss := 0.0
	for i := range passes {
		lo, hi := i*micro, min((i+1)*micro, size)
		part := t5.Batch{Source: b.Inputs[lo:hi], Target: b.Targets[lo:hi], Task: task, Images: slicedImages(im, lo, hi)}
		r.tape.Begin(grad.Step{Grad: true, Drop: true, Seed: *r.stage.Seed, Number: uint64(n)*uint64(passes) + uint64(i)})
		v, _, err := r.model.Loss(r.tape, &part, t5.LossOptions{Smoothing: float32(r.stage.Smoothing), Tokens: all})
		if err != nil {
			return fmt.Errorf("step %d (%s, %s): %w", n, b.Source, named(b.IDs), err)
		}
		var x [1]float32
		r.tape.Read(x[:], v)
		if f := float64(x[0]); math.IsNaN(f) || math.IsInf(f, 0) {
			return fmt.Errorf("step %d: the loss is not a number: %g; the batch is of task %s: %s", n, f, b.Source, named(b.IDs))
		}
		r.tape.Backward(v)
		loss += float64(x[0])
	}
	if err := r.keeper.keep(ctx, n); err != nil {
		return err
	}
	rate := r.schedule.At(int(n))
	r.opt.Update(rate)
	if err := r.dev.Err(); err != nil {
		return fmt.Errorf("step %d: %w", n, err)
	}
	r.st.Step++
	r.count(b.Source, loss, rate)
	r.t.Meter.Add(1)
	if took := time.Since(began).Seconds(); took > 0 {
		r.t.Meter.Note(fmt.Sprintf("%s  loss %.3f  %.0f examples/s", b.Source, loss, float64(size)/took))
	}
	return nil
}

// count adds a loss to the curve.
func (r *tuning) count(task string, loss, rate float64) {
	if r.st.Sums == nil {
		r.st.Sums = map[string]lossSum{}
	}
	s := r.st.Sums[task]
	r.st.Sums[task] = lossSum{s.Sum + loss, s.N + 1}
	if r.st.Step%r.stage.CurveStep != 0 && r.st.Step != r.stage.Steps {
		return
	}
	for _, name := range r.info.Tasks {
		if s, ok := r.st.Sums[name]; ok {
			r.st.Curve = append(r.st.Curve, textPoint{Step: r.st.Step, Task: name, Phase: phaseTrain, Metric: lossMetric, Value: s.Sum / float64(s.N), N: s.N})
		}
	}
	r.st.Curve = append(r.st.Curve, textPoint{Step: r.st.Step, Phase: phaseTrain, Metric: rateMetric, Value: rate, N: 1})
	r.st.Sums = nil
}

// slicedImages returns the images of examples lo to hi.
func slicedImages(im t5.Images, lo, hi int) t5.Images {
	if n := im.Cells * im.Dim; n > 0 {
		im.Features = im.Features[lo*n : hi*n]
	}
	if im.Counts != nil {
		im.Counts = im.Counts[lo:hi]
	}
	if n := im.Cells * 5; im.Boxes != nil {
		im.Boxes = im.Boxes[lo*n : hi*n]
	}
	return im
}
