package trainer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"espalier/features/vectors"
	"espalier/pipeline"
	"espalier/pipeline/store"
	"espalier/tokenize/tokens"
	"espalier/trainer/ckpt"
	"espalier/trainer/cpu"
	"espalier/trainer/feed"
	"espalier/trainer/grad"
	"espalier/trainer/model/t5"
	"espalier/trainer/nn"
	"espalier/trainer/op"
	"espalier/trainer/optim"
)

// A textTask is a task of a mixture: an input of token shards.
type textTask struct {
	name   string // of its rows
	corpus string
	in     *pipeline.Input
	train  selection
}

// A tuning is a Tune at work.
type tuning struct {
	stage *Tune
	t     *pipeline.Task
	files closer
	let   []func() // of what the run shares
	dev   op.Device

	members  membership
	tasks    []textTask // by name
	set      *feed.Set
	index    *vectors.Index // nil without images
	val      *textValidation
	model    *t5.Model
	opt      optim.Optimizer
	tape     *grad.Tape
	schedule optim.Schedule
	info     TextInfo
	missing  int

	st     tuneState
	keeper keeper
	best   []ckpt.Tensor // trained tensors of the best validation so far, in host memory
}

// A tuneState is what a saved run needs besides weights and moments.
type tuneState struct {
	Step      int64              `json:"step"`      // updates made
	Validated int64              `json:"validated"` // the last validation's step
	Stale     int                `json:"stale"`     // validations since the best one
	Sums      map[string]lossSum `json:"sums"`      // since the curve's last point, by task
	Curve     []textPoint        `json:"curve"`
	Best      *textPoint         `json:"best,omitempty"` // the mean of all metrics
}

type lossSum struct {
	Sum float64 `json:"sum"`
	N   int64   `json:"n"`
}

// A textPoint is one point of the curve.
type textPoint struct {
	Step   int64   `json:"step"`
	Task   string  `json:"task,omitempty"` // "" for all
	Phase  string  `json:"phase"`
	Metric string  `json:"metric"`
	Value  float64 `json:"value"`
	N      int64   `json:"n"`
}

// Phases of points.
const (
	phaseTrain      = "train"
	phaseValidation = "validation"
	phaseModel      = "model"
)

// meanMetric is the mean of all metrics of all tasks, by which weights are
// chosen.
const meanMetric = "mean"

// notTasks are the inputs of a Tune that are no tasks.
var notTasks = []string{"backbone", "features", "init", "vocab"}

// open reads what the run needs and resumes it.
func (s *Tune) open(ctx context.Context, t *pipeline.Task) (_ *tuning, err error) {
	r := &tuning{stage: s, t: t}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close())
		}
	}()
	vocab, err := r.openTasks()
	if err != nil {
		return nil, err
	}
	if r.index, err = openFeatures(t, &r.files); err != nil {
		return nil, err
	}
	if r.index != nil {
		f := featureInfo(r.index.Options())
		r.info.Features, r.info.Pool = &f, s.Model.Pool
		if r.info.Cells, err = seenCells(r.index, s.Model.Pool); err != nil {
			return nil, fmt.Errorf("input features: %w", err)
		}
	}
	if err := r.openSet(); err != nil {
		return nil, err
	}
	r.info.Method, r.info.Vocab, r.info.Random, r.info.Half, r.info.Round = s.Method, vocab, s.Model.Random, s.Model.Half, s.Model.Round
	if err := r.openModel(ctx, vocab); err != nil {
		return nil, err
	}
	r.schedule = s.schedule()
	if r.schedule.Kind == optim.Noam {
		r.schedule.Width = cmp.Or(r.schedule.Width, r.info.Model.Width)
	}
	if err := r.schedule.Check(); err != nil {
		return nil, fmt.Errorf("schedule: %w", err)
	}
	for name, in := range t.In {
		if name != "vocab" || s.Validate.Metric != NoMetric {
			r.info.Inputs = append(r.info.Inputs, store.InputRef{Name: name, Key: in.Key, Digest: in.Manifest.Digest})
		}
	}
	slices.SortFunc(r.info.Inputs, func(a, b store.InputRef) int { return strings.Compare(a.Name, b.Name) })
	if s.Validate.Metric != NoMetric {
		if r.val, err = r.openValidation(); err != nil {
			return nil, err
		}
	}
	r.opt = s.Optimizer.New(r.model.Params(), nil)
	r.tape = grad.New(r.dev)
	return r, r.resume()
}

