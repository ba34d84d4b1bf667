// Package records reads raw files that are a sequence of records, whatever these
// look like: lines, items of a JSON array, members of a JSON object, CSV records,
// blocks of lines.
//
// A [Layout] finds the elements of a file; a corpus package says what rows an
// element holds. [Records] puts the two together into a [corpus.Format]: it
// numbers rows and lines, cuts files into slices by content, and settles keys
// that occur twice, of which the first that can be kept is kept. Files of any
// size are read in bounded memory: planning keeps eight bytes for each row, and
// only of corpora with keys of their own.
package records

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strconv"

	"espalier/pipeline"
	"espalier/preprocess/corpus"
	"espalier/preprocess/example"
)

// Records is the format of a corpus of records.
type Records[F, M any] struct {
	Corpus, Task string
	Layout       Layout
	// Rows tells the rows of an element: it calls row once for each, with what
	// names its key. Rows whose keys differ must have different names; nil is
	// for rows without a key of their own. If Rows is nil, an element is one
	// row, whose key is its number.
	Rows func(el *Element, row func(name []byte))
	// KeyField is the field that a key that occurs twice stands in.
	KeyField string
	// Decoder returns a function that gives the rows and dead letters of an
	// element, as many as Rows tells.
	Decoder func(src *corpus.Source) func(el *Element, out *Out[F, M])
	// SplitOf is the rows' split if no label is asked for; by default what the
	// file's name says.
	SplitOf func(src *corpus.Source) string
	// Uncut files are read as one slice: their layout walks over whole files
	// only.
	Uncut bool
	// Joins tells how many rows the files joined to a file are for. Files of
	// another number of rows are refused.
	Joins func(src *corpus.Source) (rows int64, err error)
	// Check looks at a file of a single element, and may refuse it.
	Check func(el *Element) Fault
}

// A slice of records.
type slice struct {
	Span
	Row   int64   `json:"row,omitempty"`   // number of the first row
	Twins []int64 `json:"twins,omitempty"` // numbers of rows whose key an earlier row has
}

// Plan finds the elements of a file and cuts it into slices.
func (f *Records[F, M]) Plan(ctx context.Context, src *corpus.Source, mean int) ([]corpus.Slice, error) {
	pl := planner[F, M]{f: f, src: src, cut: corpus.NewCutter(mean)}
	if f.Uncut || len(src.Joined) > 0 {
		pl.cut = corpus.Cutter{Mean: 1 << 40} // joined files are read whole, so once is enough
	}
	if err := pl.walk(ctx); err != nil {
		return nil, err
	}
	if err := pl.twins(ctx); err != nil {
		return nil, err
	}
	out := make([]corpus.Slice, len(pl.slices))
	for i := range pl.slices {
		of, err := json.Marshal(&pl.slices[i])
		if err != nil {
			return nil, err
		}
		sl := &pl.slices[i]
		out[i] = corpus.Slice{ID: fmt.Sprintf("%s%s@%d,%d,%d %s twins %d", pl.digests[i], pl.joined, sl.Index, sl.Row, sl.Line, sl.Mode, sl.Twins), Of: of}
	}
	return out, nil
}

type planner[F, M any] struct {
	f       *Records[F, M]
	src     *corpus.Source
	cut     corpus.Cutter
	slices  []slice
	digests []*corpus.Digest
	joined  string   // digest of the files joined to the source
	names   []uint64 // hash of the name of each row, 0 for none
	rows    int64
}

