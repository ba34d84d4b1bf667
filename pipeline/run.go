package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"espalier/pipeline/progress"
	"espalier/pipeline/store"
)

// Options say how a graph is run. Nothing in them enters a key, except
// Numerics for the kinds that have a class.
type Options struct {
	Store *store.Store

	Jobs     int    // units of work (stages, parts) in flight; 0 means the number of CPUs
	Threads  int    // kernel threads shared by the units in flight; 0 means the number of CPUs
	Memory   int64  // bound for a unit's growing buffers in bytes; 0 means none
	Numerics string // class of the device that Numeric stages run on; "" means HostNumerics()
	Scratch  string // parent of the private scratch folders; "" means the system's temporary folder

	Stage string // run this node and what it needs, and nothing else
	Part  *int   // run this part of Stage and do not Finish; nil means all parts

	NoWait      bool   // a lock held by another runner is a TemporaryError
	MaxDead     *Limit // overrides the nodes' limits
	SkipRefused bool   // go on without refused raw files
	PlanParts   bool   // Plan only: call the Plan method of splitters whose inputs exist, to count parts

	Job     string   // path of the job file: what it names is kept by gc; "" keeps nothing
	Set     []string // overrides given for this run: part of the job's identity for gc
	Tool    string   // version of the program, for the run log
	Lineage string   // file that OpenLineage events are appended to; "" means none

	Events func(Event)      // called for each change of state, one call at a time; may be nil
	Log    *slog.Logger     // nil discards
	Now    func() time.Time // clock of the run log; nil means time.Now

	ignoreLocks bool // in tests: no correctness rests on them
}

// A State is what is known of a node.
type State string

// States of nodes. Plan and Status give the first five; Run all.
const (
	Pending     State = "pending"     // not made yet
	Partial     State = "partial"     // some parts are committed
	Cached      State = "cached"      // the output existed
	Rejected    State = "rejected"    // the output stands, with too many dead letters
	Running     State = "running"     // being made, here or by another runner
	Waiting     State = "waiting"     // for another runner's lock
	Done        State = "done"        // made by this run
	Failed      State = "failed"      //
	Refused     State = "refused"     // a raw file cannot be used
	Blocked     State = "blocked"     // an input failed, was refused or rejected
	Interrupted State = "interrupted" // cancelled
)

// An Event is a change of a node's state or of its count of parts.
type Event struct {
	Time      time.Time
	Node      string
	Kind      string
	Key       store.Key // "" while unknown
	State     State
	Parts     int // in the plan; 0 if the stage has no parts or they are not known yet
	PartsDone int
	Rows      int64           // of the output, once committed
	Bytes     int64           //
	Dead      int64           //
	Seconds   float64         // since the node began
	Meter     *progress.Meter // of a running node; read it whenever progress is printed
	Message   string          // such as what a waiting node waits for
	Err       error           // of a failed node
}

// A Result is what a run did.
type Result struct {
	Run        string // id of the run in the run log
	Nodes      []NodeResult
	Seconds    float64
	PeakMemory int64 // of the process, in bytes
}

// A NodeResult is what a run did with one node.
type NodeResult struct {
	Name     string
	Kind     string
	Key      store.Key
	State    State
	Manifest *store.Manifest // nil if there is no output
	Dir      string          // folder of the output; for raw files their root
	Bytes    int64
	Seconds  float64
	Parts    int // parts in the plan, 0 for stages without parts
	PartsRun int // parts made by this run
	Err      error
}

// Node returns the result of the named node, or nil.
func (r *Result) Node(name string) *NodeResult {
	for i := range r.Nodes {
		if r.Nodes[i].Name == name {
			return &r.Nodes[i]
		}
	}
	return nil
}

