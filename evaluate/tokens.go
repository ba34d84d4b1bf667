package evaluate

import (
	"context"
	"encoding/json"
	"io"
	"slices"

	"espalier/evaluate/input"
	"espalier/pipeline"
)

// A seer is a family that can show what it saw after tokenisation.
type seer interface {
	// seen returns the pieces of example i's prediction and references.
	seen(ctx context.Context, c *corpus) (func(i int) (pred []string, refs [][]string), error)
}

// Tokens writes what a metric sees after tokenisation, one JSON object an
// example: {"id", "prediction", "references"}, each text a list of pieces.
func Tokens(ctx context.Context, r Request, w io.Writer) error {
	fams, err := parseMetrics(&r)
	if err != nil {
		return err
	}
	c, _, err := load(ctx, &r, fams)
	if err != nil {
		return err
	}
	type example struct {
		Metric     string     `json:"metric"`
		ID         string     `json:"id"`
		Prediction []string   `json:"prediction"`
		References [][]string `json:"references"`
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for k, f := range fams {
		s, ok := f.(seer)
		if !ok {
			continue
		}
		at, err := s.seen(ctx, c)
		if err != nil {
			return err
		}
		for i, id := range c.IDs {
			p, refs := at(i)
			if err := enc.Encode(example{r.Metrics[k], id, p, refs}); err != nil {
				return err
			}
		}
	}
	return nil
}

// load reads and joins what a request names, with the fields that its metrics
// look at.
func load(ctx context.Context, r *Request, fams []family) (c *corpus, dropped int, err error) {
	attributes := attributesOf(fams)
	source := r.Pred
	source.Attributes = attributes
	var pred *input.Set
	if isPairs(source.Path) {
		pred, err = readPairs(ctx, &source, input.Predictions)
	} else {
		pred, dropped, err = input.ReadPredictions(ctx, source, r.Duplicates)
	}
	if err != nil {
		return nil, 0, err
	}
	if len(pred.IDs) == 0 {
		return nil, 0, &pipeline.RefusedError{File: r.Pred.Path, Offset: -1, Reason: "no predictions"}
	}
	var joined *input.Joined
	if len(r.Refs) == 0 {
		joined = input.Alone(pred)
	} else {
		sources := slices.Clone(r.Refs)
		for i := range sources {
			sources[i].Attributes = attributes
		}
		var refs *input.Set
		if len(sources) == 1 && isPairs(sources[0].Path) {
			refs, err = readPairs(ctx, &sources[0], input.References)
		} else {
			refs, err = input.ReadReferences(ctx, sources)
		}
		if err != nil {
			return nil, 0, err
		}
		if joined, err = input.Join(pred, refs, r.Missing); err != nil {
			return nil, 0, err
		}
	}
	c = &corpus{Joined: joined, attributes: attributes, predFile: r.Pred.Path, pred: r.Pred, alone: len(r.Refs) == 0, workers: max(1, r.Workers)}
	if r.Source.Path != "" {
		err = c.withSources(ctx, r.Source)
	}
	return c, dropped, err
}

// text returns numbered words as text.
func (t *cutTexts) text(ids []uint32) []string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = t.words.Word(id)
	}
	return out
}

// seenCaptions is seer's method of the caption metrics.
func seenCaptions(ctx context.Context, c *corpus, tok string, pieces bool) (func(int) ([]string, [][]string), error) {
	t, err := c.captions(ctx, tok)
	if err != nil {
		return nil, err
	}
	s := t.fields
	if pieces {
		s = t.pieces
	}
	return func(i int) ([]string, [][]string) {
		refs := make([][]string, len(s.refs[i]))
		for j, r := range s.refs[i] {
			refs[j] = t.text(r)
		}
		return t.text(s.hyps[i]), refs
	}, nil
}
