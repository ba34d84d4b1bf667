package input

import (
	"bytes"
	"context"

	"espalier/preprocess/rawjson"
)

// annotationFields begin the objects that readCOCO reads.
var annotationFields = map[string]bool{"annotations": true, "images": true, "info": true, "licenses": true, "license": true}

// kindOfObject tells the layout of a document that is one object, by the names
// at its beginning.
func kindOfObject(head []byte) string {
	var p rawjson.Parser
	p.Reset(head)
	p.Begin(rawjson.Object)
	names := 0
	for name, ok := p.Member(); ok && p.Err() == nil; name, ok = p.Member() {
		switch {
		case annotationFields[string(name)]:
			return "coco"
		case string(name) == "data" && p.Kind() == rawjson.Array:
			return "squad"
		}
		if k := p.Kind(); k == rawjson.Array || k == rawjson.Invalid {
			return "coco"
		}
		names++
		p.Skip()
	}
	if names == 0 {
		return "coco"
	}
	return "map"
}

// onlyLine reports that there is one line, an object without any of the fields
// that a record needs.
func (s *Source) onlyLine(head []byte, role Role) bool {
	line, rest, _ := bytes.Cut(head, []byte{'\n'})
	if len(bytes.TrimSpace(rest)) > 0 {
		return false
	}
	var p rawjson.Parser
	p.Reset(line)
	p.Begin(rawjson.Object)
	for name, ok := p.Member(); ok; name, ok = p.Member() {
		if find(s.idNames("jsonl"), name) < len(s.idNames("jsonl")) || find(s.textNames(role), name) < len(s.textNames(role)) {
			return false
		}
		p.Skip()
	}
	return p.Err() == nil
}

// readMap reads an object whose names are ids: {"ID": text} or {"ID": {..}}.
func readMap(f *file, src *Source, role Role, yield func(record) error) error {
	o := newObjects(src, "map", role)
	o.ids = nil
	s := rawjson.NewMembers(f, f.size)
	for e := s.Next(); e != nil; e = s.Next() {
		place := Place{File: src.Path, Offset: e.Offset}
		var r record
		if e.Kind() == rawjson.Object {
			var err error
			if r, err = o.object(e.Bytes, place); err != nil {
				return err
			}
		} else {
			r.place = place
			o.p.Reset(e.Bytes)
			texts, got := list(&o.p, o.inner)
			if got != "" {
				return place.refuse(string(e.Name), "%s where text is expected", got)
			}
			if err := o.p.Err(); err != nil {
				place.Offset += err.Offset
				return place.refuse(string(e.Name), "%s", err.Reason)
			}
			r.texts = texts
		}
		o.p.Reset(append(append([]byte{'"'}, e.Name...), '"'))
		id, _ := o.p.Text()
		r.id = string(id)
		if err := yield(r); err != nil {
			return err
		}
	}
	return document(src, s.Err())
}

// readSquad reads the questions of a SQuAD document with their answers; a
// question may have none.
func readSquad(ctx context.Context, f *file, src *Source, role Role, yield func(record) error) error {
	if role == Predictions {
		return Place{File: src.Path, Offset: -1}.refuse("", "the file has the layout of questions, want predictions: {\"ID\": \"text\"}")
	}
	s := rawjson.NewScanner(f, f.size, "data")
	for e := s.Next(); e != nil; e = s.Next() {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		place := Place{File: src.Path, Offset: e.Offset}
		if err := readArticle(e.Bytes, place, yield); err != nil {
			return err
		}
	}
	return document(src, s.Err())
}

// readArticle reads one element of "data". Its parser keeps the first fault of
// the document; that of a record ends the reading at once.
func readArticle(b []byte, place Place, yield func(record) error) error {
	var p rawjson.Parser
	p.Reset(b)
	var fault error
	members(&p, "paragraphs", func() {
		members(&p, "qas", func() {
			at := place
			at.Offset += int64(p.Offset())
			r := record{place: at}
			got := question(&p, &r)
			switch {
			case fault != nil || p.Err() != nil:
			case got != "":
				fault = at.refuse("qas", "%s", got)
			default:
				fault = yield(r)
			}
		})
	})
	if err := p.Err(); err != nil && fault == nil {
		place.Offset += err.Offset
		return place.refuse("data", "%s", err.Reason)
	}
	return fault
}

// members visits the elements of an array of the object at hand.
func members(p *rawjson.Parser, array string, visit func()) {
	if !p.Begin(rawjson.Object) {
		return
	}
	for name, ok := p.Member(); ok; name, ok = p.Member() {
		if string(name) != array {
			p.Skip()
			continue
		}
		if !p.Begin(rawjson.Array) {
			return
		}
		for p.Item() {
			visit()
		}
	}
}

// question reads a question's id and answers, and says what is wrong with them.
func question(p *rawjson.Parser, r *record) (got string) {
	if !p.Begin(rawjson.Object) {
		return "no object"
	}
	known := false
	for name, ok := p.Member(); ok; name, ok = p.Member() {
		switch string(name) {
		case "id":
			r.id, got = scalar(p)
			known = got == ""
		case "answers":
			if p.Kind() != rawjson.Array {
				p.Skip()
				continue
			}
			p.Begin(rawjson.Array)
			for p.Item() {
				text, wrong := member(p, "text")
				if wrong != "" {
					got = "an answer has no text"
				}
				r.texts = append(r.texts, text)
			}
		default:
			p.Skip()
		}
	}
	if r.texts == nil {
		r.texts = []string{}
	}
	if !known && got == "" {
		got = "a question has no id"
	}
	return got
}
