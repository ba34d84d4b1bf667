package vqa

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"

	"espalier/preprocess/corpus"
	"espalier/preprocess/corpus/records"
	"espalier/preprocess/example"
	"espalier/preprocess/rawjson"
)

// Read reads the questions of a slice and their annotations.
func (f *format[M]) Read(ctx context.Context, src *corpus.Source, of json.RawMessage) iter.Seq2[corpus.Record[example.Row[Fields, M]], error] {
	type record = corpus.Record[example.Row[Fields, M]]
	return func(yield func(record, error) bool) {
		var sl slice
		if err := json.Unmarshal(of, &sl); err != nil {
			yield(record{}, err)
			return
		}
		r := reader[M]{f: f, src: src, sl: sl, q: newQuestion(), a: newAnnotation(f.answer)}
		var err error
		if r.places, err = base64.StdEncoding.DecodeString(sl.Places); err != nil {
			yield(record{}, fmt.Errorf("places of annotations: %w", err))
			return
		}
		s := rawjson.NewSection(src, sl.From, sl.To, "questions", sl.First)
		for el := s.Next(); el != nil; el = s.Next() {
			if el.Index%256 == 0 && ctx.Err() != nil {
				yield(record{}, ctx.Err())
				return
			}
			recs, err := r.records(el)
			if err != nil {
				yield(record{}, err)
				return
			}
			for _, rec := range recs {
				if !yield(rec, nil) {
					return
				}
			}
		}
		if err := s.Err(); err != nil {
			yield(record{}, corpus.Refused(src.Name, err))
			return
		}
		for _, g := range sl.Lost {
			raw := make([]byte, g.Length)
			if _, err := src.Joined[0].ReadAt(raw, g.Offset); err != nil {
				yield(record{}, fmt.Errorf("%s: annotations[%d]: %w", src.Joined[0].Name, g.Index, err))
				return
			}
			d := f.letter(src.Joined[0].Name, nil, g.Offset, fmt.Sprintf("annotations[%d]", g.Index), raw, records.Fault{Field: g.Field, Reason: g.Reason})
			if !yield(record{Dead: d}, nil) {
				return
			}
		}
	}
}

// A reader builds the rows of a slice.
type reader[M any] struct {
	f      *format[M]
	src    *corpus.Source
	sl     slice
	q      *question
	a      *annotation
	places []byte // what is left of them
	last   place
	buf    []byte // window on the annotations
	base   int64  // offset of buf[0]
	out    []corpus.Record[example.Row[Fields, M]]
}

var errPlaces = errors.New("places of annotations end early")

// place returns where the annotation of the next question lies.
func (r *reader[M]) place() (p place, err error) {
	if !r.f.annotated {
		return p, nil
	}
	length, k := binary.Uvarint(r.places)
	if k <= 0 || length > rawjson.MaxElement {
		return p, errPlaces
	}
	r.places = r.places[k:]
	if length == 0 {
		return p, nil
	}
	offset, k := binary.Varint(r.places)
	if k <= 0 {
		return p, errPlaces
	}
	index, k2 := binary.Varint(r.places[k:])
	if k2 <= 0 {
		return p, errPlaces
	}
	r.places = r.places[k+k2:]
	r.last = place{r.last.offset + offset, int32(length), r.last.index + int32(index)}
	return r.last, nil
}

// records makes the row of a question, or tells why there is none.
func (r *reader[M]) records(el *rawjson.Element) ([]corpus.Record[example.Row[Fields, M]], error) {
	r.out = r.out[:0]
	at, err := r.place()
	if err != nil {
		return nil, err
	}
	n := el.Index
	dead := func(fault records.Fault) {
		d := r.f.letter(r.src.Name, &n, el.Offset, fmt.Sprintf("questions[%d]", el.Index), el.Bytes, fault)
		r.out = append(r.out, corpus.Record[example.Row[Fields, M]]{Dead: d})
	}
	if fault := r.q.object.Read(el.Bytes); fault.Bad() {
		dead(fault)
		return r.out, nil
	}
	if len(r.sl.Twins) > 0 && r.sl.Twins[0] == el.Index {
		r.sl.Twins = r.sl.Twins[1:]
		dead(records.Fault{Field: "question_id", Reason: records.Duplicate})
		return r.out, nil
	}
	if r.f.annotated {
		if at.length == 0 {
			dead(records.Fault{Reason: "no annotation"})
			return r.out, nil
		}
		raw, err := r.bytes(at)
		if err != nil {
			return nil, err
		}
		if fault := r.a.read(raw); fault.Bad() {
			d := r.f.letter(r.src.Joined[0].Name, &n, at.offset, fmt.Sprintf("annotations[%d]", at.index), raw, fault)
			r.out = append(r.out, corpus.Record[example.Row[Fields, M]]{Dead: d})
			return r.out, nil
		}
		if r.a.id != r.q.id {
			return nil, fmt.Errorf("%s: annotation at byte %d differs from its plan", r.src.Joined[0].Name, at.offset)
		}
	}
	r.out = append(r.out, corpus.Record[example.Row[Fields, M]]{Row: r.row(n)})
	return r.out, nil
}

func (r *reader[M]) row(n int64) *example.Row[Fields, M] {
	split := r.src.Split
	if split == "" {
		split = r.sl.Subtype
	}
	if split == "" {
		split = records.SplitOfName(r.src.Name)
	}
	image := r.q.image
	if r.sl.Subtype != "" {
		image = "COCO_" + r.sl.Subtype + "_" + strings.Repeat("0", max(12-len(image), 0)) + image
	}
	return &example.Row[Fields, M]{
		ID: corpus.ID(r.f.corpus, Task, split, r.q.id), Corpus: r.f.corpus, Task: Task, Split: split, Key: r.q.id, N: n,
		Fields: Fields{r.q.text}, Label: r.a.label, References: r.a.answers, Image: &image, Meta: r.f.meta(r.a),
	}
}

// bytes returns the bytes of a place. Annotations of neighbouring questions often
// lie near each other, so a window is kept.
func (r *reader[M]) bytes(at place) ([]byte, error) {
	n := int64(at.length)
	if at.offset < r.base || at.offset+n > r.base+int64(len(r.buf)) {
		if want := max(n, 64<<10); int64(cap(r.buf)) < want {
			r.buf = make([]byte, want)
		}
		r.buf = r.buf[:cap(r.buf)]
		m, err := r.src.Joined[0].ReadAt(r.buf, at.offset)
		r.base, r.buf = at.offset, r.buf[:m]
		if int64(m) < n {
			return nil, fmt.Errorf("%s: annotation at byte %d: %w", r.src.Joined[0].Name, at.offset, err)
		}
	}
	return r.buf[at.offset-r.base:][:n], nil
}