func (pl *planner[F, M]) walk(ctx context.Context) error {
	w := pl.f.Layout.Walk(pl.src, nil)
	var err error
	if pl.joined, err = pl.joins(ctx); err != nil {
		return err
	}
	beside, wait := corpus.NewBeside()
	defer wait()
	var digest *corpus.Digest
	end := func() {
		if digest != nil {
			digest.End()
		}
	}
	defer end() // before the wait
	single := Fault{}
	for el := w.Next(); el != nil; el = w.Next() {
		if el.Index == 0 && pl.f.Check != nil {
			single = pl.f.Check(el)
			single.Line = max(el.Line, 1)
		}
		if pl.cut.Cut(el.Bytes[:min(len(el.Bytes), 48)], len(el.Bytes)) || len(pl.slices) == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			end()
			digest = beside.Digest(pl.src.Name)
			pl.digests = append(pl.digests, digest)
			pl.slices = append(pl.slices, slice{Span: Span{From: el.From, Index: el.Index, Line: el.First}, Row: pl.rows})
		}
		last := &pl.slices[len(pl.slices)-1]
		last.To = el.To
		digest.Add(el.Offset, el.Bytes)
		if el.Name != nil {
			digest.Add(el.From, el.Name)
		}
		if pl.f.Rows == nil {
			pl.rows++
			continue
		}
		pl.f.Rows(el, func(name []byte) {
			hash := uint64(0)
			if name != nil {
				hash = max(corpus.Hash(name), 1)
			}
			pl.names = append(pl.names, hash)
			pl.rows++
		})
	}
	if err := w.Err(); err != nil {
		return corpus.Refused(pl.src.Name, err)
	}
	for i := range pl.slices {
		pl.slices[i].Mode = w.Mode()
	}
	if pl.f.Joins != nil && len(pl.src.Joined) > 0 {
		want, err := pl.f.Joins(pl.src)
		if err != nil {
			return err
		}
		if name := pl.src.Joined[0].Name; want != pl.rows {
			return &pipeline.RefusedError{File: name, Offset: -1, Reason: fmt.Sprintf("holds %d, where %s has %d", want, pl.src.Name, pl.rows)}
		}
	}
	if single.Bad() && len(pl.slices) == 1 && pl.rows == 1 {
		return &pipeline.RefusedError{File: pl.src.Name, Line: single.Line, Offset: -1, Field: single.Field, Reason: single.Reason}
	}
	return nil
}

// joins is the digest of the files joined to the source, whole.
func (pl *planner[F, M]) joins(ctx context.Context) (string, error) {
	if len(pl.src.Joined) == 0 {
		return "", nil
	}
	d := corpus.NewDigest("joined")
	for _, other := range pl.src.Joined {
		d.Add(other.Size, []byte(other.Name))
		if err := d.AddAll(ctx, other); err != nil {
			return "", err
		}
	}
	return "+" + d.String(), nil
}

// twins finds rows whose key a kept row before them has, and adds their numbers
// to the slices.
func (pl *planner[F, M]) twins(ctx context.Context) error {
	sorted := slices.Clone(pl.names)
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
	for i := range pl.slices {
		sl := &pl.slices[i]
		end := pl.rows
		if i+1 < len(pl.slices) {
			end = pl.slices[i+1].Row
		}
		if !slices.ContainsFunc(pl.names[sl.Row:end], func(h uint64) bool { return shared[h] }) {
			continue
		}
		r := pl.f.reader(pl.src, *sl)
		for recs, err := r.next(ctx); recs != nil; recs, err = r.next(ctx) {
			if err != nil {
				return err
			}
			for _, rec := range recs {
				if rec.Row == nil || !shared[pl.names[rec.Row.N]] {
					continue
				}
				if kept[rec.Row.Key] {
					sl.Twins = append(sl.Twins, rec.Row.N)
				}
				kept[rec.Row.Key] = true
			}
		}
	}
	return nil
}

// Read reads the rows of one slice.
func (f *Records[F, M]) Read(ctx context.Context, src *corpus.Source, of json.RawMessage) iter.Seq2[corpus.Record[example.Row[F, M]], error] {
	return func(yield func(corpus.Record[example.Row[F, M]], error) bool) {
		var sl slice
		if err := json.Unmarshal(of, &sl); err != nil {
			yield(corpus.Record[example.Row[F, M]]{}, err)
			return
		}
		r := f.reader(src, sl)
		for {
			recs, err := r.next(ctx)
			if err != nil {
				yield(corpus.Record[example.Row[F, M]]{}, err)
				return
			}
			if recs == nil {
				return
			}
			for _, rec := range recs {
				if !yield(rec, nil) {
					return
				}
			}
		}
	}
}

// A reader reads the elements of a slice.
type reader[F, M any] struct {
	f      *Records[F, M]
	w      Walker
	src    *corpus.Source
	decode func(el *Element, out *Out[F, M])
	out    Out[F, M]
	row    int64
	twins  []int64
	read   int
}

func (f *Records[F, M]) reader(src *corpus.Source, sl slice) *reader[F, M] {
	r := &reader[F, M]{f: f, src: src, w: f.Layout.Walk(src, &sl.Span), decode: f.Decoder(src), row: sl.Row, twins: sl.Twins}
	r.out = Out[F, M]{corpus: f.Corpus, task: f.Task, src: src, split: SplitOf(src)}
	if src.Split == "" && f.SplitOf != nil {
		r.out.split = f.SplitOf(src)
	}
	return r
}

