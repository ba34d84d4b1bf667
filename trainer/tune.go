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
	"espalier/trainer/optim"
	"espalier/trainer/peft/methods"
)

// Tune is the stage that trains a text-to-text model, or a few parameters of
// it by a method, on one task or on a mixture of several.
//
// Inputs: backbone (the folder of a published T5, unless the model is random),
// vocab (its vocabulary's file; for validation), features (vector shards, if
// the tasks have images; several as features-NAME), init (a checkpoint of Tune to go on from), and token
// shards of the tasks, one task under each other name. Outputs of
// preprocess/split under other names say which rows the splits have. Output: model.safetensors
// and model.json (the trained tensors with the best mean over the metrics of all
// tasks, or the last ones), vocab/, curve.parquet (score rows: losses and
// metrics by task and step, learning rate, sizes).
type Tune struct {
	Model     TextModel         `yaml:"model" json:"model" doc:"what is edited"`
	Method    methods.Config    `yaml:"method" json:"method" doc:"how it is edited"`
	Split     string            `yaml:"split" json:"split" doc:"split to train on; by default train"`
	Batch     TextBatch         `yaml:"batch" json:"batch" doc:"what an update takes"`
	Mix       TextMix           `yaml:"mix" json:"mix" doc:"how tasks are mixed: one task an update"`
	Steps     int64             `yaml:"steps" json:"steps" doc:"updates"`
	Optimizer optim.Settings    `yaml:"optimizer" json:"optimizer" doc:"update rule"`
	Schedule  optim.Schedule    `yaml:"schedule" json:"schedule" doc:"learning rate; by default constant 1e-3"`
	Smoothing float64           `yaml:"smoothing" json:"smoothing" doc:"label smoothing, 0 to 1; by default none"`
	Seed      *uint64           `yaml:"seed" json:"seed" doc:"of initial values, order and dropout; by default 42"`
	Validate  TextValidate      `yaml:"validate" json:"validate" doc:"how the best weights are chosen"`
	Donors    map[string]string `yaml:"donors" json:"donors,omitempty" doc:"for a task that init does not have: the task whose embedding it starts with; under * for all such tasks"`
	CurveStep int64             `yaml:"curve_step" json:"curve_step" doc:"updates between two points of the loss curve; by default 50"`
	Tags      map[string]string `yaml:"tags" json:"tags,omitempty" doc:"tags of all scores"`

	tools     Tools
	saveEvery time.Duration          // for tests: between saved states
	stepped   func(step int64) error // for tests: called behind each update
}

// A TextBatch says what an update takes.
type TextBatch struct {
	Examples int   `yaml:"examples" json:"examples" doc:"examples of an update; by default 32; a single task with fewer gives all of them"`
	Micro    int   `yaml:"micro" json:"micro,omitempty" doc:"examples computed at once, whose gradients add up; by default all"`
	Window   int   `yaml:"window" json:"window" doc:"row groups shuffled together; by default 8"`
	Buckets  []int `yaml:"buckets" json:"buckets,omitempty" doc:"lengths that part examples into batches of similar length; by default none"`
}

// A TextMix says how tasks are mixed.
type TextMix struct {
	Temperature float64 `yaml:"temperature" json:"temperature" doc:"a task's share goes by the root of its examples, to this degree; by default 2"`
	Cap         int64   `yaml:"cap" json:"cap,omitempty" doc:"examples of a task that count at most; by default all"`
}

// A TextValidate says how the best weights are chosen.
type TextValidate struct {
	Metric   string `yaml:"metric" json:"metric" doc:"a tool that knows the metrics of each task; by default tasks/1; none keeps the last weights"`
	Every    int64  `yaml:"every" json:"every" doc:"updates between validations, and once at the end; by default 1000"`
	Split    string `yaml:"split" json:"split" doc:"by default validation"`
	Limit    int    `yaml:"limit" json:"limit,omitempty" doc:"examples of a task, drawn by the seed; by default all"`
	Text     string `yaml:"text" json:"text" doc:"detokenizer; by default text/1"`
	MaxNew   int    `yaml:"max_new" json:"max_new,omitempty" doc:"tokens generated at most; by default those of the longest target"`
	Patience int    `yaml:"patience" json:"patience,omitempty" doc:"stop behind so many validations without a better one; by default never"`
}

// NewTune returns a Tune stage that uses the tools.
func NewTune(tools Tools) *Tune { return &Tune{tools: tools} }

// Kind returns the stage's kind.
func (*Tune) Kind() string { return "trainer/tune" }

