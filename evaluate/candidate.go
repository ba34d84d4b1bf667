package evaluate

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"espalier/evaluate/cider"
	"espalier/evaluate/input"
	"espalier/pipeline"
)

// leaveOneOut makes one reference of each example its prediction, to be scored
// against the others: how well people agree. The choice is a hash of the id.
// Examples with one reference are left out.
func leaveOneOut(refs *input.Joined) *input.Joined {
	out := &input.Joined{}
	for i, id := range refs.IDs {
		rs := refs.References[i]
		if len(rs) < 2 {
			continue
		}
		k := int(hash(id) % uint64(len(rs)))
		out.IDs, out.Predictions = append(out.IDs, id), append(out.Predictions, rs[k])
		out.References = append(out.References, slices.Delete(slices.Clone(rs), k, k+1))
		out.Places = append(out.Places, refs.Places[i])
	}
	return out
}

// hash spreads an id over 64 bits.
func hash(id string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(id))
	z := h.Sum64()
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// everywhere predicts one text for all examples.
func everywhere(refs *input.Joined, text string) *input.Joined {
	out := *refs
	out.Predictions = make([]string, len(refs.IDs))
	for i := range out.Predictions {
		out.Predictions[i] = text
	}
	return &out
}

// finalists is how many captions constant scores exactly.
const finalists = 500

// constant returns the caption of the train split that has the best mean CIDEr
// over a sample of the split's images, which are those with the smallest
// hashes of their ids. Document frequencies are the split's. All captions are
// ranked by plain CIDEr, which costs one pass over each; the best are then
// scored as CIDEr-D. Of equal ones the first by code points wins.
func (m *Measure) constant(ctx context.Context, in *pipeline.Input) (string, error) {
	refs, _, err := readExamples(ctx, in, m.Train, "")
	if err != nil {
		return "", err
	}
	if len(refs.IDs) == 0 {
		return "", errors.New("evaluate/measure: the split to choose a caption from has no references")
	}
	c := &corpus{Joined: everywhere(refs, "")}
	t, err := c.captions(ctx, m.tok())
	if err != nil {
		return "", err
	}
	df := cider.NewDF(&t.words)
	for _, r := range t.fields.refs {
		df.AddImage(r)
	}
	df.Finish()
	sample := make([]int, len(refs.IDs))
	for i := range sample {
		sample[i] = i
	}
	slices.SortFunc(sample, func(a, b int) int {
		if x, y := hash(refs.IDs[a]), hash(refs.IDs[b]); x != y {
			if x < y {
				return -1
			}
			return 1
		}
		return strings.Compare(refs.IDs[a], refs.IDs[b])
	})
	sample = sample[:min(m.Sample, len(sample))]
	centre := cider.NewCentre(df)
	for _, i := range sample {
		centre.Add(t.fields.refs[i])
	}
	best, err := candidates(ctx, refs, t, centre)
	if err != nil {
		return "", err
	}
	hyps := make([][]uint32, len(best))
	for k, b := range best {
		hyps[k] = b.words
	}
	total := make([]float64, len(best))
	s := cider.NewScorer(df, cider.Options{})
	var scores []float64
	for n, i := range sample {
		if n%64 == 0 && ctx.Err() != nil {
			return "", ctx.Err()
		}
		scores = s.ScoreAll(scores[:0], hyps, t.fields.refs[i])
		for k, v := range scores {
			total[k] += v
		}
	}
	top := 0
	for k := range best {
		if total[k] > total[top] || total[k] == total[top] && best[k].text < best[top].text {
			top = k
		}
	}
	return best[top].text, nil
}

// A caption is a reference as a candidate.
type caption struct {
	text  string
	words []uint32
	plain float64
}

// candidates returns the best captions by plain CIDEr.
func candidates(ctx context.Context, refs *input.Joined, t *cutTexts, centre *cider.Centre) ([]caption, error) {
	var all []caption
	seen := make(map[string]bool)
	for i := range refs.IDs {
		if i%4096 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		for j, text := range refs.References[i] {
			key := fmt.Sprint(t.fields.refs[i][j])
			if seen[key] {
				continue
			}
			seen[key] = true
			words := t.fields.refs[i][j]
			all = append(all, caption{text, words, centre.Score(words)})
		}
	}
	slices.SortFunc(all, func(a, b caption) int {
		if a.plain != b.plain {
			if a.plain > b.plain {
				return -1
			}
			return 1
		}
		return strings.Compare(a.text, b.text)
	})
	return all[:min(finalists, len(all))], nil
}

// tok returns how the metrics tokenise captions, by the first that says.
func (m *Measure) tok() string {
	for _, text := range m.Metrics {
		if s, err := parseSpec(text); err == nil && s.options["tok"] != "" {
			return s.options["tok"]
		}
	}
	return "ptb"
}
