package decode

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// A toy is a stepper whose distributions are functions of input and prefix. It
// checks what a stepper is promised.
type toy struct {
	t      *testing.T
	vocab  int
	rows   [][]int32 // input, then the tokens of each row
	steps  int
	fed    int // rows in all
	peak   float64
	failAt int // step at which it fails, if not 0
}

func newToy(t *testing.T, vocab, inputs int, peak float64) *toy {
	s := &toy{t: t, vocab: vocab, peak: peak}
	for i := range inputs {
		s.rows = append(s.rows, []int32{int32(i)})
	}
	return s
}

var errToy = errors.New("toy")

func (s *toy) Step(source, token []int32) ([]float32, error) {
	if s.steps++; s.steps == s.failAt {
		return nil, errToy
	}
	s.fed += len(token)
	next := make([][]int32, len(token))
	counts := map[int32]int{}
	for r, src := range source {
		next[r] = append(slices.Clone(s.rows[src]), token[r])
		in := next[r][0]
		if r > 0 && in != next[r-1][0] && counts[in] > 0 {
			s.t.Errorf("rows of input %d are not consecutive", in)
		}
		counts[in]++
	}
	for _, n := range counts {
		if n != counts[next[0][0]] {
			s.t.Errorf("inputs have different numbers of rows: %v", counts)
		}
	}
	s.rows = next
	out := make([]float32, 0, len(token)*s.vocab)
	for _, row := range next {
		out = append(out, s.logp(row)...)
	}
	return out, nil
}

// logp is the distribution after a row: input, BOS, tokens.
func (s *toy) logp(row []int32) []float32 {
	words := []uint64{5}
	for _, v := range row {
		words = append(words, uint64(v))
	}
	x := make([]float64, s.vocab)
	total := 0.0
	for v := range x {
		x[v] = math.Exp(s.peak * uniform(append(words, uint64(v))...))
		total += x[v]
	}
	out := make([]float32, s.vocab)
	for v := range x {
		out[v] = float32(math.Log(x[v] / total))
	}
	return out
}

