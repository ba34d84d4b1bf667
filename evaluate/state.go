package evaluate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"slices"

	"espalier/evaluate/input"
	"espalier/pipeline"
	"espalier/pipeline/shard"
)

// A state is what a scoring knows of its examples: the texts, and every row of
// statistics that follows from one example alone. States of the parts of a set
// give, in the parts' order, the scores of the whole to the last bit: rows are
// taken over, and what looks at the whole set (document frequencies, labels,
// annotators, correlations, the tokens of a caption before another part's
// first) is computed from the texts.

// stateKey is the metadata of a state's file.
const stateKey = "espalier.eval.state"

type stateHead struct {
	Version    int      `json:"version"`
	Metrics    []string `json:"metrics"`
	Variants   []string `json:"variants"`
	Attributes []string `json:"attributes"`
	Alone      bool     `json:"alone"`
}

type stateRow struct {
	ID         string    `parquet:"id"`
	Prediction string    `parquet:"prediction"`
	References []string  `parquet:"references"`
	Attributes []string  `parquet:"attributes"` // empty if the reference has none
	Notes      []string  `parquet:"notes"`      // the prediction's
	Seen       string    `parquet:"seen"`       // digest of the PTB tokens, "" if no metric looks at them
	Kept       []float64 `parquet:"kept"`       // of each metric that keeps rows, the number of statistics and these
}

// keptRows are what a state's file keeps of one metric.
type keptRows struct {
	rows [][]float64
	seen []string
}

// keeps tells whether a family's rows follow from the example alone, once it is
// tokenised in the way tok.
func keeps(f family) (tok string, ok bool) {
	switch f := f.(type) {
	case *bleuFamily:
		return f.tok, true
	case *meteorFamily:
		return f.tok, true
	case *meanFamily:
		return f.tok, !f.whole
	case *sacreFamily, *chrfFamily, *terFamily, *ratioFamily, *nltkFamily, *maxmatchFamily:
		return "", true
	}
	return "", false
}

// row returns what is kept of example i, nil if that must be scored.
func (k *keptRows) row(i int, tok string, c *corpus) []float64 {
	if k == nil || tok == "ptb" && c.cut[tok].seen[i] != k.seen[i] {
		return nil
	}
	return k.rows[i]
}

// digest names the tokens of an example.
func digest(pred string, refs []string) string {
	h := fnv.New64a()
	add := func(s string) {
		_, _ = io.WriteString(h, s)
		_, _ = h.Write([]byte{'\n'})
	}
	add(pred)
	for _, r := range refs {
		add(r)
	}
	return fmt.Sprintf("%016x", h.Sum64())
}

// WriteState writes the state of a scoring whose request asked to keep it.
func (r *Result) WriteState(w io.Writer) error {
	s := r.state
	if s == nil {
		return errors.New("evaluate: no state was kept")
	}
	head := stateHead{Version: 1, Metrics: s.metrics, Attributes: s.corpus.attributes, Alone: s.corpus.alone}
	for _, m := range s.measured {
		head.Variants = append(head.Variants, partVariant(m.family))
	}
	b, err := json.Marshal(head)
	if err != nil {
		return err
	}
	p, err := shard.NewWriter[stateRow](w, shard.Options{Metadata: map[string]string{stateKey: string(b)}})
	if err != nil {
		return err
	}
	c := s.corpus
	for i, id := range c.IDs {
		row := stateRow{ID: id, Prediction: c.Predictions[i], References: c.References[i]}
		if i < len(c.Attributes) {
			row.Attributes = c.Attributes[i]
		}
		if i < len(c.Notes) {
			row.Notes = c.Notes[i]
		}
		if t := c.cut["ptb"]; t != nil {
			row.Seen = t.seen[i]
		}
		for _, m := range s.measured {
			if _, ok := keeps(m.family); !ok {
				continue
			}
			kept := m.rows.Row(i)
			if f, ok := m.family.(*maxmatchFamily); ok {
				kept = f.keep(i)
			}
			row.Kept = append(append(row.Kept, float64(len(kept))), kept...)
		}
		if err := p.Write([]stateRow{row}); err != nil {
			return err
		}
	}
	return p.Close()
}

// IsState reports that a file is a state.
func IsState(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var magic [4]byte
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	if _, err := f.ReadAt(magic[:], 0); err != nil || string(magic[:]) != "PAR1" {
		return false
	}
	r, err := shard.Open[stateRow](f, info.Size())
	if err != nil {
		return false
	}
	_, ok := r.Metadata(stateKey)
	return ok
}

