package vqa

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"espalier/preprocess/corpus"
	"espalier/preprocess/corpus/records"
	"espalier/preprocess/rawjson"
)

// A slice is a run of questions with the places of their annotations.
type slice struct {
	From    int64  `json:"from"` // offsets of the questions
	To      int64  `json:"to"`
	First   int64  `json:"first"`
	Count   int64  `json:"count"`
	Subtype string `json:"subtype,omitempty"` // what the file says of its images, such as "val2014"
	// Places says where the annotation of each question lies: base64 of varints,
	// its length, 0 if there is none, and its offset and number, relative to
	// those before.
	Places string  `json:"places,omitempty"`
	Twins  []int64 `json:"twins,omitempty"` // numbers of questions whose id an earlier one has
	Lost   []lost  `json:"lost,omitempty"`  // annotations that belong to no question
}

// A lost annotation.
type lost struct {
	Index  int64  `json:"index"`
	Offset int64  `json:"offset"`
	Length int64  `json:"length"`
	Field  string `json:"field,omitempty"`
	Reason string `json:"reason"`
}

// A place is where the annotation of a question lies.
type place struct {
	offset int64
	length int32
	index  int32
}

// noID stands for questions without an id that could be joined.
const noID = int64(-1) << 63

// Plan joins annotations to questions and cuts the questions into slices.
func (f *format[M]) Plan(ctx context.Context, src *corpus.Source, mean int) ([]corpus.Slice, error) {
	pl := planner[M]{f: f, src: src, q: newQuestion()}
	defer pl.close()
	if err := pl.questions(ctx, mean); err != nil {
		return nil, err
	}
	if pl.byID != nil {
		if err := pl.spilled(ctx); err != nil {
			return nil, err
		}
		return pl.finish()
	}
	pl.sort()
	if err := pl.twins(ctx); err != nil {
		return nil, err
	}
	if f.annotated {
		if err := pl.annotations(ctx, src.Joined[0]); err != nil {
			return nil, err
		}
	}
	return pl.finish()
}

type planner[M any] struct {
	f       *format[M]
	src     *corpus.Source
	q       *question
	slices  []slice
	digests []*corpus.Digest
	ids     []int64         // of the questions
	sorted  []int32         // numbers of the questions by id, then number
	kept    map[int64]int32 // of ids that are there more than once, the question that is kept, negative if none is
	places  []place         // of the annotations of questions
	lost    []lost
	spill
}

// indexBytes is what the index takes for each question, and defaultMemory what
// it may take if nobody says otherwise.
const (
	indexBytes    = 45
	defaultMemory = 320 << 20
)

func (pl *planner[M]) questions(ctx context.Context, mean int) error {
	cut := corpus.Cutter{Mean: mean} // most of a row's bytes lie elsewhere
	s := rawjson.NewScanner(pl.src, pl.src.Size, "questions")
	s.Keep("data_subtype")
	for el := s.Next(); el != nil; el = s.Next() {
		id := el.Field("question_id")
		if cut.Cut(id, 0) || len(pl.slices) == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			pl.slices = append(pl.slices, slice{From: el.Offset, First: el.Index})
			pl.digests = append(pl.digests, corpus.NewDigest(pl.src.Name))
		}
		at := len(pl.slices) - 1
		pl.slices[at].To = el.Offset + int64(len(el.Bytes))
		pl.slices[at].Count++
		pl.digests[at].Add(el.Offset, el.Bytes)
		pl.add(idOf(id), el.Index)
	}
	if err := s.Err(); err != nil {
		return corpus.Refused(pl.src.Name, err)
	}
	var p rawjson.Parser
	p.Reset(s.Kept("data_subtype"))
	if text, kind := p.Text(); kind == rawjson.Text {
		for i := range pl.slices {
			pl.slices[i].Subtype = string(text)
		}
	}
	return nil
}

// idOf is the value of an undecoded id, noID if it is no integer of 64 bits.
func idOf(b []byte) int64 {
	if !rawjson.IsInteger(b) {
		return noID
	}
	v, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil {
		return noID
	}
	return v
}

func (pl *planner[M]) sort() {
	pl.sorted = make([]int32, len(pl.ids))
	for i := range pl.sorted {
		pl.sorted[i] = int32(i)
	}
	slices.SortFunc(pl.sorted, func(a, b int32) int { return cmp.Or(cmp.Compare(pl.ids[a], pl.ids[b]), cmp.Compare(a, b)) })
}

// find returns the number of the question of an id: of several the one that is
// kept, or else the first.
func (pl *planner[M]) find(id int64) (int32, bool) {
	if n := pl.kept[id]; n > 0 {
		return n, true
	}
	at, ok := slices.BinarySearchFunc(pl.sorted, id, func(i int32, id int64) int { return cmp.Compare(pl.ids[i], id) })
	if !ok || id == noID {
		return 0, false
	}
	return pl.sorted[at], true
}

// twins finds questions whose id a question before them has that can be read.
func (pl *planner[M]) twins(ctx context.Context) error {
	kept := map[int64]int32{}
	for i := 1; i < len(pl.sorted); i++ {
		if id := pl.ids[pl.sorted[i]]; id != noID && pl.ids[pl.sorted[i-1]] == id {
			kept[id] = -1
		}
	}
	pl.kept = kept
	return pl.settle(ctx, func(sl *slice) bool {
		return slices.ContainsFunc(pl.ids[sl.First:sl.First+sl.Count], func(id int64) bool { _, shared := kept[id]; return shared })
	}, func(n int64) int64 { return pl.ids[n] })
}

