package ter

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"testing"
)

//go:embed testdata/ter.jsonl
var segments []byte

var settings = []Options{
	{}, {Normalize: true}, {NoPunct: true}, {Case: true}, {Normalize: true, Asian: true}, {Normalize: true, NoPunct: true, Asian: true},
}

// TestSacrebleu compares every segment and the corpus with sacrebleu.
func TestSacrebleu(t *testing.T) {
	lines := bytes.Split(bytes.TrimSpace(segments), []byte("\n"))
	var first struct {
		Corpus []struct {
			Score     float64
			Signature string
		}
	}
	if err := json.Unmarshal(lines[0], &first); err != nil {
		t.Fatal(err)
	}
	edits, length := make([]float64, len(settings)), make([]float64, len(settings))
	for i, line := range lines[1:] {
		var row struct {
			Hyp    string
			Refs   []string
			Edits  []int
			Length []float64
		}
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatal(err)
		}
		for k := range settings {
			if e, l := settings[k].Count(row.Hyp, row.Refs); e != row.Edits[k] || l != row.Length[k] {
				t.Errorf("segment %d %+v: %d edits of %v words, want %d of %v", i+1, settings[k], e, l, row.Edits[k], row.Length[k])
			}
			e, l := settings[k].Count(row.Hyp, row.Refs[:1])
			edits[k] += float64(e)
			length[k] += l
		}
	}
	for k, want := range first.Corpus {
		if got := Score(edits[k], length[k]); got != want.Score {
			t.Errorf("corpus %+v: %v, want %v", settings[k], got, want.Score)
		}
		if got := settings[k].Signature(1); got != want.Signature {
			t.Errorf("signature %s, want %s", got, want.Signature)
		}
	}
}

func TestCount(t *testing.T) {
	cases := []struct {
		hyp   string
		refs  []string
		edits int
		mean  float64
	}{
		{"the cat sat", []string{"the cat sat"}, 0, 3},
		{"sat the cat", []string{"the cat sat"}, 1, 3}, // one shift
		{"the cat", []string{"the cat sat", "the"}, 1, 2},
		{"a b c", []string{""}, 3, 0},
		{"", []string{"a b"}, 2, 2},
		{"", []string{""}, 0, 0},
		{"The Cat", []string{"the cat"}, 0, 2},
	}
	var o Options
	for _, c := range cases {
		if e, l := o.Count(c.hyp, c.refs); e != c.edits || l != c.mean {
			t.Errorf("%q against %q: %d edits of %v words, want %d of %v", c.hyp, c.refs, e, l, c.edits, c.mean)
		}
	}
	if Score(3, 0) != 100 || Score(0, 0) != 0 || Score(1, 4) != 25 {
		t.Error("Score of the limits")
	}
}

// References are cut twice, as in sacrebleu 2.6.0: with a next line between
// words the second cut sees a possessive that the first does not.
func TestReferencesAreCutTwice(t *testing.T) {
	o := Options{Normalize: true}
	text := "it's\u0085-a cat"
	if hyp, ref := o.Tokenize(text), o.TokenizeReference(text); len(hyp) != 3 || len(ref) != 4 {
		t.Errorf("hypothesis %q, reference %q", hyp, ref)
	}
	if e, l := o.Count(text, []string{text}); e != 2 || l != 4 {
		t.Errorf("%d edits of %v words, want 2 of 4", e, l)
	}
	if e, l := (&Options{}).Count(text, []string{text}); e != 0 || l != 3 {
		t.Errorf("not normalised: %d edits of %v words, want 0 of 3", e, l)
	}
}

func BenchmarkEdits(b *testing.B) {
	ref := make([]uint32, 40)
	hyp := make([]uint32, 40)
	for i := range ref {
		ref[i], hyp[i] = uint32(i%17), uint32((i*7+3)%17)
	}
	b.ReportAllocs()
	for b.Loop() {
		Edits(hyp, ref)
	}
}