func run(t *testing.T, s Search, st Stepper, inputs int) [][]Hypothesis {
	t.Helper()
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	out, err := s.Run(t.Context(), st, inputs)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func same(a, b Hypothesis) bool {
	return slices.Equal(a.Tokens, b.Tokens) && slices.Equal(a.LogProbs, b.LogProbs) && math.Abs(a.Score-b.Score) < 1e-9 && a.Ended == b.Ended
}

// enumerate returns all sequences that end, or are open at the limit, best
// first.
func enumerate(st *toy, input, eos int32, limit int) []Hypothesis {
	var out []Hypothesis
	var grow func(h Hypothesis)
	grow = func(h Hypothesis) {
		if h.Ended || len(h.Tokens) == limit {
			out = append(out, h)
			return
		}
		for v, p := range st.logp(append([]int32{input, 9}, h.Tokens...)) {
			grow(Hypothesis{
				Tokens:   append(slices.Clone(h.Tokens), int32(v)),
				LogProbs: append(slices.Clone(h.LogProbs), p),
				Score:    h.Score + float64(p),
				Ended:    int32(v) == eos,
			})
		}
	}
	grow(Hypothesis{})
	slices.SortStableFunc(out, func(a, b Hypothesis) int {
		if a.Score > b.Score {
			return -1
		} else if a.Score < b.Score {
			return 1
		}
		return 0
	})
	return out
}

func TestBeamAgainstExhaustive(t *testing.T) {
	for _, c := range []struct{ vocab, limit int }{{2, 4}, {3, 3}, {5, 3}, {6, 4}} {
		k := 1
		for range c.limit {
			k *= c.vocab
		}
		st := newToy(t, c.vocab, 3, 4)
		eos := int32(c.vocab - 1)
		got := run(t, Search{Beam: k, MaxLen: c.limit, BOS: 9, EOS: eos}, st, 3)
		for input := range got {
			want := enumerate(st, int32(input), eos, c.limit)
			for i := range want {
				if !same(got[input][i], want[i]) {
					t.Fatalf("V=%d T=%d input %d: result %d is %+v, want %+v", c.vocab, c.limit, input, i, got[input][i], want[i])
				}
			}
		}
	}
}

// plain is the search of spec/acort.md 9.2 word by word: one input, all steps,
// all results kept, sorted at the end.
func plain(st *toy, input int32, s Search) []Hypothesis {
	type slot struct {
		h   Hypothesis
		sum float64
	}
	live, done := []slot{{}}, []Hypothesis{}
	for t := range s.MaxLen {
		var all []slot
		for _, b := range live {
			for v, p := range st.logp(append([]int32{input, 9}, b.h.Tokens...)) {
				if slices.Contains(s.Suppress, int32(v)) {
					p -= 1000
				}
				h := Hypothesis{Tokens: append(slices.Clone(b.h.Tokens), int32(v)), LogProbs: append(slices.Clone(b.h.LogProbs), p)}
				all = append(all, slot{h, b.sum + float64(p)})
			}
		}
		slices.SortStableFunc(all, func(a, b slot) int {
			if a.sum > b.sum {
				return -1
			} else if a.sum < b.sum {
				return 1
			}
			return 0
		})
		live = all[:min(s.Beam, len(all))]
		for i := range live {
			b := &live[i]
			ended := b.h.Tokens[t] == s.EOS
			if ended || t == s.MaxLen-1 {
				h := b.h
				n := float64(len(h.Tokens))
				h.Score, h.Ended = b.sum, ended
				switch s.Penalty {
				case Average:
					h.Score /= n
				case Wu:
					h.Score /= math.Pow((5+n)/6, s.Alpha)
				}
				done = append(done, h)
			}
			if ended && s.Original {
				b.sum = -1000
			} else if ended {
				b.sum -= 1000
			}
		}
	}
	slices.SortStableFunc(done, func(a, b Hypothesis) int {
		if a.Score > b.Score {
			return -1
		} else if a.Score < b.Score {
			return 1
		}
		return 0
	})
	return done[:s.Beam]
}

func TestBeamAgainstPlain(t *testing.T) {
	const inputs = 40
	stopped := 0
	for _, base := range []Search{
		{},
		{Penalty: Average},
		{Penalty: Wu, Alpha: 0.9},
		{Original: true},
		{Suppress: []int32{0, 4}},
	} {
		for _, k := range []int{1, 2, 3, 7} {
			for _, peak := range []float64{0.5, 3, 12} {
				s := base
				s.Beam, s.MaxLen, s.BOS, s.EOS = k, 9, 9, 3
				st := newToy(t, 7, inputs, peak)
				got := run(t, s, st, inputs)
				if st.fed < inputs*(1+8*k) {
					stopped++
				}
				for input := range got {
					want := plain(st, int32(input), s)
					for i := range want {
						if !same(got[input][i], want[i]) {
							t.Errorf("%+v peak %g input %d: result %d is %+v, want %+v", s, peak, input, i, got[input][i], want[i])
						}
					}
				}
			}
		}
	}
	if stopped == 0 {
		t.Error("no search ever stopped early")
	}
}

// A beam of one is greedy: the arg-max at each step, up to the first EOS.
func TestGreedy(t *testing.T) {
	st := newToy(t, 6, 20, 3)
	for input, hs := range run(t, Search{MaxLen: 12, BOS: 9, EOS: 5}, st, 20) {
		var want []int32
		for len(want) < 12 && !slices.Contains(want, 5) {
			p := st.logp(append([]int32{int32(input), 9}, want...))
			want = append(want, int32(slices.Index(p, slices.Max(p))))
		}
		if len(hs) != 1 || !slices.Equal(hs[0].Tokens, want) || hs[0].Ended != (want[len(want)-1] == 5) {
			t.Errorf("input %d: %+v, want %v", input, hs, want)
		}
	}
}

type flat struct{ vocab int }

func (s flat) Step(_, token []int32) ([]float32, error) {
	out := make([]float32, s.vocab*len(token))
	for i := range out {
		out[i] = float32(-math.Log(float64(s.vocab)))
	}
	return out, nil
}

// Equal sums go to the lower beam and token.
func TestTies(t *testing.T) {
	got := run(t, Search{Beam: 3, MaxLen: 2, BOS: 9, EOS: 99}, flat{4}, 1)[0]
	want := "[[0 0] [0 1] [0 2]]"
	if s := fmt.Sprint([][]int32{got[0].Tokens, got[1].Tokens, got[2].Tokens}); s != want {
		t.Errorf("tokens %s, want %s", s, want)
	}
}

func TestNotANumber(t *testing.T) {
	s := Search{Beam: 2, MaxLen: 2}
	_, err := s.Run(t.Context(), nan{}, 1)
	if err == nil || !strings.Contains(err.Error(), "no token") {
		t.Errorf("error %v", err)
	}
}

type nan struct{}

func (nan) Step(_, token []int32) ([]float32, error) {
	return slices.Repeat([]float32{float32(math.NaN())}, 3*len(token)), nil
}

func TestErrors(t *testing.T) {
	st := newToy(t, 4, 2, 1)
	st.failAt = 2
	s := Search{Beam: 2, MaxLen: 5, EOS: 99}
	if _, err := s.Run(t.Context(), st, 2); !errors.Is(err, errToy) {
		t.Errorf("failing stepper: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Run(ctx, newToy(t, 4, 2, 1), 2); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	for _, c := range []struct {
		s    Search
		want string
	}{
		{Search{Beam: -1, MaxLen: 3}, "beam: -1"},
		{Search{}, "max_len: 0"},
		{Search{MaxLen: 3, Penalty: "log"}, `penalty: "log"`},
		{Search{MaxLen: 3, Penalty: Average, Alpha: 1}, "alpha"},
	} {
		if err := c.s.Check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.s, err, c.want)
		}
	}
}

