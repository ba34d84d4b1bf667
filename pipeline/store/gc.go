package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// GCOptions say what GC does.
type GCOptions struct {
	Grace  time.Duration // how long what was swept stays in the trash; 0 deletes at once
	DryRun bool          // report only
}

// A GCReport says what GC kept, swept and deleted.
type GCReport struct {
	Roots   []string `json:"roots"`   // job files and pinned names
	Kept    int      `json:"kept"`    // outputs
	Swept   []GCItem `json:"swept"`   // moved to the trash
	Bytes   int64    `json:"bytes"`   // of what was swept
	Deleted int      `json:"deleted"` // entries deleted from the trash
	Freed   int64    `json:"freed"`   // bytes deleted
	Busy    []string `json:"busy"`    // runners whose leases were honoured, such as "host:1234"
}

// A GCItem is one thing that no root reaches.
type GCItem struct {
	Path   string `json:"path"` // relative to the store
	Bytes  int64  `json:"bytes"`
	Reason string `json:"reason"`
}

// youngObject is how old an object must be before it counts as lost while
// other runners are at work: it may be about to be named by a manifest.
const youngObject = time.Hour

// GC moves what no root and no lease reaches to the trash and deletes what
// has been there longer than the grace. Roots are the outputs that a job file
// named when it last ran, if the file still exists, and pinned names. An
// output keeps its plan, its parts and their side files, so that a change of
// one row still redoes one part only.
func (s *Store) GC(ctx context.Context, o GCOptions) (*GCReport, error) {
	if _, err := readFormat(s.dir); errors.Is(err, fs.ErrNotExist) {
		return &GCReport{}, nil
	} else if err != nil {
		return nil, err
	}
	g := &collector{store: s, o: o, report: &GCReport{}}
	if !o.DryRun {
		lock, err := s.lockGC(ctx)
		if err != nil {
			return g.report, err
		}
		defer s.unlockGC(lock)
	}
	for {
		if err := g.mark(ctx); err != nil {
			return g.report, err
		}
		if err := g.find(ctx); err != nil {
			return g.report, err
		}
		// A runner that began before the lock was taken has said so by now:
		// its roots and leases must be among those seen.
		before, busy := g.rooted, g.busy
		if err := g.readRoots(); err != nil {
			return g.report, err
		}
		if slices.Equal(before, g.rooted) && busy == g.busy {
			break
		}
	}
	for _, it := range g.report.Swept {
		g.report.Bytes += it.Bytes
	}
	if o.DryRun {
		return g.report, nil
	}
	if err := g.sweep(ctx); err != nil {
		return g.report, err
	}
	return g.report, g.empty(ctx)
}

// gcKey is the name of the lock that keeps runs from beginning, and a second
// gc from working, while gc sweeps. A run takes its lease first and then looks
// for this lock; gc takes the lock first and then looks for leases: one of the
// two sees the other.
const gcKey Key = "gc"

