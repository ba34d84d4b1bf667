package sacrebleu

import (
	"bufio"
	"encoding/json"
	"math"
	"os"
	"slices"
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

type corpus struct {
	Name string
	Hyps []string
	Refs [][]*string // by stream
}

func (c *corpus) refs(i int) (out []string) {
	for _, s := range c.Refs {
		if s[i] != nil {
			out = append(out, *s[i])
		}
	}
	return out
}

// nrefs is the number of references a segment, -1 if it varies.
func (c *corpus) nrefs() int {
	n := len(c.refs(0))
	for i := range c.Hyps {
		if len(c.refs(i)) != n {
			return -1
		}
	}
	return n
}

type args struct {
	Tokenize string
	Lower    bool      `json:"lowercase"`
	Smooth   Smoothing `json:"smooth_method"`
	Value    *float64  `json:"smooth_value"`
	Eff      bool      `json:"effective_order"`
	Order    int       `json:"max_ngram_order"`
}

func (a args) options(t testing.TB) Options {
	o := Options{Tokenize: a.Tokenize, Lowercase: a.Lower, Smooth: a.Smooth, Effective: a.Eff, Order: a.Order}
	if a.Value != nil {
		o.Value = *a.Value
	}
	if err := o.Check(); err != nil {
		t.Fatal(err)
	}
	return o
}

func floats(x []int64) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = float64(v)
	}
	return out
}

func score(o *Options, s Stats) Score {
	return o.Score(float64(s.Sys), float64(s.Ref), floats(s.Correct), floats(s.Total))
}

func total(o Options, c *corpus) Stats {
	counter := NewCounter(o)
	sum := Stats{Correct: make([]int64, o.Order), Total: make([]int64, o.Order)}
	for i, h := range c.Hyps {
		s := counter.Count(h, c.refs(i))
		sum.Sys, sum.Ref = sum.Sys+s.Sys, sum.Ref+s.Ref
		for k := range s.Correct {
			sum.Correct[k], sum.Total[k] = sum.Correct[k]+s.Correct[k], sum.Total[k]+s.Total[k]
		}
	}
	return sum
}

func TestTokenizers(t *testing.T) {
	for _, r := range lines[map[string]string](t, shared.Dir(t, "goldens", "metrics", "bleu", "tokenize.jsonl")) {
		for name := range Tokenizers {
			o := Options{Tokenize: name}
			if got := o.Preprocess(r["text"]); got != r[name] {
				t.Errorf("%s of %q: %q, want %q", name, r["text"], got, r[name])
			}
		}
	}
}

