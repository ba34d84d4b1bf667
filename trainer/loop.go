package trainer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"espalier/features/vectors"
	"espalier/pipeline"
	"espalier/pipeline/score"
	"espalier/pipeline/shard"
	"espalier/pipeline/store"
	"espalier/preprocess/example"
	"espalier/tokenize/tokens"
	"espalier/trainer/ckpt"
	"espalier/trainer/cpu"
	"espalier/trainer/decode"
	"espalier/trainer/feed"
	"espalier/trainer/grad"
	"espalier/trainer/model/ort"
	"espalier/trainer/op"
	"espalier/trainer/optim"
)

// Metrics of the curve.
const (
	lossMetric = "loss"
	rateMetric = "rate"
)

// A run is a Train at work.
type run struct {
	stage *Train
	t     *pipeline.Task
	files closer
	dev   op.Device

	corpus, task string
	set          *feed.Set
	index        *vectors.Index
	missing      int
	val          *validation // nil without
	model        *ort.Model
	adam         *optim.Adam
	tape         *grad.Tape
	schedule     optim.Schedule
	info         Info
	steps        int64

	st     state
	keeper keeper
	best   []ckpt.Tensor // weights of the best validation so far, in host memory
}

// A state is what a saved run needs besides weights and moments.
type state struct {
	Step      int64   `json:"step"`      // updates made
	Validated int64   `json:"validated"` // the last validation's step
	Sum       float64 `json:"sum"`       // of the losses since the curve's last point
	Count     int64   `json:"count"`
	Curve     []point `json:"curve"`
	Best      *point  `json:"best,omitempty"`
}

// open reads what the run needs and resumes it.
func (s *Train) open(t *pipeline.Task) (_ *run, err error) {
	r := &run{stage: s, t: t}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close())
		}
	}()
	toks, err := input(t, "tokens")
	if err != nil {
		return nil, err
	}
	feats, err := input(t, "features")
	if err != nil {
		return nil, err
	}
	vocabIn, err := input(t, "vocab")
	if err != nil {
		return nil, err
	}
	vocab, err := readVocab(vocabIn)
	if err != nil {
		return nil, fmt.Errorf("input vocab: %w", err)
	}
	if r.index, err = openVectors(feats, &r.files, nil); err != nil {
		return nil, err
	}
	if err := r.openSet(toks); err != nil {
		return nil, err
	}
	r.steps = s.Steps
	if r.steps == 0 {
		r.steps = int64(s.Epochs) * r.set.Steps()
	}
	r.schedule = s.schedule(r.set.Steps(), r.steps)
	if err := r.schedule.Check(); err != nil {
		return nil, fmt.Errorf("schedule: %w", err)
	}
	r.dev = cpu.New(t.Env.Threads)
	if r.model, err = ort.New(r.dev, s.Model.config(vocab, r.index.Options().Dim), *s.Seed); err != nil {
		return nil, err
	}
	r.info = Info{Model: r.model.Config(), Parameters: r.model.Params().Count(), Vocab: vocab, Features: featureInfo(r.index.Options())}
	for _, name := range []string{"examples", "features", "init", "tokens", "vocab"} {
		if in := t.In[name]; in != nil && (name != "examples" || s.Validate.Metric != NoMetric) {
			r.info.Inputs = append(r.info.Inputs, store.InputRef{Name: name, Key: in.Key, Digest: in.Manifest.Digest})
		}
	}
	if err := r.initial(); err != nil {
		return nil, err
	}
	if s.Validate.Metric != NoMetric {
		if r.val, err = r.openValidation(vocabIn); err != nil {
			return nil, err
		}
	}
	r.adam = s.Optimizer.adam(r.model)
	r.tape = grad.New(r.dev)
	return r, r.resume()
}

