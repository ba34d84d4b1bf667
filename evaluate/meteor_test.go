package evaluate

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"espalier/evaluate/captiontest"
)

// METEOR of real captions, with all of its tables.
func TestMETEOR(t *testing.T) {
	dir := os.Getenv("ESPALIER_METEOR")
	if dir == "" {
		t.Skip("ESPALIER_METEOR names no folder")
	}
	for _, name := range captiontest.Names {
		c := captiontest.Shared(t, name)
		var preds []string
		var refs [][]string
		for _, im := range c.Scored() {
			preds, refs = append(preds, im.Hyp), append(refs, im.Refs)
		}
		res := scorePairs(t, []string{"meteor:tok=none"}, preds, refs, Request{MeteorData: dir})
		if got := res.Values[0].Value; math.Abs(got-c.Corpus.METEOR) > 1e-14 {
			t.Errorf("%s: %v, want %v", name, got, c.Corpus.METEOR)
		}
		for i, want := range c.PerImage {
			if got := res.Each[i][0]; math.Abs(got-want.METEOR) > 1e-14 {
				t.Errorf("%s, image %d: %v, want %v", name, i, got, want.METEOR)
			}
		}
	}
}

// The original with the small tables of evaluate/meteor gives these, to the last
// bit.
func TestMETEOROfSmallTables(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("meteor", "testdata", "tables"))); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "paraphrases.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "paraphrase-en.gz"), packed.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	t.Setenv("ESPALIER_CACHE", t.TempDir())
	b, err := os.ReadFile(filepath.Join("meteor", "testdata", "corpus.json"))
	if err != nil {
		t.Fatal(err)
	}
	var want struct {
		Score  float64
		Images []struct {
			Hyp   string
			Refs  []string
			Score float64
		}
	}
	if err := json.Unmarshal(b, &want); err != nil {
		t.Fatal(err)
	}
	var preds []string
	var refs [][]string
	for _, im := range want.Images {
		preds, refs = append(preds, im.Hyp), append(refs, im.Refs)
	}
	for range 2 { // without an index, with one
		res := scorePairs(t, []string{"meteor:tok=none"}, preds, refs, Request{MeteorData: dir})
		if got := res.Values[0].Value; got != want.Score {
			t.Errorf("all %v, want %v", got, want.Score)
		}
		for i, im := range want.Images {
			if got := res.Each[i][0]; got != im.Score {
				t.Errorf("image %d %v, want %v", i, got, im.Score)
			}
		}
	}
}

// Without tables two modules run, and the variant says so.
func TestMETEORAlone(t *testing.T) {
	res := scorePairs(t, []string{"meteor:tok=none"}, []string{"the cats sat", "a dog"}, [][]string{{"nothing", "the cat sat"}, {"a dog"}}, Request{})
	v := res.Values[0]
	if v.Variant != "meteor[exact,stem]|1.5|tok:none" || res.Each[1][0] != 1 {
		t.Errorf("%+v, second %v", v, res.Each[1][0])
	}
	// Weighted matches 2 of exact and .6 of stem in 3 words; one chunk of 3.
	p := 2.6 / 3
	if got, want := res.Each[0][0], p; math.Abs(got-want) > 1e-14 {
		t.Errorf("first %v, want %v", got, want)
	}
}
