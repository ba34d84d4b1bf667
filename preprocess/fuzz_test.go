package preprocess

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"espalier/pipeline"
	"espalier/pipeline/store"
	"espalier/preprocess/corpus"
)

// FuzzReaders gives anything to every reader, under several names: it is read, put
// aside or refused, and so again.
func FuzzReaders(f *testing.F) {
	for i, seed := range []string{
		"a\tb\tc\n1\t2\t3\n", "{\"id\": 1, \"text\": \"x\"}\n{\"id\": 1}\n", "[{\"a\": [1, {}]}, 5]", "{\"images\": [{\"id\": 1}], \"annotations\": []}", "\"a,\",b\r\n1,2\r\n",
		"S a b\nA 0 1|||R|||c|||REQUIRED|||-NONE-|||0\n\n", "<doc id=0>\n<summary>\n x\n</summary>\n<short_text>\n y\n</short_text>\n</doc>\n", "NUM:dist How far ?\n", "\xff\xfe\x00", "PAR1", "\xff\xff\xff\xff\x10\x00\x00\x00",
	} {
		f.Add(uint16(i), byte(i), []byte(seed))
	}
	f.Fuzz(func(t *testing.T, which uint16, ending byte, b []byte) {
		r := readers[int(which)%len(readers)]
		endings := []string{".tsv", ".json", ".jsonl", ".parquet", ".csv", ".txt"}
		src := source("train"+endings[int(ending)%len(endings)], b)
		if r.joins != nil && ending&64 != 0 {
			src.Joined = []*corpus.Source{source("joined", b)}
		}
		if r.folders {
			src.Files = []corpus.File{{Name: "1_7.txt", Size: int64(len(b))}, {Name: "0_2.txt", Size: int64(len(b))}}
			src.Open = func(name string) (*corpus.Source, func() error, error) {
				return source(name, b), func() error { return nil }, nil
			}
			src.Name = "train/neg"
		}
		read := func() (out []string, err error) {
			for o, err := range r.whole(t.Context(), src) {
				var refused *pipeline.RefusedError
				if err != nil && !errors.As(err, &refused) {
					t.Fatalf("%s: %v", r.name, err)
				}
				if err != nil {
					return out, err
				}
				switch {
				case o.dead != nil && o.dead.Reason == "":
					t.Fatalf("%s: a dead letter without a reason", r.name)
				case o.dead == nil && o.split == "":
					t.Fatalf("%s: a row without a split", r.name)
				case o.dead != nil:
					out = append(out, "dead "+o.dead.Reason)
				default:
					out = append(out, o.split)
				}
			}
			return out, nil
		}
		first, err := read()
		second, again := read()
		if !slices.Equal(first, second) || fmt.Sprint(err) != fmt.Sprint(again) {
			t.Fatalf("%s: %q, %v, then %q, %v", r.name, first, err, second, again)
		}
	})
}

func source(name string, b []byte) *corpus.Source {
	return &corpus.Source{ReaderAt: bytes.NewReader(b), Size: int64(len(b)), Name: name}
}

// TestReingestAfterAFix mends a row that was a dead letter: the parts that hold
// it are made again and no others, and the output is that of the mended file.
func TestReingestAfterAFix(t *testing.T) {
	doc := func(bad string) string {
		var s strings.Builder
		s.WriteString("index\tquestion\tsentence\tlabel\n")
		for i := range 2000 {
			label := "entailment"
			if i == 1234 {
				label = bad
			}
			fmt.Fprintf(&s, "%d\tQ %d?\tS %d.\t%s\n", i, i*i, i, label)
		}
		return s.String()
	}
	b := newBench(t)
	g := &Ingest{Corpus: "glue/qnli", Part: 100}
	b.put("QNLI/train.tsv", []byte(doc("entailmemt")))
	b.put("QNLI/dev.tsv", []byte(doc("entailment")))
	first, err := b.ingest(g)
	if err != nil {
		t.Fatal(err)
	}
	dead := rows[pipeline.DeadLetter](b, first, store.DeadLetters)
	if len(dead) != 1 || dead[0].File != "QNLI/train.tsv" || *dead[0].Line != 1236 || dead[0].Field != "label" || first.Manifest.Rows != 3999 {
		t.Fatalf("%d rows, dead letters %+v", first.Manifest.Rows, dead)
	}
	b.put("QNLI/train.tsv", []byte(doc("entailment"))) // of equal length
	mended, err := b.ingest(g)
	if err != nil {
		t.Fatal(err)
	}
	if mended.PartsRun != 1 || mended.Parts < 20 || mended.Manifest.Dead != 0 || mended.Manifest.Rows != 4000 {
		t.Errorf("%d of %d parts run, %d dead letters, %d rows", mended.PartsRun, mended.Parts, mended.Manifest.Dead, mended.Manifest.Rows)
	}
	if got := rows[qnliRow](b, mended, "train"); got[1234].Key != "1234" || *got[1234].Label != "entailment" {
		t.Errorf("row %+v", got[1234])
	}
	// A line more moves those behind it, and no other file.
	b.put("QNLI/train.tsv", []byte(doc("entailment\n2000\tQ\tS\tentailment")))
	longer, err := b.ingest(g)
	if err != nil {
		t.Fatal(err)
	}
	if longer.PartsRun < 2 || longer.PartsRun > longer.Parts/2-5 || longer.Manifest.Rows != 4001 {
		t.Errorf("%d of %d parts run, %d rows", longer.PartsRun, longer.Parts, longer.Manifest.Rows)
	}
	fresh := newBench(t)
	fresh.put("QNLI/train.tsv", []byte(doc("entailment\n2000\tQ\tS\tentailment")))
	fresh.put("QNLI/dev.tsv", []byte(doc("entailment")))
	if n, err := fresh.ingest(g); err != nil || n.Manifest.Digest != longer.Manifest.Digest {
		t.Errorf("another output than that of the same files read at once: %v", err)
	}
}