// Version returns the stage's version.
func (*Tune) Version() int { return 1 }

// Numeric reports that the numerics class of the machine enters the key.
func (*Tune) Numeric() bool { return true }

// Check fills in defaults and reports every fault at once.
func (s *Tune) Check() error {
	errs := []error{s.Model.check()}
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	nested := func(field string, err error) {
		if err != nil {
			for line := range strings.SplitSeq(err.Error(), "\n") {
				fault("%s.%s", field, line)
			}
		}
	}
	nested("method", s.Method.Check())
	s.Split = cmp.Or(s.Split, "train")
	s.Batch.Examples, s.Batch.Window = cmp.Or(s.Batch.Examples, 32), cmp.Or(s.Batch.Window, 8)
	s.Mix.Temperature = cmp.Or(s.Mix.Temperature, 2)
	s.Steps, s.CurveStep = cmp.Or(s.Steps, 1000), cmp.Or(s.CurveStep, 50)
	if s.Seed == nil {
		seed := uint64(42)
		s.Seed = &seed
	}
	for _, f := range []struct {
		name  string
		value int64
	}{
		{"batch.examples", int64(s.Batch.Examples)},
		{"batch.window", int64(s.Batch.Window)},
		{"steps", s.Steps},
		{"curve_step", s.CurveStep},
	} {
		if f.value < 1 {
			fault("%s: %d, want at least 1", f.name, f.value)
		}
	}
	if m := s.Batch.Micro; m < 0 || m > s.Batch.Examples {
		fault("batch.micro: %d, want 1 to the %d examples", m, s.Batch.Examples)
	}
	if s.Mix.Temperature < 0 || s.Mix.Cap < 0 {
		fault("mix: temperature %g, cap %d, want more than 0", s.Mix.Temperature, s.Mix.Cap)
	}
	if !slices.IsSorted(s.Batch.Buckets) {
		fault("batch.buckets: %v, want ascending lengths", s.Batch.Buckets)
	}
	if !(s.Smoothing >= 0 && s.Smoothing < 1) {
		fault("smoothing: %g, want 0 or more and less than 1", s.Smoothing)
	}
	nested("optimizer", s.Optimizer.Check())
	nested("schedule", s.checkSchedule())
	return errors.Join(append(errs, s.Validate.check(&s.tools))...)
}

func (s *Tune) checkSchedule() error {
	if s.Schedule.Kind == "" || s.Schedule.Kind == optim.Constant {
		s.Schedule.Rate = cmp.Or(s.Schedule.Rate, 1e-3)
	}
	s.Schedule.Kind = cmp.Or(s.Schedule.Kind, optim.Constant)
	c := s.schedule()
	if c.Kind == optim.Noam {
		c.Width = cmp.Or(c.Width, 1) // the model's, which is not known here
	}
	return c.Check()
}

// schedule is the schedule with what the number of steps decides.
func (s *Tune) schedule() optim.Schedule {
	c := s.Schedule
	if c.Kind == optim.Linear || c.Kind == optim.Cosine {
		c.Total = cmp.Or(c.Total, int(s.Steps))
	}
	return c
}

func (v *TextValidate) check(tools *Tools) error {
	v.Metric = cmp.Or(v.Metric, "tasks/1")
	if v.Metric == NoMetric {
		if v.Every != 0 || v.Split != "" || v.Limit != 0 || v.Text != "" || v.MaxNew != 0 || v.Patience != 0 {
			return errors.New("validate: metric is none, the other fields are not used")
		}
		return nil
	}
	v.Every, v.Split, v.Text = cmp.Or(v.Every, 1000), cmp.Or(v.Split, "validation"), cmp.Or(v.Text, "text/1")
	var errs []error
	if v.Every < 1 || v.Limit < 0 || v.MaxNew < 0 || v.Patience < 0 {
		errs = append(errs, fmt.Errorf("validate: every %d, limit %d, max_new %d, patience %d, want at least 1, 0, 0, 0", v.Every, v.Limit, v.MaxNew, v.Patience))
	}
	return errors.Join(append(errs,
		check(tools.Metrics, "validate.metric", v.Metric),
		check(tools.Texts, "validate.text", v.Text))...)
}

// Run trains.
func (s *Tune) Run(ctx context.Context, t *pipeline.Task, _ pipeline.Part) (err error) {
	r, err := s.open(ctx, t)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	if err := r.loop(ctx); err != nil {
		return err
	}
	return r.publish()
}
