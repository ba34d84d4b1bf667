// Package feed streams token shards and vector shards as batches.
//
// A [Set] is one split of one or several tasks. Its examples are shuffled in
// two steps, both functions of (seed, epoch): the blocks (row groups) are
// permuted, then the examples inside a window of a fixed number of blocks. So
// no split is ever in memory, compressed data are read whole block by whole
// block, and where a batch lies follows from its number: a run resumes from the
// step, and the number of loaders decides nothing.
//
// Inside a window examples of similar length may go together (buckets). Rows
// that do not fill a batch at a window's end are filled up from the next
// window, so that an epoch has floor(examples/size) batches; the rest of the
// epoch, less than a batch, is dropped.
//
// With Captions set, the rows of one example (which lie side by side in token
// shards) are one unit, of which so many are drawn anew each epoch.
//
// A Set is safe for concurrent use, a [Stream] is used from one goroutine.
package feed

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"

	"espalier/features/vectors"
	"espalier/pipeline/shard"
	"espalier/tokenize/tokens"
)

// Options say how batches are made. All but Loaders and Ahead decide their
// contents.
type Options struct {
	Size     int    // examples of a batch
	Captions int    // rows drawn of each example; 0: every row is an example
	Seed     uint64 // of all draws
	Window   int    // blocks shuffled together; 0 means 8
	Buckets  []int  // ascending lengths: examples between two of them go together; none: no buckets
	Mix      Mix    // of several sources
	Shrink   bool   // the only source may have fewer examples than Size, which then all are a batch

	Loaders int // goroutines that read features; 0 means 1
	Ahead   int // batches made ahead; 0 means 2
}

// Check fills in defaults and reports every fault at once.
func (o *Options) Check() error {
	o.Window = cmp.Or(o.Window, 8)
	o.Loaders = cmp.Or(o.Loaders, 1)
	o.Ahead = cmp.Or(o.Ahead, 2)
	var errs []error
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if o.Size < 1 {
		fault("size: %d, want at least 1", o.Size)
	}
	if o.Captions < 0 {
		fault("captions: %d, want at least 0", o.Captions)
	}
	if o.Window < 1 {
		fault("window: %d, want at least 1", o.Window)
	}
	if o.Loaders < 1 || o.Ahead < 1 {
		fault("loaders, ahead: %d and %d, want at least 1", o.Loaders, o.Ahead)
	}
	if !slices.IsSorted(o.Buckets) {
		fault("buckets: %v, want ascending lengths", o.Buckets)
	}
	return errors.Join(append(errs, o.Mix.check())...)
}

// A Source is one split of one task.
type Source struct {
	Name    string
	Tokens  []*shard.Reader[tokens.Row] // its shards, in order
	Vectors *vectors.Index              // nil if examples have no images
	Keep    func(id string) bool        // which examples belong to the split; nil: all
}

// A Set is an indexed split: where its blocks lie and how many examples each
// has.
type Set struct {
	o       Options
	sources []*source
	rates   []float64
	total   float64
	spent   sync.Pool // of *Batch whose buffers may be used again
}

// A source is a Source with its blocks.
type source struct {
	Source
	blocks   []block
	task     string // of the first row
	mixed    bool   // there are rows of other tasks
	units    int    // examples with features
	rows     int64  // token rows
	missing  int    // examples without features
	example  string
	longest  int // tokens of the longest target
	maxBlock int // token ids of the largest block
}

// A block is a row group of a token shard.
type block struct {
	shard, group int
	units        int   // examples that start here and are kept
	lead         int   // rows at the start that belong to an example of a block before
	tail         []row // rows of blocks behind that belong to the last example of this one
}

// A row is what is kept of a token row.
type row struct{ input, target []int32 }

// Open indexes the sources: it reads all tokens once. Examples whose image has
// no features are left out and counted.
func Open(o Options, sources ...Source) (*Set, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	s := &Set{o: o}
	for _, src := range sources {
		x := &source{Source: src}
		if err := x.index(o.Captions > 0); err != nil {
			return nil, fmt.Errorf("%s: %w", src.Name, err)
		}
		if o.Shrink && len(sources) == 1 && x.units > 0 {
			s.o.Size = min(o.Size, x.units)
		}
		if x.units < s.o.Size {
			return nil, fmt.Errorf("%s: %d examples (and %d without features) do not fill a batch of %d", src.Name, x.units, x.missing, s.o.Size)
		}
		s.sources = append(s.sources, x)
		rate := o.Mix.rate(int64(x.units))
		s.rates = append(s.rates, rate)
		s.total += rate
	}
	if len(s.sources) == 0 {
		return nil, errors.New("feed: no source")
	}
	return s, nil
}

