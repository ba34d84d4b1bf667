package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"espalier/pipeline/progress"
	"espalier/pipeline/store"
)

// An engine is one run, plan or check of a graph.
type engine struct {
	o     Options
	s     *store.Store
	log   *slog.Logger
	now   func() time.Time
	graph *Graph

	nodes  []*node // each after its inputs
	byName map[string]*node

	slots   chan struct{} // one for each unit of work in flight
	commits chan struct{} // one for each part being committed
	checks  chan struct{} // one for each output being checked
	backlog atomic.Int64  // units in flight or ready: what shares the threads
	shares  shares
	rec     *recorder

	events sync.Mutex // one event at a time
	flight sync.Mutex // guards busy
	busy   map[store.Key]chan struct{}
}

// A node is a Node while it is worked on.
type node struct {
	Node
	files    *Files // the stage, if it is one
	ins      []edge // by input name
	target   bool   // asked for, not only needed
	numerics string
	params   []byte // all fields
	changed  []byte // those that enter the key
	key      store.Key
	listing  *listing // of files
	skip     map[string]bool
	err      error // that keeps the key from being known

	done chan struct{} // closed when the state is final

	mu        sync.Mutex
	state     State
	manifest  *store.Manifest
	began     time.Time
	work      time.Duration // of its units
	seconds   float64
	parts     int
	partsDone int
	partsRun  int
	meter     progress.Meter
	runErr    error
	foresight *foresight // nil if its plan is not made early
}

type edge struct {
	name string
	from *node
}