// settle reads the slices that have questions of shared ids and finds which of
// them are kept.
func (pl *planner[M]) settle(ctx context.Context, holds func(sl *slice) bool, idOf func(n int64) int64) error {
	if len(pl.kept) == 0 {
		return nil
	}
	for i := range pl.slices {
		sl := &pl.slices[i]
		if !holds(sl) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		s := rawjson.NewSection(pl.src, sl.From, sl.To, "questions", sl.First)
		for el := s.Next(); el != nil; el = s.Next() {
			id := idOf(el.Index)
			switch first, shared := pl.kept[id]; {
			case !shared || pl.q.object.Read(el.Bytes).Bad():
			case first < 0:
				pl.kept[id] = int32(el.Index)
			default:
				sl.Twins = append(sl.Twins, el.Index)
			}
		}
		if err := s.Err(); err != nil {
			return corpus.Refused(pl.src.Name, err)
		}
	}
	return nil
}

// sliceOf returns the slice of question n.
func (pl *planner[M]) sliceOf(n int64) int {
	at, _ := slices.BinarySearchFunc(pl.slices, n, func(s slice, n int64) int {
		switch {
		case n < s.First:
			return 1
		case n >= s.First+s.Count:
			return -1
		}
		return 0
	})
	return at
}

func (pl *planner[M]) annotations(ctx context.Context, notes *corpus.Source) error {
	pl.places = make([]place, len(pl.ids))
	s := rawjson.NewScanner(notes, notes.Size, "annotations")
	at := 0 // slice of the last question met
	next := int32(0)
	for el := s.Next(); el != nil; el = s.Next() {
		if el.Index%4096 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		id := idOf(el.Field("question_id"))
		n, ok := next, id != noID && int(next) < len(pl.ids) && pl.ids[next] == id
		if _, shared := pl.kept[id]; !ok || shared { // not in the order of the questions
			n, ok = pl.find(id)
		}
		gone := lost{Index: el.Index, Offset: el.Offset, Length: int64(len(el.Bytes))}
		switch {
		case !ok:
			gone.Field, gone.Reason = "question_id", noQuestion(el)
			pl.lost = append(pl.lost, gone)
			continue
		case pl.places[n].length > 0:
			gone.Field, gone.Reason = "question_id", records.Duplicate
			pl.lost = append(pl.lost, gone)
			continue
		}
		pl.places[n] = place{el.Offset, int32(len(el.Bytes)), int32(el.Index)}
		next = n + 1
		if sl := pl.slices[at]; int64(n) < sl.First || int64(n) >= sl.First+sl.Count {
			at = pl.sliceOf(int64(n))
		}
		pl.digests[at].Add(el.Offset, el.Bytes)
	}
	return corpus.Refused(notes.Name, s.Err())
}

// noQuestion says why an annotation belongs to no question.
func noQuestion(el *rawjson.Element) string {
	if k := el.Kind(); k != rawjson.Object {
		return rawjson.Mismatch(k, rawjson.Object)
	}
	switch id := el.Field("question_id"); {
	case id == nil:
		return records.Missing
	case idOf(id) == noID:
		return "no integer of 64 bits"
	}
	return "no such question"
}

func (pl *planner[M]) finish() ([]corpus.Slice, error) {
	if len(pl.slices) == 0 && len(pl.lost) > 0 {
		pl.slices = append(pl.slices, slice{})
		pl.digests = append(pl.digests, corpus.NewDigest(pl.src.Name))
	}
	out := make([]corpus.Slice, len(pl.slices))
	for i := range pl.slices {
		sl := &pl.slices[i]
		if pl.f.annotated {
			places, err := pl.placesIn(sl)
			if err != nil {
				return nil, err
			}
			sl.Places = placesOf(places)
		}
		if i == len(pl.slices)-1 {
			sl.Lost = pl.lost
		}
		for _, g := range sl.Lost {
			pl.digests[i].Add(g.Offset, fmt.Appendf(nil, "%d %d %s %s", g.Index, g.Length, g.Field, g.Reason))
		}
		of, err := json.Marshal(sl)
		if err != nil {
			return nil, err
		}
		out[i] = corpus.Slice{ID: fmt.Sprintf("%s@%d %s twins %d places %s", pl.digests[i], sl.First, sl.Subtype, sl.Twins, shortOf(sl.Places)), Of: of}
	}
	return out, nil
}

// shortOf is the digest of a text that is long.
func shortOf(s string) string {
	d := corpus.NewDigest("")
	d.Add(0, []byte(s))
	return d.String()[:16]
}

func placesOf(list []place) string {
	var b []byte
	var last place
	for _, p := range list {
		b = binary.AppendUvarint(b, uint64(p.length))
		if p.length > 0 {
			b = binary.AppendVarint(b, p.offset-last.offset)
			b = binary.AppendVarint(b, int64(p.index-last.index))
			last = p
		}
	}
	return base64.StdEncoding.EncodeToString(b)
}

// annotationNames gives the names that annotations of a file of questions may
// have: that of v2_OpenEnded_mscoco_val2014_questions.json is
// v2_mscoco_val2014_annotations.json.
func annotationNames(questions string) []string {
	base := path.Base(questions)
	if !strings.Contains(base, "questions") {
		return nil
	}
	name := strings.Replace(strings.Replace(base, "OpenEnded_", "", 1), "questions", "annotations", 1)
	plain := strings.TrimSuffix(name, ".gz")
	return []string{name, plain, plain + ".gz"}
}
