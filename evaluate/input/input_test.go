package input

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"espalier/pipeline"
	"espalier/pipeline/shard"
	"espalier/trainer/prediction"
)

func write(t *testing.T, name string, content []byte) string {
	t.Helper()
	p := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(p, content, 0o666); err != nil {
		t.Fatal(err)
	}
	return p
}

func show(s *Set) string {
	var b strings.Builder
	for i, id := range s.IDs {
		b.WriteString(id + "=" + strings.Join(s.Texts[i], "/") + ";")
	}
	return b.String()
}

const annotations = ` {"info": {}, "annotations": [
 {"id": 9, "image_id": 5, "caption": "five a"}, {"image_id": "b", "id": 10, "caption": "b a"},
 {"id": 11, "image_id": 5, "caption": "five b", "extra": [1, {"caption": "no"}]}],
 "images": [{"id": "b"}, {"id": 5, "file_name": "x.jpg"}, {"id": 7}]}`

func zipped(t *testing.T, how, s string) []byte {
	t.Helper()
	var b bytes.Buffer
	if how == "gz" {
		z := gzip.NewWriter(&b)
		z.Write([]byte(s))
		z.Close()
		return b.Bytes()
	}
	z, err := zstd.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	z.Write([]byte(s))
	z.Close()
	return b.Bytes()
}

