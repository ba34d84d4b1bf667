package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"espalier/pipeline/store"
)

// make brings a node to its output: it finds one that is whole, or makes it.
func (e *engine) make(ctx context.Context, n *node) error {
	if n.files != nil {
		return e.makeFiles(n)
	}
	if m, _, err := e.lookup(ctx, n); err != nil || m != nil {
		return e.adopt(n, m, err)
	}
	if e.o.Part != nil && n.target {
		if _, ok := n.Stage.(Splitter); ok {
			return e.makeOnePart(ctx, n)
		}
	}
	release, err := e.alone(ctx, n.key, nil)
	if err != nil {
		return err
	}
	defer release()
	lock, m, err := e.lock(ctx, n, n.key, n.Name, func() (*store.Manifest, error) {
		m, _, err := e.lookup(ctx, n)
		return m, err
	})
	if err != nil || m != nil {
		return e.adopt(n, m, err)
	}
	defer lock.Unlock()
	m, damage, err := e.lookup(ctx, n) // again, now that nobody else makes it
	if err != nil || m != nil {
		return e.adopt(n, m, err)
	}
	var before string // the digest of the damaged output, if it is known
	if damage != nil {
		if old, err := e.s.Manifest(n.key); err == nil {
			before = old.Digest
		}
		e.log.Warn("damaged output set aside; making it anew", "stage", n.Name, "key", string(n.key), "damage", damage[0].String())
		if err := e.s.SetAside(ctx, n.key, damage); err != nil {
			return err
		}
	}
	err = e.build(ctx, n, before)
	if err != nil && ctx.Err() == nil && n.manifest == nil {
		// A runner that did not honour the lock may have published meanwhile
		// and taken away what this one needed.
		if m, _, lerr := e.lookup(ctx, n); lerr == nil && m != nil {
			return e.adopt(n, m, nil)
		}
	}
	return err
}

// build makes an output that is not there. Before is the digest of a damaged
// one that was.
func (e *engine) build(ctx context.Context, n *node, before string) error {
	var (
		m   *store.Manifest
		err error
	)
	e.set(n, Running, "", nil)
	for range 3 {
		if sp, ok := n.Stage.(Splitter); ok {
			m, err = e.buildParts(ctx, n, sp)
		} else {
			m, err = e.buildWhole(ctx, n)
		}
		if !errors.Is(err, store.ErrMissing) {
			break
		}
		// Objects went away meanwhile: what they were part of is made again.
	}
	if err != nil {
		return err
	}
	e.s.DropCheckpoints(n.key)
	if before != "" && before != m.Digest {
		e.log.Warn("the output made anew differs from the damaged one: its stage does not give equal bytes for equal keys", "stage", n.Name, "key", string(n.key))
	}
	e.finish(n, m, Done)
	return e.judge(n, m)
}

// adopt takes an output that is there.
func (e *engine) adopt(n *node, m *store.Manifest, err error) error {
	if err != nil {
		return err
	}
	e.finish(n, m, Cached)
	return e.judge(n, m)
}

// finish notes a node's output; its state is told when its verdict is known.
func (e *engine) finish(n *node, m *store.Manifest, state State) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.manifest = m
	n.state = state
}

// lookup returns the output of a node if there is one and it is whole. A
// damaged one is described instead.
func (e *engine) lookup(ctx context.Context, n *node) (*store.Manifest, []store.Damage, error) {
	m, err := e.s.Manifest(n.key)
	switch {
	case errors.Is(err, store.ErrMissing):
		return nil, nil, nil
	case errors.Is(err, store.ErrDamaged):
		return nil, []store.Damage{{Key: n.key, Path: e.s.OutputDir(n.key), Problem: "manifest", Detail: err.Error()}}, nil
	case err != nil:
		return nil, nil, err
	}
	if e.o.Part != nil {
		return m, nil, nil // an array's task checks what it opens, not all there is
	}
	select {
	case e.checks <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	defer func() { <-e.checks }()
	d := e.s.Check(ctx, m, true)
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	if len(d) > 0 {
		return nil, d, nil
	}
	return m, nil, nil
}

// makeFiles notes in the store what raw files a run used.
func (e *engine) makeFiles(n *node) error {
	m, err := e.s.Manifest(n.key)
	if err == nil {
		return e.adopt(n, m, nil)
	}
	if !errors.Is(err, store.ErrMissing) && !errors.Is(err, store.ErrDamaged) {
		return err
	}
	if m, err = e.s.CommitExternal(n.manifestOfFiles()); err != nil {
		return err
	}
	e.finish(n, m, Done)
	return nil
}

// lock takes the lock of an output or part, waiting for whoever holds it.
// While it waits it looks whether the holder has finished: then found is what
// it made.
func (e *engine) lock(ctx context.Context, n *node, key store.Key, what string, look func() (*store.Manifest, error)) (lock *store.Lock, found *store.Manifest, err error) {
	waiting := false
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		lock, holder, err := e.tryLock(key, what, func() string { return progressText(n) })
		if err != nil || holder == nil {
			if waiting && err == nil {
				e.set(n, Running, "", nil)
			}
			return lock, nil, err
		}
		if e.o.NoWait {
			return nil, nil, &TemporaryError{fmt.Errorf("%s is making it (since %s)", holder, holder.Since.Format(time.RFC3339))}
		}
		if !waiting {
			waiting = true
			e.set(n, Waiting, "for "+holder.String(), nil)
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, nil, ctx.Err()
		}
		if found, err := look(); err != nil || found != nil {
			return nil, found, err
		}
	}
}

