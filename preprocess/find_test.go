package preprocess

import (
	"archive/zip"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"espalier/pipeline"
	"espalier/pipeline/shard"
	"espalier/pipeline/store"
)

func TestFindSelectsFilesOfASplit(t *testing.T) {
	mnli := "MNLI/train.tsv MNLI/dev_matched.tsv MNLI/dev_mismatched.tsv MNLI/test_matched.tsv"
	mrpc := "msr_paraphrase_train.txt msr_paraphrase_test.txt"
	vqa := "v2_OpenEnded_mscoco_train2014_questions.json v2_OpenEnded_mscoco_val2014_questions.json"
	for _, c := range []struct {
		corpus, files, split string
		want                 string // files, or "!" and what a refusal tells
	}{
		{"glue/mnli", mnli, "train", "MNLI/train.tsv"},
		{"glue/mnli", mnli, "validation_matched", "MNLI/dev_matched.tsv"},
		{"glue/mnli", mnli, "dev_mismatched", "MNLI/dev_mismatched.tsv"},
		{"glue/mnli", mnli, "validation", "!no file of this split; the files are of test_matched, train, validation_matched, validation_mismatched"},
		{"glue/mnli", mnli, "test", "!no file of this split"},
		{"glue/mnli", mnli, "mine", "!no file of this split"},
		{"glue/mnli", "MNLI/train.tsv", "mine", "MNLI/train.tsv"},
		{"glue/mnli", "whatever.tsv", "dev", "whatever.tsv"},
		{"glue/mrpc", mrpc + " mrpc_dev_ids.tsv", "dev", "msr_paraphrase_train.txt"},
		{"glue/mrpc", mrpc + " mrpc_dev_ids.tsv", "test", "msr_paraphrase_test.txt"},
		{"glue/mrpc", mrpc, "dev", "!no file of this split; the files are of test, train"},
		{"trec", "train_5500.label TREC_10.label", "test", "TREC_10.label"},
		{"trec", "train_5500.label TREC_10.label", "dev", "!no file of this split; the files are of test, train"},
		{"vqav2", vqa, "val", "v2_OpenEnded_mscoco_val2014_questions.json"},
		{"vqav2", vqa, "val2014", "v2_OpenEnded_mscoco_val2014_questions.json"},
		{"vqav2", vqa, "test", "!no file of this split; the files are of train, validation"},
		{"vqav2", vqa + " v2_OpenEnded_mscoco_test2015_questions.json v2_OpenEnded_mscoco_test-dev2015_questions.json", "test-dev2015", "v2_OpenEnded_mscoco_test-dev2015_questions.json"},
		{"vqav2", vqa + " v2_OpenEnded_mscoco_test2015_questions.json", "test", "v2_OpenEnded_mscoco_test2015_questions.json"},
		{"coco/captions", "captions_train2014.json captions_val2014.json", "test", "!no file of this split"},
		{"gqa", "train_balanced_questions.json testdev_balanced_questions.json val_balanced_questions.json", "testdev", "testdev_balanced_questions.json"},
		{"gqa", "val_balanced_questions.json train_all_questions_0.json train_all_questions_1.json val_all_questions.json", "", "val_balanced_questions.json train_all_questions_0.json train_all_questions_1.json"},
		{"nlvr2", "dev.json balanced/balanced_dev.json unbalanced/unbalanced_dev.json train.json", "", "dev.json train.json"},
		{"nlvr2", "balanced/balanced_dev.json", "", "balanced/balanced_dev.json"},
		{"lcsts", "PART_I.txt PART_II.txt PART_III.txt", "PART_II", "PART_II.txt"},
		{"lcsts", "PART_I.txt PART_II.txt PART_III.txt", "train", "!no file of this split; the files are of PART_I, PART_II, PART_III"},
		{"kdconv", "film/dev.json film/train.json music/dev.json", "valid", "film/dev.json music/dev.json"},
		{"imdb", "train/neg/0_1.txt train/pos/0_9.txt test/neg/0_2.txt", "train", "train/neg train/pos"},
		{"imdb", "train/neg/0_1.txt train/pos/0_9.txt", "mine", "train/neg train/pos"},
		{"imdb", "train/neg/0_1.txt test/neg/0_2.txt", "mine", "!no file of this split; the files are of test, train"},
	} {
		r, ok := readerOf(c.corpus)
		if !ok {
			t.Fatalf("no corpus %s", c.corpus)
		}
		got, err := r.find(entriesOf(strings.Fields(c.files)...), c.split)
		if want, refused := strings.CutPrefix(c.want, "!"); refused {
			var e *pipeline.RefusedError
			if !errors.As(err, &e) || e.Field != c.split || !strings.HasPrefix(e.Reason, want) {
				t.Errorf("%s, split %q of %s: %v, %v, want %s", c.corpus, c.split, c.files, got, err, want)
			}
			continue
		}
		if err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("%s, split %q of %s: %v, %v, want %s", c.corpus, c.split, c.files, got, err, c.want)
		}
	}
}

