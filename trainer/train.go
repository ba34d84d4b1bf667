package trainer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"espalier/pipeline"
	"espalier/pipeline/score"
	"espalier/tokenize/tokens"
	"espalier/trainer/optim"
)

// Train is the stage that trains a caption model with cross-entropy.
//
// Inputs: tokens (encoded captions), vocab (their vocabulary), features (vector
// shards), examples (references of the validation split; only with
// validation), init (a checkpoint to start from; optional). Output:
// model.safetensors and model.json (the weights with the best validation score,
// or the last ones), vocab/ (the vocabulary's files), curve.parquet (score rows:
// loss, learning rate and validation by step).
type Train struct {
	Model     Model          `yaml:"model" json:"model" doc:"what is trained"`
	Split     string         `yaml:"split" json:"split" doc:"split to train on; by default train"`
	Batch     Batch          `yaml:"batch" json:"batch" doc:"what a step takes"`
	Epochs    int            `yaml:"epochs" json:"epochs" doc:"times through the split; by default 15, unless steps says"`
	Steps     int64          `yaml:"steps" json:"steps" doc:"updates, instead of epochs"`
	Optimizer Optimizer      `yaml:"optimizer" json:"optimizer" doc:"Adam"`
	Schedule  optim.Schedule `yaml:"schedule" json:"schedule" doc:"learning rate; by default noam with factor 1 and 10000 warm-up updates"`
	Smoothing float64        `yaml:"smoothing" json:"smoothing" doc:"label smoothing, 0 to 1; by default none"`
	Seed      *uint64        `yaml:"seed" json:"seed" doc:"of initial weights, order, captions drawn and dropout; by default 8888"`
	Validate  Validate       `yaml:"validate" json:"validate" doc:"how the best weights are chosen"`
	CurveStep int64          `yaml:"curve_step" json:"curve_step" doc:"steps between two points of the loss curve; by default 50"`

	tools     Tools
	saveEvery time.Duration          // for tests: between saved states
	stepped   func(step int64) error // for tests: called behind each step
}

// A Batch says what a step takes.
type Batch struct {
	Images   int   `yaml:"images" json:"images" doc:"images of a step; by default 15"`
	Captions int   `yaml:"captions" json:"captions" doc:"captions drawn of each image; by default 5"`
	Window   int   `yaml:"window" json:"window" doc:"row groups shuffled together; by default 8"`
	Buckets  []int `yaml:"buckets" json:"buckets" doc:"lengths that part captions into batches of similar length; by default none"`
}

// An Optimizer is Adam's settings.
type Optimizer struct {
	Beta1       float64  `yaml:"beta1" json:"beta1" doc:"by default 0.9"`
	Beta2       float64  `yaml:"beta2" json:"beta2" doc:"by default 0.98"`
	Eps         float64  `yaml:"eps" json:"eps" doc:"by default 1e-9"`
	WeightDecay float64  `yaml:"weight_decay" json:"weight_decay" doc:"decoupled; by default none"`
	ClipValue   *float64 `yaml:"clip_value" json:"clip_value" doc:"each gradient is clipped to this; by default 0.1, 0 for no clipping"`
	ClipNorm    float64  `yaml:"clip_norm" json:"clip_norm" doc:"gradients are scaled to this norm first; by default not"`
}

// NoMetric switches validation off.
const NoMetric = "none"

// A Validate says how the best weights are chosen.
type Validate struct {
	Metric      string `yaml:"metric" json:"metric" doc:"by default cider/1; none keeps the last weights"`
	Every       int64  `yaml:"every" json:"every" doc:"steps between validations, and once at the end; by default 6000"`
	Split       string `yaml:"split" json:"split" doc:"by default val"`
	Limit       int    `yaml:"limit" json:"limit" doc:"images of the split, from its first; by default all"`
	Detokenizer string `yaml:"detokenizer" json:"detokenizer" doc:"by default caption/1"`
}

// NewTrain returns a Train stage that uses the tools.
func NewTrain(tools Tools) *Train { return &Train{tools: tools} }

// Kind returns the stage's kind.
func (*Train) Kind() string { return "trainer/train" }

// Version returns the stage's version.
func (*Train) Version() int { return 2 }

// Numeric reports that the numerics class of the machine enters the key.
func (*Train) Numeric() bool { return true }

// Check fills in defaults and reports every fault at once.
func (s *Train) Check() error {
	errs := []error{s.Model.check()}
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	s.Split = cmp.Or(s.Split, "train")
	s.Batch.Images, s.Batch.Captions = cmp.Or(s.Batch.Images, 15), cmp.Or(s.Batch.Captions, 5)
	s.Batch.Window = cmp.Or(s.Batch.Window, 8)
	s.CurveStep = cmp.Or(s.CurveStep, 50)
	if s.Seed == nil {
		seed := uint64(8888)
		s.Seed = &seed
	}
	if s.Steps == 0 {
		s.Epochs = cmp.Or(s.Epochs, 15)
	} else if s.Epochs != 0 {
		fault("steps, epochs: only one of them")
	}
	for _, f := range []struct {
		name  string
		value int64
	}{
		{"batch.images", int64(s.Batch.Images)},
		{"batch.captions", int64(s.Batch.Captions)},
		{"batch.window", int64(s.Batch.Window)},
		{"steps", s.Steps + int64(s.Epochs)},
		{"curve_step", s.CurveStep},
	} {
		if f.value < 1 {
			fault("%s: %d, want at least 1", f.name, f.value)
		}
	}
	if !slices.IsSorted(s.Batch.Buckets) {
		fault("batch.buckets: %v, want ascending lengths", s.Batch.Buckets)
	}
	if !(s.Smoothing >= 0 && s.Smoothing < 1) {
		fault("smoothing: %g, want 0 or more and less than 1", s.Smoothing)
	}
	errs = append(errs, s.Optimizer.check(), s.checkSchedule(), s.Validate.check(&s.tools))
	return errors.Join(errs...)
}

