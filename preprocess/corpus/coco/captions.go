package coco

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"path"
	"strings"

	"espalier/pipeline"
	"espalier/preprocess/corpus"
	"espalier/preprocess/rawjson"
)

// A CaptionsSlice is a run of images of the official layout with the places of
// their captions. It is what a part of an ingest works on.
type CaptionsSlice struct {
	From  int64 `json:"from"` // offsets of the images
	To    int64 `json:"to"`
	First int64 `json:"first"`
	Count int64 `json:"count"`
	// Captions says where the captions of each image lie: base64 of varints,
	// for each image their count, and for each caption its offset, relative to
	// the one before, and its length.
	Captions string `json:"captions,omitempty"`
	Dead     []Gone `json:"dead,omitempty"` // images first
	ID       string `json:"-"`              // digest of all that decides the slice's rows
}

// A Gone is an element that cannot be used.
type Gone struct {
	Array  string `json:"array"`
	Index  int64  `json:"index"`
	Offset int64  `json:"offset"`
	Length int64  `json:"length"`
	Field  string `json:"field,omitempty"`
	Reason string `json:"reason"`
}

// SplitOfFile returns the split that a file's name says: "val2014" for
// captions_val2014.json, "all" if it says none.
func SplitOfFile(name string) string {
	base := strings.TrimSuffix(path.Base(name), ".gz")
	if s, ok := strings.CutPrefix(corpus.Stem(base), "captions_"); ok && s != "" {
		return s
	}
	return "all"
}

// A caption of the plan: the image it belongs to and where it lies.
type placed struct {
	image  int32 // place among all images of the file
	length int32
	offset int64
}

// PlanCaptions finds where images and captions of a file in the official layout
// lie, joins them and cuts the images into slices of about mean.
func PlanCaptions(ctx context.Context, r io.ReaderAt, size int64, mean int, o Options) ([]CaptionsSlice, error) {
	pl := captionsPlan{o: o, byKey: map[string]int32{}, annotations: newIDSet()}
	if err := pl.images(ctx, r, size, mean); err != nil {
		return nil, err
	}
	if err := pl.captions(ctx, r, size); err != nil {
		return nil, err
	}
	return pl.slices(), nil
}

type captionsPlan struct {
	o           Options
	p           rawjson.Parser
	out         []CaptionsSlice
	digests     []*corpus.Digest
	byKey       map[string]int32 // kept images by key
	spans       []span           // of all images
	slice       []int32          // slice of each image
	gone        map[int32]Gone   // images that cannot be used
	annotations idSet
	placed      []placed
	lost        []Gone // captions that cannot be used
}

type span struct {
	offset int64
	length int32
}

func (pl *captionsPlan) images(ctx context.Context, r io.ReaderAt, size int64, mean int) error {
	pl.gone = map[int32]Gone{}
	cut := corpus.Cutter{Mean: mean} // most of a row's bytes lie elsewhere
	s := rawjson.NewScanner(r, size, "images", "annotations")
	for el := s.Next(); el != nil; el = s.Next() {
		if el.Array != "images" {
			continue
		}
		if cut.Cut(el.Field("id"), 0) || len(pl.out) == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			pl.out = append(pl.out, CaptionsSlice{From: el.Offset, First: el.Index})
			pl.digests = append(pl.digests, corpus.NewDigest(pl.o.File))
		}
		at := len(pl.out) - 1
		pl.out[at].To = el.Offset + int64(len(el.Bytes))
		pl.out[at].Count++
		pl.digests[at].Add(el.Offset, el.Bytes)
		n := int32(len(pl.spans))
		pl.spans = append(pl.spans, span{el.Offset, int32(len(el.Bytes))})
		pl.slice = append(pl.slice, int32(at))

		im, f := decodeImage(&pl.p, el.Bytes)
		if f.ok() {
			if _, twin := pl.byKey[string(im.key)]; twin {
				f = fault{"id", reasonDuplicate}
			} else {
				pl.byKey[string(im.key)] = n
			}
		}
		if !f.ok() {
			pl.gone[n] = goneOf(el, f)
		}
	}
	return corpus.Refused(pl.o.File, s.Err())
}

func goneOf(el *rawjson.Element, f fault) Gone {
	return Gone{el.Array, el.Index, el.Offset, int64(len(el.Bytes)), f.field, f.reason}
}