func TestSampling(t *testing.T) {
	s := Sampling{N: 400, MaxLen: 3, BOS: 9, EOS: 2, Seed: 11}
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	draw := func(keys ...uint64) [][]Hypothesis {
		out, err := s.Run(t.Context(), newToyKeys(t, keys), keys)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	both := draw(3, 8)
	if alone := draw(8); !slices.EqualFunc(alone[0], both[1], same) {
		t.Error("samples depend on the other inputs")
	}
	// The first token has the model's distribution.
	logp := newToy(t, 4, 1, 2).logp([]int32{3, 9})
	counts := make([]float64, 4)
	for _, h := range both[0] {
		counts[h.Tokens[0]]++
		sum := 0.0
		for i, id := range h.Tokens {
			sum += float64(h.LogProbs[i])
			if id == 2 && (i != len(h.Tokens)-1 || !h.Ended) {
				t.Errorf("%+v goes on after EOS", h)
			}
		}
		if sum != h.Score || (!h.Ended && len(h.Tokens) != 3) {
			t.Errorf("%+v: sum %g", h, sum)
		}
	}
	for v, n := range counts {
		p := math.Exp(float64(logp[v]))
		if dev := math.Sqrt(400 * p * (1 - p)); math.Abs(n-400*p) > 4*dev {
			t.Errorf("token %d drawn %g times of 400, want about %.1f", v, n, 400*p)
		}
	}
	s.Seed++
	if other := draw(3, 8); slices.EqualFunc(other[0], both[0], same) {
		t.Error("another seed draws the same")
	}
	s.Temperature = 1e-3
	best := int32(slices.Index(logp, slices.Max(logp)))
	for _, h := range draw(3)[0] {
		if h.Tokens[0] != best {
			t.Fatalf("a cold draw is %d, want %d", h.Tokens[0], best)
		}
	}
}

// newToyKeys is a toy whose inputs are known by their keys.
func newToyKeys(t *testing.T, keys []uint64) *toy {
	s := newToy(t, 4, len(keys), 2)
	for i, k := range keys {
		s.rows[i][0] = int32(k)
	}
	return s
}

// bestPlain sorts all extensions.
func bestPlain(k int, live []beam, logp []float32, vocab int) []candidate {
	var all []candidate
	for i := range live {
		for v, p := range logp[i*vocab:][:vocab] {
			if sum := live[i].sum + float64(p); sum == sum {
				all = append(all, candidate{i, int32(v), p, sum})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(b.sum, a.sum) })
	return all[:min(k, len(all))]
}

func TestBest(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	inf := math.Inf(-1)
	for range 20000 {
		k, rows, vocab := 1+r.IntN(6), 1+r.IntN(5), 1+r.IntN(40)
		steps := math.Exp(r.Float64() * 8) // few of them make ties
		scale := math.Exp(-r.Float64() * 100)
		live, logp := make([]beam, rows), make([]float32, rows*vocab)
		for i := range live {
			live[i].sum = []float64{-r.Float64() * 30, -r.Float64() * scale, -1000 - r.Float64(), low, inf, 0}[r.IntN(6)]
		}
		for i := range logp {
			switch p := -math.Floor(r.ExpFloat64()*steps) / steps * min(1, 1e3*scale); r.IntN(30) {
			case 0:
				logp[i] = float32(inf)
			case 1:
				logp[i] = float32(math.NaN())
			default:
				logp[i] = float32(p)
			}
		}
		got, want := best(nil, k, live, logp, vocab), bestPlain(k, live, logp, vocab)
		if len(got) != len(want) {
			t.Fatalf("%d of %d candidates, want %d", len(got), k, len(want))
		}
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("candidate %d of sums %v: %+v, want %+v", i, live, got[i], want[i])
			}
		}
	}
}
