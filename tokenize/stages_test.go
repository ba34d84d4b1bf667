package tokenize

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"espalier/internal/shared"
	"espalier/pipeline"
	"espalier/pipeline/shard"
	"espalier/pipeline/store"
	"espalier/preprocess"
	"espalier/tokenize/tokens"
)

func run(t *testing.T, g pipeline.Graph) (*store.Store, *pipeline.Result, error) {
	t.Helper()
	s, err := store.Open(filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	res, err := pipeline.Run(t.Context(), g, pipeline.Options{Store: s})
	return s, res, err
}

func read(t *testing.T, s *store.Store, m *store.Manifest, name string) []byte {
	t.Helper()
	f, err := s.OpenFile(t.Context(), m, name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, f.Size())
	if _, err := f.ReadAt(b, 0); err != nil {
		t.Fatal(err)
	}
	return b
}

func tokenRows(t *testing.T, s *store.Store, m *store.Manifest, split string) (out []tokens.Row) {
	t.Helper()
	for _, e := range m.Shards(split) {
		b := read(t, s, m, e.Name)
		r, err := shard.Open[tokens.Row](bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatal(err)
		}
		for row, err := range r.All() {
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, row)
		}
	}
	return out
}

const karpathyDoc = `{"images": [
{"filepath":"train2014","filename":"a.jpg","imgid":0,"split":"train","cocoid":1,"sentids":[1,2],"sentences":[
 {"tokens":["a","dog","on","a","mat"],"raw":"A dog on a mat.","imgid":0,"sentid":1},
 {"tokens":[],"raw":"?","imgid":0,"sentid":2}]},
{"filepath":"val2014","filename":"b.jpg","imgid":1,"split":"restval","cocoid":2,"sentids":[3],"sentences":[
 {"tokens":["a","dog"],"raw":"A dog","imgid":1,"sentid":3}]},
{"filepath":"val2014","filename":"c.jpg","imgid":2,"split":"test","cocoid":3,"sentids":[4,5],"sentences":[
 {"tokens":["a","cat","and","dog","on","a","mat"],"raw":"A cat and dog on a mat!","imgid":2,"sentid":4},
 {"tokens":["mat"],"raw":"Mat","imgid":2,"sentid":5}]}], "dataset": "coco"}`

func graph(t *testing.T, train *Train, encode *Encode) pipeline.Graph {
	t.Helper()
	raw := filepath.Join(t.TempDir(), "dataset_coco.json")
	if err := os.WriteFile(raw, []byte(karpathyDoc), 0o666); err != nil {
		t.Fatal(err)
	}
	return pipeline.Graph{Nodes: []pipeline.Node{
		{Name: "raw", Stage: &pipeline.Files{Path: raw}},
		{Name: "examples", Stage: &preprocess.Ingest{Corpus: "coco/karpathy"}, Inputs: map[string]string{"raw": "raw"}},
		{Name: "vocab", Stage: train, Inputs: map[string]string{"examples": "examples"}},
		{Name: "tokens", Stage: encode, Inputs: map[string]string{"examples": "examples", "vocab": "vocab"}},
	}}
}

func TestTrainAndEncode(t *testing.T) {
	s, res, err := run(t, graph(t, &Train{Type: Word, MaxLen: 7}, &Encode{}))
	if err != nil {
		t.Fatal(err)
	}
	m := res.Node("vocab").Manifest
	if got, want := string(read(t, s, m, WordFile)), "<pad>\t0\n<unk>\t0\n<bos>\t0\n<eos>\t0\n▁a\t-0.847298\n▁dog\t-1.25276\n▁mat\t-1.94591\n▁on\t-1.94591\n"; got != want {
		t.Errorf("word.vocab is\n%s\nwant\n%s", got, want)
	}
	var v tokens.Vocab
	if err := json.Unmarshal(read(t, s, m, VocabFile), &v); err != nil {
		t.Fatal(err)
	}
	if want := (tokens.Vocab{Kind: Word, Size: 8, BOS: 2, EOS: 3, Unk: 1, MaxLen: 7}); v != want {
		t.Errorf("vocab.json: %+v, want %+v", v, want)
	}
	if m.Notes["captions"] != "3" || m.Notes["running_words"] != "7" || m.Notes["coverage"] != "1.000000" {
		t.Errorf("notes %v", m.Notes)
	}
	m = res.Node("tokens").Manifest
	want := []tokens.Row{
		{ID: "coco/caption/train/1", Task: "caption", Split: "train", N: 0, Target: []int32{2, 4, 5, 7, 4, 6, 3}, Image: "a"},
		{ID: "coco/caption/train/2", Task: "caption", Split: "train", N: 0, Target: []int32{2, 4, 5, 3}, Image: "b"},
	}
	got := tokenRows(t, s, m, "train")
	for i := range got {
		if len(got[i].Input) != 0 {
			t.Errorf("a caption with %d source ids", len(got[i].Input))
		}
		got[i].Input = nil
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("rows %+v\nwant %+v", got, want)
	}
	test := tokenRows(t, s, m, "test")
	if len(test) != 2 || test[1].N != 1 || !reflect.DeepEqual(test[0].Target, []int32{2, 4, 1, 1, 5, 7, 4}) {
		t.Errorf("rows of test %+v", test)
	}
	for name, want := range map[string]string{
		"captions": "5", "captions_without_words": "1", "unknown_words": "2 of 15 (13.333%)", "captions_cut": "1 of 5 (20.000%)", "lengths": `{"3":1,"4":1,"7":2}`,
	} {
		if m.Notes[name] != want {
			t.Errorf("note %s is %s, want %s", name, m.Notes[name], want)
		}
	}
}

