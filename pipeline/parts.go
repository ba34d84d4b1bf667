package pipeline

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"espalier/pipeline/store"
)

// buildParts makes the parts that are missing and then the output.
func (e *engine) buildParts(ctx context.Context, n *node, sp Splitter) (*store.Manifest, error) {
	plan, err := e.planOf(ctx, n, sp)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	n.parts, n.partsDone = len(plan.Parts), 0
	n.mu.Unlock()
	parts, err := e.allParts(ctx, n, plan)
	if err != nil {
		return nil, err
	}
	return e.buildFinish(ctx, n, sp, plan, parts)
}

// allParts returns the results of all parts in order, making what is missing.
// Refused files do not stop the other parts, so that all of them are named;
// another failure lets the parts in flight end and starts no more.
func (e *engine) allParts(ctx context.Context, n *node, plan *store.PlanManifest) ([]*store.PartManifest, error) {
	parts := make([]*store.PartManifest, len(plan.Parts))
	errs := make([]error, len(plan.Parts))
	todo := make([]int, 0, len(plan.Parts))
	for i, q := range plan.Parts {
		p, err := e.havePart(ctx, n, q.Key)
		switch {
		case err == nil:
			parts[i] = p
			e.partDone(n, false)
		case errors.Is(err, store.ErrMissing):
			todo = append(todo, i)
		default:
			return nil, err
		}
	}

	e.backlog.Add(int64(len(todo)))
	var (
		wg     sync.WaitGroup
		mu     sync.Mutex
		broken bool
	)
	for at, i := range todo {
		threads, err := e.acquire(ctx)
		mu.Lock()
		stop := broken || err != nil
		mu.Unlock()
		if stop {
			if err == nil {
				e.release()
			}
			e.backlog.Add(-int64(len(todo) - at))
			break
		}
		wg.Go(func() {
			defer e.backlog.Add(-1)
			p, ran, err := e.makePart(ctx, n, plan, i, threads)
			if err != nil {
				err = &StageError{Node: n.Name, Part: i, Err: err}
				mu.Lock()
				broken = broken || !onlyRefusals(err)
				mu.Unlock()
			} else {
				e.partDone(n, ran)
			}
			parts[i], errs[i] = p, err
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return parts, nil
}

// havePart returns the result of a part if it is there and whole.
func (e *engine) havePart(ctx context.Context, n *node, key store.Key) (*store.PartManifest, error) {
	p, why, err := e.s.Part(ctx, key)
	if why != "" {
		e.log.Warn("damaged part set aside", "stage", n.Name, "damage", why)
	}
	return p, err
}

// makePart makes one part in the slot that the caller took, and gives the slot
// back. Ran is false if somebody else made the part meanwhile.
func (e *engine) makePart(ctx context.Context, n *node, plan *store.PlanManifest, i, threads int) (p *store.PartManifest, ran bool, err error) {
	held := true
	giveBack := func() {
		if held {
			held = false
			e.release()
		}
	}
	defer giveBack()
	key := plan.Parts[i].Key

	// Equal slices have equal keys: one of them works, the others adopt.
	// Whoever waits for another gives its slot back first.
	done, err := e.alone(ctx, key, giveBack)
	if err != nil {
		return nil, false, err
	}
	defer done()
	lock, holder, err := e.tryLock(key, partName(n, i), nil)
	if err != nil {
		return nil, false, err
	}
	if holder != nil {
		if e.o.NoWait {
			return nil, false, &TemporaryError{fmt.Errorf("%s is making it", holder)}
		}
		giveBack() // somebody else works on it: let another part use the slot
		lock, _, err = e.lock(ctx, n, key, partName(n, i), func() (*store.Manifest, error) {
			if e.s.HasPart(key) {
				return &store.Manifest{}, nil
			}
			return nil, nil
		})
		if err != nil {
			return nil, false, err
		}
	}
	defer lock.Unlock()
	if p, err := e.havePart(ctx, n, key); !errors.Is(err, store.ErrMissing) {
		return p, false, err
	}
	if !held {
		if threads, err = e.acquire(ctx); err != nil {
			return nil, false, err
		}
		held = true
	}
	p, err = e.runPart(ctx, n, plan, i, threads, giveBack)
	return p, err == nil, err
}

func partName(n *node, i int) string { return fmt.Sprintf("%s part %d", n.Name, i) }

// runPart runs the stage for one part and commits it. It calls giveBack before
// it waits for the disk, so that another part uses the slot meanwhile.
func (e *engine) runPart(ctx context.Context, n *node, plan *store.PlanManifest, i, threads int, giveBack func()) (p *store.PartManifest, err error) {
	w, err := e.s.NewPart()
	if err != nil {
		return nil, err
	}
	defer w.Discard()
	q := plan.Parts[i]
	err = e.unit(n, threads, func(env Env) error {
		dead := newSpool(env.Scratch)
		defer dead.close()
		t := e.newTask(ctx, n, w, env, q.Key, dead)
		t.engine.plan = plan
		if err := t.engine.fault(n.Stage.Run(ctx, t, Part{Index: i, ID: q.ID, Slice: q.Slice})); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := dead.toSide(w); err != nil {
			return err
		}
		part := store.PartManifest{Kind: n.Stage.Kind(), Version: n.Stage.Version(), Key: q.Key, ID: q.ID, Dead: dead.n}
		part.RowsSeen, part.ByFile = t.engine.counts()
		e.commits <- struct{}{}
		defer func() { <-e.commits }()
		giveBack()
		if p, err = w.CommitPart(part); err == nil {
			t.engine.committed(q.Key)
		}
		return err
	})
	if err == nil {
		e.s.DropCheckpoints(q.Key)
	}
	return p, err
}

// makeOnePart makes part Options.Part of a node and does not finish it.
func (e *engine) makeOnePart(ctx context.Context, n *node) error {
	sp := n.Stage.(Splitter)
	e.set(n, Running, "", nil)
	plan, err := e.s.Plan(ctx, n.key)
	if errors.Is(err, store.ErrMissing) {
		plan, err = e.sharedPlan(ctx, n, sp)
	}
	if err != nil {
		return err
	}
	i := *e.o.Part
	if i < 0 || i >= len(plan.Parts) {
		return usagef(n.Pos, "stage %s has parts 0 to %d, not %d", n.Name, len(plan.Parts)-1, i)
	}
	n.mu.Lock()
	n.parts = len(plan.Parts)
	n.mu.Unlock()
	for j, q := range plan.Parts {
		if j != i && e.s.HasPart(q.Key) {
			e.partDone(n, false)
		}
	}
	if _, err := e.havePart(ctx, n, plan.Parts[i].Key); err == nil {
		e.partDone(n, false)
		e.finish(n, nil, Cached)
		return nil
	} else if !errors.Is(err, store.ErrMissing) {
		return err
	}
	e.backlog.Add(1)
	defer e.backlog.Add(-1)
	threads, err := e.acquire(ctx)
	if err != nil {
		return err
	}
	_, ran, err := e.makePart(ctx, n, plan, i, threads)
	if err != nil {
		return &StageError{Node: n.Name, Part: i, Err: err}
	}
	e.partDone(n, ran)
	e.finish(n, nil, Done)
	return nil
}

// sharedPlan makes the plan under the output's lock: the tasks of an array
// start together, and one of them is enough to make it.
func (e *engine) sharedPlan(ctx context.Context, n *node, sp Splitter) (*store.PlanManifest, error) {
	lock, _, err := e.lock(ctx, n, n.key, n.Name+" plan", func() (*store.Manifest, error) {
		if _, err := e.s.Plan(ctx, n.key); err == nil {
			return &store.Manifest{}, nil
		}
		return nil, nil
	})
	if err != nil {
		return nil, err
	}
	defer lock.Unlock()
	return e.planOf(ctx, n, sp)
}
