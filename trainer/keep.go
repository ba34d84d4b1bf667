package trainer

import (
	"cmp"
	"context"
	"errors"
	"time"
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
