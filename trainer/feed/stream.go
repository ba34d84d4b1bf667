package feed

import (
	"context"
	"fmt"
	"sync"
)

// A Batch is what one step takes. It is good until it is released.
type Batch struct {
	Step   int64
	Epoch  int64 // of its source
	Source string
	IDs    []string // Size examples
	Images []string
	// Inputs and Targets are the rows of all examples, those of one side by
	// side: Size*Captions, or Size where every row is an example.
	Inputs, Targets [][]int32
	Features        Features // empty without vectors

	set *Set
	src *source
}

// Release gives the batch's memory back for another one.
func (b *Batch) Release() {
	if b != nil && b.set != nil {
		set := b.set
		b.set = nil
		set.spent.Put(b)
	}
}

// A Stream makes batches in the background.
type Stream struct {
	queue  chan *slot
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

type slot struct {
	batch *Batch
	err   error
	done  chan struct{}
}

// Stream starts making batches, from step first on, without end. They are the
// same whatever first was before. Close must be called.
func (s *Set) Stream(ctx context.Context, first int64) *Stream {
	ctx, cancel := context.WithCancel(ctx)
	st := &Stream{queue: make(chan *slot, s.o.Ahead), cancel: cancel}
	jobs := make(chan *slot)
	st.wg.Go(func() {
		defer close(jobs)
		defer close(st.queue)
		s.plan(ctx, first, st.queue, jobs)
	})
	for range s.o.Loaders {
		st.wg.Go(func() {
			for sl := range jobs {
				sl.err = sl.batch.load()
				close(sl.done)
			}
		})
	}
	return st
}

// plan draws the batches in order and hands each to the queue and to a loader.
func (s *Set) plan(ctx context.Context, first int64, queue, jobs chan<- *slot) {
	walks := make([]*walk, len(s.sources))
	for i, x := range s.sources {
		walks[i] = s.walk(x)
	}
	cursors := s.cursors(first)
	for step := first; ; step++ {
		task := s.task(step)
		w, n := walks[task], cursors[task]
		cursors[task]++
		sl := &slot{done: make(chan struct{})}
		units, err := w.batch(ctx, n)
		if err != nil {
			sl.err = err
			close(sl.done)
		} else {
			sl.batch = s.batch(step, w, units)
		}
		select {
		case queue <- sl:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
		select {
		case jobs <- sl:
		case <-ctx.Done():
			sl.err = ctx.Err()
			close(sl.done)
			return
		}
	}
}

func (s *Set) batch(step int64, w *walk, units []unit) *Batch {
	b, _ := s.spent.Get().(*Batch)
	if b == nil {
		b = new(Batch)
	}
	b.Step, b.Epoch, b.Source, b.set, b.src = step, w.epoch, w.x.Name, s, w.x
	b.IDs, b.Images, b.Inputs, b.Targets = b.IDs[:0], b.Images[:0], b.Inputs[:0], b.Targets[:0]
	for i := range units {
		b.IDs, b.Images = append(b.IDs, units[i].id), append(b.Images, units[i].image)
		for _, r := range units[i].rows {
			b.Inputs, b.Targets = append(b.Inputs, r.input), append(b.Targets, r.target)
		}
	}
	return b
}

// load reads the features of a batch.
func (b *Batch) load() error {
	if b.src.Vectors == nil {
		b.Features = Features{}
		return nil
	}
	if err := b.Features.Load(b.src.Vectors, b.Images); err != nil {
		return fmt.Errorf("step %d: %w", b.Step, err)
	}
	return nil
}

// Next returns the next batch, which the caller releases. It ends with the
// context's error or the first one of reading.
func (st *Stream) Next(ctx context.Context) (*Batch, error) {
	select {
	case sl, ok := <-st.queue:
		if !ok {
			return nil, context.Canceled
		}
		select {
		case <-sl.done:
			return sl.batch, sl.err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Close stops making batches and waits for the goroutines. Batches that were
// handed out stay good.
func (st *Stream) Close() {
	st.cancel()
	for range st.queue {
	}
	st.wg.Wait()
}
