package coco

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"unicode/utf8"

	"espalier/pipeline"
	"espalier/preprocess/corpus"
	"espalier/preprocess/rawfile"
)

// A numbered is a caption of a Flickr token file.
type numbered struct {
	number int64
	text   string
}

// ReadFlickr reads a token file of Flickr8k or Flickr30k: a line a caption,
// image name, '#', number of the caption, TAB, caption. Captions of one image
// need not stand together, so the file's captions are held in memory (13 MB for
// Flickr30k). Rows come in the order in which images are first met, dead letters
// before them. Empty lines are passed over.
func ReadFlickr(ctx context.Context, r io.ReaderAt, size int64, o Options) iter.Seq2[corpus.Record[FlickrRow], error] {
	return func(yield func(corpus.Record[FlickrRow], error) bool) {
		f := flickrReader{o: o, place: map[string]int{}}
		if f.o.Corpus == "" {
			f.o.Corpus = "flickr8k"
		}
		if f.o.Split == "" {
			f.o.Split = "all"
		}
		if err := rawfile.RefuseLines(r, size, o.File); err != nil {
			yield(corpus.Record[FlickrRow]{}, err)
			return
		}
		lines := rawfile.NewLines(r, size)
		for l := lines.Next(); l != nil; l = lines.Next() {
			if l.N%4096 == 0 && ctx.Err() != nil {
				yield(corpus.Record[FlickrRow]{}, ctx.Err())
				return
			}
			if bad := f.line(l); !bad.ok() {
				line, offset := l.N, l.Offset
				dead := &pipeline.DeadLetter{
					Corpus: f.o.Corpus, Task: Task, File: o.File, Line: &line, Offset: &offset,
					Field: bad.field, Reason: bad.reason, Raw: bytes.Clone(l.Raw),
				}
				if !yield(corpus.Record[FlickrRow]{Dead: dead}, nil) {
					return
				}
			}
		}
		if err := lines.Err(); err != nil {
			yield(corpus.Record[FlickrRow]{}, fmt.Errorf("read %s: %w", o.File, err))
			return
		}
		for i := range f.names {
			if !yield(corpus.Record[FlickrRow]{Row: f.row(i)}, nil) {
				return
			}
		}
	}
}

type flickrReader struct {
	o        Options
	place    map[string]int // of an image in the lists below
	names    []string
	lines    []int64 // of the image's first caption
	captions [][]numbered
}

// line takes one line or says why it cannot.
func (f *flickrReader) line(l *rawfile.Line) fault {
	if len(l.Text) == 0 {
		return fault{}
	}
	head, caption, found := bytes.Cut(l.Text, []byte{'\t'})
	switch {
	case !found:
		return fault{"caption", "missing column"}
	case !utf8.Valid(head):
		return fault{"image", "invalid UTF-8"}
	case !utf8.Valid(caption):
		return fault{"caption", "invalid UTF-8"}
	}
	at := bytes.LastIndexByte(head, '#')
	if at < 0 {
		return fault{"image", "no caption number"}
	}
	number, err := strconv.ParseInt(string(head[at+1:]), 10, 64)
	if err != nil || number < 0 {
		return fault{"image", "no caption number"}
	}
	if at == 0 {
		return fault{"image", reasonEmpty}
	}
	if len(caption) == 0 {
		return fault{"caption", reasonEmpty}
	}
	i, known := f.place[string(head[:at])]
	if !known {
		name := string(head[:at])
		i = len(f.names)
		f.place[name] = i
		f.names = append(f.names, name)
		f.lines = append(f.lines, l.N)
		f.captions = append(f.captions, nil)
	}
	for _, c := range f.captions[i] {
		if c.number == number {
			return fault{"image", reasonDuplicate}
		}
	}
	f.captions[i] = append(f.captions[i], numbered{number, string(caption)})
	return fault{}
}

func (f *flickrReader) row(i int) *FlickrRow {
	name, line := f.names[i], f.lines[i]
	image := corpus.Stem(name)
	list := f.captions[i]
	slices.SortStableFunc(list, func(a, b numbered) int { return cmp.Compare(a.number, b.number) })
	row := &FlickrRow{
		ID: corpus.ID(f.o.Corpus, Task, f.o.Split, name), Corpus: f.o.Corpus, Task: Task, Split: f.o.Split, Key: name,
		N: int64(i), Line: &line, Fields: corpus.None{}, Meta: corpus.None{}, Image: &image, References: make([]string, len(list)),
	}
	for k, c := range list {
		row.References[k] = c.text
	}
	return row
}
