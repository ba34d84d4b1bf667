package chrf

import (
	"bufio"
	"encoding/json"
	"math"
	"os"
	"testing"

	"espalier/internal/shared"
)

func near(got, want float64) bool { return got == want || math.Abs(got-want) <= 1e-12*math.Abs(want) }

func lines[T any](t testing.TB, path string) []T {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []T
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 4<<20)
	for sc.Scan() {
		var x T
		if err := json.Unmarshal(sc.Bytes(), &x); err != nil {
			t.Fatal(err)
		}
		out = append(out, x)
	}
	return out
}

func corpus(o Options, hyps []string, refs func(int) []string) (total float64, each []float64) {
	c := NewCounter(o)
	sum, one := make([]float64, o.Width()), make([]float64, o.Width())
	for i, h := range hyps {
		c.Count(h, refs(i), one)
		each = append(each, o.Score(one))
		for k, v := range one {
			sum[k] += v
		}
	}
	return o.Score(sum), each
}

func TestEqualToSacrebleu(t *testing.T) {
	dir := shared.Dir(t, "goldens", "metrics", "bleu")
	type corpusRow struct {
		Name string
		Hyps []string
		Refs [][]*string
	}
	corpora := lines[corpusRow](t, dir+"/corpora.jsonl")
	type golden struct {
		Name   string
		Corpus []struct {
			Args struct {
				Word  int     `json:"word_order"`
				Char  int     `json:"char_order"`
				Beta  float64 `json:"beta"`
				Lower bool    `json:"lowercase"`
				White bool    `json:"whitespace"`
				Eps   bool    `json:"eps_smoothing"`
			}
			Score     float64
			Signature string
			Error     string
		}
		Sentence map[string][]json.RawMessage
	}
	for n, g := range lines[golden](t, dir+"/chrf.jsonl") {
		c := corpora[n]
		refs := func(i int) (out []string) {
			for _, s := range c.Refs {
				if s[i] != nil {
					out = append(out, *s[i])
				}
			}
			return out
		}
		count := len(refs(0))
		for i := range c.Hyps {
			if len(refs(i)) != count {
				count = -1
				break
			}
		}
		for _, w := range g.Corpus {
			if w.Error != "" {
				continue
			}
			a := w.Args
			o := Options{Char: a.Char, Word: a.Word, Beta: a.Beta, Lowercase: a.Lower, Whitespace: a.White, Epsilon: a.Eps}
			if err := o.Check(); err != nil {
				t.Fatal(err)
			}
			if got, _ := corpus(o, c.Hyps, refs); !near(got, w.Score) {
				t.Errorf("%s %+v: %v, want %v", g.Name, a, got, w.Score)
			}
			if got := o.Signature(count); got != w.Signature {
				t.Errorf("%s: signature %s, want %s", g.Name, got, w.Signature)
			}
		}
		for name, word := range map[string]int{"chrF2": 0, "chrF2++": 2} {
			o := Options{Word: word}
			if err := o.Check(); err != nil {
				t.Fatal(err)
			}
			if o.Name() != name {
				t.Errorf("name %s, want %s", o.Name(), name)
			}
			_, each := corpus(o, c.Hyps, refs)
			for i, raw := range g.Sentence[name] {
				var want float64
				if json.Unmarshal(raw, &want) == nil && !near(each[i], want) {
					t.Errorf("%s %s: segment %d %v, want %v", g.Name, name, i, each[i], want)
				}
			}
		}
	}
}

func TestKnownAnswers(t *testing.T) {
	hyps := []string{"The dog bit the man.", "It wasn't surprising.", "The man had just bitten him."}
	refs := [][]string{
		{"The dog bit the man.", "The dog had bit the man."},
		{"It was not unexpected.", "No one was surprised."},
		{"The man bit him first.", "The man had bitten the dog."},
	}
	for word, want := range map[int]float64{0: 59.72751782684763, 2: 59.15310444399262} {
		o := Options{Word: word}
		if err := o.Check(); err != nil {
			t.Fatal(err)
		}
		if got, _ := corpus(o, hyps, func(i int) []string { return refs[i] }); !near(got, want) {
			t.Errorf("%s = %v, want %v", o.Name(), got, want)
		}
	}
}