func (pl *captionsPlan) captions(ctx context.Context, r io.ReaderAt, size int64) error {
	s := rawjson.NewScanner(r, size, "images", "annotations")
	for el := s.Next(); el != nil; el = s.Next() {
		if el.Array != "annotations" {
			continue
		}
		if el.Index%4096 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		c, f := decodeCaption(&pl.p, el.Bytes)
		image, known := int32(0), false
		if f.ok() {
			if image, known = pl.byKey[string(c.image)]; !known {
				f = fault{"image_id", "no such image"}
			} else if !pl.annotations.add(c.id) {
				f = fault{"id", reasonDuplicate}
			}
		}
		if !f.ok() {
			pl.lost = append(pl.lost, goneOf(el, f))
			continue
		}
		pl.placed = append(pl.placed, placed{image, int32(len(el.Bytes)), el.Offset})
		pl.digests[pl.slice[image]].Add(el.Offset, el.Bytes)
	}
	return corpus.Refused(pl.o.File, s.Err())
}

// slices puts together what was found. Captions that cannot be used go to the
// last slice, behind its images.
func (pl *captionsPlan) slices() []CaptionsSlice {
	// Sort captions by image, keeping the order of the file.
	start := make([]int32, len(pl.spans)+1)
	for _, c := range pl.placed {
		start[c.image+1]++
	}
	for i := range pl.spans {
		start[i+1] += start[i]
	}
	sorted := make([]placed, len(pl.placed))
	next := append([]int32(nil), start...)
	for _, c := range pl.placed {
		sorted[next[c.image]] = c
		next[c.image]++
	}
	if len(pl.out) == 0 && len(pl.lost) > 0 {
		pl.out = append(pl.out, CaptionsSlice{})
		pl.digests = append(pl.digests, corpus.NewDigest(pl.o.File))
	}
	image := int32(0)
	for i := range pl.out {
		sl := &pl.out[i]
		var buf []byte
		last := int64(0)
		for range sl.Count {
			mine := sorted[start[image]:start[image+1]]
			gone, dead := pl.gone[image]
			if !dead && len(mine) == 0 {
				gone, dead = Gone{"images", int64(image), pl.spans[image].offset, int64(pl.spans[image].length), "", reasonNoCaption}, true
			}
			if dead {
				sl.Dead = append(sl.Dead, gone)
			}
			buf = binary.AppendUvarint(buf, uint64(len(mine)))
			for _, c := range mine {
				buf = binary.AppendVarint(buf, c.offset-last)
				buf = binary.AppendUvarint(buf, uint64(c.length))
				last = c.offset
			}
			image++
		}
		sl.Captions = base64.StdEncoding.EncodeToString(buf)
		if i == len(pl.out)-1 {
			sl.Dead = append(sl.Dead, pl.lost...)
		}
		for _, g := range sl.Dead {
			pl.digests[i].Add(g.Offset, fmt.Appendf(nil, "%s[%d] %d %s %s", g.Array, g.Index, g.Length, g.Field, g.Reason))
		}
		sl.ID = fmt.Sprintf("%s@%d", pl.digests[i], sl.First)
	}
	return pl.out
}

// ReadCaptionsSlice reads the images of one slice and their captions.
func ReadCaptionsSlice(ctx context.Context, r io.ReaderAt, sl CaptionsSlice, o Options) iter.Seq2[corpus.Record[CaptionsRow], error] {
	return func(yield func(corpus.Record[CaptionsRow], error) bool) {
		d := captionsReader{r: r, o: o}
		fail := func(err error) { yield(corpus.Record[CaptionsRow]{}, err) }
		var err error
		if d.places, err = base64.StdEncoding.DecodeString(sl.Captions); err != nil {
			fail(fmt.Errorf("places of captions: %w", err))
			return
		}
		dead := sl.Dead
		s := rawjson.NewSection(r, sl.From, sl.To, "images", sl.First)
		for el := s.Next(); el != nil; el = s.Next() {
			if el.Index%256 == 0 && ctx.Err() != nil {
				fail(ctx.Err())
				return
			}
			rec := corpus.Record[CaptionsRow]{}
			if len(dead) > 0 && dead[0].Array == "images" && dead[0].Index == el.Index {
				rec.Dead = letter(o.File, el, at(el), dead[0].Field, dead[0].Reason)
				dead = dead[1:]
				_, err = d.captionPlaces()
			} else {
				rec.Row, err = d.row(el)
			}
			if err != nil {
				fail(err)
				return
			}
			if !yield(rec, nil) {
				return
			}
		}
		if err := s.Err(); err != nil {
			fail(corpus.Refused(o.File, err))
			return
		}
		for _, g := range dead {
			raw := make([]byte, g.Length)
			if _, err := r.ReadAt(raw, g.Offset); err != nil {
				fail(fmt.Errorf("%s: %s[%d]: %w", o.File, g.Array, g.Index, err))
				return
			}
			offset := g.Offset
			l := &pipeline.DeadLetter{
				Corpus: Corpus, Task: Task, File: o.File, Offset: &offset,
				Field: g.Field, Where: fmt.Sprintf("%s[%d]", g.Array, g.Index), Reason: g.Reason, Raw: raw,
			}
			if !yield(corpus.Record[CaptionsRow]{Dead: l}, nil) {
				return
			}
		}
	}
}

