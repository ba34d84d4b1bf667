package input

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"espalier/pipeline"
	"espalier/preprocess/rawjson"
)

// wholeObject reports whether the first line is one whole JSON object that is
// no annotation file.
func wholeObject(head []byte) bool {
	line, _, _ := bytes.Cut(head, []byte{'\n'})
	var p rawjson.Parser
	p.Reset(line)
	if !p.Begin(rawjson.Object) {
		return false
	}
	for name, ok := p.Member(); ok; name, ok = p.Member() {
		if string(name) == "annotations" && p.Kind() == rawjson.Array {
			return false
		}
		p.Skip()
	}
	p.End()
	return p.Err() == nil
}

// objects reads records from JSON objects.
type objects struct {
	role  Role
	src   *Source
	ids   []string
	texts []string
	inner string // field of the text where texts are objects
	p     rawjson.Parser
}

// answerField is that of VQA's annotations. An empty list under answersField
// says that a question has no answer.
const answerField, answersField = "answer", "answers"

// newObjects looks for the fields that a source names; a name LIST.FIELD is a
// list of objects and the field of their texts.
func newObjects(src *Source, format string, role Role) *objects {
	o := &objects{role: role, src: src, ids: src.idNames(format), texts: src.textNames(role), inner: answerField}
	if list, field, ok := strings.Cut(src.Text, "."); ok && list != "" && field != "" {
		o.texts = append(o.texts, list)
		o.inner = field
	}
	return o
}

// find returns the place of a name in a list, len(list) if it is not there.
func find(list []string, name []byte) int {
	for i, n := range list {
		if n == string(name) {
			return i
		}
	}
	return len(list)
}

// object reads one object. Of several fields that could be the id or the text,
// the one that stands first in the list of names counts.
func (o *objects) object(b []byte, place Place) (record, error) {
	r := record{place: place}
	idAt, textAt := len(o.ids), len(o.texts)
	p := &o.p
	p.Reset(b)
	if !p.Begin(rawjson.Object) {
		return r, place.refuse("", "%s where an object is expected", p.Kind())
	}
	for name, ok := p.Member(); ok; name, ok = p.Member() {
		if i := find(o.ids, name); i <= idAt && i < len(o.ids) {
			text, got := scalar(p)
			if got != "" {
				return r, place.refuse(o.ids[i], "%s where a number or text is expected", got)
			}
			r.id, idAt = text, i
			continue
		}
		if i := find(o.texts, name); i <= textAt && i < len(o.texts) {
			texts, got := list(p, o.inner)
			if got != "" {
				return r, place.refuse(o.texts[i], "%s where text is expected", got)
			}
			if r.texts, textAt = texts, i; len(texts) == 0 && o.texts[i] != answersField {
				r.texts = nil // as if it was not there
			}
			continue
		}
		if !o.attribute(&r, "", name) {
			p.Skip()
		}
	}
	p.End()
	if err := p.Err(); err != nil {
		place.Offset += err.Offset
		return r, place.refuse("", "%s", err.Reason)
	}
	switch {
	case idAt == len(o.ids) && len(o.ids) > 0:
		return r, place.refuse(o.ids[0], "no such field%s", o.hint(b, "--id-field"))
	case textAt == len(o.texts) && len(o.texts) > 0:
		flag := "--pred-field"
		if o.role == References {
			flag = "--ref-field"
		}
		return r, place.refuse(o.texts[0], "no such field%s", o.hint(b, flag))
	}
	return r, nil
}

// attribute keeps a field that is asked for: a text, number or truth value, a
// list of them joined by [ListSeparator], or, of an object, its members, whose
// names are then OBJECT.MEMBER; with the ending [RawField] whatever there is, as
// JSON. What is none of these counts as not there. It reports false where the
// field is not wanted, and then has read nothing.
func (o *objects) attribute(r *record, within string, name []byte) bool {
	p := &o.p
	full := within + string(name)
	i, raw := slices.Index(o.src.Attributes, full), false
	if i < 0 {
		i = slices.Index(o.src.Attributes, full+RawField)
		raw = i >= 0
	}
	inside := i < 0 && within == "" && p.Kind() == rawjson.Object && slices.ContainsFunc(o.src.Attributes, func(a string) bool { return strings.HasPrefix(a, full+".") })
	switch {
	case inside:
		p.Begin(rawjson.Object)
		for name, ok := p.Member(); ok; name, ok = p.Member() {
			if !o.attribute(r, full+".", name) {
				p.Skip()
			}
		}
		return true
	case i < 0:
		return false
	}
	if r.attributes == nil {
		r.attributes = make([]string, len(o.src.Attributes))
	}
	switch {
	case raw:
		r.attributes[i] = string(p.Raw())
		return true
	case p.Kind() == rawjson.Array:
		texts, _ := list(p, answerField)
		r.attributes[i] = strings.Join(texts, ListSeparator)
		return true
	}
	r.attributes[i], _ = scalar(p)
	return true
}

// ListSeparator stands between the texts of an attribute that is a list.
const ListSeparator = "\x1f"

// RawField ends the name of an attribute that is kept as JSON.
const RawField = "{}"

// hint lists the fields that an object has.
func (o *objects) hint(b []byte, flag string) string {
	var p rawjson.Parser
	p.Reset(b)
	s := ""
	if p.Begin(rawjson.Object) {
		for name, ok := p.Member(); ok; name, ok = p.Member() {
			s += " " + string(name)
			p.Skip()
		}
	}
	return fmt.Sprintf("; the fields are%s (%s names another)", s, flag)
}