// openTasks finds the tasks among the inputs and their common vocabulary.
func (r *tuning) openTasks() (vocab tokens.Vocab, err error) {
	if r.members, err = readMembers(r.t); err != nil {
		return vocab, err
	}
	for name, in := range r.t.In {
		if slices.Contains(notTasks, name) || isFeatures(name) || isMembers(in) {
			continue
		}
		task := textTask{in: in}
		if task.train, err = r.members.choose(in, r.stage.Split); err != nil {
			return vocab, err
		}
		first, err := firstRow(in, task.train.files)
		if err != nil {
			return vocab, err
		}
		task.name = first.Task
		task.corpus, _, _ = strings.Cut(first.ID, "/")
		r.tasks = append(r.tasks, task)
	}
	if len(r.tasks) == 0 {
		return vocab, &pipeline.UsageError{Msg: "inputs: no token shards of a task"}
	}
	slices.SortFunc(r.tasks, func(a, b textTask) int { return strings.Compare(a.name, b.name) })
	for i, task := range r.tasks {
		v, err := readTextVocab(task.in)
		if err != nil {
			return vocab, fmt.Errorf("input %s: %w", task.in.Name, err)
		}
		if i > 0 && v != vocab {
			return vocab, fmt.Errorf("inputs %s and %s have different vocabularies", r.tasks[0].in.Name, task.in.Name)
		}
		if i > 0 && task.name == r.tasks[i-1].name {
			return vocab, fmt.Errorf("inputs %s and %s are both task %s", r.tasks[i-1].in.Name, task.in.Name, task.name)
		}
		vocab = v
		r.info.Tasks = append(r.info.Tasks, task.name)
	}
	return vocab, nil
}

// firstRow returns the first row of shards.
func firstRow(in *pipeline.Input, files []store.FileEntry) (row tokens.Row, err error) {
	var c closer
	defer func() { err = errors.Join(err, c.Close()) }()
	shards, err := openShards[tokens.Row](in, files, &c)
	if err != nil {
		return row, err
	}
	for _, s := range shards {
		for x, err := range s.All() {
			if err != nil {
				return row, fmt.Errorf("input %s: %w", in.Name, err)
			}
			return x, nil
		}
	}
	return row, fmt.Errorf("input %s: no rows to train on", in.Name)
}

// openSet indexes the training splits.
func (r *tuning) openSet() error {
	b := r.stage.Batch
	var sources []feed.Source
	for _, task := range r.tasks {
		shards, err := openShards[tokens.Row](task.in, task.train.files, &r.files)
		if err != nil {
			return err
		}
		sources = append(sources, feed.Source{Name: task.name, Tokens: shards, Vectors: r.index, Keep: task.train.keep})
	}
	var err error
	r.set, err = feed.Open(feed.Options{
		Size: b.Examples, Window: b.Window, Buckets: b.Buckets, Seed: *r.stage.Seed,
		Mix: feed.Mix{Temperature: r.stage.Mix.Temperature, Cap: r.stage.Mix.Cap}, Loaders: 1, Ahead: 3, Shrink: true,
	}, sources...)
	if err != nil {
		return fmt.Errorf("tasks: %w", err)
	}
	for i, st := range r.set.Stats() {
		if st.Mixed {
			return fmt.Errorf("input %s: rows of several tasks, want an input for each", r.tasks[i].in.Name)
		}
		if st.Missing > 0 {
			r.t.Log.Warn("examples without features are left out", "task", st.Name, "examples", st.Missing, "first", st.Example)
		}
		r.missing += st.Missing
		r.info.MaxTarget = max(r.info.MaxTarget, st.Longest)
	}
	return nil
}