// Run makes what is missing of the graph and returns when every stage that
// could be made is. Stages without a path between them run side by side; one
// that fails stops only what needs it. The error joins those of all nodes;
// ExitCode maps it. When ctx is cancelled, stages stop, nothing half done is
// published, and the next run goes on from the committed parts and
// checkpoints.
func Run(ctx context.Context, g Graph, o Options) (*Result, error) {
	skip := make(map[string]map[string]bool) // raw files left out, by node
	for {
		e, err := newEngine(&g, o)
		if err != nil {
			return &Result{}, err
		}
		for name, files := range skip {
			if n := e.byName[name]; n != nil {
				n.skip = files
			}
		}
		res, err := e.run(ctx)
		if err == nil || !o.SkipRefused || ctx.Err() != nil || !e.skipRefused(skip) {
			return res, err
		}
	}
}

// run is one pass over the graph.
func (e *engine) run(ctx context.Context) (*Result, error) {
	e.s.Sweep()
	e.sweepScratch()
	mem := startMemory()
	defer mem.stop()
	start := e.now()
	e.rec = e.newRecorder(start, mem)
	defer e.rec.close()
	defer e.s.Digests().Flush()
	defer e.shares.closeAll()
	defer e.endForesights()
	if err := e.resolve(ctx); err != nil {
		return e.result(start, mem), err
	}
	lease, err := e.claim(ctx)
	defer lease.Release()
	if err != nil {
		return e.result(start, mem), err
	}

	var wg sync.WaitGroup
	need := e.needed(ctx)
	for _, n := range e.nodes {
		if !need[n] {
			close(n.done)
			continue
		}
		wg.Go(func() { e.runNode(ctx, n) })
	}
	wg.Wait()
	if e.o.Job != "" {
		e.saveRoot()
	}

	var errs []error
	interrupted := false
	for _, n := range e.nodes {
		switch {
		case n.runErr == nil || n.state == Blocked:
		case n.state == Interrupted:
			interrupted = true
		default:
			errs = append(errs, e.failure(n))
		}
	}
	if interrupted {
		errs = append(errs, ctx.Err())
	}
	return e.result(start, mem), errors.Join(errs...)
}

// needed returns the nodes to be run: what was asked for, and of what it needs
// only what is not there already.
func (e *engine) needed(ctx context.Context) map[*node]bool {
	need := make(map[*node]bool)
	for _, n := range slices.Backward(e.nodes) {
		if !n.target && !need[n] {
			continue
		}
		need[n] = true
		if e.o.Stage != "" && n.key != "" {
			if m, _, err := e.lookup(ctx, n); err == nil && m != nil {
				continue
			}
		}
		for _, in := range n.ins {
			need[in.from] = true
		}
	}
	return need
}

// failure names the node in its error, once.
func (e *engine) failure(n *node) error {
	var (
		se *StageError
		re *RejectedError
	)
	if errors.As(n.runErr, &se) || errors.As(n.runErr, &re) {
		return n.runErr
	}
	return &StageError{Node: n.Name, Part: -1, Err: n.runErr}
}

// claim makes the run's outputs roots and takes a lease on them, before
// anything is looked up, so that gc leaves alone what the run is about to use.
// A store that cannot be written can still be read.
func (e *engine) claim(ctx context.Context) (*store.Lease, error) {
	var keys []store.Key
	for _, n := range e.nodes {
		if n.key != "" {
			keys = append(keys, n.key)
		}
	}
	lease, err := e.s.Lease(keys)
	if err != nil {
		e.log.Debug("no lease", "error", err)
	}
	if e.o.Job != "" {
		e.saveRoot()
	}
	return lease, e.s.AwaitGC(ctx)
}