func entriesOf(names ...string) (out []store.FileEntry) {
	for _, name := range names {
		out = append(out, store.FileEntry{Name: name})
	}
	return out
}

func TestFindTakesGzipStreams(t *testing.T) {
	for corpus, files := range map[string]string{
		"nlvr2": "train.json", "dolly": "databricks-dolly-15k.jsonl", "nlpcc2018": "source.txt", "nlpcc2018/train": "data.train",
		"m2": "dev.m2", "zhihu": "test_label.txt", "paws-x/zh": "zh/dev_2k.tsv", "chnsenticorp": "chnsenticorp/dev.tsv",
		"trec": "TREC_10.label", "sst": "stsa.binary.dev", "glue/mrpc": "msr_paraphrase_test.txt", "coco/karpathy": "dataset_coco.json",
	} {
		r, _ := readerOf(corpus)
		for _, f := range []string{files, files + ".gz"} {
			got, err := r.find(entriesOf("README.md", f, "x"+f+".bak"), "")
			if err != nil || !slices.Equal(got, []string{f}) {
				t.Errorf("%s: %v, %v, want %s", corpus, got, err, f)
			}
		}
	}
	for _, c := range []struct{ corpus, file, want string }{
		{"glue/mrpc", "msr_paraphrase_train.txt.gz", "mrpc_dev_ids.tsv.gz"},
		{"nlpcc2018", "source.txt.gz", "gold.01.gz"},
		{"gec", "dev.src.gz", "dev.trg.gz"},
		{"zhihu", "dev_label.txt.gz", "dev_topic.txt.gz"},
		{"vqav2", "v2_OpenEnded_mscoco_val2014_questions.json.gz", "v2_mscoco_val2014_annotations.json.gz"},
	} {
		r, _ := readerOf(c.corpus)
		if got := r.joined(c.file, entriesOf(c.file, c.want)); !slices.Equal(got, []string{c.want}) {
			t.Errorf("%s: %v is joined to %s, want %s", c.corpus, got, c.file, c.want)
		}
	}
}

func TestIngestRefusesASplitOfNoRow(t *testing.T) {
	b := newBench(t)
	b.write("dataset_coco.json", karpathyDoc(8, nil))
	for _, split := range []string{"restval", "mine"} {
		_, err := b.ingest(&Ingest{Corpus: "coco/karpathy", Split: split})
		var r *pipeline.RefusedError
		if !errors.As(err, &r) || r.File != "dataset_coco.json" || r.Field != split || r.Reason != "no row of this split" {
			t.Errorf("split %s: %v", split, err)
		}
	}
}

const (
	questionsDoc   = `{"questions":[{"question_id":1,"image_id":5,"question":"What?"},{"question_id":2,"image_id":5,"question":"Who?"}]}`
	annotationsDoc = `{"annotations":[{"question_id":%d,"image_id":5,"question_type":"what","answer_type":"other","multiple_choice_answer":"a","answers":[{"answer":"a","answer_confidence":"yes","answer_id":1}]}]}`
)