// index finds the blocks and the borders of examples.
func (x *source) index(grouped bool) error {
	last := ""    // id of the last row
	owner := -1   // block in which the last row's example started
	open := false // there is a last row
	for s, r := range x.Tokens {
		for g := range r.RowGroups() {
			rows, err := r.ReadGroup(g)
			if err != nil {
				return fmt.Errorf("token shard %d: %w", s, err)
			}
			b := block{shard: s, group: g}
			x.rows += int64(len(rows))
			size := 0
			for i := range rows {
				t := &rows[i]
				x.longest = max(x.longest, len(t.Target))
				size += len(t.Target) + len(t.Input)
				if grouped && open && t.ID == last {
					if owner < len(x.blocks) {
						b.lead++
						x.blocks[owner].tail = append(x.blocks[owner].tail, row{t.Input, t.Target})
					}
					continue
				}
				last, open, owner = t.ID, true, len(x.blocks)
				if !x.keeps(t) {
					continue
				}
				if x.units+b.units+x.missing == 0 {
					x.task = t.Task
				}
				x.mixed = x.mixed || t.Task != x.task
				if x.has(t) {
					b.units++
				} else if x.missing++; x.missing == 1 {
					x.example = fmt.Sprintf("%s (image %q)", t.ID, t.Image)
				}
			}
			x.maxBlock = max(x.maxBlock, size)
			x.units += b.units
			x.blocks = append(x.blocks, b)
		}
	}
	return nil
}

// keeps reports whether a row belongs to the split.
func (x *source) keeps(t *tokens.Row) bool { return x.Keep == nil || x.Keep(t.ID) }

// has reports whether a row's image has features, if it needs any.
func (x *source) has(t *tokens.Row) bool {
	if x.Vectors == nil {
		return true
	}
	_, _, ok := x.Vectors.Find(t.Image)
	return ok
}

// Stats describe one source.
type Stats struct {
	Name     string
	Task     string // of its rows
	Mixed    bool   // some rows are of another task
	Examples int    // that have features, if they need any
	Rows     int64  // token rows
	Missing  int    // examples left out for want of features
	Example  string // the first of them
	Longest  int    // tokens of the longest target
	Steps    int64  // batches of an epoch
	Rate     float64
}

// Stats returns what is known of each source. Rates add up to 1.
func (s *Set) Stats() []Stats {
	out := make([]Stats, len(s.sources))
	for i, x := range s.sources {
		out[i] = Stats{
			Name: x.Name, Task: x.task, Mixed: x.mixed, Examples: x.units, Rows: x.rows, Missing: x.missing, Example: x.example,
			Longest: x.longest, Steps: s.steps(x), Rate: s.rates[i] / s.total,
		}
	}
	return out
}

// steps returns the batches of an epoch of x.
func (s *Set) steps(x *source) int64 { return int64(x.units / s.o.Size) }

// Steps returns the batches of an epoch of all sources together.
func (s *Set) Steps() int64 {
	var n int64
	for _, x := range s.sources {
		n += s.steps(x)
	}
	return n
}

// MemoryBytes bounds what a Stream holds: one window of tokens a source, and
// the batches made ahead.
func (s *Set) MemoryBytes() int64 {
	const unitOverhead = 256
	var n, batch int64
	for _, x := range s.sources {
		perBlock := 0
		for _, b := range x.blocks {
			perBlock = max(perBlock, b.units)
		}
		n += int64(min(s.o.Window, len(x.blocks))) * (4*int64(x.maxBlock) + unitOverhead*int64(perBlock)) * 2
		size := int64(0)
		if x.Vectors != nil {
			o := x.Vectors.Options()
			cells := o.Height * o.Width
			if cells == 0 {
				cells = maxRegions
			}
			size = int64(s.o.Size) * int64(cells) * int64(o.Dim+4) * 4
		}
		batch = max(batch, size)
	}
	return n + batch*int64(s.o.Ahead+s.o.Loaders+1)
}

const maxRegions = 100 // what region features usually have at most