// next gives the records of the next element, nil at the end. They are
// overwritten by the next call.
func (r *reader[F, M]) next(ctx context.Context) ([]corpus.Record[example.Row[F, M]], error) {
	if r.read++; r.read%256 == 0 && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	el := r.w.Next()
	if el == nil {
		return nil, corpus.Refused(r.src.Name, r.w.Err())
	}
	o := &r.out
	o.el, o.n, o.recs = el, r.row, o.recs[:0]
	if el.Fault.Bad() {
		o.Dead(el.Fault)
	} else {
		r.decode(el, o)
	}
	if r.f.Rows == nil {
		r.row++
	} else {
		r.f.Rows(el, func([]byte) { r.row++ })
	}
	for i := range o.recs {
		row := o.recs[i].Row
		for len(r.twins) > 0 && row != nil && r.twins[0] < row.N {
			r.twins = r.twins[1:]
		}
		if row != nil && len(r.twins) > 0 && r.twins[0] == row.N {
			o.recs[i] = corpus.Record[example.Row[F, M]]{Dead: o.letter(row.N, Fault{Field: r.f.KeyField, Reason: Duplicate})}
		}
	}
	if o.recs == nil {
		o.recs = make([]corpus.Record[example.Row[F, M]], 0, 1)
	}
	return o.recs, nil
}

// An Out takes the rows and dead letters of an element.
type Out[F, M any] struct {
	corpus, task, split string
	src                 *corpus.Source
	el                  *Element
	n                   int64               // number of the next row
	corpus.Slab                             // what rows are made of
	rows                []example.Row[F, M] // that are not taken yet
	id                  []byte
	recs                []corpus.Record[example.Row[F, M]]
}

// Row adds a row. An empty key stands for the row's number. The caller may set
// the other members of what is returned.
func (o *Out[F, M]) Row(key string, fields F, meta M) *example.Row[F, M] {
	id := append(o.id[:0], o.corpus...)
	for _, part := range [...]string{o.task, o.split, key} {
		id = append(append(id, '/'), part...)
	}
	from := len(id) - len(key)
	if key == "" {
		id = strconv.AppendInt(id, o.n, 10)
	}
	o.id = id
	text := o.Text(id)
	if len(o.rows) == 0 {
		o.rows = make([]example.Row[F, M], 32)
	}
	r := &o.rows[0]
	o.rows = o.rows[1:]
	*r = example.Row[F, M]{ID: text, Corpus: o.corpus, Task: o.task, Split: o.split, Key: text[from:], N: o.n, Fields: fields, Meta: meta}
	if o.el.Line > 0 {
		r.Line = o.Int(o.el.Line)
	}
	o.n++
	o.recs = append(o.recs, corpus.Record[example.Row[F, M]]{Row: r})
	return r
}

// Split gives a row another split than the file's.
func (o *Out[F, M]) Split(r *example.Row[F, M], split string) {
	r.Split, r.ID = split, corpus.ID(o.corpus, o.task, split, r.Key)
}

// Dead adds the dead letter of a row.
func (o *Out[F, M]) Dead(f Fault) {
	o.recs = append(o.recs, corpus.Record[example.Row[F, M]]{Dead: o.letter(o.n, f)})
	o.n++
}

// Skip passes over a row of another split.
func (o *Out[F, M]) Skip() { o.n++ }

// Lost adds the dead letter of something that is no row, such as an edit of a
// sentence.
func (o *Out[F, M]) Lost(f Fault) {
	o.recs = append(o.recs, corpus.Record[example.Row[F, M]]{Dead: o.letter(o.n, f)})
}

func (o *Out[F, M]) letter(n int64, f Fault) *pipeline.DeadLetter {
	offset := o.el.Offset
	d := &pipeline.DeadLetter{Corpus: o.corpus, Task: o.task, File: o.src.Name, N: &n, Offset: &offset, Field: f.Field, Where: o.el.Path() + f.Where, Reason: f.Reason}
	if o.el.First > 0 {
		line := o.el.First
		if f.Line > 0 {
			line, offset = f.Line, f.Offset
		}
		d.Line = &line
	}
	raw := f.Raw
	if raw == nil {
		raw = o.el.Raw
	}
	if raw == nil {
		raw = o.el.Bytes
	}
	d.Raw = slices.Clone(raw)
	return d
}
