package pipeline

import (
	"context"
	"io"
	"path/filepath"
	"slices"
	"sync"

	"espalier/pipeline/store"
)

// A Foreseer is a Splitter that may plan before the digests of its raw files are
// known: its Plan looks at none, writes to no file and leaves no dead letter. One
// processor digests the files then while another plans. What was planned counts
// only if every file was what its digest says when it was read.
type Foreseer interface {
	Splitter
	Foresees() bool
}

// leastForeseen is how many bytes of raw files are worth a plan of their own.
const leastForeseen = 4 << 20

// A foresight is a plan that is made while raw files are digested.
type foresight struct {
	cancel context.CancelFunc
	done   chan struct{}
	parts  []Part
	err    error

	mu      sync.Mutex
	read    []*store.File
	changed bool
}

// foresee starts to plan what is made of raw files alone, if they are new and
// somebody has the time.
func (e *engine) foresee(ctx context.Context, files *node, root string, names []string) {
	if e.rec == nil || e.o.Part != nil || e.o.Jobs < 2 {
		return
	}
	for _, n := range e.nodes {
		p, ok := n.Stage.(Foreseer)
		if !ok || !p.Foresees() || !n.target || len(n.ins) != 1 || n.ins[0].from != files {
			continue
		}
		entries := make([]store.FileEntry, len(names))
		var size int64
		known := true
		for i, name := range names {
			bytes, digested, err := e.s.Digests().Known(filepath.Join(root, filepath.FromSlash(name)))
			if err != nil {
				return
			}
			entries[i] = store.FileEntry{Name: name, Bytes: bytes}
			size += bytes
			known = known && digested
		}
		if known || size < leastForeseen {
			return
		}
		f := &foresight{done: make(chan struct{})}
		ctx, f.cancel = context.WithCancel(ctx)
		n.foresight = f
		go func() {
			defer close(f.done)
			f.err = e.unit(n, 1, func(env Env) error {
				in := &Input{
					Name: n.ins[0].name, Node: files.Name, Manifest: &store.Manifest{Files: entries, External: true},
					open: func(name string) (*store.File, error) { return f.open(e.s, root, name) },
				}
				t := &Task{In: map[string]*Input{in.Name: in}, Env: env, Log: e.log.With("stage", n.Name), Meter: n.meter.Child()}
				var err error
				f.parts, err = p.Plan(ctx, t)
				return err
			})
		}()
		return // the processors are busy
	}
}

func (f *foresight) open(s *store.Store, root, name string) (*store.File, error) {
	file, err := s.OpenUnknown(root, name)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	f.read = append(f.read, file)
	f.mu.Unlock()
	file.Closer = &foreseenCloser{f, file, file.Closer}
	return file, nil
}

type foreseenCloser struct {
	f      *foresight
	file   *store.File
	closer io.Closer
}

// Close notes whether the file was changed while it was read.
func (c *foreseenCloser) Close() error {
	if !c.file.Same() {
		c.f.mu.Lock()
		c.f.changed = true
		c.f.mu.Unlock()
	}
	return c.closer.Close()
}

// foreseen returns the parts of a plan that was made while the node's raw files
// were digested, if it counts.
func (e *engine) foreseen(ctx context.Context, n *node) ([]Part, bool) {
	f := n.foresight
	if f == nil {
		return nil, false
	}
	select {
	case <-f.done:
	case <-ctx.Done():
		return nil, false
	}
	if f.err != nil || f.changed {
		return nil, false
	}
	entries := n.ins[0].from.listing.entries
	for _, file := range f.read {
		i := slices.IndexFunc(entries, func(e store.FileEntry) bool { return e.Name == file.Entry.Name })
		if i < 0 || !e.s.Digested(file, entries[i]) {
			return nil, false
		}
	}
	return f.parts, true
}

// endForesights ends plans that nobody asked for.
func (e *engine) endForesights() {
	for _, n := range e.nodes {
		if n.foresight != nil {
			n.foresight.cancel()
			<-n.foresight.done
		}
	}
}
