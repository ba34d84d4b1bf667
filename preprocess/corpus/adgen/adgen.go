// Package adgen reads AdGen, advertisements written from tags, in the three
// layouts that it has been given away in: AdvertiseGen's content and summary, in
// JSON lines; CPT's article and summarization; and feature and desc of the
// original.
//
// A row is an advertisement; its tags are "key TAB value". Rows carry a line only
// in files of JSON lines that are not tidy: that hold other lines too, or begin
// with a byte order mark.
package adgen

import (
	"bytes"
	"strings"

	"espalier/preprocess/corpus"
	"espalier/preprocess/corpus/records"
	"espalier/preprocess/rawjson"
)

// Fields are the source fields, the same for all layouts.
type Fields struct {
	Tags []string `parquet:"tags,list" json:"tags"`
	Text string   `parquet:"text" json:"text"`
}

// Format reads the files.
var Format = &records.Records[Fields, corpus.None]{
	Corpus: "adgen", Task: "adgen", Layout: records.JSON{Tidy: true}, Decoder: decoder,
	Check: func(el *records.Element) records.Fault {
		if el.Kind() == rawjson.Object && el.Member("content") == nil && el.Member("article") == nil && el.Member("feature") == nil {
			return records.Fault{Field: "content", Reason: records.Missing}
		}
		return records.Fault{}
	},
}

// layouts has the members of all layouts.
type layouts struct {
	summary, article, summarization, desc *string
	content, feature, tags                []byte
	ends                                  []int // of tags
	p                                     rawjson.Parser
}

func decoder(*corpus.Source) func(*records.Element, *records.Out[Fields, corpus.None]) {
	var l layouts
	object := records.NewObject(
		records.OptionalBytes("content", &l.content), records.OptionalText("summary", &l.summary),
		records.OptionalText("article", &l.article), records.OptionalText("summarization", &l.summarization),
		records.OptionalValue("feature", &l.feature), records.OptionalText("desc", &l.desc),
	)
	return func(el *records.Element, out *records.Out[Fields, corpus.None]) {
		fault := object.Read(el.Bytes)
		var f Fields
		if !fault.Bad() {
			f, fault = l.fields(&out.Slab)
		}
		if fault.Bad() {
			out.Dead(fault)
			return
		}
		r := out.Row("", f, corpus.Zero[corpus.None]())
		r.References = out.List(1)
		r.References[0] = f.Text
	}
}

// fields makes the fields of a row of whatever layout has been met.
func (l *layouts) fields(s *corpus.Slab) (f Fields, fault records.Fault) {
	text, field := l.summary, "summary"
	switch {
	case l.content != nil:
		f.Tags, fault = l.contentTags(s)
	case l.article != nil:
		text, field = l.summarization, "summarization"
		f.Tags, fault = articleTags(*l.article)
	case l.feature != nil:
		text, field = l.desc, "desc"
		f.Tags, fault = l.featureTags()
	default:
		fault = records.Fault{Field: "content", Reason: records.Missing}
	}
	switch {
	case fault.Bad():
	case text == nil:
		fault = records.Fault{Field: field, Reason: records.Missing}
	case *text == "":
		fault = records.Fault{Field: field, Reason: records.Empty}
	default:
		f.Text = *text
	}
	return f, fault
}

// contentTags reads "key#value*key#value".
func (l *layouts) contentTags(s *corpus.Slab) ([]string, records.Fault) {
	if len(l.content) == 0 {
		return nil, records.Fault{Field: "content", Reason: records.Empty}
	}
	// Tags end before stars; a star at the end begins an empty one.
	text, ends := append(l.tags[:0], l.content...), l.ends[:0]
	for i := 0; i <= len(text); {
		end := len(text)
		if k := bytes.IndexByte(text[i:], '*'); k >= 0 {
			end = i + k
		}
		at := bytes.IndexByte(text[i:end], '#')
		if at < 0 {
			return nil, records.Fault{Field: "content", Reason: "tag without #"}
		}
		text[i+at] = '\t'
		ends = append(ends, end)
		i = end + 1
	}
	l.tags, l.ends = text, ends
	all, tags, from := s.Text(text), s.List(len(ends)), 0
	for i, end := range ends {
		tags[i], from = all[from:end], end+1
	}
	return tags, records.Fault{}
}

// articleTags reads "[[key, value], [key, value]]".
func articleTags(s string) ([]string, records.Fault) {
	if s == "" {
		return nil, records.Fault{Field: "article", Reason: records.Empty}
	}
	inner, ok := strings.CutPrefix(s, "[[")
	if ok {
		inner, ok = strings.CutSuffix(inner, "]]")
	}
	if !ok {
		return nil, records.Fault{Field: "article", Reason: "not in the form [[key, value], ...]"}
	}
	tags := strings.Split(inner, "], [")
	for i, tag := range tags {
		key, value, ok := strings.Cut(tag, ", ")
		if !ok {
			return nil, records.Fault{Field: "article", Reason: "tag without a comma"}
		}
		tags[i] = key + "\t" + value
	}
	return tags, records.Fault{}
}

// featureTags reads [["key", "value"], ["key", "value"]].
func (l *layouts) featureTags() (tags []string, _ records.Fault) {
	bad := records.Fault{Field: "feature", Reason: "not a list of pairs of texts"}
	var inner rawjson.Parser
	for item := range records.Items(&l.p, l.feature) {
		var pair []string
		for raw := range records.Items(&inner, item) {
			var p rawjson.Parser
			p.Reset(bytes.Clone(raw))
			text, kind := p.Text()
			if kind != rawjson.Text {
				return nil, bad
			}
			pair = append(pair, string(text))
		}
		if len(pair) != 2 {
			return nil, bad
		}
		tags = append(tags, pair[0]+"\t"+pair[1])
	}
	if tags == nil {
		return nil, bad
	}
	return tags, records.Fault{}
}