// openSet indexes the training split.
func (r *run) openSet(in *pipeline.Input) error {
	name, files, err := splitShards(in, r.stage.Split)
	if err != nil {
		return err
	}
	shards, err := openShards[tokens.Row](in, files, &r.files)
	if err != nil {
		return err
	}
	b := r.stage.Batch
	r.set, err = feed.Open(feed.Options{
		Size: b.Images, Captions: b.Captions, Window: b.Window, Buckets: b.Buckets, Seed: *r.stage.Seed,
		Loaders: 1, Ahead: 3,
	}, feed.Source{Name: name, Tokens: shards, Vectors: r.index})
	if err != nil {
		return fmt.Errorf("input tokens: %w", err)
	}
	stats := r.set.Stats()[0]
	r.missing = stats.Missing
	if stats.Missing > 0 {
		r.t.Log.Warn("examples without features are left out", "examples", stats.Missing, "first", stats.Example)
	}
	for _, s := range shards {
		if s.RowGroups() > 0 {
			rows, err := s.ReadGroup(0)
			if err != nil {
				return fmt.Errorf("input tokens: %w", err)
			}
			r.task = tokenRow(rows)
			r.corpus, _, _ = strings.Cut(rows[0].ID, "/")
			break
		}
	}
	return nil
}

// initial takes the weights of the input init, if there is one.
func (r *run) initial() error {
	in := r.t.In["init"]
	if in == nil {
		return nil
	}
	f, err := in.Open(ckpt.WeightsFile)
	if err != nil {
		return err
	}
	defer f.Close()
	weights, err := ckpt.Open(f, f.Size(), "input init: "+ckpt.WeightsFile)
	if err != nil {
		return err
	}
	return r.model.Load(weights)
}

func (r *run) close() error {
	err := r.files.Close()
	if r.adam != nil {
		r.adam.Free()
	}
	if r.model != nil {
		r.model.Free()
	}
	if r.dev != nil {
		err = errors.Join(err, r.dev.Close())
	}
	return err
}

// snapshot is what is saved.
func (r *run) snapshot() *snapshot {
	return &snapshot{"ort-training", map[string]string{}, &r.st, r.model.Params(), r.adam}
}

// resume takes the newest saved state, if there is one.
func (r *run) resume() (err error) {
	r.best, err = r.snapshot().load(r.t, func() bool { return r.st.Best != nil })
	return err
}

// save keeps the state of the run.
func (r *run) save(ctx context.Context) error { return r.snapshot().save(ctx, r.t, r.st.Step, r.best) }

// loop makes all steps that are left.
func (r *run) loop(ctx context.Context) (err error) {
	r.t.Meter.Expect(r.steps, "steps")
	r.t.Meter.Add(r.st.Step)
	stats := r.set.Stats()[0]
	r.t.Log.Info("training", "parameters", r.info.Parameters, "steps", r.steps, "epoch_steps", stats.Steps,
		"examples", stats.Examples, "captions", stats.Rows, "feed_bytes", r.set.MemoryBytes())
	stream := r.set.Stream(ctx, r.st.Step)
	defer stream.Close()
	r.keeper.start(r.stage.saveEvery, r.save)
	for {
		if r.due() {
			if err := r.validate(ctx); err != nil {
				return r.keeper.stop(ctx, r.st.Step, err)
			}
		}
		if r.st.Step == r.steps {
			r.t.Log.Info("trained", "steps", r.steps, "device_bytes", r.dev.PeakBytes())
			return nil
		}
		if err := r.step(ctx, stream); err != nil {
			return r.keeper.stop(ctx, r.st.Step, err)
		}
		if f := r.stage.stepped; f != nil {
			if err := f(r.st.Step); err != nil {
				return r.keeper.stop(ctx, r.st.Step, err)
			}
		}
	}
}

