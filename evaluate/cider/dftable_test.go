package cider

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"espalier/evaluate/ngram"
	"espalier/pipeline/shard"
)

const small = `{"ref_len": 7, "document_frequency": {"a": 2, "dog": 1, "a dog": 1, "a café": 2, "7 0": 1}}`

// One table in all its forms scores alike. The pickles in testdata are
// {"ref_len": 7, "document_frequency": defaultdict(float, {("a",): 2.0, ...})}
// of Python 3.11 in three protocols.
func TestTablesInAllForms(t *testing.T) {
	type row struct {
		NGram string  `parquet:"ngram"`
		Count float64 `parquet:"count"`
	}
	var table bytes.Buffer
	w, err := shard.NewWriter[row](&table, shard.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write([]row{{"", 7}, {"a", 2}, {"dog", 1}, {"a dog", 1}, {"a café", 2}, {"7 0", 1}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	forms := map[string][]byte{"json": []byte(small), "parquet": table.Bytes()}
	files, err := filepath.Glob("testdata/df.*.p")
	if err != nil || len(files) != 3 {
		t.Fatalf("%q, %v", files, err)
	}
	for _, f := range files {
		if forms[f], err = os.ReadFile(f); err != nil {
			t.Fatal(err)
		}
	}
	for name, b := range forms {
		var words ngram.Words
		df, err := OpenDF(&words, bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if df.Images() != 7 || df.Grams() != 6 { // 7 stands only in a longer one
			t.Errorf("%s: %d images, %d n-grams", name, df.Images(), df.Grams())
		}
		s := NewScorer(df, Options{})
		// Orders 1 and 2 are equal vectors of weight: (1 + 1 + 0 + 0)/4 * 10.
		if got := s.Score(words.Fields(nil, "a dog"), [][]uint32{words.Fields(nil, "a dog")}); !near(got, 5) {
			t.Errorf("%s: %v, want 5", name, got)
		}
	}
}

func TestTablesThatAreNone(t *testing.T) {
	calls, err := os.ReadFile("testdata/calls.p")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ in, want string }{
		{string(calls), "refused"},
		{"hello", "neither JSON"},
		{"", "neither JSON"},
		{"\x80\x02K\x01.", "want a dict"},
		{"\x80\x02}q\x00.", "document_frequency"},
	} {
		var words ngram.Words
		if _, err := OpenDF(&words, strings.NewReader(c.in), int64(len(c.in))); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.20q: %v, want %q", c.in, err, c.want)
		}
	}
}

func FuzzOpenDF(f *testing.F) {
	f.Add([]byte(small))
	f.Add([]byte("\x80\x02}q\x00."))
	f.Fuzz(func(t *testing.T, b []byte) {
		var words ngram.Words
		if df, err := OpenDF(&words, bytes.NewReader(b), int64(len(b))); err == nil && df.Images() < 1 {
			t.Error("a table without images")
		}
	})
}