// Merge scores what the states of parts hold, in the order of the files. The
// request names no files of its own but tables, which must be those of the
// parts, and metrics only if they are the parts'.
func Merge(ctx context.Context, r Request, states []string) (*Result, error) {
	var head *stateHead
	c := &corpus{Joined: &input.Joined{}, predFile: states[0], workers: max(1, r.Workers), digest: true}
	var seen []string
	var kept [][]float64
	from := make(map[string]string)
	for _, path := range states {
		h, err := readState(ctx, path, func(row *stateRow) error {
			if before, twice := from[row.ID]; twice {
				return fmt.Errorf("id %s is in %s too", row.ID, before)
			}
			from[row.ID] = path
			c.add(row, path)
			seen, kept = append(seen, row.Seen), append(kept, row.Kept)
			return nil
		})
		if err != nil {
			return nil, &pipeline.RefusedError{File: path, Offset: -1, Reason: err.Error()}
		}
		if head == nil {
			head = h
		} else if !slices.Equal(h.Metrics, head.Metrics) || !slices.Equal(h.Variants, head.Variants) {
			return nil, &pipeline.RefusedError{File: path, Offset: -1, Reason: fmt.Sprintf("a state of %q, %s is one of %q", h.Variants, states[0], head.Variants)}
		}
	}
	if len(r.Metrics) > 0 && !slices.Equal(r.Metrics, head.Metrics) {
		return nil, &pipeline.UsageError{Msg: fmt.Sprintf("the states are of the metrics %q, not of %q", head.Metrics, r.Metrics)}
	}
	r.Metrics = head.Metrics
	c.attributes, c.alone = head.Attributes, head.Alone
	fams, err := parseMetrics(&r)
	if err != nil {
		return nil, err
	}
	c.kept = make(map[family]*keptRows)
	var order []*keptRows
	for _, f := range fams {
		if _, ok := keeps(f); ok {
			k := &keptRows{rows: make([][]float64, c.n()), seen: seen}
			c.kept[f] = k
			order = append(order, k)
		}
	}
	for i, row := range kept {
		for _, k := range order {
			n := 0
			if len(row) > 0 {
				n = int(row[0])
			}
			if len(row) < 1+n {
				return nil, &pipeline.RefusedError{File: from[c.IDs[i]], Offset: -1, Reason: fmt.Sprintf("id %s: statistics are missing", c.IDs[i])}
			}
			k.rows[i], row = row[1:1+n], row[1+n:]
		}
	}
	res, err := scoreAll(ctx, c, fams, &r)
	if err != nil {
		return nil, err
	}
	for k, f := range fams {
		if v := partVariant(f); v != head.Variants[k] {
			return nil, &pipeline.UsageError{Msg: fmt.Sprintf("the states were made as %s, this would be %s: give the same tables", head.Variants[k], v)}
		}
	}
	res.Warnings = notesOf(fams)
	return res, nil
}

// partVariant is the variant that all parts of a set share; a signature has
// the number of references, which may differ.
func partVariant(f family) string {
	switch f.(type) {
	case *sacreFamily, *chrfFamily, *terFamily:
		return ""
	}
	return f.variant()
}

// add appends a state's example.
func (c *corpus) add(row *stateRow, path string) {
	c.IDs, c.Predictions = append(c.IDs, row.ID), append(c.Predictions, row.Prediction)
	c.References = append(c.References, row.References)
	c.Places = append(c.Places, input.Place{File: path, Offset: -1})
	c.Attributes = noted(c.Attributes, row.Attributes, c.n())
	c.Notes = noted(c.Notes, row.Notes, c.n())
}

// noted sets the last of n entries; nil stays nil until one has something.
func noted(list [][]string, s []string, n int) [][]string {
	if len(s) == 0 {
		if list == nil {
			return nil
		}
		return append(list, nil)
	}
	for len(list) < n-1 {
		list = append(list, nil)
	}
	return append(list, s)
}

func readState(ctx context.Context, path string, each func(*stateRow) error) (*stateHead, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	r, err := shard.Open[stateRow](f, info.Size())
	if err != nil {
		return nil, err
	}
	text, ok := r.Metadata(stateKey)
	head := &stateHead{}
	if !ok || json.Unmarshal([]byte(text), head) != nil || head.Version != 1 || len(head.Metrics) == 0 || len(head.Metrics) != len(head.Variants) {
		return nil, errors.New("not a state of espalier eval, or of another version")
	}
	n := 0
	for row, err := range r.All() {
		if err != nil {
			return nil, err
		}
		if n++; n%4096 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err := each(&row); err != nil {
			return nil, err
		}
	}
	return head, nil
}
