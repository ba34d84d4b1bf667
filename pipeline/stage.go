package pipeline

import (
	"context"
	"encoding/json"
	"log/slog"

	"espalier/pipeline/progress"
	"espalier/pipeline/store"
)

// A Stage is one step of a graph. Its exported fields are its parameters: yaml
// and json names agree, and what differs from the default after Check enters
// the key.
type Stage interface {
	Kind() string                                   // such as "tokenize/encode"; part of the key, never reused
	Version() int                                   // raised when equal inputs would give different bytes
	Run(ctx context.Context, t *Task, p Part) error // makes one part
}

// A Checker fills in defaults and reports every fault of its fields at once.
type Checker interface {
	Check() error
}

// A Splitter is a stage whose work falls into parts.
//
// Plan sees only the inputs, never the machine; what it returns is committed
// and is what every host runs. Its task's Out takes notes and side files but
// no files of the output.
//
// Run then makes each part. It creates files named after the split they
// belong to ("train.parquet"); a part may leave out a split. It may leave side
// files ([store.Writer.Side]) such as key digests, which are kept beside the
// part and are not part of the output. A part's result is found again by the
// part's key alone, so it survives a change elsewhere in the input: Run must
// not look at anything that Part.ID and the stage's parameters do not decide,
// Part.Index included.
//
// Finish sees all parts after they are committed, in the order of the plan. It
// reads them with [Task.Part] and [Task.OpenPart], may replace or drop a
// part's shard ([store.Writer.Replace], [store.Writer.Drop]), and may add
// files, notes and dead letters of its own. When it returns, the engine
// numbers the shards of each split in part order
// ("train-00000-of-00012.parquet") and commits the output. Notes of the plan and
// of Finish go into the manifest; those of parts are for Finish to use.
type Splitter interface {
	Plan(ctx context.Context, t *Task) ([]Part, error)
	Finish(ctx context.Context, t *Task, parts []Part) error
}

// A Numeric stage computes on a device; the numerics class of the machine
// enters its key.
type Numeric interface {
	Numeric() bool
}

// A Part is one piece of a stage's work. A stage that is no Splitter runs once
// with the zero Part.
type Part struct {
	Index int `json:"index"` // place in the plan
	// ID holds all that decides the part's bytes besides the stage's own
	// parameters: the digest of its slice of the input, the digest of a file
	// joined whole, and where the slice starts if its rows carry positions.
	ID string `json:"id"`
	// Slice says where the part's input lies. It is not part of the key.
	Slice json.RawMessage `json:"slice,omitempty"`
}

// Env is what the machine gives to a run of a stage. It never enters a key.
type Env struct {
	Threads     int    // bound for kernels and decoders inside the stage, at least 1
	MemoryBytes int64  // bound for buffers that may grow; 0 means no bound given
	Scratch     string // private folder on local disk, removed afterwards
	Numerics    string // class of this machine, such as "amd64"
}

// A Task is all that a run of a stage may touch. Its methods are safe for
// concurrent use.
type Task struct {
	In    map[string]*Input
	Out   *store.Writer // private until committed
	Env   Env
	Log   *slog.Logger
	Meter *progress.Meter

	engine *taskState
}

// Gather returns the members of a gathered input ("scores[seed=3]", ...) in
// the order of their names, or the one input of that name.
func (t *Task) Gather(name string) []*Input { return t.engine.gather(t, name) }

// Dead adds a record to the output's dead letters. They keep the order of the
// calls inside a part, and the order of the parts: a stage that works
// concurrently reports them in a settled order.
func (t *Task) Dead(d DeadLetter) error { return t.engine.dead(d) }

// Rows counts rows of input seen by the stage: the base of the dead-letter
// rate. A stage that reports dead letters reports these too.
func (t *Task) Rows(n int64) { t.engine.rows("", n) }

// RowsIn is Rows for rows of one raw file, named as in DeadLetter.File: if all
// of them are dead the output is rejected whatever the limit.
func (t *Task) RowsIn(file string, n int64) { t.engine.rows(file, n) }

// Part returns the committed result of part i, for Finish. It must not be
// changed.
func (t *Task) Part(i int) *store.PartManifest { return t.engine.part(i) }

// OpenPart opens a file or side file of part i by the name that Run gave it,
// for Finish. Part -1 is the plan, which has side files only.
func (t *Task) OpenPart(i int, name string) (*store.File, error) { return t.engine.openPart(i, name) }

// OpenSide opens a side file that Plan left, for Run and Finish.
func (t *Task) OpenSide(name string) (*store.File, error) { return t.engine.openPart(-1, name) }

// Remember adds the part that Run makes to a group once it is committed. What
// the part's files say must hold for every task that asks for the group.
func (t *Task) Remember(group string) { t.engine.remember(group) }

// Remembered lists the parts of a group, whichever output they were made for. A
// stage may take what it finds in them in place of making it again, if its
// output does not depend on it; a part may be gone when it is opened.
func (t *Task) Remembered(group string) ([]store.Key, error) { return t.engine.engine.s.Group(group) }

// OpenRemembered opens a file or side file of such a part, which is whole.
func (t *Task) OpenRemembered(ctx context.Context, part store.Key, name string) (*store.File, error) {
	return t.engine.openRemembered(ctx, part, name)
}

// SaveCheckpoint keeps a state from which a killed stage resumes. Save fills a
// fresh folder; when it returns nil the folder is digested, made durable and
// published under the step, and all but the last two states are removed. The
// states lie in the store's working folder under the stage's key, so that any
// host can resume; they are dropped when the output is published. Saving goes
// on when ctx is cancelled: a stage may save its state on the way out.
func (t *Task) SaveCheckpoint(ctx context.Context, step int64, save func(dir string) error) error {
	return t.engine.saveCheckpoint(ctx, step, save)
}

// LatestCheckpoint returns the newest state that is whole; a damaged one is
// removed and the one before it taken. The folder is read only, and stays
// until two newer states are saved.
func (t *Task) LatestCheckpoint() (step int64, dir string, ok bool, err error) {
	return t.engine.latestCheckpoint()
}

// Share returns a value that all stages of a run hold in common, such as a
// packed backbone, building it if no stage has yet: build runs once per key at
// a time. The caller calls release when it no longer uses the value; close is
// called some time after the last release, at the latest when the run ends.
// The value must not decide anything that the stage's key does not.
func (t *Task) Share(ctx context.Context, key string, build func(context.Context) (v any, close func(), err error)) (v any, release func(), err error) {
	return t.engine.share(ctx, key, build)
}

// An Input is the committed output of another stage.
type Input struct {
	Name     string // the name that the stage gives it, such as "examples"
	Node     string // the name of the node that made it
	Key      store.Key
	Manifest *store.Manifest

	open func(name string) (*store.File, error)
}

// Open opens one file of the input by its manifest name. The file's digest is
// verified before its first use in a process, or trusted by the digest cache.
func (in *Input) Open(name string) (*store.File, error) { return in.open(name) }

// Shards returns the shards of a split in order.
func (in *Input) Shards(split string) []store.FileEntry { return in.Manifest.Shards(split) }
