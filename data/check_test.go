package data_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"espalier/data"
	"espalier/data/sample"
	"espalier/internal/shared"
	"espalier/preprocess"
)

func states(t *testing.T, corpus, raw string) (out []string) {
	t.Helper()
	list, err := data.Check(t.Context(), corpus, raw)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range list {
		out = append(out, fmt.Sprintf("%s|%s|%s|%s", f.What, f.Found, f.Expected, f.State))
	}
	return out
}

func TestCheck(t *testing.T) {
	dir := t.TempDir()
	c, err := sample.New(40, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range c.Documents()[:1] {
		f, err := os.Create(filepath.Join(dir, d.Name))
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Write(f); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "val2014"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "val2014", "x.jpg"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, "dataset_coco.json"))
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(states(t, "coco/karpathy", dir), "\n")
	want := strings.Join([]string{
		fmt.Sprintf("dataset_coco.json|%d bytes||ok", info.Size()),
		"train2014/||82783 images|absent",
		"val2014/|1 images|40504 images|differs",
		"split train|31 rows|113287 rows|differs",
		"split restval|1 rows|30504 rows|differs",
		"split val|4 rows|5000 rows|differs",
		"split test|5 rows|5000 rows|differs",
		"dead letters|0|0|ok",
	}, "\n")
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestCheckTellsWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	got := strings.Join(states(t, "flickr8k", dir), "\n")
	if !strings.Contains(got, "Flickr8k.token.txt|||missing") || !strings.Contains(got, "rows|||missing") {
		t.Errorf("an empty folder: %s", got)
	}
	if err := os.WriteFile(filepath.Join(dir, "dataset_coco.json"), []byte(`{"images": [`), 0o666); err != nil {
		t.Fatal(err)
	}
	list, err := data.Check(t.Context(), "coco/karpathy", dir)
	if err != nil {
		t.Fatal(err)
	}
	last := list[len(list)-1]
	if !last.Bad() || !strings.Contains(last.Note, "dataset_coco.json:1: JSON ends early") {
		t.Errorf("a cut file: %+v", last)
	}
	if _, err := data.Check(t.Context(), "no/such", dir); err == nil {
		t.Error("a corpus that is not")
	}
	if _, err := data.Check(t.Context(), "flickr8k", filepath.Join(dir, "none")); err == nil {
		t.Error("a folder that is not")
	}
}

func TestCheckOneFile(t *testing.T) {
	got := strings.Join(states(t, "coco/captions", shared.Dir(t, "data", "cap-coco-val4800", "captions_val2014.json")), "\n")
	for _, want := range []string{"captions_val2014.json|3950406 bytes||ok", "captions_train2014.json|||missing", "split val2014|4800 rows|40504 rows|differs", "dead letters|0|0|ok"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in\n%s", want, got)
		}
	}
}

func TestCheckArchive(t *testing.T) {
	got := strings.Join(states(t, "glue/qnli", shared.Dir(t, "goldens", "corpora", "traps", "raw", "QNLI.zip")), "\n")
	want := strings.Join([]string{
		"QNLI.zip/QNLI/train.tsv|in an archive||ok", "QNLI.zip/QNLI/dev.tsv|in an archive||ok", "QNLI/test.tsv|||absent",
		"split train|2 rows|104743 rows|differs", "split validation|1 rows|5463 rows|differs", "split test|0 rows|5463 rows|differs", "dead letters|0|0|ok",
	}, "\n")
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestCheckKnowsEveryCorpus(t *testing.T) {
	for _, corpus := range preprocess.Corpora() {
		list, err := data.Check(t.Context(), corpus, t.TempDir())
		if err != nil || len(list) < 2 {
			t.Errorf("%s: %d findings, %v", corpus, len(list), err)
		}
	}
}

func TestCheckOfAVariant(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "alpaca_zh.json"), []byte(`[{"instruction": "a", "input": "", "output": "b"}]`), 0o666); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(states(t, "alpaca/zh", dir), "\n")
	want := strings.Join([]string{
		"alpaca_data.json|||absent",
		"alpaca_zh.json|read||ok",
		"split train|1 rows||unknown",
		"dead letters|0|0|ok",
	}, "\n")
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestCheckFollowsLinks(t *testing.T) {
	dir := t.TempDir()
	real := filepath.Join(dir, "store")
	if err := os.MkdirAll(filepath.Join(real, "BoolQ"), 0o777); err != nil {
		t.Fatal(err)
	}
	row := `{"question": "q", "passage": "p", "idx": 0, "label": true}` + "\n"
	if err := os.WriteFile(filepath.Join(real, "BoolQ", "blob"), []byte(row), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Symlink("blob", filepath.Join(real, "BoolQ", "train.jsonl")), os.Symlink("store", filepath.Join(dir, "link"))); err != nil {
		t.Skip(err)
	}
	got := strings.Join(states(t, "superglue/boolq", filepath.Join(dir, "link")), "\n")
	if !strings.Contains(got, "BoolQ/train.jsonl|59 bytes||ok") || !strings.Contains(got, "split train|1 rows|") {
		t.Errorf("behind a link:\n%s", got)
	}
}
