package trainer

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"slices"
	"strings"

	"espalier/features/vectors"
	"espalier/pipeline"
	"espalier/pipeline/shard"
	"espalier/pipeline/store"
)

// An item is what a stage makes a prediction of. Plan leaves the items of a split
// in a file beside the parts.
type item interface{ about() target }

// A span is a part's slice of the items.
type span struct {
	First int `json:"first"`
	Last  int `json:"last"` // not included
}

// Parts end behind an item of which one byte of the id's hash is 0, so that
// one added item redoes one part; they hold a least and a most.
const (
	partLeast = 64
	partMost  = 1024
)

// ends reports whether a part of n items ends behind an item.
func ends(id string, n int) bool {
	sum := sha256.Sum256([]byte(id))
	return n >= partMost || n >= partLeast && int(sum[0]) == 0
}

// planParts leaves items in a side file and cuts them into parts, whose contents
// have the digest id.
func planParts[T item](t *pipeline.Task, name string, items []T, id func(some []T) string) ([]pipeline.Part, error) {
	side, err := t.Out.Side(name)
	if err != nil {
		return nil, err
	}
	w, err := shard.NewWriter[T](side, shard.Options{})
	if err != nil {
		return nil, err
	}
	if err := errors.Join(w.Write(items), w.Close(), side.Close(w.Rows())); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var parts []pipeline.Part
	for first := 0; first < len(items); {
		last := first + 1
		for last < len(items) && !ends(items[last-1].about().ID, last-first) {
			last++
		}
		slice, err := json.Marshal(span{first, last})
		if err != nil {
			return nil, err
		}
		parts = append(parts, pipeline.Part{Index: len(parts), Slice: slice, ID: id(items[first:last])})
		first = last
	}
	return parts, nil
}

// sliceOf reads a part's rows of a side file that Plan left.
func sliceOf[T any](t *pipeline.Task, p pipeline.Part, name string) ([]T, error) {
	var at span
	if err := json.Unmarshal(p.Slice, &at); err != nil {
		return nil, fmt.Errorf("part %d: slice: %w", p.Index, err)
	}
	f, err := t.OpenSide(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := shard.Open[T](f, f.Size())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var out []T
	n := 0
	for g := 0; g < r.RowGroups() && n < at.Last; g++ {
		size := int(r.GroupRows(g))
		if n+size > at.First {
			rows, err := r.ReadGroup(g)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			out = append(out, rows[max(at.First-n, 0):min(at.Last-n, size)]...)
		}
		n += size
	}
	if len(out) != at.Last-at.First {
		return nil, fmt.Errorf("%s: %d of %d rows", name, len(out), at.Last-at.First)
	}
	return out, nil
}

// having leaves out, as dead letters, the items whose image has no features; a
// nil index has no images.
func having[T item](t *pipeline.Task, items []T, x *vectors.Index) ([]T, error) {
	t.Rows(int64(len(items)))
	if x == nil {
		return items, nil
	}
	var found []T
	for _, it := range items {
		e := it.about()
		if _, _, ok := x.Find(e.Image); ok {
			found = append(found, it)
			continue
		}
		corpus, _, _ := strings.Cut(e.ID, "/")
		if err := t.Dead(pipeline.DeadLetter{Corpus: corpus, Task: e.Task, Field: "image", Reason: "the image has no features", Raw: []byte(e.ID + "\t" + e.Image)}); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// lines is a hash over lines of texts.
type lines struct{ hash.Hash }

func (h lines) put(parts ...string) {
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s ", len(p), p)
	}
	fmt.Fprintln(h)
}

func (h lines) sum() string { return hex.EncodeToString(h.Sum(nil)) }

// putFeatures adds the digests of the shards that hold the images' features.
func putFeatures[T item](h lines, items []T, features *store.Manifest, where shardOf) {
	shards := map[int]bool{}
	for _, it := range items {
		if at, ok := where[it.about().Image]; ok {
			shards[at] = true
		}
	}
	var sums []string
	for at := range shards {
		sums = append(sums, features.Files[at].SHA256)
	}
	slices.Sort(sums)
	h.put(append([]string{"features"}, sums...)...)
}
