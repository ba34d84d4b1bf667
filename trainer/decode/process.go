package decode

import (
	"cmp"
	"math"
	"slices"
)

// Processing changes the scores of the next token, as Hugging Face's generate
// does, in this order: repetition penalty, n-grams, bad words, minimum length,
// forced tokens.
type Processing struct {
	Repetition float64   `yaml:"repetition_penalty" json:"repetition_penalty,omitempty" doc:"positive scores of tokens seen are divided by it, negative ones multiplied; by default 1, none"`
	NoRepeat   int       `yaml:"no_repeat_ngram" json:"no_repeat_ngram,omitempty" doc:"n-grams of this length come once; by default not"`
	BadWords   [][]int32 `yaml:"bad_words" json:"bad_words,omitempty" doc:"token sequences that never come"`
	MinNew     int       `yaml:"min_new" json:"min_new,omitempty" doc:"tokens before EOS at least"`
	ForcedBOS  *int32    `yaml:"forced_bos" json:"forced_bos,omitempty" doc:"the first token"`
	ForcedEOS  *int32    `yaml:"forced_eos" json:"forced_eos,omitempty" doc:"the token at the limit"`
}

// active reports whether anything is changed.
func (p *Processing) active() bool {
	return p.repeats() || p.NoRepeat > 0 || len(p.BadWords) > 0 || p.MinNew > 0 || p.ForcedBOS != nil || p.ForcedEOS != nil
}

// repeats reports whether there is a repetition penalty.
func (p *Processing) repeats() bool { return p.Repetition != 0 && p.Repetition != 1 }

var forbidden = float32(math.Inf(-1))

// process changes the scores of the token behind seen, which begins with the
// start token; at most limit tokens come behind that.
func (p *Processing) process(scores []float32, seen []int32, eos int32, limit int) {
	p.penalise(scores, seen)
	p.block(scores, seen)
	p.ban(scores, seen, eos)
	made := len(seen) - 1
	if made < p.MinNew {
		set(scores, eos, forbidden)
	}
	if p.ForcedBOS != nil && made == 0 {
		force(scores, *p.ForcedBOS)
	}
	if p.ForcedEOS != nil && made == limit-1 {
		force(scores, *p.ForcedEOS)
	}
}

func set(scores []float32, id int32, to float32) {
	if int(id) < len(scores) && id >= 0 {
		scores[id] = to
	}
}

// force leaves one token.
func force(scores []float32, id int32) {
	for i := range scores {
		scores[i] = forbidden
	}
	set(scores, id, 0)
}

// penalise applies the repetition penalty once to each token seen.
func (p *Processing) penalise(scores []float32, seen []int32) {
	if !p.repeats() {
		return
	}
	by := float32(p.Repetition)
	for i, id := range seen {
		if int(id) >= len(scores) || slices.Contains(seen[:i], id) {
			continue
		}
		if scores[id] < 0 {
			scores[id] *= by
		} else {
			scores[id] /= by
		}
	}
}

// block forbids tokens that would repeat an n-gram.
func (p *Processing) block(scores []float32, seen []int32) {
	n := p.NoRepeat
	if n < 1 || len(seen) < n-1 {
		return
	}
	last := seen[len(seen)-(n-1):]
	for i := 0; i+n <= len(seen); i++ {
		if slices.Equal(seen[i:i+n-1], last) {
			set(scores, seen[i+n-1], forbidden)
		}
	}
}

// ban forbids the ends of bad words whose beginnings were seen.
func (p *Processing) ban(scores []float32, seen []int32, eos int32) {
	for _, w := range p.BadWords {
		n := len(w) - 1
		if n < 0 || n == 0 && w[0] == eos || n > len(seen) {
			continue
		}
		if slices.Equal(seen[len(seen)-n:], w[:n]) {
			set(scores, w[n], forbidden)
		}
	}
}

