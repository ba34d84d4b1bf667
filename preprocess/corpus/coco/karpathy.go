package coco

import (
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
	"sync"

	"espalier/pipeline"
	"espalier/preprocess/corpus"
	"espalier/preprocess/example"
	"espalier/preprocess/rawjson"
)

// KarpathySplits are the splits of Karpathy's layout. Rows of restval go to
// train, as all published systems train on them.
var KarpathySplits = []string{"train", "restval", "val", "test"}

// A Slice is a run of images of Karpathy's layout. It is what a part of an
// ingest works on.
type Slice struct {
	From  int64   `json:"from"` // offset of its first byte
	To    int64   `json:"to"`   // offset behind its last byte
	First int64   `json:"first"`
	Count int64   `json:"count"`
	Twins []int64 `json:"twins,omitempty"` // numbers of images whose key an earlier image has
	ID    string  `json:"-"`               // digest of all that decides the slice's rows
}

// PlanKarpathy finds where the images of a file lie and cuts them into slices
// of about mean images. It reads keys only, so the file may hold images that
// turn out to be dead; images with equal keys are settled here.
func PlanKarpathy(ctx context.Context, r io.ReaderAt, size int64, mean int, o Options) ([]Slice, error) {
	s := rawjson.NewScanner(r, size, "images")
	cut := corpus.NewCutter(mean)
	beside, wait := corpus.NewBeside()
	wait = sync.OnceFunc(wait)
	defer wait()
	var out []Slice
	var digests []*corpus.Digest
	var keys []uint64 // hash of each image's key, 0 for images without one
	for el := s.Next(); el != nil; el = s.Next() {
		key := el.Field("cocoid")
		hash := uint64(0)
		if rawjson.IsInteger(key) {
			hash = max(corpus.Hash(key), 1)
		}
		keys = append(keys, hash)
		if cut.Cut(key, len(el.Bytes)) || len(out) == 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if len(out) > 0 {
				digests[len(out)-1].End()
			}
			digests = append(digests, beside.Digest(o.File))
			out = append(out, Slice{From: el.Offset, First: el.Index})
		}
		last := &out[len(out)-1]
		last.To = el.Offset + int64(len(el.Bytes))
		last.Count++
		digests[len(out)-1].Add(el.Offset, el.Bytes)
	}
	if err := s.Err(); err != nil {
		return nil, corpus.Refused(o.File, err)
	}
	if len(out) > 0 {
		digests[len(out)-1].End()
	}
	wait()
	for i := range out {
		out[i].ID = fmt.Sprintf("%s@%d", digests[i], out[i].First)
	}
	return out, settleTwins(ctx, r, keys, out, o)
}

// settleTwins finds images whose key a kept image before them has, and adds
// their numbers to the slices.
func settleTwins(ctx context.Context, r io.ReaderAt, keys []uint64, out []Slice, o Options) error {
	sorted := slices.Clone(keys)
	slices.Sort(sorted)
	shared := map[uint64]bool{}
	for i := 1; i < len(sorted); i++ {
		if sorted[i] == sorted[i-1] && sorted[i] != 0 {
			shared[sorted[i]] = true
		}
	}
	if len(shared) == 0 {
		return nil
	}
	kept := map[string]bool{}
	for i := range out {
		sl := &out[i]
		mine := keys[sl.First : sl.First+sl.Count]
		if !slices.ContainsFunc(mine, func(k uint64) bool { return shared[k] }) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		d := karpathyDecoder{o: o}
		s := rawjson.NewSection(r, sl.From, sl.To, "images", sl.First)
		for el := s.Next(); el != nil; el = s.Next() {
			if !shared[keys[el.Index]] {
				continue
			}
			row, _ := d.image(el)
			switch {
			case row == nil:
			case kept[row.Key]:
				sl.Twins = append(sl.Twins, el.Index)
			default:
				kept[row.Key] = true
			}
		}
		if err := s.Err(); err != nil {
			return corpus.Refused(o.File, err)
		}
		if len(sl.Twins) > 0 {
			sl.ID = fmt.Sprintf("%s twins %d", sl.ID, sl.Twins)
		}
	}
	return nil
}

// ReadKarpathySlice reads the images of one slice.
func ReadKarpathySlice(ctx context.Context, r io.ReaderAt, sl Slice, o Options) iter.Seq2[corpus.Record[MarkedRow], error] {
	return func(yield func(corpus.Record[MarkedRow], error) bool) {
		d := karpathyDecoder{o: o}
		s := rawjson.NewSection(r, sl.From, sl.To, "images", sl.First)
		twins := sl.Twins
		for el := s.Next(); el != nil; el = s.Next() {
			if el.Index%256 == 0 && ctx.Err() != nil {
				yield(corpus.Record[MarkedRow]{}, ctx.Err())
				return
			}
			row, dead := d.image(el)
			if len(twins) > 0 && twins[0] == el.Index {
				twins = twins[1:]
				row, dead = nil, []*pipeline.DeadLetter{letter(o.File, el, at(el), "cocoid", reasonDuplicate)}
			}
			if row != nil && o.Split != "" && !example.SameSplit(row.Split, o.Split) {
				continue
			}
			for _, l := range dead {
				if !yield(corpus.Record[MarkedRow]{Dead: l}, nil) {
					return
				}
			}
			if row != nil && !yield(corpus.Record[MarkedRow]{Row: row}, nil) {
				return
			}
		}
		if err := s.Err(); err != nil {
			yield(corpus.Record[MarkedRow]{}, corpus.Refused(o.File, err))
		}
	}
}

// ReadKarpathy reads a whole file in Karpathy's layout.
func ReadKarpathy(ctx context.Context, r io.ReaderAt, size int64, o Options) iter.Seq2[corpus.Record[MarkedRow], error] {
	return func(yield func(corpus.Record[MarkedRow], error) bool) {
		list, err := PlanKarpathy(ctx, r, size, 4096, o)
		if err != nil {
			yield(corpus.Record[MarkedRow]{}, err)
			return
		}
		for _, sl := range list {
			for rec, err := range ReadKarpathySlice(ctx, r, sl, o) {
				if !yield(rec, err) || err != nil {
					return
				}
			}
		}
	}
}

func at(el *rawjson.Element) string { return fmt.Sprintf("%s[%d]", el.Array, el.Index) }
