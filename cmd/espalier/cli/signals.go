package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"espalier/pipeline"
)

// How long a verb may take to end after a signal. Nothing is lost when it
// takes longer and is ended: what is not committed is never seen.
const (
	grace         = 1800 * time.Millisecond
	trainingGrace = 4500 * time.Millisecond // a step is finished and its state kept
)

// signals ends a verb on SIGINT and SIGTERM: the first cancels its context and
// gives it some time, the second ends the process at once.
type signals struct {
	ctx      context.Context
	cancel   context.CancelFunc
	ch       chan os.Signal
	got      atomic.Int32 // the first signal, 0 if none
	training atomic.Int32 // stages that are running and may take longer to stop
}

// slowKinds are the kinds of stage that finish a step before they stop.
var slowKinds = []string{"trainer/train"}

// observe follows which stages are running.
func (s *signals) observe(e pipeline.Event, was pipeline.State) {
	if !slices.Contains(slowKinds, e.Kind) || (e.State == pipeline.Running) == (was == pipeline.Running) {
		return
	}
	if e.State == pipeline.Running {
		s.training.Add(1)
	} else {
		s.training.Add(-1)
	}
}

func listen(c *console) *signals {
	ctx, cancel := context.WithCancel(context.Background())
	s := &signals{ctx: ctx, cancel: cancel, ch: make(chan os.Signal, 2)}
	c.sig = s
	signal.Notify(s.ch, os.Interrupt, syscall.SIGTERM)
	go func() {
		first, ok := <-s.ch
		if !ok {
			return
		}
		s.got.Store(int32(first.(syscall.Signal)))
		if first == os.Interrupt {
			fmt.Fprintln(c.errs, "\nstopping; what is done is kept (once more to end at once)")
		}
		cancel()
		short, long := time.NewTimer(grace), time.NewTimer(trainingGrace)
		for {
			select {
			case _, ok := <-s.ch:
				if !ok {
					return
				}
				os.Exit(128 + int(s.got.Load()))
			case <-short.C:
				if s.training.Load() == 0 {
					os.Exit(128 + int(s.got.Load()))
				}
			case <-long.C:
				os.Exit(128 + int(s.got.Load()))
			}
		}
	}()
	return s
}

func (s *signals) stop() {
	signal.Stop(s.ch)
	close(s.ch)
	s.cancel()
}

// code returns the exit code of a verb that ended with the given one: one that
// failed after a signal was interrupted by it.
func (s *signals) code(code int) int {
	if got := s.got.Load(); got != 0 && code != 0 {
		return 128 + int(got)
	}
	return code
}
