// Package pipeline runs a graph of stages, skipping those whose output exists.
//
// A [Stage] is one step of a graph: its exported fields are its parameters. An
// output is named by its [store.Key], the hash of everything that can change
// its bytes. A [Splitter] is a stage whose work falls into parts; each part is
// committed on its own, so that a killed run redoes none of them.
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

// A Splitter is a stage whose work falls into parts. Plan sees only the
// inputs, never the machine; what it returns is committed and is what every
// host runs. Finish sees all parts after they are committed.
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

// An Input is the committed output of another stage.
type Input struct {
	Name     string // the name that the stage gives it, such as "examples"
	Manifest *store.Manifest

	open func(name string) (*store.File, error)
}

// Open opens one file of the input by its manifest name. The file's digest is
// verified before its first use in a process, or trusted by the digest cache.
func (in *Input) Open(name string) (*store.File, error) { return in.open(name) }

// A DeadLetter is one record that could not be kept.
type DeadLetter struct {
	Corpus string `parquet:"corpus" json:"corpus"`
	Task   string `parquet:"task" json:"task"`
	File   string `parquet:"file" json:"file"`
	N      *int64 `parquet:"n,optional" json:"n"`           // 0-based data row, if known
	Line   *int64 `parquet:"line,optional" json:"line"`     // 1-based physical line, if the file has lines
	Offset *int64 `parquet:"offset,optional" json:"offset"` // byte offset of that line or element
	Field  string `parquet:"field" json:"field"`
	Where  string `parquet:"where" json:"where"` // JSON path, if any
	Reason string `parquet:"reason" json:"reason"`
	Raw    []byte `parquet:"raw" json:"raw"`
}

// Dead adds a record to the output's dead letters.
func (t *Task) Dead(d DeadLetter) error { return t.engine.dead(t, d) }

// Rows counts rows of input seen by the stage: the base of the dead-letter
// rate. A stage that reports dead letters reports these too.
func (t *Task) Rows(n int64) { t.engine.rows(n) }

// A RefusedError says that a whole input file cannot be used. The engine
// collects all of them, writes no output and exits with code 20.
type RefusedError struct {
	File   string
	Line   int64 // 1-based, 0 if unknown
	Offset int64 // byte offset, -1 if unknown
	Field  string
	Reason string
}
