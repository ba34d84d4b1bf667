package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"espalier/pipeline/store"
)

// taskState is what the engine knows of a running unit of work.
type taskState struct {
	engine *engine
	node   *node
	ctx    context.Context
	ckpt   store.Key // under which checkpoints are kept
	spool  *spool

	plan  *store.PlanManifest   // of parts and Finish
	parts []*store.PartManifest // of Finish

	mu      sync.Mutex
	group   string // to which the part belongs, if any
	seen    int64
	byFile  map[string]int64
	changed []string // raw files that were changed while they were read
	damaged []*node  // inputs found damaged
}

// newTask makes the task of one unit. The caller closes its spool.
func (e *engine) newTask(ctx context.Context, n *node, out *store.Writer, env Env, ckpt store.Key, sp *spool) *Task {
	st := &taskState{engine: e, node: n, ctx: ctx, ckpt: ckpt, spool: sp, byFile: make(map[string]int64)}
	t := &Task{
		In: make(map[string]*Input, len(n.ins)), Out: out, Env: env,
		Log: e.log.With("stage", n.Name), Meter: n.meter.Child(), engine: st,
	}
	for _, in := range n.ins {
		from := in.from
		t.In[in.name] = &Input{
			Name: in.name, Node: from.Name, Key: from.key, Manifest: from.manifest,
			open: func(name string) (*store.File, error) { return st.open(from, name) },
		}
	}
	return t
}

// open opens a file of an input.
func (s *taskState) open(from *node, name string) (*store.File, error) {
	if from.listing != nil {
		return s.openRaw(from, name)
	}
	f, err := s.engine.s.OpenFile(s.ctx, from.manifest, name)
	if errors.Is(err, store.ErrDamaged) {
		s.mu.Lock()
		s.damaged = append(s.damaged, from)
		s.mu.Unlock()
	}
	return f, err
}

// openRaw opens a raw file, which must be what it was when keys were computed
// and still be so when it is closed.
func (s *taskState) openRaw(from *node, name string) (*store.File, error) {
	i, ok := slices.BinarySearchFunc(from.listing.entries, name, func(e store.FileEntry, n string) int {
		return strings.Compare(e.Name, n)
	})
	if !ok {
		return nil, fmt.Errorf("stage %s has no file %s", from.Name, name)
	}
	f, err := s.engine.s.OpenRaw(s.ctx, from.listing.root, from.listing.entries[i])
	if errors.Is(err, store.ErrDamaged) {
		s.mu.Lock()
		s.changed = append(s.changed, name)
		s.mu.Unlock()
	}
	if err != nil {
		return nil, err
	}
	f.Closer = &rawCloser{s, name, f.Closer, f.Changed}
	return f, nil
}

type rawCloser struct {
	s       *taskState
	name    string
	closer  interface{ Close() error }
	changed func(context.Context) bool
}

func (c *rawCloser) Close() error {
	if c.changed(c.s.ctx) {
		c.s.mu.Lock()
		c.s.changed = append(c.s.changed, c.name)
		c.s.mu.Unlock()
	}
	return c.closer.Close()
}

// fault turns what happened to the unit's inputs into the error that counts.
func (s *taskState) fault(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.changed) > 0 {
		slices.Sort(s.changed)
		return &TemporaryError{fmt.Errorf("raw files were changed while they were read; run again: %s", joinNames(slices.Compact(s.changed)))}
	}
	if err == nil || len(s.damaged) == 0 || !errors.Is(err, store.ErrDamaged) {
		return err
	}
	for _, from := range s.damaged {
		d := s.engine.s.Check(s.ctx, from.manifest, true)
		if len(d) == 0 {
			continue // mended meanwhile
		}
		s.engine.log.Warn("damaged output set aside", "stage", from.Name, "key", string(from.key), "damage", d[0].String())
		if serr := s.engine.s.SetAside(s.ctx, from.key, d); serr != nil {
			return serr
		}
	}
	return &TemporaryError{fmt.Errorf("input %s was damaged and is set aside; the next run makes it anew: %w", s.damaged[0].Name, err)}
}

func (s *taskState) gather(t *Task, name string) []*Input {
	var found []*Input
	for _, in := range sortedKeys(t.In) {
		if in == name || strings.HasPrefix(in, name+"[") && strings.HasSuffix(in, "]") {
			found = append(found, t.In[in])
		}
	}
	return found
}

func (s *taskState) dead(d DeadLetter) error { return s.spool.add(d) }

func (s *taskState) rows(file string, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen += n
	if file != "" {
		s.byFile[file] += n
	}
}

// counts returns the rows seen and the counts of each raw file.
func (s *taskState) counts() (seen int64, byFile []store.FileCount) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range sortedKeys(s.byFile) {
		byFile = append(byFile, store.FileCount{File: name, Rows: s.byFile[name], Dead: s.spool.byFile[name]})
	}
	// Dead letters of a part may be of a file whose rows another part counted.
	for _, name := range sortedKeys(s.spool.byFile) {
		if _, ok := s.byFile[name]; !ok {
			byFile = append(byFile, store.FileCount{File: name, Dead: s.spool.byFile[name]})
		}
	}
	slices.SortFunc(byFile, func(a, b store.FileCount) int { return strings.Compare(a.File, b.File) })
	return s.seen, byFile
}

func (s *taskState) part(i int) *store.PartManifest {
	if s.parts == nil || i < 0 || i >= len(s.parts) {
		panic("pipeline: Task.Part: only Finish sees parts")
	}
	return s.parts[i]
}

func (s *taskState) openPart(i int, name string) (*store.File, error) {
	switch {
	case i == -1 && s.plan != nil:
		return s.engine.s.OpenPart(s.ctx, &s.plan.Own, name)
	case i >= 0 && i < len(s.parts):
		return s.engine.s.OpenPart(s.ctx, s.parts[i], name)
	}
	return nil, fmt.Errorf("open %s of part %d: there is no such part here", name, i)
}

func (s *taskState) saveCheckpoint(ctx context.Context, step int64, save func(dir string) error) error {
	return s.engine.s.SaveCheckpoint(s.ckpt, step, save)
}

func (s *taskState) latestCheckpoint() (int64, string, bool, error) {
	step, dir, ok, why, err := s.engine.s.LatestCheckpoint(s.ckpt)
	if why != "" {
		s.engine.log.Warn("damaged checkpoint set aside", "stage", s.node.Name, "damage", why)
	}
	return step, dir, ok, err
}

func (s *taskState) share(ctx context.Context, key string, build func(context.Context) (any, func(), error)) (any, func(), error) {
	return s.engine.shares.get(ctx, key, build)
}

func (s *taskState) remember(group string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.group = group
}

// committed adds a part to its group. A failure costs later work and nothing
// else.
func (s *taskState) committed(key store.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.group == "" {
		return
	}
	if err := s.engine.s.Remember(s.group, key); err != nil {
		s.engine.log.Debug("part not remembered", "stage", s.node.Name, "err", err)
	}
}

func (s *taskState) openRemembered(ctx context.Context, key store.Key, name string) (*store.File, error) {
	p, _, err := s.engine.s.Part(ctx, key)
	if err != nil {
		return nil, err
	}
	return s.engine.s.OpenPart(ctx, p, name)
}