// saveRoot notes what the job stands for, for gc and for the next plan.
func (e *engine) saveRoot() {
	root := store.Root{Job: e.o.Job, Set: e.o.Set, Nodes: make(map[string]store.RootNode)}
	old, err := e.s.Root(e.o.Job, e.o.Set)
	if err == nil {
		for _, n := range e.graph.Nodes { // a run of one stage keeps the others
			if was, ok := old.Nodes[n.Name]; ok {
				root.Nodes[n.Name] = was
			}
		}
	}
	for _, n := range e.nodes {
		if n.key == "" {
			continue
		}
		now := store.RootNode{Kind: n.Stage.Kind(), Key: n.key, Made: root.Nodes[n.Name].Made}
		if n.manifest != nil {
			now.Made = n.key
		}
		root.Nodes[n.Name] = now
	}
	if old != nil && maps.Equal(old.Nodes, root.Nodes) {
		return
	}
	if err := e.s.SaveRoot(root); err != nil {
		e.log.Debug("root not saved", "error", err)
	}
}

// runNode waits for the inputs of a node and makes it.
func (e *engine) runNode(ctx context.Context, n *node) {
	defer close(n.done)
	blocked := ""
	for _, in := range n.ins {
		<-in.from.done
		if in.from.runErr != nil && blocked == "" {
			blocked = in.from.Name
		}
	}
	began := e.now()
	var err error
	switch {
	case ctx.Err() != nil:
		err = ctx.Err()
	case blocked != "":
		err = fmt.Errorf("needs %s: %w", blocked, errBlocked)
	case n.err != nil:
		err = n.err
	default:
		err = e.make(ctx, n)
	}
	n.runErr = err
	n.mu.Lock()
	state := n.state // Cached or Done, if there is an output
	n.seconds = max(0, e.now().Sub(began).Seconds())
	n.mu.Unlock()
	switch {
	case err == nil:
	case ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)):
		state = Interrupted
	case blocked != "":
		state = Blocked
	case errors.As(err, new(*RejectedError)):
		state = Rejected
	case onlyRefusals(err):
		state = Refused
	default:
		state = Failed
	}
	var shown error
	if state == Failed || state == Refused || state == Rejected {
		shown = err
	}
	message := ""
	if state == Blocked {
		message = err.Error()
	}
	e.set(n, state, message, shown)
	e.rec.node(n)
}

// result sums up.
func (e *engine) result(start time.Time, mem *memory) *Result {
	res := &Result{Run: e.rec.run, Seconds: max(0, e.now().Sub(start).Seconds()), PeakMemory: mem.processPeak()}
	for _, n := range e.nodes {
		r := NodeResult{
			Name: n.Name, Kind: n.Stage.Kind(), Key: n.key, State: n.state, Manifest: n.manifest, Dir: e.dir(n),
			Seconds: n.seconds, Parts: n.parts, PartsRun: n.partsRun, Err: n.runErr,
		}
		if n.manifest != nil {
			r.Bytes = n.manifest.Bytes()
		}
		res.Nodes = append(res.Nodes, r)
	}
	return res
}

// skipRefused adds the raw files that were refused to skip. It reports false
// if there are none that can be left out.
func (e *engine) skipRefused(skip map[string]map[string]bool) bool {
	more := false
	leave := func(n, files *node, r *RefusedError) {
		if skip[files.Name] == nil {
			skip[files.Name] = make(map[string]bool)
		}
		skip[files.Name][r.File] = true
		more = true
		e.log.Warn("refused file skipped", "stage", n.Name, "file", r.File, "reason", r.Error())
	}
	for _, n := range e.nodes {
		if n.files != nil { // what the folder holds that cannot be read at all
			for _, r := range refusals(n.err) {
				if r.File != n.files.Path && !skip[n.Name][r.File] {
					leave(n, n, r)
				}
			}
		}
		for _, r := range refusals(n.runErr) {
			for _, in := range n.ins {
				if in.from.listing == nil || skip[in.from.Name][r.File] {
					continue
				}
				if !slices.ContainsFunc(in.from.listing.entries, func(f store.FileEntry) bool { return f.Name == r.File }) {
					continue
				}
				leave(n, in.from, r)
			}
		}
	}
	return more
}
