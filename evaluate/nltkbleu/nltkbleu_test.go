package nltkbleu

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"espalier/evaluate/ngram"
	"espalier/evaluate/pltrdy"
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

func floats(x []int64) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = float64(v)
	}
	return out
}

func total(all []Stats) Stats {
	sum := Stats{Num: make([]int64, len(all[0].Num)), Den: make([]int64, len(all[0].Den))}
	for _, s := range all {
		sum.Hyp, sum.Ref, sum.Last = sum.Hyp+s.Hyp, sum.Ref+s.Ref, s.Last
		for k := range s.Num {
			sum.Num[k], sum.Den[k] = sum.Num[k]+s.Num[k], sum.Den[k]+s.Den[k]
		}
	}
	return sum
}

func score(o Options, s Stats) (float64, error) {
	return o.Score(float64(s.Hyp), float64(s.Ref), floats(s.Num), floats(s.Den), s.Last)
}

func TestEqualToNLTK(t *testing.T) {
	dir := shared.Dir(t, "goldens", "metrics", "bleu")
	type corpusRow struct {
		Name string
		Hyps []string
		Refs [][]*string
	}
	corpora := lines[corpusRow](t, dir+"/corpora.jsonl")
	type golden struct {
		Name        string
		Blank, Char map[string]json.RawMessage
	}
	for n, g := range lines[golden](t, dir+"/nltk.jsonl") {
		c := corpora[n]
		for seg, values := range map[string]map[string]json.RawMessage{"blank": g.Blank, "char": g.Char} {
			var words ngram.Words
			counter := NewCounter(4)
			cut := func(s string) []uint32 {
				if seg == "char" {
					s = pltrdy.Characters(s)
				}
				return words.Fields(nil, s)
			}
			var all []Stats
			var gleu [][2]int64
			for i, h := range c.Hyps {
				var refs [][]uint32
				for _, s := range c.Refs {
					if s[i] != nil {
						refs = append(refs, cut(*s[i]))
					}
				}
				hyp := cut(h)
				all = append(all, counter.Count(hyp, refs))
				m, n := counter.GLEU(hyp, refs)
				gleu = append(gleu, [2]int64{m, n})
			}
			check := func(key string, got float64, err error, raw json.RawMessage) {
				t.Helper()
				var want float64
				if json.Unmarshal(raw, &want) != nil {
					if err == nil && !strings.Contains(string(raw), "ZeroDivision") && !strings.Contains(string(raw), "ValueError") {
						t.Errorf("%s %s %s: %v, want %s", g.Name, seg, key, got, raw)
					}
					return
				}
				if err != nil || !near(got, want) {
					t.Errorf("%s %s %s: %v (%v), want %v", g.Name, seg, key, got, err, want)
				}
			}
			for key, raw := range values {
				o := Options{}
				order := 4
				switch {
				case key == "corpus_gleu":
					var m, n int64
					for _, x := range gleu {
						m, n = m+x[0], n+x[1]
					}
					v := 0.0
					if n > 0 {
						v = float64(m) / float64(n)
					}
					check(key, v, nil, raw)
					continue
				case key == "sentence_gleu":
					var each []json.RawMessage
					if err := json.Unmarshal(raw, &each); err != nil {
						t.Fatal(err)
					}
					for i, x := range gleu {
						v := 0.0
						if x[1] > 0 {
							v = float64(x[0]) / float64(x[1])
						}
						check(fmt.Sprint(key, i), v, nil, each[i])
					}
					continue
				case key == "corpus_method1_bigram_only":
					o.Method, o.Weights = 1, []float64{0, 1, 0, 0}
				case key == "corpus_method0_N4_reweigh":
					o.Weights, o.Reweigh = Uniform(4), true
				default:
					if _, err := fmt.Sscanf(key[strings.Index(key, "method"):], "method%d_N%d", &o.Method, &order); err != nil {
						t.Fatal(key)
					}
					o.Weights = Uniform(order)
				}
				if strings.HasPrefix(key, "corpus") {
					v, err := score(o, total(all))
					check(key, v, err, raw)
					continue
				}
				var each []json.RawMessage
				if err := json.Unmarshal(raw, &each); err != nil {
					t.Fatal(err)
				}
				for i, s := range all {
					v, err := score(o, s)
					check(fmt.Sprint(key, " ", i), v, err, each[i])
				}
			}
		}
	}
}

// Values from issue threads of NLTK.
func TestKnownAnswers(t *testing.T) {
	var words ngram.Words
	c := NewCounter(4)
	s := c.Count(words.Fields(nil, "This is cat"), [][]uint32{words.Fields(nil, "This is a cat")})
	for m, want := range []float64{8.987727354491445e-155, .19053627645285995, .45782273986766686, .35826565528689464, .16793545727180179, .210221219076197, -1, .26191923845455417} {
		got, err := score(Options{Weights: Uniform(4), Method: m}, s)
		if want < 0 {
			if err != ErrMethod6 {
				t.Errorf("method %d: %v, %v, want an error", m, got, err)
			}
		} else if !near(got, want) {
			t.Errorf("method %d: %v, want %v", m, got, want)
		}
	}
}