func (b *bench) vqa(annotations string) (*pipeline.NodeResult, error) {
	return b.run(pipeline.Graph{Nodes: []pipeline.Node{
		{Name: "raw", Stage: &pipeline.Files{Path: filepath.Join(b.raw, "questions.json")}},
		{Name: "notes", Stage: &pipeline.Files{Path: filepath.Join(b.raw, annotations)}},
		{Name: "examples", Stage: &Ingest{Corpus: "vqav2"}, Inputs: map[string]string{"raw": "raw", "annotations": "notes"}, MaxDead: &pipeline.NoLimit},
	}}, "examples")
}

func TestIngestRejectsAFileWhoseRowsAreAllDead(t *testing.T) {
	b := newBench(t)
	b.write("questions.json", questionsDoc)
	b.write("annotations.json", strings.Replace(annotationsDoc, "%d", "9", 1)) // of another question
	_, err := b.vqa("annotations.json")
	var r *pipeline.RejectedError
	if !errors.As(err, &r) || r.File != "questions.json" || r.Dead != 2 || r.Seen != 2 {
		t.Errorf("%v", err)
	}
}

func TestIngestReadsAnnotationsInAnArchive(t *testing.T) {
	b := newBench(t)
	b.write("questions.json", questionsDoc)
	f, err := os.Create(filepath.Join(b.raw, "annotations.zip"))
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	w, err := z.Create("in/annotations.json")
	if err == nil {
		_, err = w.Write([]byte(strings.Replace(annotationsDoc, "%d", "2", 1)))
	}
	if err := errors.Join(err, z.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	n, err := b.vqa("annotations.zip")
	if err != nil || n.Manifest.Rows != 1 || n.Manifest.Dead != 1 {
		t.Errorf("%+v, %v", n, err)
	}
}

func TestIngestJoinsNothingToMostCorpora(t *testing.T) {
	b := newBench(t)
	b.write("train.tsv", "sentence\tlabel\na\t1\n")
	_, err := b.run(pipeline.Graph{Nodes: []pipeline.Node{
		{Name: "raw", Stage: &pipeline.Files{Path: b.raw}},
		{Name: "examples", Stage: &Ingest{Corpus: "glue/sst2"}, Inputs: map[string]string{"raw": "raw", "annotations": "raw"}},
	}}, "examples")
	if err == nil || !strings.Contains(err.Error(), "nothing is joined to the files of glue/sst2") {
		t.Errorf("%v", err)
	}
}

func TestAbove(t *testing.T) {
	for _, c := range []struct {
		corpus, root, names string
		want                int
	}{
		{"glue/cola", "/data/CoLA", "train.tsv", 0},
		{"kdconv", "/data/kdconv", "film/train.json music/train.json README.md", 0},
		{"kdconv", "/data/kdconv/film", "train.json dev.json", 1},
		{"kdconv", "/data/kdconv", "train.json film/train.json", 1},
		{"kdconv", "/data", "kdconv.zip", 1},
		{"imdb", "/data/aclImdb", "train/neg/0_1.txt README", 0},
		{"imdb", "/data/aclImdb/train", "neg/0_1.txt", 1},
		{"imdb", "/data/aclImdb/train/neg", "0_1.txt", 2},
		{"imdb", "/data", "aclImdb_v1.tar.gz", 2},
		{"imdb", "/", "", 2},
		{"nosuch", "/data", "x", 0},
	} {
		if got := Above(c.corpus, c.root, strings.Fields(c.names)...); got != c.want {
			t.Errorf("%s at %s, %s: %d folders, want %d", c.corpus, c.root, c.names, got, c.want)
		}
	}
}

func TestNumberOf(t *testing.T) {
	for _, c := range []struct {
		v    any
		want int64
	}{{int64(3), 3}, {uint64(3), 3}, {uint64(1 << 63), -1}, {3.0, -1}, {nil, -1}} {
		if got := numberOf(c.v, -1); got != c.want {
			t.Errorf("numberOf(%T %v) = %d, want %d", c.v, c.v, got, c.want)
		}
	}
}

func TestIngestRefusesPointers(t *testing.T) {
	b := newBench(t)
	b.write("dev.src", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n")
	_, err := b.ingest(&Ingest{Corpus: "gec"})
	var r *pipeline.RefusedError
	if !errors.As(err, &r) || r.File != "dev.src" || r.Reason != "a pointer of Git LFS, not the file" {
		t.Errorf("%v", err)
	}
}

func TestIngestRefusesLinesThatEndInCR(t *testing.T) {
	for corpus, text := range map[string]string{
		"paws": "id\tsentence1\tsentence2\tlabel\r1\ta\tb\t0\r2\tc\td\t1\r", "trec": "DESC:def a\rNUM:x b\r", "sst": "1 a\r0 b\r",
		"flickr8k": "a.jpg#0\ta\ra.jpg#1\tb\r", "m2": "S a\rA 0 1|||x|||b|||REQUIRED|||-NONE-|||0\r", "nlpcc2018": "a\rb\r", "news-commentary": "a\tb\rc\td\r",
	} {
		b := newBench(t)
		b.write("file.txt", text)
		_, err := b.ingest(&Ingest{Corpus: corpus})
		var r *pipeline.RefusedError
		if !errors.As(err, &r) || r.Reason != "lines end in CR alone" {
			t.Errorf("%s: %v", corpus, err)
		}
	}
	b := newBench(t)
	b.write("flickr.txt", "")
	if _, err := b.ingest(&Ingest{Corpus: "flickr8k"}); pipeline.ExitCode(err) != pipeline.ExitBadInput {
		t.Errorf("an empty file of Flickr: %v", err)
	}
}

func TestIngestOfLabelsThatAreNoNumbers(t *testing.T) {
	b := newBench(t)
	b.write("stsa.binary.train", "1 good\n<html> bad\n0 worse\n")
	n, err := b.ingest(&Ingest{Corpus: "sst"})
	if err != nil || n.Manifest.Rows != 2 || n.Manifest.Dead != 1 {
		t.Errorf("%+v, %v", n, err)
	}
}

func TestTablesThatCannotBeUsedAreRefused(t *testing.T) {
	b := newBench(t)
	f, err := os.Create(filepath.Join(b.raw, "x.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	type row struct {
		Name string `parquet:"name"`
	}
	w, err := shard.NewWriter[row](f, shard.Options{})
	if err == nil {
		err = w.Write([]row{{"a"}})
	}
	if err := errors.Join(err, w.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	draw := func() error {
		_, err := b.run(pipeline.Graph{Nodes: []pipeline.Node{
			{Name: "raw", Stage: &pipeline.Files{Path: b.raw}},
			{Name: "draw", Stage: &Split{K: 1}, Inputs: map[string]string{"examples": "raw"}},
		}}, "draw")
		return err
	}
	var r *pipeline.RefusedError
	if err := draw(); !errors.As(err, &r) || r.File != "x.parquet" || r.Field != "id" || r.Reason != "no such column" {
		t.Errorf("a table without ids: %v", err)
	}
	b.write("x.parquet", "PAR1 and nothing more")
	if err := draw(); !errors.As(err, &r) || r.File != "x.parquet" || !strings.Contains(r.Reason, "not a readable shard") {
		t.Errorf("a damaged table: %v", err)
	}
}

func TestIngestRefusesArchivesWithoutFiles(t *testing.T) {
	pack := func(members map[string]string) string {
		var b strings.Builder
		z := zip.NewWriter(&b)
		for name, text := range members {
			w, err := z.CreateHeader(&zip.FileHeader{Name: name})
			if err == nil {
				_, err = w.Write([]byte(text))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	inner := pack(map[string]string{"CoLA/train.tsv": "a\t1\t\tSome text.\n"})
	for _, c := range []struct{ archive, want string }{
		{pack(nil), "no file named like"},
		{pack(map[string]string{"CoLA.zip": inner}), "CoLA.zip: a zip archive in the place of a file"},
	} {
		b := newBench(t)
		b.write("x.zip", c.archive)
		_, err := b.ingest(&Ingest{Corpus: "glue/cola"})
		var r *pipeline.RefusedError
		if !errors.As(err, &r) || !strings.HasPrefix(r.Reason, c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}
