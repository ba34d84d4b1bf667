package preprocess

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"espalier/pipeline"
	"espalier/preprocess/corpus"
	"espalier/preprocess/corpus/glue"
	"espalier/preprocess/corpus/imdb"
)

// put writes a file below the raw folder.
func (b *bench) put(name string, text []byte) {
	b.t.Helper()
	p := filepath.Join(b.raw, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(p, text, 0o666); err != nil {
		b.t.Fatal(err)
	}
}

type member struct{ name, text string }

func zipped(t testing.TB, members ...member) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, m := range members {
		f, err := w.Create(m.name)
		if err == nil {
			_, err = f.Write([]byte(m.text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func tarred(t testing.TB, members ...member) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, m := range members {
		err := w.WriteHeader(&tar.Header{Name: m.name, Size: int64(len(m.text)), Mode: 0o644})
		if err == nil {
			_, err = w.Write([]byte(m.text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func qnli(n int, first string) string {
	var s strings.Builder
	s.WriteString("index\tquestion\tsentence\tlabel\n")
	for i := range n {
		fmt.Fprintf(&s, "%d\t%s %d\ts\tentailment\n", i, first, i)
	}
	return s.String()
}

type qnliRow = glue.Row[glue.Answer]

func TestIngestArchives(t *testing.T) {
	members := []member{{"QNLI/train.tsv", qnli(3, "train")}, {"QNLI/dev.tsv", qnli(2, "dev")}, {"QNLI/readme.txt", "x"}, {"__MACOSX/QNLI/._train.tsv", "x"}}
	for name, content := range map[string][]byte{"QNLI.zip": zipped(t, members...), "QNLI.tar.gz": tarred(t, members...), "any.name": zipped(t, members...)} {
		b := newBench(t)
		b.put(name, content)
		n, err := b.ingest(&Ingest{Corpus: "glue/qnli"})
		if err != nil {
			t.Fatal(err)
		}
		if got := rows[qnliRow](b, n, "train"); len(got) != 3 || got[2].Fields.Question != "train 2" || *got[2].Line != 4 {
			t.Errorf("%s: train %+v", name, got)
		}
		if got := rows[qnliRow](b, n, "validation"); len(got) != 2 {
			t.Errorf("%s: validation %+v", name, got)
		}
		if n, err = b.ingest(&Ingest{Corpus: "glue/qnli", Split: "dev"}); err != nil || n.Manifest.Rows != 2 || len(rows[qnliRow](b, n, "dev")) != 2 {
			t.Errorf("%s: one split: %v, %v", name, n, err)
		}
		if n, err = b.ingest(&Ingest{Corpus: "glue/qnli", Member: "QNLI/dev.tsv", Split: "mine"}); err != nil || len(rows[qnliRow](b, n, "mine")) != 2 {
			t.Errorf("%s: one member: %v", name, err)
		}
		var r *pipeline.RefusedError
		if _, err = b.ingest(&Ingest{Corpus: "glue/qnli", Member: "QNLI/x.tsv"}); !errors.As(err, &r) || r.File != name || r.Field != "QNLI/x.tsv" || !strings.Contains(r.Reason, "holds QNLI/train.tsv, QNLI/dev.tsv") {
			t.Errorf("%s: no such member: %v", name, err)
		}
	}
}

func TestIngestRefusesMembers(t *testing.T) {
	b := newBench(t)
	b.put("a.zip", zipped(t, member{"QNLI/train.tsv", "no header\n"}))
	b.put("QNLI/dev.tsv", []byte(qnli(2, "dev")))
	var r *pipeline.RefusedError
	_, err := b.ingest(&Ingest{Corpus: "glue/qnli"})
	if !errors.As(err, &r) || r.File != "a.zip" || r.Line != 1 || r.Field != "question" || !strings.HasPrefix(r.Reason, "QNLI/train.tsv: ") {
		t.Fatalf("%v", err)
	}
	g := pipeline.Graph{Nodes: []pipeline.Node{
		{Name: "raw", Stage: &pipeline.Files{Path: b.raw}},
		{Name: "examples", Stage: &Ingest{Corpus: "glue/qnli"}, Inputs: map[string]string{"raw": "raw"}},
	}}
	res, err := pipeline.Run(t.Context(), g, pipeline.Options{Store: b.store, SkipRefused: true})
	if err != nil || res.Node("examples").Manifest.Rows != 2 {
		t.Errorf("without the archive: %v", err)
	}
}

func TestIngestFindsTheTask(t *testing.T) {
	b := newBench(t)
	b.put("glue/QNLI/train.tsv", []byte(qnli(3, "q")))
	b.put("glue/RTE/train.tsv", []byte("index\tsentence1\tsentence2\tlabel\n0\ta\tb\tentailment\n"))
	for name, want := range map[string]int64{"glue/qnli": 3, "glue/rte": 1} {
		n, err := b.ingest(&Ingest{Corpus: name})
		if err != nil || n.Manifest.Rows != want {
			t.Errorf("%s: %v, %v", name, n, err)
		}
	}
	var r *pipeline.RefusedError
	if _, err := b.ingest(&Ingest{Corpus: "glue/wnli"}); !errors.As(err, &r) || !strings.Contains(r.Reason, "a second file of glue/wnli for one split beside") {
		t.Errorf("a task that is not there: %v", err)
	}
}

func TestIngestSameBytesForAnyWorkers(t *testing.T) {
	var text strings.Builder
	text.WriteString("id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n")
	for i := range 5000 {
		fmt.Fprintf(&text, "%d\t1\t2\tq %d\tr\t%d\n", i, i, i%2)
		if i%1000 == 500 {
			text.WriteString("short\tline\n\n")
		}
	}
	digests := map[string]bool{}
	for _, workers := range []int{1, 2, 7} {
		b := newBench(t)
		b.put("QQP/train.tsv", []byte(text.String()))
		res, err := pipeline.Run(t.Context(), pipeline.Graph{Nodes: []pipeline.Node{
			{Name: "raw", Stage: &pipeline.Files{Path: b.raw}},
			{Name: "examples", Stage: &Ingest{Corpus: "glue/qqp", Part: 100}, Inputs: map[string]string{"raw": "raw"}},
		}}, pipeline.Options{Store: b.store, Jobs: workers})
		if err != nil {
			t.Fatal(err)
		}
		m := res.Node("examples").Manifest
		digests[m.Digest] = true
		if m.Rows != 5000 || m.Dead != 5 || res.Node("examples").Parts < 20 {
			t.Errorf("%d rows, %d dead letters, %d parts", m.Rows, m.Dead, res.Node("examples").Parts)
		}
	}
	if len(digests) != 1 {
		t.Errorf("digests %v", digests)
	}
}

func TestIngestIMDB(t *testing.T) {
	review := func(dir string) []member {
		return []member{{dir + "/10_3.txt", "ten " + dir}, {dir + "/9_2.txt", "nine"}}
	}
	members := slices.Concat(review("aclImdb/train/neg"), review("aclImdb/train/pos"), review("aclImdb/test/neg"), []member{{"aclImdb/train/unsup/1_0.txt", "x"}, {"aclImdb/README", "x"}})
	folder, archive := newBench(t), newBench(t)
	for _, m := range members {
		folder.put(m.name, []byte(m.text))
	}
	archive.put("aclImdb_v1.tar.gz", tarred(t, members...))
	for what, b := range map[string]*bench{"folder": folder, "archive": archive} {
		n, err := b.ingest(&Ingest{Corpus: "imdb"})
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		var got []string
		for _, r := range rows[imdb.Row](b, n, "train") {
			got = append(got, fmt.Sprint(r.ID, " ", r.N, " ", *r.Label, " ", r.Meta.File, " ", path.Base(r.Fields.Text)))
		}
		want := []string{"imdb/imdb/train/neg_9 0 negative 9_2.txt nine", "imdb/imdb/train/neg_10 1 negative 10_3.txt neg", "imdb/imdb/train/pos_9 0 positive 9_2.txt nine", "imdb/imdb/train/pos_10 1 positive 10_3.txt pos"}
		if !slices.Equal(got, want) || n.Manifest.Rows != 6 {
			t.Errorf("%s: %d rows, %q", what, n.Manifest.Rows, got)
		}
	}
}

func TestStandardSplit(t *testing.T) {
	for name, want := range map[string]string{
		"dev_matched.tsv": "validation_matched", "MNLI/test_mismatched.tsv": "test_mismatched", "msr_paraphrase_train_original.txt": "train", "snli_1.0_dev.jsonl": "validation",
		"validation-00000-of-00001.parquet": "validation", "stsa.binary.dev": "validation", "train-v1.1.json": "train", "ax.tsv": "", "train_test.tsv": "", "train": "train",
		"captions_val2014.json": "validation", "development.tsv": "", "val.jsonl.gz": "validation",
	} {
		if got := corpus.StandardSplit(name); got != want {
			t.Errorf("%s is of %q, want %q", name, got, want)
		}
	}
}

func TestIngestEncoding(t *testing.T) {
	g := Ingest{Corpus: "glue/sst2", Encoding: "cp1252"}
	if err := g.Check(); err != nil || g.Encoding != "windows-1252" {
		t.Errorf("%+v, %v", g, err)
	}
	for _, g := range []Ingest{{Corpus: "glue/sst2", Encoding: "utf-16"}, {Corpus: "superglue/cb", Encoding: "latin-1"}} {
		if err := g.Check(); err == nil || !strings.Contains(err.Error(), "encoding: ") {
			t.Errorf("%+v: %v", g, err)
		}
	}
}
