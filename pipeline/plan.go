package pipeline

import (
	"context"

	"espalier/pipeline/store"
)

// A Planned is what a run would do with one node.
type Planned struct {
	Stage     string    `json:"stage"` // the node's name
	Kind      string    `json:"kind"`
	Key       store.Key `json:"key"`
	State     State     `json:"state"` // cached, partial, pending, rejected, running, or refused
	Why       []string  `json:"why,omitempty"`
	Parts     int       `json:"parts"`      // -1 if not planned yet, 0 for stages without parts
	PartsDone int       `json:"parts_done"` // committed
	Digest    string    `json:"digest,omitempty"`
	Rows      int64     `json:"rows"`
	Bytes     int64     `json:"bytes"`
	Dead      int64     `json:"dead"`
	Path      string    `json:"path"`            // folder of the output; for raw files their root
	Owner     string    `json:"owner,omitempty"` // who is making it, such as "host:1234"
	Progress  string    `json:"progress,omitempty"`
	Inputs    []store.InputRef
	Err       error `json:"-"` // why it is refused or rejected
}

// Plan says what Run would do and why: for a pending node, which parameter or
// input changed since the last output of the node of that name. It hashes raw
// files and writes nothing to the store, unless o.PlanParts is set.
func Plan(ctx context.Context, g Graph, o Options) ([]Planned, error) {
	panic("pipeline: unfinished")
}

// Status is Plan without the reasons.
func Status(ctx context.Context, g Graph, o Options) ([]Planned, error) {
	panic("pipeline: unfinished")
}

// Verify re-digests every output of the graph that exists and every raw file,
// whatever the digest cache says, and returns all that is damaged or missing.
func Verify(ctx context.Context, g Graph, o Options) ([]store.Damage, error) {
	panic("pipeline: unfinished")
}
