package meteor

import (
	"compress/gzip"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// small loads the tables of testdata, a copy of them with the paraphrases packed.
func small(t *testing.T) (d *Data, paraphrases string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "tables"))); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "paraphrases.txt"))
	if err != nil {
		t.Fatal(err)
	}
	pack(t, filepath.Join(dir, "paraphrase-en.gz"), string(text))
	if d, err = Load(dir); err != nil {
		t.Fatal(err)
	}
	return d, string(text)
}

func pack(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(f)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// The original with the tables of testdata gives these: words, counts, score to
// the last bit, alignment.
func TestEqualToTheOriginal(t *testing.T) {
	d, text := small(t)
	plain := readPlain(t, text)
	table, err := d.Paraphrases(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	pairs := jsonLines[struct {
		Hyp, Ref string
		HypWords string `json:"hyp_words"`
		RefWords string `json:"ref_words"`
		Score    float64
		Stats    []float64
		Matches  [][]float64
	}](t, filepath.Join("testdata", "pairs.jsonl"))
	lex := NewLexicon(d, table)
	for _, p := range pairs {
		lex.Numbers(append(d.Words(p.Hyp), d.Words(p.Ref)...))
	}
	lex.Close(2)
	s := NewScorer(lex)
	row := make([]float64, Width)
	for _, p := range pairs {
		h, r := d.Words(p.Hyp), d.Words(p.Ref)
		if strings.Join(h, " ") != p.HypWords || strings.Join(r, " ") != p.RefWords {
			t.Errorf("%q against %q: words %q %q", p.Hyp, p.Ref, h, r)
			continue
		}
		s.Hypothesis(lex.Numbers(h))
		st := s.Count(lex.Numbers(r))
		st.Row(row)
		if got := s.Score(row); !slices.Equal(row, p.Stats) || got != p.Score || Score(row) != got {
			t.Errorf("%q against %q: %v %v, want %v %v", p.Hyp, p.Ref, got, row, p.Score, p.Stats)
		}
		if got := s.matches(); !slices.EqualFunc(got, p.Matches, slices.Equal) {
			t.Errorf("%q against %q: matches %v, want %v", p.Hyp, p.Ref, got, p.Matches)
		}
		compareWithPlain(t, s, plain, h, r)
	}
}

// compareWithPlain compares the last alignment with the plain search's.
func compareWithPlain(t *testing.T, s *Scorer, plain *plainTable, hyp, ref []string) {
	t.Helper()
	want, chunks := plainMatches(s.lex.data, plain, hyp, ref)
	got := slices.SortedFunc(slices.Values(s.chosen), func(a, b match) int { return a.ref - b.ref })
	if !slices.Equal(got, want) || chunks != s.chunks {
		t.Errorf("%q against %q: %v in %d chunks, the plain search gives %v in %d", hyp, ref, got, s.chunks, want, chunks)
	}
}

// Texts of few words, longer than a machine word has bits, with more than one
// beam holds.
func TestSearchIsThePlainOne(t *testing.T) {
	d, text := small(t)
	plain := readPlain(t, text)
	table, err := d.Paraphrases(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Fields(text + " " + strings.Repeat("a the dog cat on in ", 200))
	r := rand.New(rand.NewPCG(1, 2))
	draw := func(n, of int) (out []string) {
		from := r.IntN(len(words) - of)
		for range n {
			out = append(out, words[from+r.IntN(of)])
		}
		return out
	}
	lex := NewLexicon(d, table)
	lex.Numbers(words)
	lex.Close(3)
	s := NewScorer(lex)
	for i := range 400 {
		n := 1 + r.IntN(20)
		if i%20 == 0 {
			n = 60 + r.IntN(90)
		}
		hyp, ref := draw(n, 1+r.IntN(30)), draw(n, 1+r.IntN(30))
		if i%3 > 0 {
			ref = slices.Clone(hyp)
			r.Shuffle(len(ref), func(i, j int) { ref[i], ref[j] = ref[j], ref[i] })
		}
		s.Hypothesis(lex.Numbers(hyp))
		s.Count(lex.Numbers(ref))
		compareWithPlain(t, s, plain, hyp, ref)
	}
}
