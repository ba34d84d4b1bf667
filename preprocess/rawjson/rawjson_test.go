package rawjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// render reads one value with every method of the parser and writes it down in
// a plain form.
func render(in string) (string, *SyntaxError) {
	var p Parser
	var b strings.Builder
	var value func()
	value = func() {
		switch k := p.Kind(); k {
		case Object:
			p.Begin(Object)
			b.WriteByte('{')
			for name, ok := p.Member(); ok; name, ok = p.Member() {
				fmt.Fprintf(&b, "%q:", name)
				value()
				b.WriteByte(';')
			}
			b.WriteByte('}')
		case Array:
			p.Begin(Array)
			b.WriteByte('[')
			for p.Item() {
				value()
				b.WriteByte(';')
			}
			b.WriteByte(']')
		case Text:
			t, _ := p.Text()
			fmt.Fprintf(&b, "%q", t)
		case Number:
			n, _ := p.Number()
			b.Write(n)
		case Bool:
			v, _ := p.Bool()
			fmt.Fprint(&b, v)
		default:
			p.Skip()
			b.WriteString("-")
		}
	}
	p.Reset([]byte(in))
	value()
	p.End()
	if err := p.Err(); err != nil {
		return "", err
	}
	return b.String(), nil
}

func TestParser(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`{}`, `{}`},
		{` [ ] `, `[]`},
		{`{"a":1,"b":[true,false,null,"x"],"a":{"c":-0.5e+3}}`, `{"a":1;"b":[true;false;-;"x";];"a":{"c":-0.5e+3;};}`},
		{`"tab\t nl\n nul\u0000 \ud83d\ude00 \/"`, "\"tab\\t nl\\n nul\\x00 😀 /\""},
		{"\"\u2028 \u0085 é\"", `"\u2028 \u0085 é"`},
		{`{"\u0061b":0}`, `{"ab":0;}`},
		{`100000000000000000000000`, `100000000000000000000000`},
		{`"\\"`, `"\\"`},
	} {
		got, err := render(c.in)
		if err != nil || got != c.want {
			t.Errorf("%s: got %s, %v, want %s", c.in, got, err, c.want)
		}
	}
}