// tryLock is Store.TryLock, for engines that honour locks.
func (e *engine) tryLock(key store.Key, what string, progress func() string) (*store.Lock, *store.Holder, error) {
	if e.o.ignoreLocks {
		return nil, nil, nil
	}
	return e.s.TryLock(key, what, progress)
}

func progressText(n *node) string {
	s := n.meter.Read()
	text := s.Note
	if s.Unit != "" {
		text = fmt.Sprintf("%d/%d %s  %s", s.Done, s.Total, s.Unit, s.Note)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.parts > 0 {
		text = fmt.Sprintf("parts %d/%d  %s", n.partsDone, n.parts, text)
	}
	return text
}

// buildWhole makes the output of a stage without parts.
func (e *engine) buildWhole(ctx context.Context, n *node) (m *store.Manifest, err error) {
	e.backlog.Add(1)
	defer e.backlog.Add(-1)
	threads, err := e.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer e.release()
	w, err := e.s.NewOutput()
	if err != nil {
		return nil, err
	}
	defer w.Discard()
	err = e.unit(n, threads, func(env Env) error {
		sp := newSpool(env.Scratch)
		defer sp.close()
		t := e.newTask(ctx, n, w, env, n.key, sp)
		if err := t.engine.fault(n.Stage.Run(ctx, t, Part{})); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		r, err := sp.reader()
		if err == nil {
			err = writeDead(w, sp.n, r)
		}
		if err != nil {
			return err
		}
		template := n.template()
		template.RowsSeen, template.ByFile = t.engine.counts()
		template.ByFile = counted(template.ByFile)
		template.Dead = sp.n
		m, err = w.Commit(template)
		return err
	})
	return m, err
}

// counted leaves out raw files of which no row was counted.
func counted(list []store.FileCount) []store.FileCount {
	var out []store.FileCount
	for _, c := range list {
		if c.Rows > 0 {
			out = append(out, c)
		}
	}
	return out
}

// planOf returns the committed plan of a node, making it if there is none.
func (e *engine) planOf(ctx context.Context, n *node, sp Splitter) (*store.PlanManifest, error) {
	p, err := e.s.Plan(ctx, n.key)
	if !errors.Is(err, store.ErrMissing) {
		return p, err
	}
	e.backlog.Add(1)
	defer e.backlog.Add(-1)
	threads, err := e.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer e.release()
	w, err := e.s.NewPlan()
	if err != nil {
		return nil, err
	}
	defer w.Discard()
	err = e.unit(n, threads, func(env Env) error {
		dead := newSpool(env.Scratch)
		defer dead.close()
		t := e.newTask(ctx, n, w, env, n.key, dead)
		parts, early := e.foreseen(ctx, n)
		if !early {
			var err error
			parts, err = sp.Plan(ctx, t)
			if err := t.engine.fault(err); err != nil {
				return err
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := dead.toSide(w); err != nil {
			return err
		}
		plan := store.PlanManifest{Key: n.key, Own: store.PartManifest{
			Kind: n.Stage.Kind(), Version: n.Stage.Version(), Dead: dead.n,
		}}
		plan.Own.RowsSeen, plan.Own.ByFile = t.engine.counts()
		for _, part := range parts {
			key, err := partKey(n.Stage, n.numerics, n.changed, part.ID)
			if err != nil {
				return err
			}
			if len(part.Slice) > 0 && !json.Valid(part.Slice) {
				return fmt.Errorf("plan: the slice of part %d is no JSON", part.Index)
			}
			plan.Parts = append(plan.Parts, store.PlanEntry{Key: key, ID: part.ID, Slice: part.Slice})
		}
		p, err = w.CommitPlan(plan)
		return err
	})
	return p, err
}

// partsOf returns the parts of a plan as stages see them.
func partsOf(p *store.PlanManifest) []Part {
	parts := make([]Part, len(p.Parts))
	for i, q := range p.Parts {
		parts[i] = Part{Index: i, ID: q.ID, Slice: q.Slice}
	}
	return parts
}

// buildFinish makes the output of a Splitter whose parts are all there.
func (e *engine) buildFinish(ctx context.Context, n *node, sp Splitter, plan *store.PlanManifest, parts []*store.PartManifest) (m *store.Manifest, err error) {
	e.backlog.Add(1)
	defer e.backlog.Add(-1)
	threads, err := e.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer e.release()
	w, err := e.s.NewFinish(parts)
	if err != nil {
		return nil, err
	}
	defer w.Discard()
	err = e.unit(n, threads, func(env Env) error {
		dead := newSpool(env.Scratch)
		defer dead.close()
		t := e.newTask(ctx, n, w, env, n.key, dead)
		t.engine.plan, t.engine.parts = plan, parts
		if err := t.engine.fault(sp.Finish(ctx, t, partsOf(plan))); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		template := n.template()
		template.RowsSeen, template.ByFile = t.engine.counts()
		template.Dead = dead.n
		template.Notes = make(map[string]string)
		var readers []io.Reader
		for _, p := range append([]*store.PartManifest{&plan.Own}, parts...) {
			template.RowsSeen += p.RowsSeen
			template.Dead += p.Dead
			template.ByFile = addCounts(template.ByFile, p.ByFile)
			if _, ok := p.File(deadSide); ok {
				f, err := e.s.OpenPart(ctx, p, deadSide)
				if err != nil {
					return err
				}
				defer f.Close()
				readers = append(readers, io.NewSectionReader(f, 0, f.Size()))
			}
		}
		for k, v := range plan.Own.Notes {
			template.Notes[k] = v
		}
		template.ByFile = counted(template.ByFile)
		own, err := dead.reader()
		if err != nil {
			return err
		}
		if err := writeDead(w, template.Dead, append(readers, own)...); err != nil {
			return err
		}
		m, err = w.Commit(template)
		return err
	})
	return m, err
}
