package decode

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
)

// A Scorer is a stepper that also gives scores before the softmax.
type Scorer interface {
	Stepper
	// Scores is Step with scores, not log-probabilities.
	Scores(source, token []int32) ([]float32, error)
}

// Rules name a way to score and stop beams.
type Rules string

// Rules of releases of Hugging Face's transformers, which differ in what a
// finished beam's sum is divided by and in when the search stops.
const (
	Rules5  Rules = "5"   // since 4.50: by the generated tokens
	Rules47 Rules = "4.7" // until 4.49: by the prefix with start token, without EOS
)

// Early says when beam search stops.
type Early string

// Early stopping: never before no open beam can win by the rules' estimate; as
// soon as there are enough finished beams; not before no open beam can win at
// any length.
const (
	EarlyFalse Early = "false"
	EarlyTrue  Early = "true"
	EarlyNever Early = "never"
)

// A Generation is how sequences are generated, equal to Hugging Face's
// generate: greedy, beam search, or draws.
type Generation struct {
	Beams   int      `yaml:"beams" json:"beams" doc:"width of the beam; by default 1, greedy"`
	Return  int      `yaml:"return" json:"return" doc:"sequences of each input, best first; by default 1"`
	MaxNew  int      `yaml:"max_new" json:"max_new" doc:"tokens at most"`
	Penalty *float64 `yaml:"length_penalty" json:"length_penalty" doc:"exponent of the length that divides a beam's sum; by default 1"`
	Early   Early    `yaml:"early_stopping" json:"early_stopping" doc:"of beam search: false, true or never; by default false"`
	Rules   Rules    `yaml:"rules" json:"rules" doc:"of beam search, by the transformers release: 5 or 4.7; by default 5"`
	Sample  bool     `yaml:"sample" json:"sample,omitempty" doc:"draw tokens"`
	Seed    uint64   `yaml:"seed" json:"seed,omitempty" doc:"of the draws"`

	Processing `yaml:",inline"`
	Filter     `yaml:",inline"`

	Start int32 `yaml:"-" json:"-"` // of the model
	EOS   int32 `yaml:"-" json:"-"`
}

// Check fills in defaults and reports every fault at once.
func (g *Generation) Check() error {
	g.Beams, g.Return = cmp.Or(g.Beams, 1), cmp.Or(g.Return, 1)
	g.Early, g.Rules = cmp.Or(g.Early, EarlyFalse), cmp.Or(g.Rules, Rules5)
	if g.Penalty == nil {
		one := 1.0
		g.Penalty = &one
	}
	var errs []error
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if g.Beams < 1 {
		fault("beams: %d, want at least 1", g.Beams)
	}
	if g.Return < 1 || !g.Sample && g.Return > g.Beams {
		fault("return: %d, want 1 to the beam's %d", g.Return, g.Beams)
	}
	if g.MaxNew < 1 {
		fault("max_new: %d, want at least 1", g.MaxNew)
	}
	if g.MinNew < 0 || g.NoRepeat < 0 || g.TopK < 0 || g.Keep < 0 {
		fault("min_new, no_repeat_ngram, top_k, keep: %d, %d, %d, %d, want at least 0", g.MinNew, g.NoRepeat, g.TopK, g.Keep)
	}
	switch g.Early {
	case EarlyFalse, EarlyTrue, EarlyNever:
	default:
		fault("early_stopping: %q, want false, true or never", g.Early)
	}
	switch g.Rules {
	case Rules5, Rules47:
	default:
		fault("rules: %q, want 5 or 4.7", g.Rules)
	}
	if g.Early == EarlyNever && g.Rules == Rules47 {
		fault("early_stopping: never came after 4.7")
	}
	if g.Repetition < 0 || g.Temperature < 0 {
		fault("repetition_penalty, temperature: %g, %g, want more than 0", g.Repetition, g.Temperature)
	}
	for _, f := range []struct {
		name string
		v    float64
	}{{"top_p", g.TopP}, {"min_p", g.MinP}, {"typical_p", g.Typical}} {
		if !(f.v >= 0 && f.v <= 1) {
			fault("%s: %g, want 0 to 1", f.name, f.v)
		}
	}
	if g.Sample && g.Beams > 1 {
		fault("sample: not with a beam")
	}
	if !g.Sample && g.Filter != (Filter{}) {
		fault("temperature, top_k, top_p, min_p, typical_p, keep: only with sample")
	}
	return errors.Join(errs...)
}

