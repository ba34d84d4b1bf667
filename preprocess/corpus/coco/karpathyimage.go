package coco

import (
	"fmt"
	"slices"

	"espalier/pipeline"
	"espalier/preprocess/corpus"
	"espalier/preprocess/rawjson"
)

// Members of an image, in the order in which their faults are reported.
const (
	mKey = iota
	mFilename
	mSplit
	mSentences
	mFilepath
	mImgID
	mSentIDs
	mMarks
	members
)

// A karpathyDecoder turns elements into rows. Its buffers are used again.
type karpathyDecoder struct {
	o Options
	p rawjson.Parser

	key, filename, split, filepath []byte
	imgid                          int64
	sentids                        []int64
	marks                          []string
	has                            [members]bool
	faults                         [members]fault
	sentences                      []sentence
	buf                            []byte // texts of the image, which share one allocation
	member                         string // the member being read
}

// A sentence lies in the decoder's buffer: its joined tokens, then its raw text.
type sentence struct {
	from, mid, to int
	fault         fault
}

// image reads one image. It returns no row if the image is dead; otherwise the
// dead letters are those of its captions.
func (d *karpathyDecoder) image(el *rawjson.Element) (*MarkedRow, []*pipeline.DeadLetter) {
	f := d.decode(el)
	if !f.ok() {
		return nil, []*pipeline.DeadLetter{letter(d.o.File, el, at(el), f.field, f.reason)}
	}
	var dead []*pipeline.DeadLetter
	kept := 0
	for i, s := range d.sentences {
		if s.fault.ok() {
			kept++
			continue
		}
		dead = append(dead, letter(d.o.File, el, fmt.Sprintf("%s.sentences[%d]", at(el), i), s.fault.field, s.fault.reason))
	}
	if kept == 0 {
		return nil, append(dead, letter(d.o.File, el, at(el), "sentences", reasonNoCaption))
	}
	return d.row(el, kept), dead
}

// decode reads an element into the decoder's fields and returns the first fault
// that makes it useless.
func (d *karpathyDecoder) decode(el *rawjson.Element) fault {
	if k := el.Kind(); k == rawjson.Invalid {
		return fault{reason: "not JSON"}
	} else if k != rawjson.Object {
		return fault{reason: rawjson.Mismatch(k, rawjson.Object)}
	}
	d.has = [members]bool{}
	d.faults = [members]fault{mKey: missing("cocoid"), mFilename: missing("filename"), mSplit: missing("split"), mSentences: missing("sentences")}
	d.sentids, d.marks, d.sentences, d.buf = nil, nil, d.sentences[:0], d.buf[:0]

	p := &d.p
	p.Reset(el.Bytes)
	p.Begin(rawjson.Object)
	for name, ok := p.Member(); ok; name, ok = p.Member() {
		if d.read(name); p.Err() == nil {
			d.member = ""
		}
	}
	p.End()
	if err := p.Err(); err != nil {
		return fault{d.member, err.Reason}
	}
	for m, f := range d.faults {
		if !f.ok() {
			return f
		}
		if m == mSplit && splitOf(d.split) == "" {
			return fault{"split", "unknown split"}
		}
	}
	return fault{}
}

// read reads the value of one member. A member met again replaces what was read
// before.
func (d *karpathyDecoder) read(name []byte) {
	p := &d.p
	var m int
	var f fault
	switch string(name) {
	case "cocoid":
		d.member, m = "cocoid", mKey
		f = digits(p, d.member, &d.key)
	case "filename":
		d.member, m = "filename", mFilename
		if f = text(p, d.member, &d.filename); f.ok() && len(d.filename) == 0 {
			f = fault{d.member, reasonEmpty}
		}
	case "split":
		d.member, m = "split", mSplit
		f = text(p, d.member, &d.split)
	case "sentences":
		d.member, m = "sentences", mSentences
		f = d.readSentences()
	case "filepath":
		d.member, m = "filepath", mFilepath
		f = text(p, d.member, &d.filepath)
	case "imgid":
		d.member, m = "imgid", mImgID
		f = integer(p, d.member, &d.imgid)
	case "sentids":
		d.member, m = "sentids", mSentIDs
		d.sentids, f = integers(p, d.member)
	default:
		d.member = string(name)
		if !slices.Contains(d.o.Marks, d.member) {
			p.Skip()
			return
		}
		m = mMarks
		v, kind := p.Bool()
		if kind != rawjson.Bool {
			f = fault{d.member, rawjson.Mismatch(kind, rawjson.Bool)}
		}
		d.marks = slices.DeleteFunc(d.marks, func(old string) bool { return old == d.member })
		if v {
			d.marks = append(d.marks, d.member)
		}
	}
	d.has[m] = true
	d.faults[m] = f
}