// scalar reads a number, text or truth value as text. It returns the kind of
// anything else.
func scalar(p *rawjson.Parser) (text, got string) {
	switch k := p.Kind(); k {
	case rawjson.Text:
		t, _ := p.Text()
		return string(t), ""
	case rawjson.Number:
		t, _ := p.Number()
		return string(t), ""
	case rawjson.Bool:
		v, _ := p.Bool()
		return fmt.Sprint(v), ""
	default:
		p.Skip()
		return "", k.String()
	}
}

// list reads a text, an array of texts, or of objects with a text under field,
// or an object with such an array under "text", as tables of SQuAD's answers
// have it. An array of arrays is one text.
func list(p *rawjson.Parser, field string) (texts []string, got string) {
	switch p.Kind() {
	case rawjson.Array:
	case rawjson.Object:
		found := false
		p.Begin(rawjson.Object)
		for name, ok := p.Member(); ok; name, ok = p.Member() {
			if string(name) != "text" || p.Kind() != rawjson.Array {
				p.Skip()
				continue
			}
			found = true
			texts, got = list(p, field)
		}
		if !found {
			return nil, rawjson.Object.String()
		}
		return texts, got
	default:
		t, got := scalar(p)
		return []string{t}, got
	}
	p.Begin(rawjson.Array)
	texts = []string{}
	nested := false
	for p.Item() {
		if p.Kind() == rawjson.Array {
			nested = true
			texts = append(texts, string(p.Raw()))
			continue
		}
		t, k := member(p, field)
		if k == tuple {
			nested, k = true, ""
		}
		if k != "" && got == "" {
			got = k + " in a list"
		}
		texts = append(texts, t)
	}
	if nested && got == "" {
		return []string{"[" + strings.Join(texts, ",") + "]"}, ""
	}
	return texts, got
}

// tuple marks a list of a scene graph's tuples: it is one text, as it stands.
const tuple = "tuple"

// member reads a text, or that under a name if an object is at hand.
func member(p *rawjson.Parser, field string) (text, got string) {
	if p.Kind() != rawjson.Object {
		return scalar(p)
	}
	found := false
	p.Begin(rawjson.Object)
	for name, ok := p.Member(); ok; name, ok = p.Member() {
		if string(name) == field {
			text, got = scalar(p)
			found = true
			continue
		}
		if string(name) == tuple && p.Kind() == rawjson.Array {
			text, got = string(p.Raw()), tuple
			found = true
			continue
		}
		p.Skip()
	}
	if !found {
		return "", rawjson.Object.String()
	}
	return text, got
}

// line reads one object of a file of JSON lines.
func (o *objects) line(b []byte, place Place) (record, bool, error) {
	if len(bytes.TrimSpace(b)) == 0 {
		return record{}, false, nil
	}
	r, err := o.object(b, place)
	return r, true, err
}

// readArray reads an array of objects.
func readArray(f *file, src *Source, role Role, yield func(record) error) error {
	o := newObjects(src, "json", role)
	s := rawjson.NewScanner(f, f.size)
	for e := s.Next(); e != nil; e = s.Next() {
		r, err := o.object(e.Bytes, Place{File: src.Path, Offset: e.Offset})
		if err != nil {
			return err
		}
		if err := yield(r); err != nil {
			return err
		}
	}
	return document(src, s.Err())
}

// readCOCO reads the references of an annotation file, image by image in the
// order of "images", or in the order of first annotations where there is none.
func readCOCO(ctx context.Context, f *file, src *Source, role Role, yield func(record) error) error {
	if role == Predictions {
		return Place{File: src.Path, Offset: -1}.refuse("", "the file has the layout of annotations, want predictions: an array of objects with image_id and caption")
	}
	err := readAnnotations(ctx, f, src, yield, "images", "annotations")
	var missing *rawjson.DocumentError
	if errors.As(err, &missing) && missing.Field == "images" {
		err = readAnnotations(ctx, f, src, yield, "annotations")
	}
	return document(src, err)
}

func readAnnotations(ctx context.Context, f *file, src *Source, yield func(record) error, arrays ...string) error {
	images := &objects{role: References, src: &Source{}, ids: []string{"id"}}
	captions := newObjects(src, "json", References) // an annotation's own id is not the image's
	if src.Text == "" {
		captions.texts = []string{"caption", "answers"}
	}
	var set, order Set
	s := rawjson.NewScanner(f, f.size, arrays...)
	n := 0
	for e := s.Next(); e != nil; e = s.Next() {
		if n++; n%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		place := Place{File: src.Path, Offset: e.Offset}
		if e.Array == "images" {
			r, err := images.object(e.Bytes, place)
			if err != nil {
				return err
			}
			order.add(r.id, place)
			continue
		}
		r, err := captions.object(e.Bytes, place)
		if err != nil {
			return err
		}
		i := set.add(r.id, place)
		set.Texts[i] = append(set.Texts[i], r.texts...)
		set.note(i, r.attributes)
	}
	if err := s.Err(); err != nil {
		return err
	}
	for i, id := range order.IDs {
		r := record{id: id, place: order.Places[i]}
		if j, ok := set.Find(id); ok {
			r.texts, r.attributes = set.Texts[j], set.attributes(j)
		}
		if err := yield(r); err != nil {
			return err
		}
	}
	for i, id := range set.IDs {
		if _, ok := order.Find(id); ok {
			continue
		}
		if err := yield(record{id, set.Texts[i], set.attributes(i), set.Places[i]}); err != nil {
			return err
		}
	}
	return nil
}

// document turns an error of a scan into a refusal of the file.
func document(src *Source, err error) error {
	var d *rawjson.DocumentError
	if errors.As(err, &d) {
		return &pipeline.RefusedError{File: src.Path, Line: d.Line, Offset: d.Offset, Field: d.Field, Reason: d.Reason}
	}
	return err
}
