// Package imdb reads the Large Movie Review Dataset: a folder for each split and
// class, with a file for each review, called by its number and its rating.
package imdb

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"espalier/pipeline"
	"espalier/preprocess/corpus"
	"espalier/preprocess/corpus/records"
	"espalier/preprocess/corpus/table"
	"espalier/preprocess/example"
	"espalier/preprocess/rawfile"
)

// Fields is what a review has.
type Fields struct {
	Text string `parquet:"text" json:"text"` // with its "<br />"
}

// Meta is what a review's file name says.
type Meta struct {
	File   string `parquet:"file" json:"file"`
	Rating int64  `parquet:"rating" json:"rating"`
}

// IMDB tells the sentiment of reviews. A source is a folder such as train/neg; its
// reviews come in the order of their numbers, and their keys are such as "neg_0".
// Reviews that are not UTF-8, unless another encoding is declared, are dead
// letters.
func IMDB() corpus.Format[Fields, Meta] { return folder{} }

type folder struct{}

// A review is a file of the folder.
type review struct {
	corpus.File
	id, rating int64
}

// reviews lists the files of a folder by number.
func reviews(src *corpus.Source) ([]review, error) {
	list := make([]review, 0, len(src.Files))
	for _, f := range src.Files {
		id, rating, _ := strings.Cut(strings.TrimSuffix(f.Name, ".txt"), "_")
		r := review{File: f}
		var err, err2 error
		r.id, err = strconv.ParseInt(id, 10, 64)
		r.rating, err2 = strconv.ParseInt(rating, 10, 64)
		if err := errors.Join(err, err2); err != nil {
			return nil, &pipeline.RefusedError{File: src.Name + "/" + f.Name, Offset: -1, Reason: "the name has no number and rating"}
		}
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b review) int { return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.Name, b.Name)) })
	return list, nil
}

// A span is a run of reviews.
type span struct {
	From int `json:"from"`
	To   int `json:"to"`
}

// Plan cuts a folder into slices.
func (folder) Plan(ctx context.Context, src *corpus.Source, mean int) ([]corpus.Slice, error) {
	list, err := reviews(src)
	if err != nil {
		return nil, err
	}
	cut := corpus.Cutter{Mean: mean}
	var out []corpus.Slice
	end := func(s span) error {
		d := corpus.NewDigest(src.Name)
		before := ""
		if s.From > 0 {
			before = strconv.FormatInt(list[s.From-1].id, 10) // a twin of which is dead
		}
		for _, r := range list[s.From:s.To] {
			d.Add(r.Size, []byte(r.Name+" "+r.SHA256))
		}
		of, err := json.Marshal(s)
		out = append(out, corpus.Slice{ID: fmt.Sprintf("%s@%d after %s", d, s.From, before), Of: of})
		return err
	}
	s := span{}
	for i, r := range list {
		if cut.Cut([]byte(r.Name), 0) {
			s.To = i
			if err := end(s); err != nil {
				return nil, err
			}
			s.From = i
		}
	}
	if s.To = len(list); s.To > s.From {
		err = end(s)
	}
	return out, errors.Join(err, ctx.Err())
}

// Read reads a run of reviews.
func (folder) Read(ctx context.Context, src *corpus.Source, of json.RawMessage) iter.Seq2[corpus.Record[example.Row[Fields, Meta]], error] {
	return func(yield func(corpus.Record[example.Row[Fields, Meta]], error) bool) {
		none := corpus.Record[example.Row[Fields, Meta]]{}
		var s span
		list, err := reviews(src)
		err = errors.Join(err, json.Unmarshal(of, &s))
		decoder, err2 := rawfile.NewDecoder(src.Encoding)
		if err = errors.Join(err, err2); err != nil {
			yield(none, err)
			return
		}
		if s.From < 0 || s.To > len(list) || s.From > s.To {
			yield(none, fmt.Errorf("%s: %d reviews, not those that were planned", src.Name, len(list)))
			return
		}
		labelled := *src
		labelled.Split = cmp.Or(src.Split, corpus.StandardSplit(path.Dir(src.Name)), "all")
		short := path.Base(src.Name)
		labels := table.Classes("negative", "positive")
		label := labels.Class(0)
		if short == "pos" {
			label = labels.Class(1)
		}
		out := records.NewOut[Fields, Meta]("imdb", "imdb", &labelled)
		for i := s.From; i < s.To; i++ {
			r := list[i]
			b, err := read(src, r.Name)
			if i%64 == 0 {
				err = errors.Join(err, ctx.Err())
			}
			if err != nil {
				yield(none, err)
				return
			}
			out.Begin(&records.Element{Index: int64(i), Bytes: b, JSON: true, Name: []byte(r.Name)}, int64(i))
			switch text := decoder.Text(b); {
			case i > 0 && list[i-1].id == r.id:
				out.Dead(records.Fault{Field: "id", Reason: records.Duplicate})
			case !utf8.Valid(text):
				out.Dead(records.Fault{Field: "text", Reason: records.BadUTF8})
			default:
				row := out.Row(short+"_"+strconv.FormatInt(r.id, 10), Fields{string(text)}, Meta{File: r.Name, Rating: r.rating})
				row.Label, row.LabelID = label.Text, label.ID
			}
			for _, rec := range out.Records() {
				if !yield(rec, nil) {
					return
				}
			}
		}
	}
}

// read reads a whole review.
func read(src *corpus.Source, name string) (_ []byte, err error) {
	f, closed, err := src.Open(name)
	if closed != nil {
		defer func() { err = errors.Join(err, closed()) }()
	}
	if err != nil {
		return nil, err
	}
	if f.Size > rawfile.MaxLine {
		return nil, &pipeline.RefusedError{File: f.Name, Offset: -1, Reason: fmt.Sprintf("a review of more than %d bytes", rawfile.MaxLine)}
	}
	b := make([]byte, f.Size)
	if n, err := f.ReadAt(b, 0); n < len(b) {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("read %s: %w", f.Name, err)
	}
	return b, nil
}

// A Row is a review.
type Row = example.Row[Fields, Meta]