func (o *Optimizer) check() error {
	o.Beta1, o.Beta2, o.Eps = cmp.Or(o.Beta1, 0.9), cmp.Or(o.Beta2, 0.98), cmp.Or(o.Eps, 1e-9)
	if o.ClipValue == nil {
		clip := 0.1
		o.ClipValue = &clip
	}
	var errs []error
	for _, f := range []struct {
		name  string
		value float64
		below float64
	}{{"beta1", o.Beta1, 1}, {"beta2", o.Beta2, 1}, {"eps", o.Eps, 1}, {"weight_decay", o.WeightDecay, 1}, {"clip_value", *o.ClipValue, 1e30}, {"clip_norm", o.ClipNorm, 1e30}} {
		if !(f.value >= 0 && f.value < f.below) {
			errs = append(errs, fmt.Errorf("optimizer.%s: %g, want 0 or more and less than %g", f.name, f.value, f.below))
		}
	}
	return errors.Join(errs...)
}

// checkSchedule fills in the schedule's defaults, save those that the split
// decides.
func (s *Train) checkSchedule() error {
	s.Schedule.Kind = cmp.Or(s.Schedule.Kind, optim.Noam)
	c := s.schedule(1, int64(s.Schedule.Warmup)+1)
	if err := c.Check(); err != nil {
		return fmt.Errorf("schedule: %w", err)
	}
	s.Schedule.Rate, s.Schedule.Warmup, s.Schedule.Every, s.Schedule.Decay = c.Rate, c.Warmup, c.Every, c.Decay
	return nil
}

// schedule is the schedule for an epoch of so many steps and so many in all.
func (s *Train) schedule(epoch, total int64) optim.Schedule {
	c := s.Schedule
	switch c.Kind {
	case optim.Noam:
		c.Width = cmp.Or(c.Width, s.Model.Width)
	case optim.StepDecay:
		c.EpochSteps = cmp.Or(c.EpochSteps, int(epoch))
	case optim.Linear, optim.Cosine:
		c.Total = cmp.Or(c.Total, int(total))
	}
	return c
}

func (v *Validate) check(tools *Tools) error {
	v.Metric = cmp.Or(v.Metric, "cider/1")
	if v.Metric == NoMetric {
		if v.Every != 0 || v.Split != "" || v.Limit != 0 || v.Detokenizer != "" {
			return errors.New("validate: metric is none, the other fields are not used")
		}
		return nil
	}
	v.Every, v.Split, v.Detokenizer = cmp.Or(v.Every, 6000), cmp.Or(v.Split, "val"), cmp.Or(v.Detokenizer, "caption/1")
	var errs []error
	if v.Every < 1 || v.Limit < 0 {
		errs = append(errs, fmt.Errorf("validate: every %d, limit %d, want at least 1 and 0", v.Every, v.Limit))
	}
	return errors.Join(append(errs,
		check(tools.Validators, "validate.metric", v.Metric),
		check(tools.Detokenizers, "validate.detokenizer", v.Detokenizer))...)
}

// Run trains.
func (s *Train) Run(ctx context.Context, t *pipeline.Task, _ pipeline.Part) (err error) {
	r, err := s.open(t)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	if err := r.loop(ctx); err != nil {
		return err
	}
	return r.publish()
}

// A point is one point of the curve.
type point struct {
	Step   int64   `json:"step"`
	Metric string  `json:"metric"`
	Value  float64 `json:"value"`
	N      int64   `json:"n"` // steps or images behind it
}

// rows gives the curve as score rows: the metric "cider/1" is cider, of the
// variant cider/1.
func (r *run) rows() []score.Row {
	var out []score.Row
	for _, p := range r.st.Curve {
		row := score.Row{Metric: p.Metric, Corpus: r.corpus, Task: r.task, Split: r.stage.Split, Value: p.Value, N: p.N, Step: &p.Step, Tags: map[string]string{"phase": "train"}}
		if p.Metric == r.stage.Validate.Metric {
			row.Variant = p.Metric
			row.Metric, _, _ = strings.Cut(p.Metric, "/")
			row.Split, row.Tags = r.stage.Validate.Split, map[string]string{"phase": "validation"}
		}
		out = append(out, row)
	}
	return out
}

// tokenRow is the first row of a split, for what all of them have in common.
func tokenRow(rows []tokens.Row) (task string) {
	if len(rows) == 0 {
		return ""
	}
	return rows[0].Task
}
