package store

import (
	"context"
	"time"
)

// GCOptions say what GC does.
type GCOptions struct {
	Grace  time.Duration // how long what was swept stays in the trash; 0 deletes at once
	DryRun bool          // report only
}

// A GCReport says what GC kept, swept and deleted.
type GCReport struct {
	Roots   []string // job files and pinned names
	Kept    int      // outputs
	Swept   []GCItem // outputs, parts, objects and working files moved to the trash
	Deleted int      // entries deleted from the trash
	Freed   int64    // bytes deleted
	Bytes   int64    // bytes swept
	Busy    []string // runners whose leases were honoured, such as "host:1234"
}

// A GCItem is one thing that no root reaches.
type GCItem struct {
	Path   string // relative to the store
	Bytes  int64
	Reason string
}

// GC moves what no root and no lease reaches to the trash and deletes what
// has been there longer than the grace. Roots are the outputs that a job file
// named when it last ran, if the file still exists, and pinned names.
func (s *Store) GC(ctx context.Context, o GCOptions) (*GCReport, error) {
	panic("store: unfinished")
}

// Pin makes an output a root under a name.
func (s *Store) Pin(name string, key Key) error { panic("store: unfinished") }

// Unpin removes a name; it is no error if there is none.
func (s *Store) Unpin(name string) error { panic("store: unfinished") }

// Pins returns the pinned outputs by name.
func (s *Store) Pins() (map[string]Key, error) { panic("store: unfinished") }
