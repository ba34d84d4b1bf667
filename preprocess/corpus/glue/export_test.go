package glue

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"espalier/pipeline/shard"
	"espalier/preprocess/corpus"
	"espalier/preprocess/corpus/corpustest"
)

// parquetOf writes rows as the hub exports them.
func parquetOf[R any](t testing.TB, rows ...R) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := shard.NewWriter[R](&b, shard.Options{})
	if err == nil {
		err = w.Write(rows)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// lines shows rows and dead letters.
func lines[F any](t testing.TB, f Format[F], src *corpus.Source) (out []string) {
	t.Helper()
	rows, dead, err := corpustest.With(f)(t, src, 1)
	if err != nil {
		return []string{err.Error()}
	}
	for _, r := range rows {
		out = append(out, fmt.Sprint(r["id"], " ", r["n"], " ", r["fields"], " ", r["label"], " ", r["label_id"]))
	}
	for _, d := range dead {
		out = append(out, fmt.Sprint(d.Where, " ", d.Field, " ", d.Reason))
	}
	return out
}

func TestExports(t *testing.T) {
	type qqp struct {
		Question1 string `parquet:"question1"`
		Question2 string `parquet:"question2"`
		Label     int64  `parquet:"label"`
		Idx       int32  `parquet:"idx"`
	}
	want := []string{
		"glue/qqp/train/7 0 map[question1:a question2:b] duplicate 1", "glue/qqp/train/9 1 map[question1:c question2:\"d] <nil> -1",
	}
	b := parquetOf(t, qqp{"a", "b", 1, 7}, qqp{"c", `"d`, -1, 9}, qqp{"e", "f", 2, 10}, qqp{"e", "f", 0, 7})
	if got := lines(t, QQP(), corpustest.Bytes("qqp/train-00000-of-00001.parquet", b)); !slices.Equal(got, append(slices.Clone(want), "rows[2] label unknown label", "rows[3] idx duplicate key")) {
		t.Errorf("Parquet: %q", got)
	}
	text := `{"question1": "a", "question2": "b", "label": 1, "idx": 7}
{"question1": "c", "question2": "\"d", "label": -1, "idx": 9}
{"question1": "c", "question2": null, "label": 0, "idx": 10}
{"question1": "c", "question2": "d", "label": 0, "idx": 7}
`
	if got := lines(t, QQP(), corpustest.Bytes("qqp/train.jsonl", []byte(text))); !slices.Equal(got, append(slices.Clone(want), " question2 null where text is expected", " idx duplicate key")) {
		t.Errorf("JSON lines: %q", got)
	}

	type stsb struct {
		Sentence1 string  `parquet:"sentence1"`
		Sentence2 string  `parquet:"sentence2"`
		Label     float32 `parquet:"label"`
	}
	b = parquetOf(t, stsb{"a", "b", 3.8}, stsb{"c", "d", 5}, stsb{"e", "f", -1}, stsb{"g", "h", 5.5})
	if got := lines(t, STSB(), corpustest.Bytes("validation.parquet", b)); !slices.Equal(got, []string{
		"glue/stsb/validation/0 0 map[sentence1:a sentence2:b] 3.8 <nil>", "glue/stsb/validation/1 1 map[sentence1:c sentence2:d] 5.0 <nil>",
		"glue/stsb/validation/2 2 map[sentence1:e sentence2:f] <nil> <nil>", "rows[3] label number out of range",
	}) {
		t.Errorf("STS-B: %q", got)
	}
	if got := lines(t, MRPCExport(), corpustest.Bytes("test.parquet", b)); !slices.Equal(got[:1], []string{"rows[0] label number is no integer"}) {
		t.Errorf("MRPC with numbers for labels: %q", got)
	}
	if got := lines(t, CoLA(), corpustest.Bytes("test.parquet", b)); !slices.Equal(got, []string{"test.parquet: sentence: no such column"}) {
		t.Errorf("columns of another task: %q", got)
	}
	if got := lines(t, CoLA(), corpustest.Bytes("test.parquet", b[:len(b)-3])); len(got) != 1 {
		t.Errorf("a cut file: %q", got)
	}
}

func TestMRPCSplits(t *testing.T) {
	file := []byte("Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n1\t1\t2\ta\tb\n0\t3\t4\tc\td\n")
	list := corpustest.Bytes("dev_ids", []byte("3\t4\r\n"))
	for _, c := range []struct {
		name, split string
		joined      bool
		want        []string
	}{
		{"msr_paraphrase_train.txt", "", true, []string{"train/0", "validation/1"}},
		{"msr_paraphrase_train.txt", "dev", true, []string{"dev/1"}},
		{"msr_paraphrase_train.txt", "", false, []string{"train/0", "train/1"}},
		{"msr_paraphrase_test.txt", "", true, []string{"test/0", "test/1"}},
		{"pairs.tsv", "mine", false, []string{"mine/0", "mine/1"}},
	} {
		src := corpustest.Bytes(c.name, file)
		src.Split = c.split
		if c.joined {
			src.Joined = append(src.Joined, list)
		}
		rows, _, err := corpustest.With(MRPC())(t, src, 1)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range rows {
			got = append(got, fmt.Sprint(r["split"], "/", r["key"]))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s as %q: %v, want %v", c.name, c.split, got, c.want)
		}
	}
	src := corpustest.Bytes("train.tsv", file)
	src.Joined = append(src.Joined, corpustest.Bytes("dev_ids", []byte("3 4\n")))
	if _, _, err := corpustest.With(MRPC())(t, src, 1); err == nil {
		t.Error("a list without pairs is taken")
	}
}