// newEngine checks the graph and the options.
func newEngine(g *Graph, o Options) (*engine, error) {
	if o.Store == nil {
		return nil, usagef("", "no store")
	}
	order, err := g.sorted()
	if err != nil {
		return nil, err
	}
	if o.Jobs <= 0 {
		o.Jobs = runtime.NumCPU()
	}
	if o.Threads <= 0 {
		o.Threads = runtime.NumCPU()
	}
	if o.Numerics == "" {
		o.Numerics = HostNumerics()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	e := &engine{
		o: o, s: o.Store, log: o.Log, now: o.Now, graph: g,
		byName:  make(map[string]*node),
		slots:   make(chan struct{}, o.Jobs),
		commits: make(chan struct{}, max(8, o.Jobs)), // a file system makes durable together what is asked for together
		checks:  make(chan struct{}, o.Jobs),
		busy:    make(map[store.Key]chan struct{}),
	}
	var errs []error
	for _, i := range order {
		n := &node{Node: g.Nodes[i], state: Pending, done: make(chan struct{})}
		n.files, _ = n.Stage.(*Files)
		for _, in := range sortedKeys(n.Inputs) {
			n.ins = append(n.ins, edge{in, e.byName[n.Inputs[in]]})
		}
		if n.files != nil && len(n.ins) > 0 {
			errs = append(errs, usagef(n.Pos, "stage %s: %s has no inputs", n.Name, FilesKind))
		}
		if c, ok := n.Stage.(Checker); ok {
			for _, err := range unjoin(c.Check()) {
				errs = append(errs, usagef(n.Pos, "stage %s: %v", n.Name, err))
			}
		}
		n.numerics = numericsOf(n.Stage, o.Numerics)
		e.byName[n.Name] = n
		e.nodes = append(e.nodes, n)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return e, e.choose()
}

// unjoin returns the errors that errors.Join joined.
func unjoin(err error) []error {
	if err == nil {
		return nil
	}
	if j, ok := err.(interface{ Unwrap() []error }); ok {
		return j.Unwrap()
	}
	return []error{err}
}

// choose keeps only what Options.Stage needs.
func (e *engine) choose() error {
	if e.o.Stage == "" {
		if e.o.Part != nil {
			return usagef("", "a part needs the stage that it is of")
		}
		for _, n := range e.nodes {
			n.target = true
		}
		return nil
	}
	target := e.byName[e.o.Stage]
	if target == nil {
		return usagef("", "no stage named %q; there are %s", e.o.Stage, joinNames(sortedKeys(e.byName)))
	}
	target.target = true
	need := map[*node]bool{target: true}
	for _, n := range slices.Backward(e.nodes) {
		if need[n] {
			for _, in := range n.ins {
				need[in.from] = true
			}
		}
	}
	e.nodes = slices.DeleteFunc(e.nodes, func(n *node) bool { return !need[n] })
	return nil
}

func joinNames(names []string) string {
	const most = 12
	text := ""
	for i, n := range names {
		if i == most {
			return text + fmt.Sprintf(" and %d more", len(names)-most)
		}
		if i > 0 {
			text += ", "
		}
		text += n
	}
	return text
}

// resolve computes the key of every node, reading raw files on the way. A node
// whose key cannot be known has err set.
func (e *engine) resolve(ctx context.Context) error {
	for _, n := range e.nodes {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := e.resolveNode(ctx, n); err != nil {
			return err
		}
	}
	e.s.Digests().Flush()
	return nil
}

// errBlocked is the error of a node whose input has no key.
var errBlocked = errors.New("an input is not there")

func (e *engine) resolveNode(ctx context.Context, n *node) (err error) {
	if n.files != nil {
		if e.rec != nil { // a run: the reading may take a while
			e.tell(n, Running, "reading raw files")
		}
		found := func(root string, names []string) { e.foresee(ctx, n, root, names) }
		l, err := n.files.list(ctx, e.s.Digests(), 2*e.o.Jobs, n.skip, &n.meter, found)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			n.err = err
			return nil
		}
		n.listing = l
		n.key, err = filesKey(l.entries)
		return err
	}
	inputs := make(map[string]store.Key, len(n.ins))
	for _, in := range n.ins {
		if in.from.err != nil {
			n.err = errBlocked
			return nil
		}
		inputs[in.name] = in.from.key
	}
	n.params, n.changed, err = paramsOf(n.Stage)
	if err == nil {
		n.key, err = outputKey(n.Stage, n.numerics, n.changed, inputs)
	}
	if err != nil {
		return usagef(n.Pos, "stage %s: %v", n.Name, err)
	}
	return nil
}

// template returns what a manifest of the node says before there are files.
func (n *node) template() store.Manifest {
	m := store.Manifest{
		Kind: n.Stage.Kind(), Version: n.Stage.Version(), Numerics: n.numerics, Key: n.key, Params: n.params,
	}
	for _, in := range n.ins {
		m.Inputs = append(m.Inputs, store.InputRef{Name: in.name, Key: in.from.key, Digest: in.from.manifest.Digest})
	}
	return m
}

// manifestOfFiles describes raw files.
func (n *node) manifestOfFiles() store.Manifest {
	m := n.template()
	m.Params = []byte("{}")
	m.Files = n.listing.entries
	m.External = true
	m.Digest = store.DigestFiles(m.Files)
	return m
}

// dir returns where the output of a node lies.
func (e *engine) dir(n *node) string {
	switch {
	case n.listing != nil:
		return n.listing.root
	case n.key == "":
		return ""
	}
	return e.s.OutputDir(n.key)
}

// acquire waits for a slot and returns how many threads the unit may use:
// those there are, shared by the units that are in flight or ready.
func (e *engine) acquire(ctx context.Context) (threads int, err error) {
	select {
	case e.slots <- struct{}{}:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	sharing := min(int64(e.o.Jobs), max(e.backlog.Load(), 1))
	return max(1, e.o.Threads/int(sharing)), nil
}

func (e *engine) release() { <-e.slots }

// unit runs one piece of a stage in the slot that the caller holds. A panic of
// the stage fails the node, not the process.
func (e *engine) unit(n *node, threads int, f func(env Env) error) (err error) {
	scratch, err := e.scratch()
	if err != nil {
		return err
	}
	defer e.dropScratch(scratch)
	start := e.now()
	defer func() {
		n.mu.Lock()
		n.work += e.now().Sub(start)
		n.mu.Unlock()
	}()
	defer func() {
		if p := recover(); p != nil {
			buf := make([]byte, 16<<10)
			e.log.Error("stage panicked", "stage", n.Name, "panic", fmt.Sprint(p), "stack", string(buf[:runtime.Stack(buf, false)]))
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return f(Env{Threads: threads, MemoryBytes: e.o.Memory, Scratch: scratch, Numerics: e.o.Numerics})
}

// alone makes units with equal keys in this process run one after the other.
// It calls waits, if not nil, before it waits for another.
func (e *engine) alone(ctx context.Context, key store.Key, waits func()) (release func(), err error) {
	for {
		e.flight.Lock()
		other, taken := e.busy[key]
		if !taken {
			mine := make(chan struct{})
			e.busy[key] = mine
			e.flight.Unlock()
			return func() {
				e.flight.Lock()
				delete(e.busy, key)
				e.flight.Unlock()
				close(mine)
			}, nil
		}
		e.flight.Unlock()
		if waits != nil {
			waits()
		}
		select {
		case <-other:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// set changes the state of a node and tells whoever listens.
func (e *engine) set(n *node, state State, message string, err error) {
	e.events.Lock()
	defer e.events.Unlock()
	n.mu.Lock()
	n.state = state
	if state == Running && n.began.IsZero() {
		n.began = e.now()
	}
	n.mu.Unlock()
	if state == Running && e.rec != nil {
		e.rec.begin(n)
	}
	e.emit(n, message, err)
}

// tell is set without a row in the run log.
func (e *engine) tell(n *node, state State, message string) {
	e.events.Lock()
	defer e.events.Unlock()
	n.mu.Lock()
	n.state = state
	n.mu.Unlock()
	e.emit(n, message, nil)
}

// partDone counts a part of a node.
func (e *engine) partDone(n *node, ran bool) {
	e.events.Lock()
	defer e.events.Unlock()
	n.mu.Lock()
	n.partsDone++
	if ran {
		n.partsRun++
	}
	n.mu.Unlock()
	e.emit(n, "", nil)
}

// emit is called with events held.
func (e *engine) emit(n *node, message string, err error) {
	if e.o.Events == nil {
		return
	}
	n.mu.Lock()
	ev := Event{
		Time: e.now(), Node: n.Name, Kind: n.Stage.Kind(), Key: n.key, State: n.state,
		Parts: n.parts, PartsDone: n.partsDone, Message: message, Err: err,
	}
	if n.state == Running || n.state == Waiting {
		ev.Meter = &n.meter
	}
	if !n.began.IsZero() {
		ev.Seconds = max(0, e.now().Sub(n.began).Seconds())
	}
	if m := n.manifest; m != nil {
		ev.Rows, ev.Bytes, ev.Dead = m.Rows, m.Bytes(), m.Dead
	}
	n.mu.Unlock()
	e.o.Events(ev)
}
