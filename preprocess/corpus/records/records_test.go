package records

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"espalier/pipeline"
	"espalier/preprocess/corpus"
)

func source(name, text string) *corpus.Source {
	return &corpus.Source{ReaderAt: strings.NewReader(text), Size: int64(len(text)), Name: name}
}

// walked are the elements of a file, and of each alone as a section, which must
// be the same.
func walked(t *testing.T, l Layout, src *corpus.Source) (out []string, mode string, _ error) {
	t.Helper()
	w := l.Walk(src, nil)
	type place struct {
		at   Span
		text string
	}
	describe := func(el *Element) string {
		s := fmt.Sprintf("%d:%d-%d@%d %q", el.Index, el.First, el.Line, el.Offset, el.Bytes)
		for _, f := range el.Fields {
			s += fmt.Sprintf(" [%s]", f.Value)
		}
		if el.Fault.Bad() {
			s += fmt.Sprintf(" !%s %s", el.Fault.Field, el.Fault.Reason)
		}
		return s
	}
	var places []place
	for el := w.Next(); el != nil; el = w.Next() {
		places = append(places, place{Span{From: el.From, To: el.To, Index: el.Index, Line: el.First}, describe(el)})
		out = append(out, describe(el))
	}
	if err := w.Err(); err != nil {
		return out, "", err
	}
	for _, p := range places {
		p.at.Mode = w.Mode()
		s := l.Walk(src, &p.at)
		got := []string{}
		for el := s.Next(); el != nil; el = s.Next() {
			got = append(got, describe(el))
		}
		if s.Err() != nil || len(got) != 1 || got[0] != p.text && !strings.HasPrefix(w.Mode(), "tidy") {
			t.Errorf("%s: section gives %q, %v, want %q", src.Name, got, s.Err(), p.text)
		}
	}
	return out, w.Mode(), nil
}

func TestLayouts(t *testing.T) {
	for _, c := range []struct {
		name   string
		layout Layout
		text   string
		mode   string
		want   []string
	}{
		{"lines", Lines{}, "\xef\xbb\xbfa\r\n\nb", "", []string{`0:1-1@3 "a"`, `1:2-2@6 ""`, `2:3-3@7 "b"`}},
		{"skipped", Lines{Skip: Blank, Header: 1}, "head\n \na\n\t\nb\n", "", []string{`0:3-3@7 "a"`, `1:5-5@11 "b"`}},
		{"a mark that is text", Lines{}, "a\n\xef\xbb\xbfb\n", "", []string{`0:1-1@0 "a"`, `1:2-2@2 "\ufeffb"`}},
		{"json lines", JSON{}, "{\"a\":1}\n\n{\"b\n", "lines", []string{`0:1-1@0 "{\"a\":1}"`, `1:3-3@9 "{\"b"`}},
		{"json array", JSON{}, " [1, {\"a\": 2}]", "array", []string{`0:0-0@2 "1"`, `1:0-0@5 "{\"a\": 2}" [2]`}},
		{"json objects", JSON{}, "{\n\"a\": 1}{\"b\": \"}\"}\n", "objects", []string{`0:0-0@0 "{\n\"a\": 1}"`, `1:0-0@9 "{\"b\": \"}\"}"`}},
		{"tidy", JSON{Tidy: true}, "{}\n{}\n", "tidy lines", []string{`0:1-1@0 "{}"`, `1:2-2@3 "{}"`}},
		{"not tidy", JSON{Tidy: true}, "{}\n\n{}\n", "lines", []string{`0:1-1@0 "{}"`, `1:3-3@4 "{}"`}},
		{"a broken first line", JSON{}, "{\"a\": \"x\n{\"a\": 1}\n", "lines", []string{`0:1-1@0 "{\"a\": \"x"`, `1:2-2@9 "{\"a\": 1}"`}},
		{"csv", CSV{}, "a,b\r\n1,\"x,\"\"y\r\nz\"\r\n\r\n2\n3,\"q\"r\n4,5,6\n\xff,\"\"", `["a","b"]`, []string{
			`0:2-3@5 "1,\"x,\"\"y\r\nz\"" [1] [x,"y` + "\r\n" + `z]`, `1:5-5@21 "2" [2] !b 1 fields where 2 are expected`,
			`2:6-6@23 "3,\"q\"r" [3] [q] !b text after a closing quote`, `3:7-7@30 "4,5,6" [4] [5] [6] !3 fields where 2 are expected`,
			`4:8-8@36 "\xff,\"\"" [` + "\xff" + `] [] !a invalid UTF-8`,
		}},
		{"tsv", TSV{Columns: []string{"b", "a"}, Header: true}, "a\tb\n\"1\t2\n3\n", `["a","b"]`, []string{`0:2-2@4 "\"1\t2" ["1] [2]`, `1:3-3@9 "3" [3] !b 1 columns where 2 are expected`}},
	} {
		got, mode, err := walked(t, c.layout, source(c.name, c.text))
		want := c.want
		for i := range want { // faults without a field have a blank for it
			want[i] = strings.Replace(want[i], " !3 fields", " ! 3 fields", 1)
		}
		if err != nil || mode != c.mode || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: mode %s, %v\ngot  %q\nwant %q", c.name, mode, err, got, want)
		}
	}
}

