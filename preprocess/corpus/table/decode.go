package table

import (
	"bytes"
	"cmp"
	"slices"
	"unicode/utf8"

	"espalier/preprocess/corpus"
	"espalier/preprocess/corpus/records"
	"espalier/preprocess/rawfile"
)

// indexTab returns the place of the first TAB, the length if there is none.
func indexTab(b []byte) int {
	if i := bytes.IndexByte(b, '\t'); i >= 0 {
		return i
	}
	return len(b)
}

// A decoder turns lines into rows. Its buffers are used again.
type decoder[F, M any] struct {
	t     *Table[F, M]
	shape *Shape
	text  *rawfile.Decoder
	split func(meta []string) string
	err   error
	cells [][]byte
	buf   []byte
	ends  []int
	texts []string
}

func (t *Table[F, M]) decoder(src *corpus.Source) func(el *records.Element, out *records.Out[F, M]) {
	d := &decoder[F, M]{t: t}
	shape, err := t.shape(src)
	if err == nil {
		d.shape = shape
		d.text, err = rawfile.NewDecoder(cmp.Or(src.Encoding, t.Encoding))
	}
	if err == nil && t.Split != nil {
		d.split, err = t.Split(src)
	}
	d.err = err
	return d.decode
}

func (d *decoder[F, M]) decode(el *records.Element, out *records.Out[F, M]) {
	if d.err != nil { // it was looked at before: the file has changed meanwhile
		out.Dead(records.Fault{Reason: d.err.Error()})
		return
	}
	s := d.shape
	d.cells = d.cells[:0]
	for line := d.text.Text(el.Bytes); ; {
		end := indexTab(line)
		d.cells = append(d.cells, line[:end])
		if end == len(line) {
			break
		}
		line = line[end+1:]
	}
	if f := d.check(); f.Bad() {
		out.Dead(f)
		return
	}
	var label Value
	if s.Label >= 0 && d.t.Labels != nil {
		reason := ""
		if label, reason = d.t.Labels.Parse(d.cells[s.Label]); reason != "" {
			out.Dead(records.Fault{Field: s.Columns[s.Label], Reason: reason})
			return
		}
	} else if d.t.Labels != nil {
		label = d.t.Labels.None()
	}
	texts := d.strings()
	var fields F
	meta := corpus.Zero[M]()
	d.t.Set(&fields, texts[:len(s.Text)])
	metas := texts[len(s.Text) : len(s.Text)+len(s.Meta)]
	if d.t.SetMeta != nil {
		d.t.SetMeta(&meta, metas)
	}
	key := ""
	if s.Key >= 0 {
		key = texts[len(texts)-1]
	}
	split := ""
	if d.split != nil {
		if split = d.split(metas); split == "" {
			return
		}
	}
	r := out.Row(key, fields, meta)
	r.Label, r.LabelID = label.Text, label.ID
	if split != "" {
		out.Split(r, split)
	}
}

// check looks at the width of a row and at the encoding of what is wanted of it.
func (d *decoder[F, M]) check() records.Fault {
	s := d.shape
	want := len(s.Columns)
	switch got := len(d.cells); {
	case got < want:
		f := records.Fault{Reason: columnsWanted(got, want)}
		for _, c := range slices.Concat(s.Text, s.Meta, []int{s.Key, s.Label}) {
			if c >= got {
				f.Field = s.Columns[c]
				break
			}
		}
		return f
	case got > want:
		f := records.Fault{Reason: columnsWanted(got, want)}
		if s.Label >= 0 && d.t.Labels != nil {
			if _, reason := d.t.Labels.Parse(d.cells[s.Label]); reason != "" {
				f.Field = s.Columns[s.Label]
				return f
			}
		}
		if slices.Contains(s.Text, want-1) {
			f.Field = s.Columns[want-1]
		}
		return f
	}
	for _, c := range s.Text {
		if !utf8.Valid(d.cells[c]) {
			return records.Fault{Field: s.Columns[c], Reason: records.BadUTF8}
		}
	}
	for _, c := range s.Meta {
		if !utf8.Valid(d.cells[c]) {
			return records.Fault{Field: s.Columns[c], Reason: records.BadUTF8}
		}
	}
	if s.Key >= 0 {
		switch cell := d.cells[s.Key]; {
		case !utf8.Valid(cell):
			return records.Fault{Field: s.Columns[s.Key], Reason: records.BadUTF8}
		case len(cell) == 0:
			return records.Fault{Field: s.Columns[s.Key], Reason: records.Empty}
		}
	}
	return records.Fault{}
}

// strings returns the wanted texts of a row: those of fields, of meta and the
// key. They share one allocation.
func (d *decoder[F, M]) strings() []string {
	s := d.shape
	d.buf, d.ends = d.buf[:0], d.ends[:0]
	take := func(c int) {
		d.buf = append(d.buf, d.cells[c]...)
		d.ends = append(d.ends, len(d.buf))
	}
	for _, c := range s.Text {
		take(c)
	}
	for _, c := range s.Meta {
		take(c)
	}
	if s.Key >= 0 {
		take(s.Key)
	}
	all := string(d.buf)
	d.texts = d.texts[:0]
	from := 0
	for _, end := range d.ends {
		d.texts = append(d.texts, all[from:end])
		from = end
	}
	return d.texts
}