// step makes one update.
func (r *run) step(ctx context.Context, stream *feed.Stream) error {
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
	batch := ort.Batch{Images: images(&b.Features), Captions: b.Targets}
	r.tape.Begin(grad.Step{Grad: true, Drop: true, Seed: *r.stage.Seed, Number: uint64(n)})
	r.model.Params().ZeroGrads()
	v, _, err := r.model.Loss(r.tape, &batch, float32(r.stage.Smoothing))
	if err != nil {
		return fmt.Errorf("step %d (%s): %w", n, named(b.IDs), err)
	}
	var loss [1]float32
	r.tape.Read(loss[:], v)
	if x := float64(loss[0]); math.IsNaN(x) || math.IsInf(x, 0) {
		return fmt.Errorf("step %d: the loss is %g; the batch is %s", n, x, named(b.IDs))
	}
	r.tape.Backward(v)
	if err := r.keeper.keep(ctx, n); err != nil {
		return err
	}
	rate := r.schedule.At(int(n))
	r.adam.Update(rate)
	if err := r.dev.Err(); err != nil {
		return fmt.Errorf("step %d: %w", n, err)
	}
	r.st.Step++
	r.st.Sum += float64(loss[0])
	r.st.Count++
	if r.st.Step%r.stage.CurveStep == 0 || r.st.Step == r.steps {
		mean := r.st.Sum / float64(r.st.Count)
		r.st.Curve = append(r.st.Curve,
			point{Step: r.st.Step, Metric: lossMetric, Value: mean, N: r.st.Count},
			point{Step: r.st.Step, Metric: rateMetric, Value: rate, N: 1})
		r.st.Sum, r.st.Count = 0, 0
	}
	r.t.Meter.Add(1)
	if took := time.Since(began).Seconds(); took > 0 {
		r.t.Meter.Note(fmt.Sprintf("loss %.3f  %.0f captions/s", loss[0], float64(len(b.Targets))/took))
	}
	return nil
}

// named lists the first of a batch's examples.
func named(ids []string) string {
	const most = 5
	if len(ids) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(ids[:most], ", "), len(ids)-most)
	}
	return strings.Join(ids, ", ")
}

// A validation is a split to be captioned and scored.
type validation struct {
	captioner  *Captioner
	score      Validator
	images     []string
	references [][]string
}

// openValidation reads the examples of the validation split that have
// features.
func (r *run) openValidation(vocab *pipeline.Input) (*validation, error) {
	s := r.stage.Validate
	v := &validation{score: r.stage.tools.Validators[s.Metric]}
	open := r.stage.tools.Detokenizers[s.Detokenizer]
	if v.score == nil || open == nil {
		return nil, fmt.Errorf("validate: no metric %q or no detokenizer %q", s.Metric, s.Detokenizer)
	}
	text, err := open(vocab)
	if err != nil {
		return nil, fmt.Errorf("input vocab: %w", err)
	}
	if v.captioner, err = NewCaptioner(r.model, decode.Search{Beam: 1}, text); err != nil {
		return nil, err
	}
	in, err := input(r.t, "examples")
	if err != nil {
		return nil, err
	}
	var files closer
	defer files.Close()
	_, entries, err := splitShards(in, s.Split)
	if err != nil {
		return nil, err
	}
	shards, err := openShards[example.Head](in, entries, &files)
	if err != nil {
		return nil, err
	}
	missing := 0
	for _, sh := range shards {
		for h, err := range sh.All() {
			if err != nil {
				return nil, fmt.Errorf("input examples: %w", err)
			}
			if s.Limit > 0 && len(v.images) == s.Limit {
				break
			}
			if h.Image == nil || len(h.References) == 0 {
				continue
			}
			if _, _, ok := r.index.Find(*h.Image); !ok {
				missing++
				continue
			}
			v.images = append(v.images, *h.Image)
			v.references = append(v.references, h.References)
		}
	}
	if missing > 0 {
		r.t.Log.Warn("validation examples without features are left out", "examples", missing)
	}
	if len(v.images) == 0 {
		return nil, fmt.Errorf("input examples: split %s has no images with features and references", s.Split)
	}
	return v, nil
}

