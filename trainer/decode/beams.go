package decode

import (
	"context"
	"fmt"
	"math"
	"slices"
)

// low is what a beam that does not count has as its sum.
const low = -1e9

// A contest is the beam search of one input.
type contest struct {
	input  int
	beams  []running
	done   []Hypothesis // best first; with Rules47 in the order of arrival
	closed bool
}

// beam is beam search.
func (g *Generation) beam(ctx context.Context, st Scorer, inputs int) ([][]Hypothesis, error) {
	out := make([][]Hypothesis, inputs)
	left := make([]*contest, inputs)
	var source, token []int32
	for i := range left {
		left[i] = &contest{input: i}
		for j := range g.Beams {
			b := running{seen: []int32{g.Start}}
			if j > 0 {
				b.sum = low
			}
			left[i].beams = append(left[i].beams, b)
			source, token = append(source, int32(i)), append(token, g.Start)
		}
	}
	pick := make([]candidate, 0, 2*g.Beams)
	for made := 0; len(left) > 0; made++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		logp, err := st.Step(source, token)
		if err != nil {
			return nil, err
		}
		vocab := len(logp) / len(token)
		source, token = source[:0], token[:0]
		kept := left[:0]
		for row, c := range left {
			own := logp[row*g.Beams*vocab:][:g.Beams*vocab]
			live := make([]beam, g.Beams)
			for j := range c.beams {
				live[j].sum = c.beams[j].sum
				if g.active() {
					g.process(own[j*vocab:][:vocab], c.beams[j].seen, g.EOS, g.MaxNew)
				}
			}
			pick = best(pick[:0], 2*g.Beams, live, own, vocab)
			if len(pick) == 0 {
				return nil, fmt.Errorf("decode: input %d: no token has a score at position %d", c.input, made)
			}
			over := false
			if g.Rules == Rules47 {
				over = g.step47(c, pick, made)
			} else {
				over = g.step5(c, pick, made)
			}
			if over {
				out[c.input] = g.result(c)
				continue
			}
			source, token = next(source, token, row*g.Beams, c.beams)
			kept = append(kept, c)
		}
		left = kept
	}
	return out, nil
}

// result returns the best sequences.
func (g *Generation) result(c *contest) []Hypothesis {
	if g.Rules == Rules47 { // of equal ones the last comes first
		slices.Reverse(c.done)
		slices.SortStableFunc(c.done, byScore)
	}
	return c.done[:min(g.Return, len(c.done))]
}

func byScore(a, b Hypothesis) int {
	switch {
	case a.Score > b.Score:
		return -1
	case a.Score < b.Score:
		return 1
	}
	return 0
}

// normed divides a sum by a power of a length.
func (g *Generation) normed(sum float64, n int) float64 {
	return sum / math.Pow(float64(n), *g.Penalty)
}

// step5 is one step by the rules of transformers 5, of which made tokens were
// generated before. A candidate hits if it ends or reaches the limit; of those
// among the first Beams the results are made.
func (g *Generation) step5(c *contest, pick []candidate, made int) (over bool) {
	n := made + 1
	all := make([]running, len(pick))
	hit := make([]bool, len(pick))
	allHit := true
	for i, p := range pick {
		all[i] = c.beams[p.beam].extend(p)
		hit[i] = p.token == g.EOS || n >= g.MaxNew
		allHit = allHit && hit[i]
	}
	full := g.Early == EarlyTrue && len(c.done) == g.Beams
	if !c.closed && !full {
		for i := range all[:min(g.Beams, len(all))] {
			if hit[i] {
				c.done = append(c.done, Hypothesis{
					Tokens: all[i].seen[1:], LogProbs: all[i].probs,
					Score: g.normed(all[i].sum, n), Ended: pick[i].token == g.EOS,
				})
			}
		}
		slices.SortStableFunc(c.done, byScore)
		c.done = c.done[:min(g.Beams, len(c.done))]
	}
	sums := make([]float64, len(all))
	for i := range all {
		sums[i] = -all[i].sum
		if hit[i] {
			sums[i] -= low
		}
	}
	c.beams = c.beams[:0:0]
	for _, i := range ascending(sums)[:min(g.Beams, len(all))] {
		all[i].sum = -sums[i]
		c.beams = append(c.beams, all[i])
	}
	for len(c.beams) < g.Beams { // fewer tokens have a score: the rest counts for nothing
		b := c.beams[0]
		b.sum = math.Inf(-1)
		c.beams = append(c.beams, b)
	}
	length := n
	if g.Early == EarlyNever && *g.Penalty > 0 {
		length = g.MaxNew
	}
	worst := float64(low)
	if len(c.done) == g.Beams {
		worst = c.done[len(c.done)-1].Score
	}
	c.closed = c.closed || !(g.normed(c.beams[0].sum, length) > worst)
	return c.closed || g.Early == EarlyTrue && len(c.done) == g.Beams || allHit
}

// step47 is one step by the rules of transformers 4.7: candidates are walked in
// their order until there are enough open beams; those that end are scored over
// the prefix with its start token, without EOS.
func (g *Generation) step47(c *contest, pick []candidate, made int) (over bool) {
	n := made + 1 // length of the prefixes with the start token
	var open []running
	for rank, p := range pick {
		if p.token == g.EOS {
			if rank < g.Beams {
				b := &c.beams[p.beam]
				e := b.extend(p)
				g.add47(c, Hypothesis{Tokens: e.seen[1:], LogProbs: e.probs, Score: g.normed(p.sum, n), Ended: true})
			}
		} else {
			open = append(open, c.beams[p.beam].extend(p))
		}
		if len(open) == g.Beams {
			break
		}
	}
	if len(c.done) >= g.Beams && (g.Early == EarlyTrue || c.worst() >= g.normed(pick[0].sum, n)) {
		return true
	}
	for len(open) < g.Beams { // only EOS had a score: the rest counts for nothing
		b := c.beams[0].extend(candidate{token: g.EOS})
		if len(open) > 0 {
			b = open[len(open)-1]
		}
		b.sum = math.Inf(-1)
		open = append(open, b)
	}
	c.beams = open
	if n < g.MaxNew {
		return false
	}
	for i := range c.beams {
		if b := &c.beams[i]; !math.IsInf(b.sum, 0) {
			g.add47(c, Hypothesis{Tokens: b.seen[1:], LogProbs: b.probs, Score: g.normed(b.sum, n+1)})
		}
	}
	return true
}

func (c *contest) worst() float64 {
	w := math.Inf(1)
	for i := range c.done {
		w = min(w, c.done[i].Score)
	}
	return w
}

// add47 keeps a result if it is among the best.
func (g *Generation) add47(c *contest, h Hypothesis) {
	if len(c.done) >= g.Beams && !(h.Score > c.worst()) {
		return
	}
	c.done = append(c.done, h)
	if len(c.done) > g.Beams { // the first of the worst ones goes
		at := 0
		for i := range c.done {
			if c.done[i].Score < c.done[at].Score {
				at = i
			}
		}
		c.done = slices.Delete(c.done, at, at+1)
	}
}