func TestParserRefuses(t *testing.T) {
	deep := strings.Repeat("[", 100000) + strings.Repeat("]", 100000)
	for _, c := range []struct {
		in     string
		offset int64
		reason string
	}{
		{``, 0, "JSON ends early"},
		{`{"a":1,}`, 7, "not JSON"},
		{`[1,]`, 3, "not JSON"},
		{`[1 2]`, 3, "not JSON"},
		{`{"a" 1}`, 5, "not JSON"},
		{`{a:1}`, 1, "not JSON"},
		{`[NaN]`, 1, "not JSON"},
		{`[-Infinity]`, 1, "not JSON"},
		{`[01]`, 2, "not JSON"},
		{`[1.]`, 1, "not JSON"},
		{`[.5]`, 1, "not JSON"},
		{`[1e]`, 1, "not JSON"},
		{`[+1]`, 1, "not JSON"},
		{`[nul]`, 1, "not JSON"},
		{`[TRUE]`, 1, "not JSON"},
		{`'a'`, 0, "not JSON"},
		{"\"a\tb\"", 2, "control character in text"},
		{"\"\\t\x01\"", 3, "control character in text"},
		{"\"ab\xff\"", 3, "invalid UTF-8"},
		{"\"\\n\xed\xa0\x80\"", 3, "invalid UTF-8"},
		{`"\ud800"`, 1, "lone surrogate in text"},
		{`"x\udc00\ud800"`, 2, "lone surrogate in text"},
		{`"\ud800\u0041"`, 1, "lone surrogate in text"},
		{`"\x41"`, 1, "unknown escape in text"},
		{`"\u12g4"`, 1, "unknown escape in text"},
		{`"abc`, 4, "JSON ends early"},
		{`"abc\`, 5, "JSON ends early"},
		{`{"a":[1,{"b"`, 12, "JSON ends early"},
		{`{} {}`, 3, "data after the value"},
		{`[1}`, 2, "not JSON"},
		{deep, maxDepth, "nested too deep"},
		{"\xef\xbb\xbf{}", 0, "not JSON"},
	} {
		var p Parser
		p.Reset([]byte(c.in))
		p.Skip()
		p.End()
		for name, err := range map[string]*SyntaxError{"Skip": p.Err(), "pull": pulled(c.in)} {
			if err == nil || err.Offset != c.offset || err.Reason != c.reason {
				t.Errorf("%s of %.40q: got %v, want %s at byte %d", name, c.in, err, c.reason, c.offset)
			}
		}
	}
}

func pulled(in string) *SyntaxError {
	_, err := render(in)
	return err
}

func TestParserMismatch(t *testing.T) {
	var p Parser
	p.Reset([]byte(`{"a":5,"b":[1,{"c":2}],"c":null,"d":"x"}`))
	p.Begin(Object)
	var got []string
	for name, ok := p.Member(); ok; name, ok = p.Member() {
		_, k := p.Text()
		got = append(got, string(name)+" "+Mismatch(k, Text))
	}
	p.End()
	if p.Err() != nil {
		t.Fatal(p.Err())
	}
	want := "a number where text is expected,b array where text is expected,c null where text is expected,d text where text is expected"
	if s := strings.Join(got, ","); s != want {
		t.Errorf("got %s", s)
	}
}

func TestInteger(t *testing.T) {
	for _, c := range []struct {
		in string
		v  int64
		ok bool
	}{{"0", 0, true}, {"-12", -12, true}, {"9007199254740993", 9007199254740993, true}, {"9223372036854775808", 0, false}, {"22.0", 0, false}, {"1e3", 0, false}, {"", 0, false}} {
		v, ok := Integer([]byte(c.in))
		if ok != c.ok || ok && v != c.v {
			t.Errorf("Integer(%s) = %d, %t", c.in, v, ok)
		}
	}
}

// scan returns the elements as "array[index]@offset=bytes".
func scan(s *Scanner) (out []string, err error) {
	for e := s.Next(); e != nil; e = s.Next() {
		out = append(out, fmt.Sprintf("%s[%d]@%d=%s", e.Array, e.Index, e.Offset, e.Bytes))
	}
	return out, s.Err()
}

func TestScanner(t *testing.T) {
	doc := "\xef\xbb\xbf {\"info\": {\"a\": [1]}, \"skip\":[[],\"]\",3], \"images\" : [ {\"id\":1, \"t\":\"a\\\"]}\"} ,7,\n null,{\"x\":NaN},[{}] ],\n\"annotations\":[],\"z\":1}\n"
	s := NewScanner(strings.NewReader(doc), int64(len(doc)), "images", "annotations")
	got, err := scan(s)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for i, e := range []string{`{"id":1, "t":"a\"]}"}`, `7`, `null`, `{"x":NaN}`, `[{}]`} {
		want = append(want, fmt.Sprintf("images[%d]@%d=%s", i, strings.Index(doc, e), e))
	}
	want[1] = fmt.Sprintf("images[1]@%d=7", strings.Index(doc, ",7,")+1)
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	// A section gives the same elements at the same places.
	from, to := int64(strings.Index(doc, "7,\n")), int64(strings.Index(doc, "[{}]")+4)
	got, err = scan(NewSection(strings.NewReader(doc), from, to, "images", 1))
	if err != nil || strings.Join(got, "\n") != strings.Join(want[1:], "\n") {
		t.Errorf("section: got\n%s\n%v", strings.Join(got, "\n"), err)
	}
	got, err = scan(NewSection(strings.NewReader(doc), from, from+1, "images", 1))
	if err != nil || len(got) != 1 || got[0] != want[1] {
		t.Errorf("section of one number: got %s, %v", got, err)
	}
}

func TestScannerFields(t *testing.T) {
	doc := `[{"id":1,"c":{"id":2},"\u0069d":3,"t":"\"id\":4"},{"id":1 "x":2},{}]`
	s := NewScanner(strings.NewReader(doc), int64(len(doc)))
	e := s.Next()
	if got := string(e.Field("id")); got != "3" {
		t.Errorf("the last of repeated names: got %s, want 3", got)
	}
	if got := string(e.Field("c")); got != `{"id":2}` {
		t.Errorf("c: got %s", got)
	}
	if e.Field("none") != nil {
		t.Error("a field that is not there")
	}
	if e = s.Next(); string(e.Bytes) != `{"id":1 "x":2}` || string(e.Field("id")) != "1" {
		t.Errorf("broken element: got %s", e.Bytes)
	}
	if e = s.Next(); string(e.Bytes) != `{}` || len(e.Fields) != 0 {
		t.Errorf("empty object: got %s with %d fields", e.Bytes, len(e.Fields))
	}
	if s.Next() != nil || s.Err() != nil {
		t.Error(s.Err())
	}
}

func TestScannerRefuses(t *testing.T) {
	for _, c := range []struct {
		in     string
		want   []string
		line   int64
		offset int64
		field  string
		reason string
	}{
		{`{"images": [{"id": 1}], "annotations": [{"id": 1, "image_id": 1, "caption": "a"}, {"id"`, []string{"images", "annotations"}, 1, 87, "", "JSON ends early"},
		{`[{"content": "a#b", "summary": "x"}, {"content": "c#d", "summ`, nil, 1, 61, "", "JSON ends early"},
		{"[{\"content\": \"a#b\", \"summary\": \"x\"}]\nEOF\n", nil, 2, 37, "", "data after the document"},
		{`{"images": []} {`, []string{"images"}, 1, 15, "", "data after the document"},
		{`{"data": [{"content": "a#b"}]}`, []string{"content"}, 1, 0, "content", "missing field"},
		{`{"images": 5}`, []string{"images"}, 1, 11, "images", "number where an array is expected"},
		{`{"images": [], "images": []}`, []string{"images"}, 1, 15, "images", "repeated field"},
		{`[]`, []string{"images"}, 1, 0, "", "array where an object is expected"},
		{`{}`, nil, 1, 0, "", "object where an array is expected"},
		{``, []string{"images"}, 1, 0, "", "no JSON in the file"},
		{"{\n\"a\": NaN,\n\"images\": []}", []string{"images"}, 2, 7, "", "not JSON"},
		{`{"a": {"b": 01}, "images": []}`, []string{"images"}, 1, 13, "a", "not JSON"},
		{`{"images": [1,,2]}`, []string{"images"}, 1, 14, "", "not JSON"},
		{`{"images": [1,]}`, []string{"images"}, 1, 14, "", "not JSON"},
		{`{"images": [{} {}]}`, []string{"images"}, 1, 15, "", "not JSON"},
		{`{"images": [] "b": 1}`, []string{"images"}, 1, 14, "", "not JSON"},
		{`{"images": [],}`, []string{"images"}, 1, 14, "", "not JSON"},
		{`{"images": [{}`, []string{"images"}, 1, 14, "", "JSON ends early"},
		{`{"images"`, []string{"images"}, 1, 9, "", "JSON ends early"},
		{"\xff\xfe[\x00", []string{"images"}, 1, 0, "", "not JSON"},
	} {
		s := NewScanner(strings.NewReader(c.in), int64(len(c.in)), c.want...)
		_, err := scan(s)
		var de *DocumentError
		if !errors.As(err, &de) {
			t.Errorf("%s: got %v, want %s", c.in, err, c.reason)
			continue
		}
		if want := (DocumentError{c.offset, c.line, c.field, c.reason}); *de != want {
			t.Errorf("%s: got %+v, want %+v", c.in, *de, want)
		}
	}
}

func TestScannerAcrossWindows(t *testing.T) {
	var b bytes.Buffer
	b.WriteString(`{"images": [`)
	var want []string
	for i := range 4000 {
		if i > 0 {
			b.WriteString(", ")
		}
		e := fmt.Sprintf(`{"id": %d, "t": "%s"}`, i, strings.Repeat(`x\"}`, i%700))
		if i == 2000 {
			e = fmt.Sprintf(`{"id": %d, "t": "%s"}`, i, strings.Repeat("y", 5<<20))
		}
		want = append(want, e)
		b.WriteString(e)
	}
	b.WriteString("]}")
	for _, n := range []int{997, 1 << 20} {
		s := NewScanner(bytes.NewReader(b.Bytes()), int64(b.Len()), "images")
		s.window = n
		i := 0
		for e := s.Next(); e != nil; e = s.Next() {
			if string(e.Bytes) != want[i] || e.Index != int64(i) || string(b.Bytes()[e.Offset:e.Offset+3]) != `{"i` {
				t.Fatalf("element %d differs", i)
			}
			i++
		}
		if s.Err() != nil || i != len(want) {
			t.Errorf("%d elements, %v", i, s.Err())
		}
	}
}

func FuzzParser(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5e-3,"x\u00e9\ud83d\ude00"],"b":null}`, `[[[]]]`, `"\ud800"`, "\"\xff\"", `{"a":1,}`, `-0`, `[true,false]`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		text, err := render(in)
		var p Parser
		p.Reset([]byte(in))
		p.Skip()
		p.End()
		if (p.Err() == nil) != (err == nil) {
			t.Fatalf("Skip and the pulled reading differ: %v, %v", p.Err(), err)
		}
		if err == nil && !json.Valid([]byte(in)) {
			t.Fatalf("accepted what is not JSON: %s", text)
		}
		plain := utf8.ValidString(in) && !strings.Contains(in, `\u`) && strings.Count(in, "[")+strings.Count(in, "{") < maxDepth
		if err != nil && plain && json.Valid([]byte(in)) {
			t.Fatalf("refused JSON: %v", err)
		}
	})
}

func FuzzScanner(f *testing.F) {
	for _, s := range []string{`{"images": [{"id": 1}, 2], "info": {}}`, `{"images":[{"a":"]"},null]}`, `{"images":[}`, "\xef\xbb\xbf{\"images\":[]}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		s := NewScanner(strings.NewReader(in), int64(len(in)), "images")
		s.window = 7
		var got [][]byte
		for e := s.Next(); e != nil; e = s.Next() {
			if e.Offset < 0 || e.Offset+int64(len(e.Bytes)) > int64(len(in)) || in[e.Offset:e.Offset+int64(len(e.Bytes))] != string(e.Bytes) {
				t.Fatalf("element %d does not lie at %d", e.Index, e.Offset)
			}
			got = append(got, bytes.Clone(e.Bytes))
		}
		var doc struct {
			Images []json.RawMessage `json:"images"`
		}
		// encoding/json matches names in any case, so ask it only for what is surely plain.
		if strings.Count(strings.ToLower(in), `images"`) == 1 && !strings.Contains(in, `\`) && s.Err() == nil && json.Unmarshal([]byte(in), &doc) == nil && doc.Images != nil {
			if len(got) != len(doc.Images) {
				t.Fatalf("%d elements, want %d", len(got), len(doc.Images))
			}
			for i := range got {
				if string(got[i]) != string(doc.Images[i]) {
					t.Fatalf("element %d: %s, want %s", i, got[i], doc.Images[i])
				}
			}
		}
	})
}

func benchDoc() []byte {
	var b bytes.Buffer
	b.WriteString(`{"images": [`)
	for i := range 4000 {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, `{"filepath": "train2014", "sentids": [%d, %d, %d, %d, %d], "filename": "COCO_train2014_%012d.jpg", "imgid": %d, "split": "train", "sentences": [`, 5*i, 5*i+1, 5*i+2, 5*i+3, 5*i+4, i, i)
		for k := range 5 {
			if k > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, `{"tokens": ["a", "man", "with", "a", "red", "helmet", "on", "a", "small", "moped"], "raw": "A man with a red helmet on a small moped.", "imgid": %d, "sentid": %d}`, i, 5*i+k)
		}
		fmt.Fprintf(&b, `], "cocoid": %d}`, 9+4*i)
	}
	b.WriteString(`], "dataset": "coco"}`)
	return b.Bytes()
}

func BenchmarkScan(b *testing.B) {
	doc := benchDoc()
	b.SetBytes(int64(len(doc)))
	for b.Loop() {
		s := NewScanner(bytes.NewReader(doc), int64(len(doc)), "images")
		n := 0
		for e := s.Next(); e != nil; e = s.Next() {
			n += len(e.Field("cocoid"))
		}
		if s.Err() != nil || n == 0 {
			b.Fatal(s.Err())
		}
	}
}

func BenchmarkParse(b *testing.B) {
	doc := benchDoc()
	var p Parser
	b.SetBytes(int64(len(doc)))
	for b.Loop() {
		p.Reset(doc)
		p.Skip()
		if p.End(); p.Err() != nil {
			b.Fatal(p.Err())
		}
	}
}

func TestSectionOfAMemberWithoutAValue(t *testing.T) {
	doc := `{"a": [{"x":}, {"y": 1}]}`
	s := NewScanner(strings.NewReader(doc), int64(len(doc)), "a")
	for el := s.Next(); el != nil; el = s.Next() {
		section := NewSection(strings.NewReader(doc), el.Offset, el.Offset+int64(len(el.Bytes)), "a", el.Index)
		if got := section.Next(); got == nil || string(got.Bytes) != string(el.Bytes) || section.Next() != nil || section.Err() != nil {
			t.Errorf("%s: section gives %v, %v", el.Bytes, got, section.Err())
		}
	}
	if s.Err() != nil {
		t.Error(s.Err())
	}
}

func TestMembers(t *testing.T) {
	doc := "\xef\xbb\xbf{ \"a\" : {\"x\": [1, \"}\"]}, \"b\\u0063\": 7 ,\"a\":null}\n"
	s := NewMembers(strings.NewReader(doc), int64(len(doc)))
	var got []string
	for el := s.Next(); el != nil; el = s.Next() {
		got = append(got, fmt.Sprintf("%d %s %s", el.Index, el.Name, el.Bytes))
		section := NewMemberSection(strings.NewReader(doc), el.From, el.Offset+int64(len(el.Bytes)), el.Index)
		if one := section.Next(); one == nil || string(one.Name) != string(el.Name) || string(one.Bytes) != string(el.Bytes) || one.Index != el.Index || section.Next() != nil || section.Err() != nil {
			t.Errorf("%s: section gives %v, %v", el.Name, one, section.Err())
		}
	}
	if want := []string{`0 a {"x": [1, "}"]}`, `1 b\u0063 7`, "2 a null"}; s.Err() != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, %v", got, s.Err())
	}
	for doc, offset := range map[string]int64{`{"a" 1}`: 5, `{"a": 1 "b": 2}`: 8, `{"a": }`: 6, `{a: 1}`: 1, `{"a": 1} x`: 9, `{"a": 1`: 7, `[1]`: 0, ` x`: 0} {
		s := NewMembers(strings.NewReader(doc), int64(len(doc)))
		for s.Next() != nil {
		}
		var d *DocumentError
		if !errors.As(s.Err(), &d) || d.Offset != offset {
			t.Errorf("%s: %v, want a fault at %d", doc, s.Err(), offset)
		}
	}
}

func TestKeep(t *testing.T) {
	doc := `{"a": "x", "list": [1], "b": {"c": 2}, "d": 3}`
	s := NewScanner(strings.NewReader(doc), int64(len(doc)), "list")
	s.Keep("a", "b", "e")
	for s.Next() != nil {
	}
	if s.Err() != nil || string(s.Kept("a")) != `"x"` || string(s.Kept("b")) != `{"c": 2}` || s.Kept("d") != nil || s.Kept("e") != nil {
		t.Errorf("kept %s, %s, %v", s.Kept("a"), s.Kept("b"), s.Err())
	}
}