// Rows is how many rows of each input a stepper needs.
func (g *Generation) Rows() int {
	if g.Sample {
		return g.Return
	}
	return g.Beams
}

// Run generates the sequences of each input, best first. A draw is a function
// of the seed, the input's key, the number of the sequence and the position. g
// must have been checked.
func (g *Generation) Run(ctx context.Context, st Scorer, keys []uint64) ([][]Hypothesis, error) {
	if g.Beams > 1 {
		return g.beam(ctx, st, len(keys))
	}
	return g.single(ctx, st, keys)
}

// A sequence is a row that is generated.
type sequence struct {
	Hypothesis
	seen []int32 // with the start token
}

// single is greedy search and draws: rows that do not know of each other.
func (g *Generation) single(ctx context.Context, st Scorer, keys []uint64) ([][]Hypothesis, error) {
	n := g.Rows()
	all := make([][]sequence, len(keys))
	left := make([]int, len(keys)) // inputs with open rows
	var source, token []int32
	for i := range all {
		left[i] = i
		all[i] = make([]sequence, n)
		for j := range n {
			all[i][j].seen = []int32{g.Start}
			source, token = append(source, int32(i)), append(token, g.Start)
		}
	}
	raw := g.Sample || g.repeats()
	for at := 0; at < g.MaxNew && len(left) > 0; at++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		step := st.Step
		if raw {
			step = st.Scores
		}
		scores, err := step(source, token)
		if err != nil {
			return nil, err
		}
		vocab := len(scores) / len(token)
		source, token = source[:0], token[:0]
		kept := left[:0]
		for row, i := range left {
			open := false
			for j := range all[i] {
				x := &all[i][j]
				if x.Ended {
					continue
				}
				own := scores[(row*n+j)*vocab:][:vocab]
				id, p, ok := g.next(own, x.seen, raw, keys[i], j, at)
				if !ok {
					return nil, fmt.Errorf("decode: input %d: no token has a score at position %d", i, at)
				}
				x.seen = append(x.seen, id)
				x.LogProbs = append(x.LogProbs, p)
				x.Score += float64(p)
				x.Ended = id == g.EOS
				open = open || !x.Ended
			}
			if !open {
				continue
			}
			for j := range all[i] { // an ended row goes along, its tokens are not used
				source = append(source, int32(row*n+j))
				token = append(token, all[i][j].seen[len(all[i][j].seen)-1])
			}
			kept = append(kept, i)
		}
		left = kept
	}
	out := make([][]Hypothesis, len(keys))
	for i := range all {
		for j := range all[i] {
			x := &all[i][j]
			x.Tokens = x.seen[1:]
			out[i] = append(out[i], x.Hypothesis)
		}
	}
	return out, nil
}

// next chooses a row's next token; p is its log-probability.
func (g *Generation) next(scores []float32, seen []int32, raw bool, key uint64, row, at int) (id int32, p float32, ok bool) {
	g.process(scores, seen, g.EOS, g.MaxNew)
	if g.Sample {
		g.Filter.apply(scores)
	}
	best := -1
	for i, v := range scores {
		if v == v && (best < 0 || v > scores[best]) {
			best = i
		}
	}
	if best < 0 || scores[best] == forbidden {
		return 0, 0, false
	}
	if raw {
		logSoftmax(scores)
	}
	if g.Sample {
		draw := Sampling{Temperature: 1}
		best = int(draw.draw(scores, uniform(g.Seed, key, uint64(row), uint64(at))))
	}
	return int32(best), scores[best], true
}

// rows gives the next step's rows of an input.
func next(source, token []int32, first int, beams []running) ([]int32, []int32) {
	for i := range beams {
		source = append(source, int32(first+beams[i].from))
		token = append(token, beams[i].seen[len(beams[i].seen)-1])
	}
	return source, token
}

// A running is an open beam.
type running struct {
	seen  []int32 // with the start token
	probs []float32
	sum   float64
	from  int // row of the input that it continues
}

func (r *running) extend(c candidate) running {
	return running{
		seen:  append(slices.Clip(r.seen), c.token),
		probs: append(slices.Clip(r.probs), c.prob),
		sum:   c.sum,
		from:  c.beam,
	}
}