func TestLayoutsRefuse(t *testing.T) {
	for _, c := range []struct {
		name         string
		layout       Layout
		text         string
		line, offset int64
		field        string
	}{
		{"empty", Lines{}, "", 0, -1, ""},
		{"UTF-16", JSON{}, "\xff\xfea\x00", 1, 0, ""},
		{"blank JSON", JSON{}, " \n ", 0, -1, ""},
		{"cut array", JSON{}, "[{}, {\"a", 1, 8, ""},
		{"cut objects", JSON{}, "{\n}{\n\"a\": 1", 3, 11, ""},
		{"no object", JSON{}, "{\n} 5", 2, 4, ""},
		{"open quote", CSV{}, "a,b\n1,2\n3,\"x\n4,5\n", 3, 8, "b"},
		{"no column", CSV{Want: []string{"a", "c"}}, "a,b\n", 1, 0, "c"},
		{"no column", TSV{Columns: []string{"a", "c"}, Header: true}, "a\tb\n", 1, 0, "c"},
	} {
		_, _, err := walked(t, c.layout, source("f", c.text))
		var d *pipeline.RefusedError
		if !errors.As(corpus.Refused("f", err), &d) || d.File != "f" || d.Line != c.line || d.Offset != c.offset || d.Field != c.field {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// pairs are rows whose key is a member.
func pairs(layout Layout) *Records[string, corpus.None] {
	return &Records[string, corpus.None]{
		Corpus: "c", Task: "t", Layout: layout, KeyField: "id", Rows: ByMember("id"),
		Decoder: func(*corpus.Source) func(*Element, *Out[string, corpus.None]) {
			var id, text string
			o := NewObject(Filled("id", &id), Text("text", &text))
			return func(el *Element, out *Out[string, corpus.None]) {
				if f := o.Read(el.Bytes); f.Bad() {
					out.Dead(f)
					return
				}
				out.Row(id, text, corpus.None{})
			}
		},
	}
}

func TestTwins(t *testing.T) {
	// The first of equal keys that can be kept is kept, whatever its spelling.
	text := `{"id": "a"}` + "\n" + `{"id": "a", "text": "kept"}` + "\n" + `{"id": "b", "text": "x"}` + "\n" + `{"id": "\u0061", "text": "twin"}` + "\n"
	for _, mean := range []int{1, 2, 100} {
		f, src := pairs(JSON{}), source("f.jsonl", text)
		list, err := f.Plan(t.Context(), src, mean)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, sl := range list {
			for rec, err := range f.Read(t.Context(), src, sl.Of) {
				if err != nil {
					t.Fatal(err)
				}
				if rec.Dead != nil {
					got = append(got, fmt.Sprintf("%d %s %s", *rec.Dead.Line, rec.Dead.Field, rec.Dead.Reason))
				} else {
					got = append(got, fmt.Sprintf("%d %s %s", rec.Row.N, rec.Row.ID, rec.Row.Fields))
				}
			}
		}
		want := []string{"1 text missing field", "1 c/t/all/a kept", "2 c/t/all/b x", "4 id duplicate key"}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("mean %d: %q", mean, got)
		}
	}
}

// TestSpansShareNothing reads a file whose columns are in another order than
// those of the layout, which other readers use at the same time.
func TestSpansShareNothing(t *testing.T) {
	columns := []string{"b", "a"}
	src := source("f", "a\tb\n1\t2\n")
	w := TSV{Columns: columns, Header: true}.Walk(src, &Span{From: 4, To: 8, Line: 2, Mode: `["a","b"]`})
	if el := w.Next(); el == nil || string(el.Column("a")) != "1" {
		t.Errorf("%v, %v", el, w.Err())
	}
	if columns[0] != "b" || columns[1] != "a" {
		t.Errorf("the layout has become %q", columns)
	}
}

func TestSlicesAreKeptByWhatTheyHold(t *testing.T) {
	var lines []string
	for i := range 400 {
		lines = append(lines, fmt.Sprintf(`{"id": "%03d", "text": "row"}`, i))
	}
	ids := func(lines []string) (out []string) {
		list, err := pairs(JSON{}).Plan(t.Context(), source("f", strings.Join(lines, "\n")), 40)
		if err != nil {
			t.Fatal(err)
		}
		for _, sl := range list {
			out = append(out, sl.ID)
		}
		return out
	}
	before := ids(lines)
	if len(before) < 4 {
		t.Fatalf("%d slices", len(before))
	}
	changed := func(after []string) (n int) {
		for i := range before {
			if i >= len(after) || after[i] != before[i] {
				n++
			}
		}
		return n
	}
	lines[200] = strings.Replace(lines[200], "row", "ROW", 1)
	if n := changed(ids(lines)); n != 1 {
		t.Errorf("an edit of equal length changes %d slices", n)
	}
	lines[200] = strings.Replace(lines[200], "ROW", "longer", 1)
	if n := changed(ids(lines)); n < 2 || n == len(before) {
		t.Errorf("a longer row changes %d of %d slices", n, len(before))
	}
}

func TestObject(t *testing.T) {
	var (
		text, filled, digits string
		maybe                *string
		n                    int64
		yes                  bool
		list                 []string
		raw                  []byte
		inner                *string
	)
	o := NewObject(
		Text("text", &text), Filled("filled", &filled), Digits("digits", &digits), Integer("n", &n), Bool("yes", &yes), Texts("list", &list),
		OptionalText("maybe", &maybe), OptionalValue("raw", &raw), Nested("in", false, NewObject(OptionalText("inner", &inner))),
	)
	const good = `{"text": "", "filled": "f", "digits": 123456789012345678901, "n": -3, "yes": true, "list": ["a", ""], "maybe": null, "raw": {"x": [1]}, "in": {"inner": "i"}, "more": [{}]}`
	if f := o.Read([]byte(good)); f.Bad() || filled != "f" || digits != "123456789012345678901" || n != -3 || !yes || !reflect.DeepEqual(list, []string{"a", ""}) || maybe != nil || string(raw) != `{"x": [1]}` || *inner != "i" {
		t.Errorf("%+v %q %q %d %v %q %v %s", f, filled, digits, n, yes, list, maybe, raw)
	}
	for _, c := range []struct{ old, new, field, reason string }{
		{`"text": ""`, `"text": 1`, "text", "number where text is expected"},
		{`"text": "", `, ``, "text", Missing},
		{`"filled": "f"`, `"filled": ""`, "filled", Empty},
		{`-3`, `3.0`, "n", NoInteger},
		{`-3`, `9223372036854775808`, "n", TooBig},
		{`true`, `"true"`, "yes", "text where a truth value is expected"},
		{`["a", ""]`, `["a", 1]`, "list", "number where text is expected"},
		{`["a", ""]`, `{}`, "list", "object where an array is expected"},
		{`null`, `[]`, "maybe", "array where text is expected"},
		{`"i"`, `5`, "inner", "number where text is expected"},
		{`{"inner": "i"}`, `5`, "in", "number where an object is expected"},
		{`-3`, `NaN`, "n", "not JSON"},
		{`[{}]`, `[{}`, "more", "not JSON"},
	} {
		f := o.Read([]byte(strings.Replace(good, c.old, c.new, 1)))
		if f.Field != c.field || f.Reason != c.reason {
			t.Errorf("%s for %s: %s, %s", c.new, c.old, f.Field, f.Reason)
		}
	}
	for in, reason := range map[string]string{"5": "number where an object is expected", "": "not JSON", good + " x": "data after the value"} {
		if f := o.Read([]byte(in)); f.Reason != reason {
			t.Errorf("%.20s: %s", in, f.Reason)
		}
	}
}

func TestSplitOfName(t *testing.T) {
	for name, want := range map[string]string{
		"film/dev.json": "dev", "v2_OpenEnded_mscoco_train2014_questions.json": "train2014", "x/translated_train.tsv": "train", "dev_2k.tsv": "dev",
		"testdev_balanced_questions.json": "testdev", "snli_ve_test.jsonl.gz": "test", "test1.json": "test1", "latest.json": "all", "trainer.json": "all", "val_label.txt": "val", "questions.json": "all",
	} {
		if got := SplitOfName(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestJoinedLines(t *testing.T) {
	var got []string
	if err := JoinedLines(source("j", "\xef\xbb\xbfa\r\n\nb"), func(l string) { got = append(got, l) }); err != nil || !reflect.DeepEqual(got, []string{"a", "", "b"}) {
		t.Errorf("%q, %v", got, err)
	}
	var d *pipeline.RefusedError
	if err := JoinedLines(source("j", "a\n\xff\n"), func(string) {}); !errors.As(err, &d) || d.Line != 2 || d.Offset != 2 {
		t.Errorf("%v", err)
	}
	if !bytes.Equal(KeyOf([]byte(`{"k": "\u0061"}`), "k"), []byte("a")) {
		t.Error("a key with an escape")
	}
}

func TestEmptyLinesAreElements(t *testing.T) {
	// Also where a slice ends with one, or has nothing else.
	f := &Records[string, corpus.None]{
		Corpus: "c", Task: "t", Layout: Lines{},
		Decoder: func(*corpus.Source) func(*Element, *Out[string, corpus.None]) {
			return func(el *Element, out *Out[string, corpus.None]) { out.Row("", string(el.Bytes), corpus.None{}) }
		},
	}
	for _, mean := range []int{1, 2, 100} {
		src := source("f", "a\n\n\nb\n\n")
		list, err := f.Plan(t.Context(), src, mean)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, sl := range list {
			for rec, err := range f.Read(t.Context(), src, sl.Of) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, fmt.Sprintf("%d %d %s", rec.Row.N, *rec.Row.Line, rec.Row.Fields))
			}
		}
		if want := []string{"0 1 a", "1 2 ", "2 3 ", "3 4 b", "4 5 "}; !reflect.DeepEqual(got, want) {
			t.Errorf("mean %d: %q", mean, got)
		}
	}
}
