package trainer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"espalier/pipeline"
	"espalier/trainer/ckpt"
	"espalier/trainer/nn"
	"espalier/trainer/optim"
)

// How often the state of a training is saved: a kill costs about this much, and
// saving a small share of the time.
const (
	saveEvery = 10 * time.Second
	saveShare = 10
)

// A keeper saves the state of a training.
type keeper struct {
	save  func(ctx context.Context) error
	every time.Duration // for tests: between saved states
	last  time.Time
	took  time.Duration
}

// start begins to count the time.
func (k *keeper) start(every time.Duration, save func(ctx context.Context) error) {
	*k = keeper{save: save, every: every, last: time.Now()}
}

// keep saves the state if it is time. It is called where the weights have just
// given a loss that is a number, so that a saved state is a good one.
func (k *keeper) keep(ctx context.Context, step int64) error {
	if step == 0 || time.Since(k.last) < cmp.Or(k.every, max(saveEvery, saveShare*k.took)) {
		return nil
	}
	began := time.Now()
	if err := k.save(ctx); err != nil {
		return err
	}
	k.last = time.Now()
	k.took = k.last.Sub(began)
	return nil
}

// stop saves the state of a run that is cancelled, and returns why it ends.
func (k *keeper) stop(ctx context.Context, step int64, err error) error {
	if ctx.Err() == nil || step == 0 {
		return err
	}
	if e := k.save(context.WithoutCancel(ctx)); e != nil {
		return errors.Join(ctx.Err(), e)
	}
	return ctx.Err()
}

// bestPrefix stands before the names of the best weights so far.
const bestPrefix = "best/"

// A snapshot says what the saved state of a training holds besides the values of
// the trained parameters.
type snapshot struct {
	model  string            // the kind of state
	config map[string]string // what a state must agree in
	state  any               // pointer to the counters
	params *nn.Params
	opt    optim.Optimizer
}

// trained are the parameters that are not frozen.
func (s *snapshot) trained() []*nn.Param {
	return slices.DeleteFunc(slices.Clone(s.params.All()), func(p *nn.Param) bool { return p.Frozen })
}

// load takes the newest saved state, if there is one, and returns the best
// weights in it if hasBest then says that there are some.
func (s *snapshot) load(t *pipeline.Task, hasBest func() bool) (best []ckpt.Tensor, err error) {
	step, dir, ok, err := t.LatestCheckpoint()
	if err != nil || !ok {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("resume at step %d: %w", step, err)
		}
	}()
	c, f, err := ckpt.Load(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	config := map[string]string{}
	if err := json.Unmarshal(c.Config, &config); err != nil {
		return nil, err
	}
	if c.Model != s.model || !maps.Equal(config, s.config) {
		return nil, fmt.Errorf("a state of %q with %v, want %q with %v", c.Model, config, s.model, s.config)
	}
	if err := json.Unmarshal(c.State, s.state); err != nil {
		return nil, err
	}
	if err := errors.Join(ckpt.Restore(f, s.params, false), s.opt.Restore(f)); err != nil {
		return nil, err
	}
	if hasBest() {
		for _, p := range s.trained() {
			x, err := f.Floats(bestPrefix + p.Path)
			if err != nil {
				return nil, err
			}
			best = append(best, ckpt.Slice(p.Path, x, p.Shape...))
		}
	}
	t.Log.Info("resumed", "step", step)
	return best, nil
}

// save keeps the state: trained tensors, optimiser, counters.
func (s *snapshot) save(ctx context.Context, t *pipeline.Task, step int64, best []ckpt.Tensor) error {
	return t.SaveCheckpoint(ctx, step, func(dir string) error {
		text, err := json.Marshal(s.state)
		if err != nil {
			return err
		}
		config, err := json.Marshal(s.config)
		if err != nil {
			return err
		}
		tensors := slices.Concat(ckpt.Params(s.params, false), s.opt.Tensors())
		for _, b := range best {
			b.Name = bestPrefix + b.Name
			tensors = append(tensors, b)
		}
		return ckpt.Save(dir, ckpt.Checkpoint{Model: s.model, State: text, Config: config}, tensors)
	})
}