// Filter removes tokens before a draw, as Hugging Face's generate does, in this
// order: temperature, top-k, top-p, min-p, typical. Keep is how many are left
// at least.
type Filter struct {
	Temperature float64 `yaml:"temperature" json:"temperature,omitempty" doc:"scores are divided by it; by default 1"`
	TopK        int     `yaml:"top_k" json:"top_k,omitempty" doc:"the best so many are left, and ties; by default all"`
	TopP        float64 `yaml:"top_p" json:"top_p,omitempty" doc:"the best with this probability together are left; by default all"`
	MinP        float64 `yaml:"min_p" json:"min_p,omitempty" doc:"those with this share of the best one's probability are left; by default all"`
	Typical     float64 `yaml:"typical_p" json:"typical_p,omitempty" doc:"those nearest to the expected information are left; by default all"`
	Keep        int     `yaml:"keep" json:"keep,omitempty" doc:"tokens left at least; by default 1"`
}

// apply changes the scores.
func (f *Filter) apply(scores []float32) {
	keep := min(max(f.Keep, 1), len(scores))
	if t := f.Temperature; t != 0 && t != 1 {
		for i := range scores {
			scores[i] = float32(float64(scores[i]) / t)
		}
	}
	if f.TopK > 0 {
		k := min(max(f.TopK, keep), len(scores))
		least := slices.Sorted(slices.Values(scores))[len(scores)-k]
		for i, v := range scores {
			if v < least {
				scores[i] = forbidden
			}
		}
	}
	if f.TopP > 0 && f.TopP < 1 {
		f.topP(scores, f.TopP, keep)
	}
	if f.MinP > 0 {
		p := softmax(scores)
		least := f.MinP * slices.Max(p)
		order := ascending(p)
		for _, i := range order[:len(order)-keep] {
			if p[i] < least {
				scores[i] = forbidden
			}
		}
	}
	if f.Typical > 0 && f.Typical < 1 {
		f.typical(scores, keep)
	}
}

// topP removes tokens from the least one on while their probability together
// is at most 1-p.
func (f *Filter) topP(scores []float32, top float64, keep int) {
	p := softmax(scores)
	order := introsort(scores) // which of equal scores go is the sort's affair
	sum := 0.0
	for _, i := range order[:len(order)-keep] {
		if sum += p[i]; sum > 1-top {
			break
		}
		scores[i] = forbidden
	}
}

// typical keeps the tokens whose information is nearest to the entropy, up to
// the one with which their probability passes a mass (Meister et al. 2022).
func (f *Filter) typical(scores []float32, keep int) {
	p := softmax(scores)
	entropy := 0.0
	for _, v := range p {
		if v > 0 {
			entropy -= v * math.Log(v)
		}
	}
	far := make([]float64, len(p))
	for i, v := range p {
		far[i] = math.Abs(-math.Log(v) - entropy)
	}
	order := introsort(far)
	sum, last := 0.0, 0
	for _, i := range order {
		if sum += p[i]; sum >= f.Typical {
			break
		}
		last++
	}
	last = min(last, len(order)-1)
	border := far[order[last]]
	for n, i := range order {
		if far[i] > border && n >= keep {
			scores[i] = forbidden
		}
	}
}

// ascending returns places in the order of values, ties by place.
func ascending[T cmp.Ordered](x []T) []int {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(x[a], x[b]) })
	return order
}

// softmax returns probabilities.
func softmax(scores []float32) []float64 {
	top := float64(slices.Max(scores))
	p := make([]float64, len(scores))
	sum := 0.0
	for i, v := range scores {
		p[i] = math.Exp(float64(v) - top)
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}

// logSoftmax changes scores to log-probabilities.
func logSoftmax(scores []float32) {
	top := float64(slices.Max(scores))
	sum := 0.0
	for _, v := range scores {
		sum += math.Exp(float64(v) - top)
	}
	top += math.Log(sum)
	for i, v := range scores {
		scores[i] = float32(float64(v) - top)
	}
}