// openModel edits the backbone and takes the values of the input init.
func (r *tuning) openModel(ctx context.Context, vocab tokens.Vocab) error {
	s := r.stage
	back, release, err := openBackbone(ctx, r.t, &s.Model, vocab)
	if err != nil {
		return err
	}
	r.let = append(r.let, release)
	if err := fitsVocab(back.Config, vocab); err != nil {
		return fmt.Errorf("backbone: %w", err)
	}
	r.info.Backbone = back.Digest
	var had TextInfo
	var init *weightsFile
	if in := r.t.In["init"]; in != nil {
		if had, _, err = readTextInfo(in); err == nil && had.Backbone != back.Digest {
			err = fmt.Errorf("trained on another backbone: %.12s, not %.12s", had.Backbone, back.Digest)
		}
		if err == nil {
			init, err = openWeights(in, "")
		}
		if err != nil {
			return fmt.Errorf("input init: %w", err)
		}
		r.files = append(r.files, init)
	} else if len(s.Donors) > 0 {
		return errors.New("donors: only with the input init")
	}
	r.dev = cpu.New(r.t.Env.Threads)
	o := t5.Options{Methods: s.Method.Methods(), Given: r.info.given(), Seed: *s.Seed, Drop: s.Model.Drop, Device: r.dev}
	if init != nil {
		o.Own = init.has
	}
	if r.model, err = t5.New(back, o); err != nil {
		return err
	}
	for _, path := range r.model.Fixed() {
		if init == nil {
			return fmt.Errorf("method %s: needs the input init, a checkpoint that has %s", s.Method.Name, path)
		}
		if !init.has(path) {
			return fmt.Errorf("input init: no %s, which method %s leaves as it is", path, s.Method.Name)
		}
	}
	for task := range s.Donors {
		if task != anyTask && !slices.Contains(r.info.Tasks, task) {
			return fmt.Errorf("donors: no task %s among %s", task, strings.Join(r.info.Tasks, ", "))
		}
	}
	if init != nil {
		n, err := takeWeights(r.model, init, had.Tasks, r.info.Tasks, s.Donors)
		if err == nil && n == 0 {
			err = errors.New("no tensor of the method is in it")
		}
		if err != nil {
			return fmt.Errorf("input init: %w", err)
		}
		r.t.Log.Info("started from a checkpoint", "tensors", n)
	}
	ps := r.model.Params()
	r.info.Model, r.info.Trained = r.model.Config(), ps.CountTrained()
	if r.info.Trained == 0 {
		return fmt.Errorf("method %s trains nothing", s.Method.Name)
	}
	_, r.info.Size, err = t5.Count(r.model.Config(), t5.Options{})
	return err
}

func (r *tuning) close() error {
	err := r.files.Close()
	if r.opt != nil {
		r.opt.Free()
	}
	if r.model != nil {
		r.model.Free()
	}
	for _, f := range r.let {
		f()
	}
	if r.dev != nil {
		err = errors.Join(err, r.dev.Close())
	}
	return err
}

// trainedParams are the parameters that are not frozen.
func (r *tuning) trainedParams() []*nn.Param { return r.snapshot().trained() }

// snapshot is what is saved. Where each task's examples stand follows from the
// number of steps.
func (r *tuning) snapshot() *snapshot {
	return &snapshot{"t5-tuning", map[string]string{"backbone": r.info.Backbone}, &r.st, r.model.Params(), r.opt}
}

// resume takes the newest saved state, if there is one.
func (r *tuning) resume() (err error) {
	r.best, err = r.snapshot().load(r.t, func() bool { return r.st.Best != nil })
	return err
}

// save keeps the state of the run.
func (r *tuning) save(ctx context.Context) error {
	return r.snapshot().save(ctx, r.t, r.st.Step, r.best)
}
