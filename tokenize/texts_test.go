package tokenize

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
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
	"espalier/preprocess/example"
	"espalier/tokenize/family"
	"espalier/tokenize/tokens"
	"espalier/tokenize/tokentest"
)

// rte has two splits of RTE, of several parts each.
func rte(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for split, rows := range map[string]int{"train": 25, "dev": 4} {
		text := "index\tsentence1\tsentence2\tlabel\n"
		for i := range rows {
			text += fmt.Sprintf("%d\tab%s\tb ba é Z %d\t%s\n", i, strings.Repeat(" a b", i), i, []string{"entailment", "not_entailment"}[i%2])
		}
		if err := os.WriteFile(filepath.Join(dir, split+".tsv"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// textGraph encodes RTE with a vocabulary file; rendered says through T5's
// template.
func textGraph(t *testing.T, vocab string, rendered bool, encode *Encode) pipeline.Graph {
	t.Helper()
	nodes := []pipeline.Node{
		{Name: "raw", Stage: &pipeline.Files{Path: rte(t)}},
		{Name: "examples", Stage: &preprocess.Ingest{Corpus: "glue/rte", Part: 4}, Inputs: map[string]string{"raw": "raw"}},
		{Name: "vocab", Stage: &pipeline.Files{Path: vocab}},
	}
	from := "examples"
	if rendered {
		nodes = append(nodes, pipeline.Node{Name: "texts", Stage: &preprocess.Render{Template: "t5"}, Inputs: map[string]string{"examples": "examples"}})
		from = "texts"
	}
	return pipeline.Graph{Nodes: append(nodes, pipeline.Node{Name: "tokens", Stage: encode, Inputs: map[string]string{"examples": from, "vocab": "vocab"}})}
}

func vocabFile(t *testing.T, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func tableRows[R any](t *testing.T, s *store.Store, m *store.Manifest, split string) (out []R) {
	t.Helper()
	for _, e := range m.Shards(split) {
		b := read(t, s, m, e.Name)
		r, err := shard.Open[R](bytes.NewReader(b), int64(len(b)))
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

func TestEncodeRendered(t *testing.T) {
	s, res, err := run(t, textGraph(t, shared.Dir(t, "data", "tok-t5", "spiece.model"), true, &Encode{As: "t5", MaxSource: 40}))
	if err != nil {
		t.Fatal(err)
	}
	src, err := family.Read(shared.Dir(t, "data", "tok-t5", "spiece.model"), "")
	if err != nil {
		t.Fatal(err)
	}
	class, err := src.As("t5", nil)
	if err != nil {
		t.Fatal(err)
	}
	e := class.NewEncoder()
	m := res.Node("tokens").Manifest
	ids, cut := 0, 0
	for _, split := range []string{"train", "validation"} {
		texts := tableRows[example.Text](t, s, res.Node("texts").Manifest, split)
		rows := tokenRows(t, s, m, split)
		if len(rows) != len(texts) || len(rows) < 4 {
			t.Fatalf("%s: %d rows of %d texts", split, len(rows), len(texts))
		}
		for i, r := range rows {
			want := tokens.Row{ID: texts[i].ID, Task: texts[i].Task, Split: split, Input: e.Append(nil, texts[i].Source), Target: e.Append(nil, texts[i].Target)}
			if len(want.Input) > 40 {
				want.Input = append(want.Input[:39], 1)
				cut++
			}
			if !reflect.DeepEqual(r, want) {
				t.Errorf("%s row %d: %+v\nwant %+v", split, i, r, want)
			}
			ids += len(r.Input)
		}
	}
	if cut == 0 || m.Notes["input_cut"] != fmt.Sprintf("%d of 29 (%.3f%%)", cut, float64(cut)/0.29) || m.Notes["input_ids"] != fmt.Sprint(ids) {
		t.Errorf("%d cut, %d ids; notes %v", cut, ids, m.Notes)
	}
	if got := m.Notes["target_lengths"]; got != `{"5":15,"6":14}` {
		t.Errorf("lengths of targets %s", got)
	}
	var v tokens.Vocab
	want := tokens.Vocab{Kind: "t5", Size: 32100, Pad: 0, BOS: -1, EOS: 1, Unk: 2, MaxLen: 6}
	if err := json.Unmarshal(read(t, s, m, VocabFile), &v); err != nil || v != want {
		t.Errorf("vocab.json: %+v, %v, want %+v", v, err, want)
	}
}

const bertVocab = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\nab\n##a\nba\ne\n"

func TestEncodePairs(t *testing.T) {
	s, res, err := run(t, textGraph(t, vocabFile(t, "vocab.txt", []byte(bertVocab)), false, &Encode{
		As: "bert-uncased", Source: "fields.sentence1", Pair: "fields.sentence2", Target: "label", MaxSource: 12, PadSource: 11, Masks: true,
	}))
	if err != nil {
		t.Fatal(err)
	}
	m := res.Node("tokens").Manifest
	rows := tableRows[tokens.Masked](t, s, m, "validation")
	want := []tokens.Masked{
		{
			Row:   tokens.Row{ID: "glue/rte/validation/0", Task: "rte", Split: "validation", Input: []int32{2, 7, 3, 6, 9, 10, 1, 1, 3, 0, 0}, Target: []int32{2, 1, 3}},
			Types: []int32{0, 0, 0, 1, 1, 1, 1, 1, 1, 0, 0}, Special: []int32{1, 0, 1, 0, 0, 0, 0, 0, 1, 1, 1}, Attention: []int32{1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0},
		},
		{
			Row:   tokens.Row{ID: "glue/rte/validation/3", Task: "rte", Split: "validation", Input: []int32{2, 7, 5, 6, 5, 6, 3, 6, 9, 10, 1, 3}, Target: []int32{2, 1, 1, 1, 3}},
			Types: []int32{0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1}, Special: []int32{1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}, Attention: []int32{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
		},
	}
	if got := []tokens.Masked{rows[0], rows[3]}; !reflect.DeepEqual(got, want) {
		t.Errorf("rows\n%+v\nwant\n%+v", got, want)
	}
	for _, e := range m.Files {
		if strings.HasSuffix(e.Name, ".parquet") && e.Schema != tokens.MaskedSchema {
			t.Errorf("%s has the schema %q", e.Name, e.Schema)
		}
	}
	if got := m.Notes["target_unknown"]; got != "57 of 115 (49.565%)" {
		t.Errorf("unknown ids of targets: %s", got)
	}
}

func TestEncodeOwnIDs(t *testing.T) {
	s, res, err := run(t, textGraph(t, vocabFile(t, "x.model", tokentest.Small().Bytes()), false, &Encode{Source: "fields.sentence2", PadSource: 13, PadLeft: true}))
	if err != nil {
		t.Fatal(err)
	}
	rows := tokenRows(t, s, res.Node("tokens").Manifest, "validation")
	if want := []int32{0, 3, 5, 3, 8, 3, 9, 3, 2, 3, 2}; !reflect.DeepEqual(rows[0].Input[2:], want) || len(rows[0].Input) != 13 || len(rows[0].Target) != 0 {
		t.Errorf("ids %v, want %v", rows[0].Input, want)
	}
}

// A row whose second text has too few ids to be cut is a dead letter.
func TestEncodeTooShort(t *testing.T) {
	s, err := store.Open(filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	g := textGraph(t, vocabFile(t, "vocab.txt", []byte(bertVocab)), false, &Encode{
		As: "bert-uncased", Source: "fields.sentence1", Pair: "fields.sentence2", MaxSource: 20, Truncate: "only-second",
	})
	g.Nodes[1].Stage.(*preprocess.Ingest).Part = 100
	limit := pipeline.NoLimit
	res, err := pipeline.Run(t.Context(), g, pipeline.Options{Store: s, MaxDead: &limit})
	if err != nil {
		t.Fatal(err)
	}
	m := res.Node("tokens").Manifest
	if m.Dead != 17 || m.Rows != 12 {
		t.Errorf("%d rows, %d dead", m.Rows, m.Dead)
	}
	rows := tokenRows(t, s, m, "train")
	if want := []int32{3, 6, 9, 10, 1, 3}; len(rows) != 8 || !reflect.DeepEqual(rows[6].Input[14:], want) {
		t.Errorf("%d rows, the ids of the seventh end with %v, want %v", len(rows), rows[6].Input[14:], want)
	}
}

func TestEncodeParts(t *testing.T) {
	graph := func() pipeline.Graph {
		return textGraph(t, vocabFile(t, "x.model", tokentest.Small().Bytes()), true, &Encode{As: "t5", Variants: []string{"fast"}})
	}
	digests := map[string]bool{}
	for _, workers := range []int{1, 2, 7} {
		s, err := store.Open(filepath.Join(t.TempDir(), "store"))
		if err != nil {
			t.Fatal(err)
		}
		res, err := pipeline.Run(t.Context(), graph(), pipeline.Options{Store: s, Jobs: workers})
		if err != nil {
			t.Fatal(err)
		}
		m := res.Node("tokens").Manifest
		if n := len(m.Shards("train")); n < 2 {
			t.Errorf("%d shards of train", n)
		}
		digests[m.Digest] = true
	}
	// Raise Encode's Version if this changes, unless Render's or the shards' has.
	const want = "d7bdd1bb48e346710ee042817f42d8f558ecdd40fd654ac89d4abc2703cbffa8"
	if len(digests) != 1 || !digests[want] || (*Encode)(nil).Version() != 2 {
		t.Errorf("digests %v, want %s", digests, want)
	}
}

func TestEncodeRefuses(t *testing.T) {
	vocab := vocabFile(t, "vocab.txt", []byte(bertVocab))
	for want, e := range map[string]*Encode{
		"there are the columns id, corpus, task": {As: "bert-cased"},
		"no field meaning":                       {As: "bert-cased", Source: "fields.meaning"},
		`no column "sentence"`:                   {As: "bert-cased", Source: "sentence"},
		"n: int64, want text":                    {As: "bert-cased", Source: "n"},
		"length of at most 1, but 2 special ids": {As: "bert-cased", Source: "label", MaxSource: 1},
		"cannot be t5":                           {As: "t5", Source: "label"},
	} {
		if _, _, err := run(t, textGraph(t, vocab, false, e)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", e, err, want)
		}
	}
	_, _, err := run(t, textGraph(t, vocabFile(t, "x.model", []byte{0, 1, 2}), false, &Encode{Source: "label"}))
	if err == nil || !strings.Contains(err.Error(), "input vocab (vocab): x.model") || errors.Is(err, store.ErrMissing) {
		t.Errorf("no vocabulary: %v", err)
	}
	for want, e := range map[string]Encode{
		`as: "t6", want t5`:           {As: "t6"},
		`variants: variant "prefix"`:  {As: "t5", Variants: []string{"prefix"}},
		`truncate: "first"`:           {Truncate: "first"},
		"max_source: -1":              {MaxSource: -1},
		"pair: needs as":              {Pair: "fields.x"},
		`field: "x"`:                  {Field: "x"},
		"pad_target: 99999999, want ": {PadTarget: 99999999},
	} {
		if err := e.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", e, err, want)
		}
	}
}

func TestHistogram(t *testing.T) {
	d := sideTally{Texts: 11, Lengths: map[int]int64{0: 1, 1: 2, 2: 1, 3: 1, 4: 1, 5: 1, 8: 1, 9: 1, 200: 2}}
	if got, want := d.histogram(), "0: 1, 1: 2, 2: 1, 3-4: 2, 5-8: 2, 9-16: 1, 129-256: 2"; got != want {
		t.Errorf("histogram %s, want %s", got, want)
	}
	if d.quantile(50) != 4 || d.quantile(99) != 200 || d.longest() != 200 {
		t.Errorf("median %d, p99 %d, longest %d", d.quantile(50), d.quantile(99), d.longest())
	}
}
