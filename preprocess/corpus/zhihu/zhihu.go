// Package zhihu reads the essays of ZhiHu with their topics: a line with the
// topics and the essay between marks, to which a file of topics may be joined, or
// one object of two columns.
//
// A row is an essay; the essay is the reference.
package zhihu

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"unicode/utf8"

	"espalier/pipeline"
	"espalier/preprocess/corpus"
	"espalier/preprocess/corpus/records"
	"espalier/preprocess/example"
	"espalier/preprocess/rawjson"
)

// Fields are the source fields.
type Fields struct {
	Topics []string `parquet:"topics,list" json:"topics"`
	Text   string   `parquet:"text" json:"text"`
}

// TopicsMeta is the line of the file of topics.
type TopicsMeta struct {
	TopicsFile string `parquet:"topics_file" json:"topics_file"`
}

// Lines reads lines such as [BOS]topic#topic[SEP]essay[EOS].
var Lines = &records.Records[Fields, corpus.None]{
	Corpus: "zhihu", Task: "t2e", Layout: records.Lines{},
	Decoder: func(*corpus.Source) func(*records.Element, *records.Out[Fields, corpus.None]) {
		return func(el *records.Element, out *records.Out[Fields, corpus.None]) {
			if f, fault := fieldsOf(el.Bytes); fault.Bad() {
				out.Dead(fault)
			} else {
				out.Row("", f, corpus.None{}).References = []string{f.Text}
			}
		}
	},
}

// WithTopics reads such lines with a file of topics joined to them line by line.
var WithTopics = &records.Records[Fields, TopicsMeta]{
	Corpus: "zhihu", Task: "t2e", Layout: records.Lines{},
	Joins: func(src *corpus.Source) (int64, error) {
		list, err := topicLines(src)
		return int64(len(list)), err
	},
	Decoder: func(src *corpus.Source) func(*records.Element, *records.Out[Fields, TopicsMeta]) {
		topics, _ := topicLines(src) // the plan has refused it if it cannot be read
		return func(el *records.Element, out *records.Out[Fields, TopicsMeta]) {
			if f, fault := fieldsOf(el.Bytes); fault.Bad() {
				out.Dead(fault)
			} else if el.Index < int64(len(topics)) {
				out.Row("", f, TopicsMeta{topics[el.Index]}).References = []string{f.Text}
			}
		}
	},
}

func topicLines(src *corpus.Source) (list []string, _ error) {
	err := records.JoinedLines(src.Joined[0], func(line string) { list = append(list, line) })
	return list, err
}

func fieldsOf(line []byte) (Fields, records.Fault) {
	body, ok := bytes.CutPrefix(line, []byte("[BOS]"))
	if !ok {
		return Fields{}, records.Fault{Field: "topics", Reason: "no [BOS]"}
	}
	topics, text, ok := bytes.Cut(bytes.TrimSuffix(body, []byte("[EOS]")), []byte("[SEP]"))
	switch {
	case !ok:
		return Fields{}, records.Fault{Field: "text", Reason: "no [SEP]"}
	case !utf8.Valid(topics):
		return Fields{}, records.Fault{Field: "topics", Reason: records.BadUTF8}
	case !utf8.Valid(text):
		return Fields{}, records.Fault{Field: "text", Reason: records.BadUTF8}
	case len(text) == 0:
		return Fields{}, records.Fault{Field: "text", Reason: records.Empty}
	}
	return Fields{strings.Split(string(topics), "#"), string(text)}, records.Fault{}
}

// JoinedMeta has the essay without the blanks between its words.
type JoinedMeta struct {
	Joined string `parquet:"joined" json:"joined"`
}

// Columns reads an object with two columns, {"topic": [...], "content": [...]}.
var Columns corpus.Format[Fields, JoinedMeta] = columns{}

type columns struct{}

// A place is where a text lies.
type place struct{ offset, length int64 }

// Plan checks that the columns have one length. The file is one slice.
func (columns) Plan(ctx context.Context, src *corpus.Source, mean int) ([]corpus.Slice, error) {
	topics, contents, err := places(ctx, src)
	if err != nil {
		return nil, err
	}
	if len(topics) != len(contents) {
		return nil, &pipeline.RefusedError{File: src.Name, Offset: -1, Field: "content", Reason: fmt.Sprintf("%d items where topic has %d", len(contents), len(topics))}
	}
	if len(topics) == 0 {
		return nil, nil
	}
	d := corpus.NewDigest(src.Name)
	if err := d.AddAll(ctx, src); err != nil {
		return nil, err
	}
	return []corpus.Slice{{ID: d.String(), Of: json.RawMessage("null")}}, nil
}

// places finds the items of the columns.
func places(ctx context.Context, src *corpus.Source) (topics, contents []place, err error) {
	s := rawjson.NewScanner(src, src.Size, "topic", "content")
	for el := s.Next(); el != nil; el = s.Next() {
		p := place{el.Offset, int64(len(el.Bytes))}
		if el.Array == "topic" {
			topics = append(topics, p)
		} else {
			contents = append(contents, p)
		}
		if el.Index%4096 == 0 && ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
	}
	return topics, contents, corpus.Refused(src.Name, s.Err())
}

// Read reads the rows.
func (columns) Read(ctx context.Context, src *corpus.Source, _ json.RawMessage) iter.Seq2[corpus.Record[example.Row[Fields, JoinedMeta]], error] {
	type record = corpus.Record[example.Row[Fields, JoinedMeta]]
	return func(yield func(record, error) bool) {
		topics, contents, err := places(ctx, src)
		if err != nil {
			yield(record{}, err)
			return
		}
		for i := range min(len(topics), len(contents)) {
			rec, err := columnsRow(src, int64(i), topics[i], contents[i])
			if err == nil && i%256 == 0 {
				err = ctx.Err()
			}
			if !yield(rec, err) || err != nil {
				return
			}
		}
	}
}

func columnsRow(src *corpus.Source, n int64, at ...place) (rec corpus.Record[example.Row[Fields, JoinedMeta]], err error) {
	var texts [2]string
	for i, name := range []string{"topic", "content"} {
		raw := make([]byte, at[i].length)
		if _, err := src.ReadAt(raw, at[i].offset); err != nil {
			return rec, fmt.Errorf("%s: %s[%d]: %w", src.Name, name, n, err)
		}
		var p rawjson.Parser
		p.Reset(raw)
		text, kind := p.Text()
		p.End()
		reason := ""
		switch {
		case p.Err() != nil:
			reason = p.Err().Reason
		case kind != rawjson.Text:
			reason = rawjson.Mismatch(kind, rawjson.Text)
		case len(text) == 0:
			reason = records.Empty
		}
		if reason != "" {
			offset := at[i].offset
			rec.Dead = &pipeline.DeadLetter{
				Corpus: "zhihu", Task: "t2e", File: src.Name, N: &n, Offset: &offset,
				Field: name, Where: fmt.Sprintf("%s[%d]", name, n), Reason: reason, Raw: raw,
			}
			return rec, nil
		}
		texts[i] = string(text)
	}
	split, key := records.SplitOf(src), fmt.Sprint(n)
	rec.Row = &example.Row[Fields, JoinedMeta]{
		ID: corpus.ID("zhihu", "t2e", split, key), Corpus: "zhihu", Task: "t2e", Split: split, Key: key, N: n,
		Fields:     Fields{strings.Split(strings.TrimRight(texts[0], "\u3002"), "\u3001"), texts[1]},
		References: []string{texts[1]}, Meta: JoinedMeta{strings.ReplaceAll(texts[1], " ", "")},
	}
	return rec, nil
}
