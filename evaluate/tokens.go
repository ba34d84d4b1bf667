package evaluate

import (
	"context"
	"encoding/json"
	"io"
	"slices"

	"espalier/evaluate/input"
	"espalier/pipeline"
)

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
		if err := r.usable(c, f, k); err != nil {
			return err
		}
		at, err := f.seen(ctx, c)
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
// look at. The references are read beside the predictions; a fault of these
// counts first.
func load(ctx context.Context, r *Request, fams []family) (c *corpus, dropped int, err error) {
	attributes := attributesOf(fams)
	refs := func() (*input.Set, error) { return r.references(ctx, attributes) }
	if len(r.Refs) > 0 && r.Pred.Path != "-" && !slices.ContainsFunc(r.Refs, func(s input.Source) bool { return s.Path == "-" }) {
		var cancel func()
		ctx, cancel = context.WithCancel(ctx)
		wait := started(refs)
		refs = wait
		defer func() {
			cancel()
			_, _ = wait()
		}()
	}
	pred, dropped, err := r.predictions(ctx, attributes)
	if err != nil {
		return nil, 0, err
	}
	var joined *input.Joined
	if len(r.Refs) == 0 {
		joined = input.Alone(pred)
	} else {
		set, err := refs()
		if err != nil {
			return nil, 0, err
		}
		if joined, err = input.Join(pred, set, r.Missing); err != nil {
			return nil, 0, err
		}
	}
	c = &corpus{Joined: joined, attributes: attributes, predFile: r.Pred.Path, pred: r.Pred, alone: len(r.Refs) == 0, workers: max(1, r.Workers)}
	if r.Source.Path != "" {
		err = c.withSources(ctx, r.Source)
	}
	return c, dropped, err
}

// started runs f in a goroutine, and returns a function that waits for it.
func started[T any](f func() (T, error)) func() (T, error) {
	var v T
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		v, err = f()
	}()
	return func() (T, error) {
		<-done
		return v, err
	}
}

// predictions reads the predictions.
func (r *Request) predictions(ctx context.Context, attributes []string) (set *input.Set, dropped int, err error) {
	source := r.Pred
	source.Attributes = attributes
	if isPairs(source.Path) {
		set, err = readPairs(ctx, &source, input.Predictions)
	} else {
		set, dropped, err = input.ReadPredictions(ctx, source, r.Duplicates)
	}
	if err == nil && len(set.IDs) == 0 {
		err = &pipeline.RefusedError{File: r.Pred.Path, Offset: -1, Reason: "no predictions"}
	}
	return set, dropped, err
}

// references reads the references.
func (r *Request) references(ctx context.Context, attributes []string) (*input.Set, error) {
	sources := slices.Clone(r.Refs)
	for i := range sources {
		sources[i].Attributes = attributes
	}
	if len(sources) == 1 && isPairs(sources[0].Path) {
		return readPairs(ctx, &sources[0], input.References)
	}
	return input.ReadReferences(ctx, sources)
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