func (s *Store) lockGC(ctx context.Context) (*Lock, error) {
	for {
		lock, _, err := s.TryLock(gcKey, "gc", nil)
		if err != nil || lock != nil {
			return lock, err
		}
		if err := sleep(ctx, 20*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

// unlockGC also removes the folders that gc and its lock may have emptied.
func (s *Store) unlockGC(lock *Lock) {
	lock.Unlock()
	for _, dir := range []string{"work/tmp", "work/checkpoints", "work", "locks", "leases"} {
		os.Remove(filepath.Join(s.dir, filepath.FromSlash(dir))) // if empty
	}
}

// AwaitGC returns when no gc sweeps the store. A run calls it after it has
// taken its lease and before it looks for anything.
func (s *Store) AwaitGC(ctx context.Context) error {
	for {
		h, err := s.Holder(gcKey)
		if err != nil || h == nil {
			return err
		}
		if err := sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

type collector struct {
	store  *Store
	o      GCOptions
	report *GCReport

	rooted  []Key // sorted: all that roots, pins and leases name
	gone    []string
	busy    bool
	objects map[string]bool
	parts   map[Key]bool
	keys    map[Key]bool
}

// readRoots collects the keys that must stay.
func (g *collector) readRoots() error {
	s := g.store
	g.rooted, g.gone, g.busy = nil, nil, false
	g.report.Roots, g.report.Busy = nil, nil
	roots, paths, err := s.roots()
	if err != nil {
		return err
	}
	for i, r := range roots {
		if r.abandoned() {
			g.gone = append(g.gone, paths[i])
			continue
		}
		name := r.Job
		if len(r.Set) > 0 {
			name += " (" + strings.Join(r.Set, " ") + ")"
		}
		g.report.Roots = append(g.report.Roots, name)
		for _, n := range r.Nodes {
			g.rooted = append(g.rooted, n.Key)
			if _, err := s.Manifest(n.Key); err != nil && n.Made != "" {
				g.rooted = append(g.rooted, n.Made)
			}
		}
	}
	pins, err := s.Pins()
	if err != nil {
		return err
	}
	for name, key := range pins {
		g.report.Roots = append(g.report.Roots, name)
		g.rooted = append(g.rooted, key)
	}
	slices.Sort(g.report.Roots)
	live, stale, err := s.liveLeases()
	if err != nil {
		return err
	}
	g.gone = append(g.gone, stale...)
	for _, l := range live {
		g.busy = true
		g.report.Busy = append(g.report.Busy, fmt.Sprintf("%s:%d", l.Host, l.PID))
		g.rooted = append(g.rooted, l.Keys...)
	}
	slices.Sort(g.rooted)
	g.rooted = slices.Compact(g.rooted)
	return nil
}

// mark finds all that the roots reach.
func (g *collector) mark(ctx context.Context) error {
	if err := g.readRoots(); err != nil {
		return err
	}
	s := g.store
	g.objects, g.parts, g.keys = make(map[string]bool), make(map[Key]bool), make(map[Key]bool)
	g.report.Kept = 0
	for _, key := range g.rooted {
		if err := ctx.Err(); err != nil {
			return err
		}
		g.keys[key] = true
		if m, err := s.Manifest(key); err == nil {
			g.report.Kept++
			if !m.External {
				g.see(m.Files)
			}
		} else if !errors.Is(err, ErrMissing) && !errors.Is(err, ErrDamaged) {
			return err
		}
		p, err := s.readPlan(key)
		if errors.Is(err, ErrMissing) || errors.Is(err, ErrDamaged) {
			continue
		}
		if err != nil {
			return err
		}
		g.see(p.Own.Side)
		for _, e := range p.Parts {
			if g.parts[e.Key] {
				continue
			}
			g.parts[e.Key] = true
			if q, err := s.readPart(e.Key); err == nil {
				g.see(q.Files)
				g.see(q.Side)
			} else if !errors.Is(err, ErrMissing) && !errors.Is(err, ErrDamaged) {
				return err
			}
		}
	}
	return nil
}

func (g *collector) see(files []FileEntry) {
	for _, e := range files {
		g.objects[e.SHA256] = true
	}
}

// find lists what was not marked.
func (g *collector) find(ctx context.Context) error {
	g.report.Swept = nil
	steps := []func() error{g.findOutputs, g.findParts, g.findPlans, g.findGroups, g.findObjects, g.findWork, g.findLocks}
	for _, step := range steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := step(); err != nil {
			return err
		}
	}
	for _, path := range g.gone {
		g.add(path, "its job file or process is gone")
	}
	return nil
}

func (g *collector) add(path, reason string) {
	rel, err := filepath.Rel(g.store.dir, path)
	if err != nil {
		rel = path
	}
	g.report.Swept = append(g.report.Swept, GCItem{Path: filepath.ToSlash(rel), Bytes: treeSize(path), Reason: reason})
}

func (g *collector) findOutputs() error {
	names, err := readNames(filepath.Join(g.store.dir, "outputs"))
	if err != nil {
		return err
	}
	for _, name := range names {
		key := Key(name)
		dir := g.store.OutputDir(key)
		if !g.keys[key] {
			g.add(dir, "no job or pin names it")
			continue
		}
		m, err := g.store.Manifest(key)
		if err != nil {
			if !g.busy {
				g.add(dir, "it was not finished")
			}
			continue
		}
		if g.busy {
			continue
		}
		if err := g.findStrays(dir, m); err != nil {
			return err
		}
	}
	return nil
}

// findStrays finds files of an output's folder that its manifest does not
// name, left by a kill.
func (g *collector) findStrays(dir string, m *Manifest) error {
	known := map[string]bool{manifestFile: true}
	if !m.External {
		for _, e := range m.Files {
			known[e.Name] = true
		}
	}
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err == nil && !known[filepath.ToSlash(rel)] {
			g.add(path, "its manifest does not name it")
		}
		return err
	})
}

func (g *collector) findParts() error {
	return g.store.eachFanned("parts", func(name, path string) error {
		if key := Key(strings.TrimSuffix(name, ".json")); !g.parts[key] {
			g.add(path, "no plan names it")
		}
		return nil
	})
}

func (g *collector) findPlans() error {
	dir := filepath.Join(g.store.dir, "plans")
	names, err := readNames(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if key := Key(strings.TrimSuffix(name, ".json")); !g.keys[key] {
			g.add(filepath.Join(dir, name), "no job or pin names its output")
		}
	}
	return nil
}

func (g *collector) findObjects() error {
	var now int64
	if g.busy {
		var err error
		if now, err = g.store.fsNow(); err != nil {
			return err
		}
	}
	return g.store.eachFanned("objects", func(name, path string) error {
		if g.objects[name] {
			return nil
		}
		if g.busy {
			if id, err := statPath(path); err != nil || now-id.ctime < int64(youngObject) {
				return nil
			}
		}
		g.add(path, "no output or part names it")
		return nil
	})
}

// findWork finds private folders of processes that are gone, and checkpoints
// of outputs that are published or that nobody wants any more.
func (g *collector) findWork() error {
	tmp := filepath.Join(g.store.dir, "work", "tmp")
	names, err := readNames(tmp)
	if err != nil {
		return err
	}
	for _, name := range names {
		if o, ok := parseOwner(name); !ok || !g.lives(o) {
			g.add(filepath.Join(tmp, name), "its process is gone")
		}
	}
	if names, err = readNames(g.store.dir); err != nil {
		return err
	}
	for _, name := range names {
		if strings.HasPrefix(name, "."+formatFile+".") && !g.busy {
			g.add(filepath.Join(g.store.dir, name), "left by a kill")
		}
	}
	dir := filepath.Join(g.store.dir, "work", "checkpoints")
	if names, err = readNames(dir); err != nil {
		return err
	}
	for _, name := range names {
		key := Key(name)
		_, published := g.store.Manifest(key)
		switch {
		case published == nil || g.parts[key] && g.store.HasPart(key):
			g.add(filepath.Join(dir, name), "its output is published")
		case !g.keys[key] && !g.parts[key]:
			g.add(filepath.Join(dir, name), "no job or pin names its output")
		}
	}
	return nil
}

// lives reports whether a process may still use its private folder: it lives
// on this host, or it is elsewhere and some lease of its host lives.
func (g *collector) lives(o owner) bool {
	switch o.vitality() {
	case alive:
		return true
	case dead:
		return false
	}
	for _, b := range g.report.Busy {
		if b == fmt.Sprintf("%s:%d", o.Host, o.PID) {
			return true
		}
	}
	return false
}

func (g *collector) findLocks() error {
	dir := filepath.Join(g.store.dir, "locks")
	names, err := readNames(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		path := filepath.Join(dir, name)
		h, err := readLock(path)
		if err != nil {
			continue
		}
		if v := h.vitality(); v == dead || v == unknown && !g.busy && name != string(gcKey)+".lock" {
			g.add(path, "its process is gone")
		}
	}
	return nil
}

// sweep moves what was found to the trash. Private folders are deleted: there
// is nothing in them to want back.
func (g *collector) sweep(ctx context.Context) error {
	for _, it := range g.report.Swept {
		if err := ctx.Err(); err != nil {
			return err
		}
		path := filepath.Join(g.store.dir, filepath.FromSlash(it.Path))
		if strings.HasPrefix(it.Path, "work/tmp/") || strings.HasPrefix(it.Path, "locks/") || strings.HasPrefix(it.Path, "leases/") || strings.HasPrefix(it.Path, "groups/") {
			os.RemoveAll(path)
			continue
		}
		if err := g.store.trash(path); err != nil {
			return err
		}
	}
	return nil
}

// empty deletes what has been in the trash longer than the grace. An entry
// from the future, after the clock was set back, counts as new.
func (g *collector) empty(ctx context.Context) error {
	dir := filepath.Join(g.store.dir, "trash")
	names, err := readNames(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		stamp, _, _ := strings.Cut(name, "_")
		at, err := time.Parse(trashTime, stamp)
		if g.o.Grace > 0 && err == nil && g.store.now().Sub(at) < g.o.Grace {
			continue
		}
		path := filepath.Join(dir, name)
		size := treeSize(path)
		if err := os.RemoveAll(path); err != nil {
			return writeErr("delete", path, err)
		}
		g.report.Deleted++
		g.report.Freed += size
	}
	os.Remove(dir)
	return nil
}

// Sweep removes what dead processes of this host left behind: private
// folders, locks and leases. It is cheap, and runs before every run.
func (s *Store) Sweep() {
	tmp := filepath.Join(s.dir, "work", "tmp")
	if names, err := readNames(tmp); err == nil {
		for _, name := range names {
			if o, ok := parseOwner(name); ok && o.vitality() == dead {
				os.RemoveAll(filepath.Join(tmp, name))
			}
		}
	}
	locks := filepath.Join(s.dir, "locks")
	if names, err := readNames(locks); err == nil {
		for _, name := range names {
			path := filepath.Join(locks, name)
			if h, err := readLock(path); err == nil && h.vitality() == dead {
				s.takeAway(path)
			}
		}
	}
	leases := filepath.Join(s.dir, "leases")
	if names, err := readNames(leases); err == nil {
		for _, name := range names {
			stem := strings.TrimPrefix(name, ".")
			if i := strings.LastIndexByte(stem, '_'); i > 0 {
				if o, ok := parseOwner(stem[:i]); ok && o.vitality() == dead {
					os.Remove(filepath.Join(leases, name))
				}
			}
		}
	}
}