func TestEqualToSacrebleu(t *testing.T) {
	dir := shared.Dir(t, "goldens", "metrics", "bleu")
	corpora := lines[*corpus](t, dir+"/corpora.jsonl")
	type golden struct {
		Name   string
		Corpus []struct {
			Args             args
			Score, BP        float64
			Counts, Totals   []float64
			Precisions       []float64
			Sys              int64 `json:"sys_len"`
			Ref              int64 `json:"ref_len"`
			Signature, Short string
			Error            string
		}
		Sentence map[string][]json.RawMessage
	}
	sentence := map[string]args{
		"13a exp eff": {Tokenize: "13a", Eff: true}, "13a exp noeff": {Tokenize: "13a"}, "none floor0.1 noeff": {Tokenize: "none", Smooth: Floor},
		"none add-k1 eff": {Tokenize: "none", Smooth: AddK, Eff: true}, "zh exp eff": {Tokenize: "zh", Eff: true}, "char exp eff lc": {Tokenize: "char", Eff: true, Lower: true},
	}
	for n, g := range lines[golden](t, dir+"/sacrebleu.jsonl") {
		c := corpora[n]
		for _, w := range g.Corpus {
			if w.Error != "" {
				t.Logf("%s: %s", g.Name, w.Error)
				continue
			}
			o := w.Args.options(t)
			s := total(o, c)
			got := score(&o, s)
			if !near(got.Value, w.Score) || !near(got.Penalty, w.BP) || s.Sys != w.Sys || s.Ref != w.Ref {
				t.Errorf("%s %+v: %v, penalty %v, lengths %d, %d; want %v, %v, %d, %d", g.Name, w.Args, got.Value, got.Penalty, s.Sys, s.Ref, w.Score, w.BP, w.Sys, w.Ref)
			}
			if o.Smooth != AddK && (!slices.Equal(floats(s.Correct), w.Counts) || !slices.Equal(floats(s.Total), w.Totals)) {
				t.Errorf("%s %+v: counts %v of %v, want %v of %v", g.Name, w.Args, s.Correct, s.Total, w.Counts, w.Totals)
			}
			for k, p := range w.Precisions {
				if !near(got.Precisions[k], p) {
					t.Errorf("%s %+v: precision %d %v, want %v", g.Name, w.Args, k+1, got.Precisions[k], p)
				}
			}
			if sig := o.Signature(c.nrefs()); sig != w.Signature || Short(sig) != w.Short {
				t.Errorf("%s: signature %s and %s, want %s and %s", g.Name, sig, Short(sig), w.Signature, w.Short)
			}
		}
		for name, values := range g.Sentence {
			o := sentence[name].options(t)
			counter := NewCounter(o)
			for i, raw := range values {
				var want float64
				if json.Unmarshal(raw, &want) != nil {
					continue // the tool raises
				}
				if got := score(&o, counter.Count(c.Hyps[i], c.refs(i))).Value; !near(got, want) {
					t.Errorf("%s %s: segment %d %v, want %v", g.Name, name, i, got, want)
				}
			}
		}
	}
}

// The README's corpus and cases from issue threads.
func TestKnownAnswers(t *testing.T) {
	s := func(x string) *string { return &x }
	readme := &corpus{
		Hyps: []string{"The dog bit the man.", "It wasn't surprising.", "The man had just bitten him."},
		Refs: [][]*string{
			{s("The dog bit the man."), s("It was not unexpected."), s("The man bit him first.")},
			{s("The dog had bit the man."), s("No one was surprised."), s("The man had bitten the dog.")},
		},
	}
	one := &corpus{Hyps: readme.Hyps, Refs: readme.Refs[:1]}
	pair := func(h string, r ...string) *corpus {
		c := &corpus{Hyps: []string{h}}
		for _, x := range r {
			c.Refs = append(c.Refs, []*string{s(x)})
		}
		return c
	}
	for _, x := range []struct {
		c    *corpus
		a    args
		want float64
	}{
		{readme, args{}, 48.530827009929865},
		{one, args{}, 45.06750632106114},
		{one, args{Smooth: AddK}, 49.69770530031035},
		{readme, args{Order: 3}, 53.93393139430307},
		{readme, args{Order: 1}, 77.64837655275439},
		{pair("yes", "no"), args{}, 0},
		{pair("Zhongjian Plaza", "Zhongjian Plaza"), args{}, 0},
		{pair("China Railway Heavy Industry", "China Railway Heavy Industry"), args{Lower: true}, 100.00000000000004},
		{pair("a b c d", "a b c d e", "x y z"), args{}, 100.00000000000004},
		{pair("a b c d", "x y z", "a b c d e"), args{}, 100.00000000000004},
	} {
		o := x.a.options(t)
		if got := score(&o, total(o, x.c)).Value; !near(got, x.want) {
			t.Errorf("%q %+v: %v, want %v", x.c.Hyps, x.a, got, x.want)
		}
	}
}

func BenchmarkCount(b *testing.B) {
	o := args{}.options(b)
	c := NewCounter(o)
	b.ReportAllocs()
	for b.Loop() {
		c.Count("A man is riding a wave on top of a surfboard, isn't he?", []string{"A surfer rides a large wave in the ocean, on top of a surfboard."})
	}
}