// integers reads a list of integers.
func integers(p *rawjson.Parser, field string) ([]int64, fault) {
	if !p.Begin(rawjson.Array) {
		k := p.Kind()
		p.Skip()
		return nil, fault{field, rawjson.Mismatch(k, rawjson.Array)}
	}
	list := make([]int64, 0, 5)
	var bad fault
	for p.Item() {
		var v int64
		if f := integer(p, field, &v); !f.ok() && bad.ok() {
			bad = f
		}
		list = append(list, v)
	}
	return list, bad
}

func (d *karpathyDecoder) readSentences() fault {
	p := &d.p
	d.sentences, d.buf = d.sentences[:0], d.buf[:0]
	if !p.Begin(rawjson.Array) {
		k := p.Kind()
		p.Skip()
		return fault{"sentences", rawjson.Mismatch(k, rawjson.Array)}
	}
	for p.Item() {
		d.sentences = append(d.sentences, d.readSentence())
	}
	return fault{}
}

func (d *karpathyDecoder) readSentence() sentence {
	p := &d.p
	s := sentence{from: len(d.buf), mid: len(d.buf), to: len(d.buf)}
	if !p.Begin(rawjson.Object) {
		k := p.Kind()
		p.Skip()
		s.fault = fault{"sentences", rawjson.Mismatch(k, rawjson.Object)}
		return s
	}
	var raw []byte
	badTokens, badRaw := missing("tokens"), missing("raw")
	for name, ok := p.Member(); ok; name, ok = p.Member() {
		switch string(name) {
		case "tokens":
			d.buf = d.buf[:s.from]
			badTokens = d.readTokens()
			s.mid = len(d.buf)
		case "raw":
			if badRaw = text(p, "raw", &raw); badRaw.ok() && len(raw) == 0 {
				badRaw = fault{"raw", reasonEmpty}
			}
		default:
			p.Skip()
		}
	}
	d.buf = append(d.buf, raw...)
	s.to = len(d.buf)
	if s.fault = badTokens; s.fault.ok() {
		s.fault = badRaw
	}
	return s
}

// readTokens appends a caption's tokens, joined by single blanks, to the buffer.
func (d *karpathyDecoder) readTokens() fault {
	p := &d.p
	if !p.Begin(rawjson.Array) {
		k := p.Kind()
		p.Skip()
		return fault{"tokens", rawjson.Mismatch(k, rawjson.Array)}
	}
	var bad fault
	for first := true; p.Item(); first = false {
		var t []byte
		if f := text(p, "tokens", &t); !f.ok() && bad.ok() {
			bad = f
		}
		if !first {
			d.buf = append(d.buf, ' ')
		}
		d.buf = append(d.buf, t...)
	}
	return bad
}

// row builds the row of the image that was decoded last, with its kept captions.
func (d *karpathyDecoder) row(el *rawjson.Element, kept int) *MarkedRow {
	split := splitOf(d.split)
	n := len(d.buf)
	d.buf = append(d.buf, d.filename...)
	d.buf = append(d.buf, d.filepath...)
	texts := string(d.buf)
	image := corpus.Stem(texts[n : n+len(d.filename)])
	key := string(d.key)

	row := &MarkedRow{
		ID: corpus.ID(Corpus, Task, split, key), Corpus: Corpus, Task: Task, Split: split, Key: key, N: el.Index,
		References: make([]string, 0, kept), Image: &image,
	}
	row.Fields.Tokens = make([]string, 0, kept)
	row.Meta = MarkedMeta{SentIDs: d.sentids, KarpathySplit: native(d.split), Marks: d.marks}
	if d.has[mImgID] {
		id := d.imgid
		row.Meta.ImgID = &id
	}
	if d.has[mFilepath] {
		path := texts[n+len(d.filename):]
		row.Meta.FilePath = &path
	}
	for _, s := range d.sentences {
		if s.fault.ok() {
			row.Fields.Tokens = append(row.Fields.Tokens, texts[s.from:s.mid])
			row.References = append(row.References, texts[s.mid:s.to])
		}
	}
	if kept < len(d.sentences) && len(d.sentids) == len(d.sentences) {
		row.Meta.SentIDs = nil
		for i, s := range d.sentences {
			if s.fault.ok() {
				row.Meta.SentIDs = append(row.Meta.SentIDs, d.sentids[i])
			}
		}
	}
	return row
}

// native is string(split) without an allocation, for known splits.
func native(split []byte) string {
	for _, s := range KarpathySplits {
		if string(split) == s {
			return s
		}
	}
	return string(split)
}

// splitOf returns the split that rows of a native split go to, "" if it is
// unknown.
func splitOf(split []byte) string {
	switch s := native(split); s {
	case "restval":
		return "train"
	case "train", "val", "test":
		return s
	}
	return ""
}