// ReadCaptions reads a whole file in the official layout.
func ReadCaptions(ctx context.Context, r io.ReaderAt, size int64, o Options) iter.Seq2[corpus.Record[CaptionsRow], error] {
	return func(yield func(corpus.Record[CaptionsRow], error) bool) {
		list, err := PlanCaptions(ctx, r, size, 4096, o)
		if err != nil {
			yield(corpus.Record[CaptionsRow]{}, err)
			return
		}
		for _, sl := range list {
			for rec, err := range ReadCaptionsSlice(ctx, r, sl, o) {
				if !yield(rec, err) || err != nil {
					return
				}
			}
		}
	}
}

// A captionsReader builds the rows of a slice.
type captionsReader struct {
	r      io.ReaderAt
	o      Options
	p      rawjson.Parser
	places []byte // what is left of CaptionsSlice.Captions
	last   int64
	buf    []byte // window on the file
	base   int64  // offset of buf[0]
}

var errPlaces = errors.New("places of captions end early")

// captionPlaces returns where the captions of the next image lie.
func (d *captionsReader) captionPlaces() ([]span, error) {
	n, k := binary.Uvarint(d.places)
	if k <= 0 || n > uint64(len(d.places)) {
		return nil, errPlaces
	}
	d.places = d.places[k:]
	out := make([]span, n)
	for i := range out {
		delta, k := binary.Varint(d.places)
		if k <= 0 {
			return nil, errPlaces
		}
		length, k2 := binary.Uvarint(d.places[k:])
		if k2 <= 0 || length > rawjson.MaxElement {
			return nil, errPlaces
		}
		d.places = d.places[k+k2:]
		d.last += delta
		out[i] = span{d.last, int32(length)}
	}
	return out, nil
}

func (d *captionsReader) row(el *rawjson.Element) (*CaptionsRow, error) {
	im, f := decodeImage(&d.p, el.Bytes)
	if !f.ok() {
		return nil, fmt.Errorf("%s: images[%d] differs from its plan: %s: %s", d.o.File, el.Index, f.field, f.reason)
	}
	key, image := string(im.key), corpus.Stem(string(im.name))
	split := d.o.Split
	if split == "" {
		split = SplitOfFile(d.o.File)
	}
	row := &CaptionsRow{ID: corpus.ID(Corpus, Task, split, key), Corpus: Corpus, Task: Task, Split: split, Key: key, N: el.Index, Fields: corpus.None{}, Image: &image}
	places, err := d.captionPlaces()
	if err != nil {
		return nil, err
	}
	for _, at := range places {
		b, err := d.bytes(at)
		if err != nil {
			return nil, fmt.Errorf("%s: caption at byte %d: %w", d.o.File, at.offset, err)
		}
		c, f := decodeCaption(&d.p, b)
		if !f.ok() || string(c.image) != key {
			return nil, fmt.Errorf("%s: caption at byte %d differs from its plan", d.o.File, at.offset)
		}
		row.References = append(row.References, string(c.text))
		row.Meta.AnnotationIDs = append(row.Meta.AnnotationIDs, c.id)
	}
	return row, nil
}

// bytes returns the bytes of a span. Captions of neighbouring images often lie
// near each other, so a window is kept.
func (d *captionsReader) bytes(at span) ([]byte, error) {
	n := int64(at.length)
	if at.offset < d.base || at.offset+n > d.base+int64(len(d.buf)) {
		if want := max(n, 64<<10); int64(cap(d.buf)) < want {
			d.buf = make([]byte, want)
		}
		d.buf = d.buf[:cap(d.buf)]
		m, err := d.r.ReadAt(d.buf, at.offset)
		d.base, d.buf = at.offset, d.buf[:m]
		if int64(m) < n {
			return nil, err
		}
	}
	return d.buf[at.offset-d.base:][:n], nil
}
