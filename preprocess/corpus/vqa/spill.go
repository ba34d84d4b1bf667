package vqa

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"espalier/preprocess/corpus"
	"espalier/preprocess/corpus/records"
	"espalier/preprocess/rawjson"
	sorting "espalier/preprocess/spill"
)

// A spill is the index of a join that does not fit in memory: sorted files
// instead of lists. What it finds is the same. Held in memory are the ids that
// several questions have and the annotations that are lost.
type spill struct {
	byID     *sorting.Sorter // ids of the questions, with their numbers
	byNumber *sorting.Sorter // numbers of the questions, with the places of their annotations
	next     func() (sorting.Record, error, bool)
	stop     func()
	ahead    *sorting.Record // of byNumber, read and not used
}

// add takes the id of a question. It goes to files once there are too many.
func (pl *planner[M]) add(id, number int64) {
	memory := cmp.Or(pl.src.Memory, defaultMemory)
	if pl.byID == nil {
		if pl.ids = append(pl.ids, id); !pl.f.annotated || int64(len(pl.ids))*indexBytes <= memory {
			return
		}
		pl.byID = pl.sorter()
		for n, id := range pl.ids {
			if id != noID {
				pl.byID.Add(sorting.Record{Key: id, A: int64(n)})
			}
		}
		pl.ids = nil
		return
	}
	if id != noID {
		pl.byID.Add(sorting.Record{Key: id, A: number})
	}
}

// sorter returns a sorter, of which three are in use at a time.
func (pl *planner[M]) sorter() *sorting.Sorter {
	return sorting.New(pl.src.Scratch, cmp.Or(pl.src.Memory, defaultMemory)/4)
}

func (pl *planner[M]) close() {
	if pl.stop != nil {
		pl.stop()
	}
	for _, s := range []*sorting.Sorter{pl.byID, pl.byNumber} {
		if s != nil {
			_ = s.Close() // of files that have no name
		}
	}
}

// spilled joins by merging what is sorted.
func (pl *planner[M]) spilled(ctx context.Context) (err error) {
	if err := pl.spilledTwins(ctx); err != nil {
		return err
	}
	notes := pl.src.Joined[0]
	byID := pl.sorter()
	defer func() { err = errors.Join(err, byID.Close()) }()
	s := rawjson.NewScanner(notes, notes.Size, "annotations")
	for el := s.Next(); el != nil; el = s.Next() {
		if el.Index%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if id := idOf(el.Field("question_id")); id != noID {
			byID.Add(sorting.Record{Key: id, A: el.Index, B: el.Offset, C: int64(len(el.Bytes))})
			continue
		}
		pl.lost = append(pl.lost, lost{Index: el.Index, Offset: el.Offset, Length: int64(len(el.Bytes)), Field: "question_id", Reason: noQuestion(el)})
	}
	if err := s.Err(); err != nil {
		return corpus.Refused(notes.Name, err)
	}
	byIndex := pl.sorter()
	defer func() { err = errors.Join(err, byIndex.Close()) }()
	pl.byNumber = pl.sorter()
	if err := pl.join(ctx, byID, byIndex); err != nil {
		return err
	}
	slices.SortFunc(pl.lost, func(a, b lost) int { return cmp.Compare(a.Index, b.Index) })
	return pl.digest(ctx, byIndex)
}

// spilledTwins finds questions whose id a question before them has.
func (pl *planner[M]) spilledTwins(ctx context.Context) error {
	pl.kept = map[int64]int32{}
	numbers := map[int64]int64{} // ids by question, of those that are shared
	var last sorting.Record
	met := false
	for r, err := range pl.byID.Sorted() {
		if err != nil {
			return err
		}
		if met && last.Key == r.Key {
			pl.kept[r.Key] = -1
			numbers[last.A], numbers[r.A] = last.Key, r.Key
		}
		last, met = r, true
	}
	var sorted []int64
	for n := range numbers {
		sorted = append(sorted, n)
	}
	slices.Sort(sorted)
	return pl.settle(ctx, func(sl *slice) bool {
		at, _ := slices.BinarySearch(sorted, sl.First)
		return at < len(sorted) && sorted[at] < sl.First+sl.Count
	}, func(n int64) int64 {
		if id, ok := numbers[n]; ok {
			return id
		}
		return noID
	})
}

// join merges annotations with questions. Of each annotation that has one,
// byIndex gets the number and byNumber the place.
func (pl *planner[M]) join(ctx context.Context, notes, byIndex *sorting.Sorter) error {
	next, stop := iter.Pull2(pl.byID.Sorted())
	defer stop()
	question, err, more := next()
	var last sorting.Record
	taken := false // the annotation before had the same id, and a question
	n := 0
	for a, aerr := range notes.Sorted() {
		if aerr != nil {
			return aerr
		}
		if n++; n%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		for more && err == nil && question.Key < a.Key {
			question, err, more = next()
		}
		if err != nil {
			return err
		}
		gone := lost{Index: a.A, Offset: a.B, Length: a.C, Field: "question_id"}
		again := taken && last.Key == a.Key
		last = a
		switch {
		case !more || question.Key != a.Key:
			taken = false
			gone.Reason = "no such question"
			pl.lost = append(pl.lost, gone)
			continue
		case again:
			gone.Reason = records.Duplicate
			pl.lost = append(pl.lost, gone)
			continue
		}
		taken = true
		number := question.A // the first of the id
		if kept := pl.kept[a.Key]; kept > 0 {
			number = int64(kept)
		}
		byIndex.Add(sorting.Record{Key: a.A, A: number, B: a.B, C: a.C})
		pl.byNumber.Add(sorting.Record{Key: number, A: a.A, B: a.B, C: a.C})
	}
	return nil
}

// digest adds the bytes of annotations to the digests of their questions' slices,
// in the order of the annotations.
func (pl *planner[M]) digest(ctx context.Context, byIndex *sorting.Sorter) error {
	notes := pl.src.Joined[0]
	var buf []byte
	n := 0
	for r, err := range byIndex.Sorted() {
		if err != nil {
			return err
		}
		if n++; n%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		buf = slices.Grow(buf[:0], int(r.C))[:r.C]
		if m, err := notes.ReadAt(buf, r.B); m < len(buf) {
			return fmt.Errorf("%s: annotations[%d]: %w", notes.Name, r.Key, errors.Join(err, io.ErrUnexpectedEOF))
		}
		pl.digests[pl.sliceOf(r.A)].Add(r.B, buf)
	}
	return nil
}

// placesIn are the places of the annotations of a slice. Slices are asked for in
// order.
func (pl *planner[M]) placesIn(sl *slice) ([]place, error) {
	if pl.byNumber == nil {
		return pl.places[sl.First : sl.First+sl.Count], nil
	}
	if pl.next == nil {
		pl.next, pl.stop = iter.Pull2(pl.byNumber.Sorted())
	}
	out := make([]place, sl.Count)
	for {
		if pl.ahead == nil {
			r, err, more := pl.next()
			if err != nil {
				return nil, err
			}
			if !more {
				return out, nil
			}
			pl.ahead = &r
		}
		if pl.ahead.Key >= sl.First+sl.Count {
			return out, nil
		}
		out[pl.ahead.Key-sl.First] = place{pl.ahead.B, int32(pl.ahead.C), int32(pl.ahead.A)}
		pl.ahead = nil
	}
}
