package pipeline

import (
	"context"
	"log/slog"
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
	panic("pipeline: unfinished")
}