func TestTrainOnReferences(t *testing.T) {
	s, res, err := run(t, graph(t, &Train{Base: 2, Field: References}, &Encode{Field: References, MergeUnknown: true}))
	if err != nil {
		t.Fatal(err)
	}
	m := res.Node("vocab").Manifest
	if m.Notes["digits"] != "3" || m.Notes["vocabulary_words"] != "4" {
		t.Errorf("notes %v", m.Notes)
	}
	var v tokens.Vocab
	if err := json.Unmarshal(read(t, s, m, VocabFile), &v); err != nil || v.MaxLen != 2+12*3 {
		t.Errorf("%+v, %v", v, err)
	}
	test := tokenRows(t, s, res.Node("tokens").Manifest, "test")
	// a, the unknown words merged, dog, on, a, mat: three digits each, BOS 3, EOS 4
	if want := []int32{3, 1, 1, 1, 2, 1, 1, 1, 1, 2, 1, 2, 2, 1, 1, 1, 1, 2, 1, 4}; !reflect.DeepEqual(test[0].Target, want) {
		t.Errorf("ids %v, want %v", test[0].Target, want)
	}
}

func TestTrainTakesPublishedWords(t *testing.T) {
	s, res, err := run(t, pipeline.Graph{Nodes: []pipeline.Node{
		{Name: "words", Stage: &pipeline.Files{Path: shared.Dir(t, "data", "acort-published", "ACORT-base", "tokenizer")}},
		{Name: "vocab", Stage: &Train{}, Inputs: map[string]string{"words": "words"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	m := res.Node("vocab").Manifest
	c, err := Load(bytes.NewReader(read(t, s, m, VocabFile)), bytes.NewReader(read(t, s, m, WordFile)))
	if err != nil {
		t.Fatal(err)
	}
	ids, _ := c.Append(nil, "a man riding a wave on a surfboard")
	if want := []int32{769, 1, 1, 1, 9, 1, 44, 1, 1, 1, 191, 1, 2, 1, 1, 1, 152, 770}; !reflect.DeepEqual(ids, want) {
		t.Errorf("ids %v, want %v", ids, want)
	}
}

func TestTrainRefuses(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "word.vocab"), []byte("<pad>\t0\n<unk>\t0\n<bos>\t0\n<eos>\t0\nno mark\t-1\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	_, _, err := run(t, pipeline.Graph{Nodes: []pipeline.Node{
		{Name: "words", Stage: &pipeline.Files{Path: dir}},
		{Name: "vocab", Stage: &Train{}, Inputs: map[string]string{"words": "words"}},
	}})
	var r *pipeline.RefusedError
	if !errors.As(err, &r) || r.File != "word.vocab" || !strings.HasPrefix(r.Reason, "line 5") {
		t.Errorf("got %v", err)
	}
	g := graph(t, &Train{Split: "none"}, &Encode{})
	if _, _, err = run(t, g); err == nil || !strings.Contains(err.Error(), "no split none, only test, train") {
		t.Errorf("got %v", err)
	}
}

func TestStageChecks(t *testing.T) {
	for _, c := range []struct {
		s    Train
		want string
	}{
		{Train{Type: "bpe"}, "type"},
		{Train{Size: 4}, "size: 4"},
		{Train{Type: Word, Base: 3}, "base, digits"},
		{Train{Base: 1}, "base: 1"},
		{Train{MaxLen: 2}, "max_len: 2"},
		{Train{Field: "text"}, "field"},
		{Train{Digits: 40}, "digits: 40"},
		{Train{Type: Unigram, Base: 3}, "base, digits, max_len, field"},
		{Train{Type: Unigram, Size: 3}, "size: 3"},
	} {
		if err := c.s.Check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %s", c.s, err, c.want)
		}
	}
	var s Train
	if err := s.Check(); err != nil || s != (Train{Type: Radix, Size: 10001, Base: 768, Field: Tokens, Split: "train"}) {
		t.Errorf("defaults %+v, %v", s, err)
	}
}

// The published run: the vocabulary of a corpus without tokens of its own.
func TestFlickr8kVocabulary(t *testing.T) {
	_, res, err := run(t, pipeline.Graph{Nodes: []pipeline.Node{
		{Name: "raw", Stage: &pipeline.Files{Path: shared.Dir(t, "data", "cap-flickr8k"), Include: []string{"*.token.*"}}},
		{Name: "examples", Stage: &preprocess.Ingest{Corpus: "flickr8k"}, Inputs: map[string]string{"raw": "raw"}},
		{Name: "vocab", Stage: &Train{Field: References, Split: "all", Size: 1004}, Inputs: map[string]string{"examples": "examples"}},
		{Name: "tokens", Stage: &Encode{Field: References}, Inputs: map[string]string{"examples": "examples", "vocab": "vocab"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	m := res.Node("vocab").Manifest
	if m.Notes["captions"] != "10000" || m.Notes["vocabulary_words"] != "1000" || m.Notes["digits"] != "2" {
		t.Errorf("notes %v", m.Notes)
	}
	if m = res.Node("tokens").Manifest; m.Rows != 10000 {
		t.Errorf("%d rows, %v", m.Rows, m.Notes)
	}
}