func predictions(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := shard.NewWriter[prediction.Row](&b, shard.Options{})
	if err != nil {
		t.Fatal(err)
	}
	rows := []prediction.Row{
		{ID: "x", Split: "val", Text: "a dog"},
		{ID: "x", Split: "val", Text: "second best", Rank: 1},
		{ID: "y", Split: "test", Text: "a cat"},
	}
	if err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestLayouts(t *testing.T) {
	for _, c := range []struct {
		name string
		file string
		in   []byte
		src  Source
		role Role
		want string
	}{
		{"annotations in the order of images", "a.json", []byte(annotations), Source{}, References, "b=b a;5=five a/five b;7=;"},
		{"annotations without images", "a.json", []byte(`{"annotations": [{"image_id": 2, "caption": "x"}, {"image_id": 1, "caption": "y"}]}`), Source{}, References, "2=x;1=y;"},
		{"columns by their names", "r", []byte("id\tother\ttext\r\n7\tx\ta b\r\n"), Source{}, Predictions, "7=a b;"},
		{"lists of objects", "r.jsonl", []byte(`{"id": 1, "answers": [{"answer": "s", "raw_answer": "r"}]}`), Source{Text: "answers.raw_answer"}, References, "1=r;"},
		{"SQuAD's answers of a table", "r.jsonl", []byte(`{"id": 1, "answers": {"text": ["a", "b"], "answer_start": [1, 2]}}`), Source{}, References, "1=a/b;"},
		{"tuples", "r.jsonl", []byte(`{"id": 1, "refs": [["girl"], ["girl", "young"]]}`), Source{}, References, `1=[["girl"],["girl", "young"]];`},
		{"results", "r.json", []byte(`[{"image_id": 5, "caption": "a", "id": 1}, {"image_id": "06", "caption": "b"}]`), Source{}, Predictions, "5=a;06=b;"},
		{"empty results", "r.json", []byte(` [ ] `), Source{}, Predictions, ""},
		{"references of an array", "r.json", []byte(`[{"image_id": 5, "test": "no", "refs": ["a", "b"]}]`), Source{}, References, "5=a/b;"},
		{"fields by name", "r.json", []byte(`[{"image_id": 5, "test": "yes", "refs": ["a", "b"]}]`), Source{Text: "test"}, Predictions, "5=yes;"},
		{"JSON lines", "r.jsonl", []byte("{\"text\": \"a\\u00e9\", \"id\": \"q/1\"}\n\n{\"id\": 2, \"text\": \"b\"}"), Source{}, Predictions, "q/1=aé;2=b;"},
		{"numbers as labels", "r.jsonl", []byte("{\"id\": 1, \"label\": 0.5}\n{\"id\": 2, \"label\": true}\n"), Source{Text: "label"}, Predictions, "1=0.5;2=true;"},
		{"lines", "r.txt", []byte("\xef\xbb\xbfa dog\r\n\n[unk] cat"), Source{}, Predictions, "1=a dog;2=;3=[unk] cat;"},
		{"columns", "r.tsv", []byte("7\ta dog\n8\ta cat\tmore\n"), Source{}, Predictions, "7=a dog;8=a cat;"},
		{"named columns", "r.tsv", []byte("caption\tn\timage_id\na dog\t1\t7\n"), Source{}, Predictions, "7=a dog;"},
		{"M2 blocks", "r.m2", []byte("S a b\nA 0 1|||R|||x|||REQUIRED|||-NONE-|||0\n\n\nS c\n"), Source{}, References, "1=S a b\nA 0 1|||R|||x|||REQUIRED|||-NONE-|||0\n;2=S c\n;"},
		{"gzip", "r.json.gz", zipped(t, "gz", `[{"image_id": 5, "caption": "a"}]`), Source{}, Predictions, "5=a;"},
		{"zstd of lines, told by content", "r", zipped(t, "zst", "a\nb\n"), Source{}, Predictions, "1=a;2=b;"},
		{"zstd of columns", "r.tsv.zst", zipped(t, "zst", "1\tb\n"), Source{}, Predictions, "1=b;"},
		{"the best predictions of a shard", "p.parquet", predictions(t), Source{}, Predictions, "x=a dog;y=a cat;"},
		{"one split of a shard", "p.parquet", predictions(t), Source{Split: "test"}, Predictions, "y=a cat;"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.src.Path = write(t, c.file, c.in)
			var set *Set
			var err error
			if c.role == References {
				set, err = ReadReferences(t.Context(), []Source{c.src})
			} else {
				set, _, err = ReadPredictions(t.Context(), c.src, Refuse)
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := show(set); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			// The same from a stream.
			src := c.src
			src.Path, src.Reader = "-", bytes.NewReader(c.in)
			if strings.Contains(c.file, ".tsv") {
				src.Format = "tsv"
			}
			if c.role == References {
				set, err = ReadReferences(t.Context(), []Source{src})
			} else {
				set, _, err = ReadPredictions(t.Context(), src, Refuse)
			}
			if err != nil || show(set) != c.want {
				t.Errorf("from a stream: %v, %v", show(set), err)
			}
		})
	}
}

func TestFaultsNameTheirPlace(t *testing.T) {
	for _, c := range []struct {
		name, in string
		role     Role
		line     int64
		offset   int64
		field    string
		want     string
	}{
		{"no id", "[{\"image_id\": 1, \"caption\": \"a\"},\n {\"caption\": \"b\"}]", Predictions, 0, 35, "image_id", "the fields are caption"},
		{"no text", "{\"id\": 1, \"txt\": \"a\"}\n", Predictions, 1, 0, "text", "--pred-field"},
		{"no text of a reference", "{\"id\": 1, \"txt\": \"a\"}\n", References, 1, 0, "references", "--ref-field"},
		{"null", "{\"id\": 1, \"text\": \"a\"}\n{\"id\": 2, \"text\": null}\n", Predictions, 2, 23, "text", "null where text is expected"},
		{"object in a list", "{\"id\": 1, \"text\": [\"a\", {}]}\n", References, 1, 0, "text", "in a list"},
		{"two predictions in a list", "{\"id\": 1, \"text\": [\"a\", \"b\"]}\n", Predictions, 1, 0, "", "2 texts, want one"},
		{"broken line", "{\"id\": 1, \"text\": \"a\"}\n{\"id\": 2, \"text\": \"b\n", Predictions, 2, -2, "", ""},
		{"cut short", "[{\"image_id\": 1, \"caption\": \"a\"}, {\"image", Predictions, 1, -2, "", ""},
		{"annotations as predictions", annotations, Predictions, 0, -1, "", "layout of annotations"},
		{"bytes that are no text", "a\n\xff\xfe\n", Predictions, 2, 2, "", "UTF-8"},
		{"one column", "id\ttext\n1\ta\n2\n", Predictions, 3, 12, "", "1 columns"},
		{"predicted twice", "{\"id\": 1, \"text\": \"a\"}\n{\"id\": \"1\", \"text\": \"b\"}\n", Predictions, 2, 23, "", ":1 (--duplicates"},
	} {
		t.Run(c.name, func(t *testing.T) {
			name := "in.json"
			if strings.HasPrefix(c.in, "id\t") {
				name = "in.tsv"
			}
			src := Source{Path: write(t, name, []byte(c.in))}
			var err error
			if c.role == References {
				_, err = ReadReferences(t.Context(), []Source{src})
			} else {
				_, _, err = ReadPredictions(t.Context(), src, Refuse)
			}
			var r *pipeline.RefusedError
			if !errors.As(err, &r) {
				t.Fatalf("error %v, want a refusal", err)
			}
			if r.File != src.Path || r.Line != c.line || r.Offset != c.offset && c.offset != -2 || r.Field != c.field || !strings.Contains(r.Reason, c.want) {
				t.Errorf("line %d, byte %d, field %q: %s", r.Line, r.Offset, r.Field, r.Reason)
			}
		})
	}
	if _, _, err := ReadPredictions(t.Context(), Source{Path: t.TempDir()}, Refuse); err == nil {
		t.Error("a folder is read as a file")
	}
	cut := zipped(t, "gz", strings.Repeat("a line\n", 1000))
	if _, _, err := ReadPredictions(t.Context(), Source{Path: write(t, "x.gz", cut[:len(cut)-9])}, Refuse); pipeline.ExitCode(err) != pipeline.ExitBadInput {
		t.Errorf("a gzip stream that is cut short: %v", err)
	}
}

func TestSeveralReferences(t *testing.T) {
	a := write(t, "a.txt", []byte("one\ntwo\n"))
	b := write(t, "b.txt", []byte("eins\nzwei\n"))
	set, err := ReadReferences(t.Context(), []Source{{Path: a}, {Path: b}})
	if err != nil || show(set) != "1=one/eins;2=two/zwei;" {
		t.Errorf("%v, %v", show(set), err)
	}
	for name, text := range map[string]string{"short": "eins\n", "long": "eins\nzwei\ndrei\n"} {
		if _, err := ReadReferences(t.Context(), []Source{{Path: a}, {Path: write(t, name, []byte(text))}}); err == nil || !strings.Contains(err.Error(), "lines") {
			t.Errorf("%s: error %v", name, err)
		}
	}
	j := write(t, "c.json", []byte(`[{"image_id": 1, "caption": "uno"}]`))
	if _, err := ReadReferences(t.Context(), []Source{{Path: a}, {Path: j}}); err == nil || !strings.Contains(err.Error(), "do not mix") {
		t.Errorf("lines and ids: error %v", err)
	}
	if set, err := ReadReferences(t.Context(), []Source{{Path: j}, {Path: j}}); err != nil || show(set) != "1=uno/uno;" {
		t.Errorf("two arrays: %v, %v", show(set), err)
	}
}

func TestJoin(t *testing.T) {
	read := func(in string, role Role) *Set {
		src := Source{Path: write(t, "x.jsonl", []byte(in))}
		if role == References {
			s, err := ReadReferences(t.Context(), []Source{src})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		s, _, err := ReadPredictions(t.Context(), src, Refuse)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	refs := read("{\"id\": 3, \"text\": \"c\"}\n{\"id\": 1, \"text\": \"a\"}\n{\"id\": 2, \"text\": \"b\"}\n{\"id\": 9, \"text\": []}\n", References)
	pred := read("{\"id\": 1, \"text\": \"x\"}\n{\"id\": 3, \"text\": \"z\"}\n", Predictions)
	j, err := Join(pred, refs, Ignore)
	if err != nil || strings.Join(j.IDs, "") != "31" || strings.Join(j.Predictions, "") != "zx" || j.Unscored() == "" {
		t.Errorf("ignore: %+v, %v", j, err)
	}
	if j, err = Join(pred, refs, Empty); err != nil || strings.Join(j.IDs, "") != "312" || strings.Join(j.Predictions, ",") != "z,x," {
		t.Errorf("empty: %+v, %v", j, err)
	}
	if _, err = Join(pred, refs, RefuseMissing); err == nil || !strings.Contains(err.Error(), "1 of 4 references have no prediction: 2") {
		t.Errorf("refuse: %v", err)
	}
	stray := read("{\"id\": 1, \"text\": \"x\"}\n{\"id\": 9, \"text\": \"y\"}\n{\"id\": 4, \"text\": \"z\"}\n", Predictions)
	if _, err = Join(stray, refs, Ignore); err == nil || !strings.Contains(err.Error(), "2 of 3 predictions have no reference: 9 (") || !strings.Contains(err.Error(), ", 4") {
		t.Errorf("stray: %v", err)
	}
}

// Tables do not hold their texts to be UTF-8: testdata/texts.arrow, which
// pyarrow wrote with the texts "a dog" and "a cat" of k1 and k2.
func TestTextsOfTables(t *testing.T) {
	b, err := os.ReadFile("testdata/texts.arrow")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ old, new, want string }{
		"as it is":   {"", "", ""},
		"a bad text": {"a cat", "a \xffat", "p.arrow: text: row 1: not valid UTF-8"},
		"a bad id":   {"k1k2", "\xff1k2", "p.arrow: id: row 0: not valid UTF-8"},
	} {
		set, _, err := ReadPredictions(t.Context(), Source{Path: write(t, "p.arrow", bytes.Replace(b, []byte(c.old), []byte(c.new), 1))}, Refuse)
		var r *pipeline.RefusedError
		switch {
		case c.want == "" && (err != nil || show(set) != "k1=a dog;k2=a cat;"):
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (!errors.As(err, &r) || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