// due reports whether the present weights are to be validated.
func (r *run) due() bool {
	return r.val != nil && r.st.Step > r.st.Validated && (r.st.Step%r.stage.Validate.Every == 0 || r.st.Step == r.steps)
}

// validate scores the present weights and keeps them if they are the best.
func (r *run) validate(ctx context.Context) error {
	r.t.Meter.Note("validating")
	r.model.Pack()
	defer r.model.Unpack()
	texts := make([]string, len(r.val.images))
	err := r.val.captioner.Run(ctx, r.index, r.val.images, func(i int, c []Caption) error {
		texts[i] = c[0].Text
		return nil
	})
	if err != nil {
		return fmt.Errorf("validate at step %d: %w", r.st.Step, err)
	}
	value, err := r.val.score(texts, r.val.references)
	if err != nil {
		return fmt.Errorf("validate at step %d: %w", r.st.Step, err)
	}
	p := point{Step: r.st.Step, Metric: r.stage.Validate.Metric, Value: value, N: int64(len(texts))}
	r.st.Curve = append(r.st.Curve, p)
	r.st.Validated = r.st.Step
	r.t.Log.Info("validated", "step", p.Step, "metric", p.Metric, "value", value)
	if r.st.Best == nil || value > r.st.Best.Value {
		r.st.Best = &p
		r.best = r.best[:0]
		for _, param := range r.model.Params().All() {
			x := make([]float32, param.Len())
			r.dev.Read(x, param.Value)
			r.best = append(r.best, ckpt.Slice(param.Path, x, param.Shape...))
		}
	}
	return r.dev.Err()
}

// publish writes the checkpoint and the curve.
func (r *run) publish() error {
	result := Result{Step: r.steps, Steps: r.steps, Missing: r.missing}
	weights := ckpt.Params(r.model.Params(), true)
	if r.st.Best != nil {
		weights = r.best
		result.Step, result.Metric, result.Validation = r.st.Best.Step, r.st.Best.Metric, &r.st.Best.Value
	}
	for _, p := range r.st.Curve {
		if p.Metric == lossMetric {
			result.Loss = p.Value
		}
	}
	if err := writeCheckpoint(r.t.Out, ModelKind, r.info, result, weights); err != nil {
		return err
	}
	if err := r.copyVocab(); err != nil {
		return err
	}
	r.t.Out.Note("parameters", fmt.Sprint(r.info.Parameters))
	r.t.Out.Note("step", fmt.Sprint(result.Step))
	r.t.Out.Note("steps", fmt.Sprint(result.Steps))
	if r.missing > 0 {
		r.t.Out.Note("missing_features", fmt.Sprint(r.missing))
	}
	return writeRows(r.t.Out, "curve.parquet", score.Schema, r.rows())
}

// copyVocab copies the vocabulary's files, so that a checkpoint is enough to
// caption an image.
func (r *run) copyVocab() error {
	in := r.t.In["vocab"]
	for _, e := range in.Manifest.Files {
		if e.Schema != "" && e.Rows > 0 || e.Name == store.DeadLetters {
			continue // a table, not a part of the vocabulary
		}
		text, err := readFile(in, e.Name)
		if err != nil {
			return err
		}
		if err := writeFile(r.t.Out, vocabFolder+"/"+e.Name, text); err != nil {
			return err
		}
	}
	return nil
}

func writeFile(w *store.Writer, name string, text []byte) error {
	out, err := w.Create(name, "")
	if err != nil {
		return err
	}
	if _, err := out.Write(text); err != nil {
		return err
	}
	return out.Close(0)
}

func writeRows[T any](w *store.Writer, name, schema string, rows []T) error {
	out, err := w.Create(name, schema)
	if err != nil {
		return err
	}
	sw, err := shard.NewWriter[T](out, shard.Options{})
	if err != nil {
		return err
	}
	if err := errors.Join(sw.Write(rows), sw.Close()); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return out.Close(sw.Rows())
}
