package table

import (
	"fmt"
	"strings"
	"testing"

	"espalier/preprocess/corpus"
	"espalier/preprocess/corpus/corpustest"
)

type fields struct {
	Text string `json:"text"`
}

type meta struct {
	ID string `json:"id"`
}

func reviews() *Table[fields, meta] {
	return &Table[fields, meta]{
		Corpus: "c", Task: "t", Text: []string{"text"}, Set: func(f *fields, v []string) { f.Text = v[0] },
		Meta: []string{"id"}, SetMeta: func(m *meta, v []string) { m.ID = v[0] },
		Label: "label", Labels: Classes("bad", "good"), Key: "id", CR: true,
		Bare: [][]string{{"id", "label", "text"}, {"text", "id"}},
	}
}

// read shows what becomes of a file: rows, then dead letters.
func read(t testing.TB, text string, mean int) string {
	t.Helper()
	rows, dead, err := corpustest.With(reviews().Format())(t, corpustest.Bytes("x.tsv", []byte(text)), mean)
	if err != nil {
		return err.Error()
	}
	var out []string
	for _, r := range rows {
		out = append(out, fmt.Sprintf("%v@%v %v %q %v %v", r["n"], r["line"], r["key"], r["fields"].(map[string]any)["text"], r["label"], r["label_id"]))
	}
	for _, d := range dead {
		out = append(out, fmt.Sprintf("%d@%d+%d %s: %s %q", *d.N, *d.Line, *d.Offset, d.Field, d.Reason, d.Raw))
	}
	return strings.Join(out, "\n")
}

func TestTable(t *testing.T) {
	for what, c := range map[string]struct{ in, want string }{
		"columns in any order": {"label\tx\tid\ttext\n1\t?\ta\tone\nbad\t?\tb\t\"two\n", "0@2 a \"one\" good 1\n1@3 b \"\\\"two\" bad 0"},
		"no label column":      {"id\ttext\na\tone\n", "0@2 a \"one\" <nil> -1"},
		"no label":             {"id\ttext\tlabel\na\tone\t-1\n", "0@2 a \"one\" <nil> -1"},
		"lines ended by CR":    {"id\ttext\tlabel\ra\tone\t0\r\rb\ttwo\t1", "0@2 a \"one\" bad 0\n1@4 b \"two\" good 1"},
		"keys that occur twice": {
			"id\ttext\tlabel\na\tone\t0\na\ttwo\t0\nb\tx\t7\nb\tthree\t1\n\tfour\t1\n",
			"0@2 a \"one\" bad 0\n3@5 b \"three\" good 1\n1@3+22 id: duplicate key \"a\\ttwo\\t0\"\n2@4+30 label: unknown label \"b\\tx\\t7\"\n4@6+46 id: empty text \"\\tfour\\t1\"",
		},
		"widths": {
			"id\ttext\tlabel\na\nb\tx\ny\tz\t1\tw\nc\td\te\tf\n",
			"0@2+14 text: 1 columns where 3 are expected \"a\"\n1@3+16 label: 2 columns where 3 are expected \"b\\tx\"\n2@4+20 : 4 columns where 3 are expected \"y\\tz\\t1\\tw\"\n3@5+28 label: 4 columns where 3 are expected \"c\\td\\te\\tf\"",
		},
		"no header, three columns": {"a\t1\tone\nb\t0\n", "0@1 a \"one\" good 1\n1@2+8 text: 2 columns where 3 are expected \"b\\t0\""},
		"no header, two columns":   {"one\ta\ntwo\tb\n", "0@1 a \"one\" <nil> -1\n1@2 b \"two\" <nil> -1"},
		"no header known":          {"a\tb\tc\td\n", "x.tsv:1: text: missing column in header"},
		"nothing":                  {"", "x.tsv: empty file"},
		"header only":              {"id\ttext\tlabel\n", ""},
		"UTF-16":                   {"\xff\xfei\x00d\x00", "x.tsv:1: UTF-16 byte order mark (byte 0)"},
	} {
		for _, mean := range []int{1, 2, corpus.SliceRows} {
			if got := read(t, c.in, mean); got != c.want {
				t.Errorf("%s, slices of %d:\n%s\nwant\n%s", what, mean, got, c.want)
			}
		}
	}
}

func TestDeclaredEncoding(t *testing.T) {
	src := corpustest.Bytes("x.tsv", []byte("id\ttext\tlabel\na\tcaf\xe9\t1\n"))
	src.Encoding = "latin-1"
	rows, dead, err := corpustest.With(reviews().Format())(t, src, 1)
	if err != nil || len(dead) != 0 || rows[0]["fields"].(map[string]any)["text"] != "café" {
		t.Errorf("%v, %v, %v", rows, dead, err)
	}
}

func TestLabels(t *testing.T) {
	for _, c := range []struct {
		l        *Labels
		in, want string
	}{
		{Classes("a", "b"), "b", "b 1"},
		{Classes("a", "b"), " 0", "a 0"},
		{Classes("a", "b"), "+1", "b 1"},
		{Classes("a", "b"), "-1", "none -1"},
		{Classes("a", "b"), "-2", "unknown label"},
		{Classes("a", "b"), "1.0", "unknown label"},
		{Classes("a", "b"), "", "empty label"},
		{Classes("a", "b"), "A", "unknown label"},
		{Classes("a", "b").Or("-"), "-", "none -1"},
		{Numbers(0, 5), "5", "5.0"},
		{Numbers(0, 5), "3.800", "3.8"},
		{Numbers(0, 5), "5.2", "number out of range"},
		{Numbers(0, 5), "nan", "number expected"},
		{Numbers(0, 5), "0x1p2", "number expected"},
		{Numbers(0, 5), "1e-5", "1e-05"},
		{Texts(), "", ""},
		{Texts(), "x", "x"},
	} {
		v, got := c.l.Parse([]byte(c.in))
		if got == "" {
			got = "none"
			if v.Text != nil {
				got = *v.Text
			}
			if v.ID != nil {
				got += fmt.Sprintf(" %d", *v.ID)
			}
		}
		if got != c.want {
			t.Errorf("label %q is %q, want %q", c.in, got, c.want)
		}
	}
}

func TestNumber(t *testing.T) {
	for x, want := range map[float64]string{0: "0.0", 5: "5.0", 3.8: "3.8", 0.0001: "0.0001", 0.00001: "1e-05", 1e15: "1000000000000000.0", 1e16: "1e+16", -2.5: "-2.5"} {
		if got := Number(x); got != want {
			t.Errorf("%v is written %s, want %s", x, got, want)
		}
	}
}

func FuzzTable(f *testing.F) {
	f.Add([]byte("id\ttext\tlabel\na\tone\t0\r\nb\t\xff\t1\r\r\nc\n\n"))
	f.Add([]byte("a\t1\tone\nb\t0\n"))
	f.Add([]byte("\xef\xbb\xbfid\ttext\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		whole := read(t, string(b), corpus.SliceRows)
		if got := read(t, string(b), 1); got != whole {
			t.Errorf("slices of one row differ:\n%s\nwant\n%s", got, whole)
		}
	})
}
