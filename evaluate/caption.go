package evaluate

import (
	"context"
	"fmt"
	"strings"

	"espalier/evaluate/bleu"
	"espalier/evaluate/cider"
	"espalier/evaluate/input"
	"espalier/evaluate/ngram"
	"espalier/evaluate/rouge"
	"espalier/pipeline"
)

// bleuFamily is BLEU of the caption tools. A row holds the hypothesis' length,
// the reference length, and guesses and matches of the four orders.
type bleuFamily struct {
	tok string
	ref bleu.RefLength
}

var refLengths = []string{"closest", "shortest", "average"}

func newBLEU(s *spec, _ *Request) (family, error) {
	f := &bleuFamily{tok: s.choice("tok", "ptb", "none")}
	for i, name := range refLengths {
		if s.choice("ref", refLengths...) == name {
			f.ref = bleu.RefLength(i)
		}
	}
	return f, nil
}

func (f *bleuFamily) names() []string { return []string{"bleu-1", "bleu-2", "bleu-3", "bleu-4"} }
func (f *bleuFamily) width() int      { return 2 + 2*bleu.Order }

func (f *bleuFamily) variant() string {
	return fmt.Sprintf("pycocoevalcap-1.2|tok:%s|ref:%s", f.tok, refLengths[f.ref])
}

func (f *bleuFamily) prepare(ctx context.Context, c *corpus) (func() scorer, error) {
	t, err := c.captions(ctx, f.tok)
	if err != nil {
		return nil, err
	}
	return func() scorer {
		var counter bleu.Counter
		return func(i int, row []float64) {
			s := counter.Count(t.fields.hyps[i], t.fields.refs[i])
			row[0], row[1] = float64(s.Hyp), s.RefLen(f.ref)
			for k := range bleu.Order {
				row[2+k], row[2+bleu.Order+k] = float64(s.Guess[k]), float64(s.Correct[k])
			}
		}
	}, nil
}

func (f *bleuFamily) total(sum, values []float64) {
	var guess, correct [bleu.Order]float64
	copy(guess[:], sum[2:])
	copy(correct[:], sum[2+bleu.Order:])
	v := bleu.Score(sum[0], sum[1], guess, correct)
	copy(values, v[:])
}

func (f *bleuFamily) seen(ctx context.Context, c *corpus) (func(int) ([]string, [][]string), error) {
	return seenCaptions(ctx, c, f.tok, false)
}

func (f *bleuFamily) one(_ int, row, values []float64) { f.total(row, values) }

func newRouge(s *spec, _ *Request) (family, error) {
	tok := s.choice("tok", "ptb", "none")
	return &meanFamily{
		values: []string{"rouge-l"}, tok: tok, what: "pycocoevalcap-1.2|tok:" + tok + "|beta:1.2",
		see: func(ctx context.Context, c *corpus) (func(int) ([]string, [][]string), error) {
			return seenCaptions(ctx, c, tok, true)
		},
		prep: func(ctx context.Context, c *corpus) (func() scorer, error) {
			t, err := c.captions(ctx, tok)
			if err != nil {
				return nil, err
			}
			return func() scorer {
				var s rouge.Scorer
				return func(i int, row []float64) { row[0] = s.Score(t.pieces.hyps[i], t.pieces.refs[i]) }
			}, nil
		},
	}, nil
}

func newCIDEr(s *spec, r *Request) (family, error) {
	tok := s.choice("tok", "ptb", "none")
	opt := cider.Options{Plain: s.bool("plain", false), Sigma: s.number("sigma", cider.DefaultSigma, 1e-3, 1e6)}
	parts := []string{"pycocoevalcap-1.2", "cider-d", fmt.Sprintf("sigma:%g", opt.Sigma)}
	if opt.Plain {
		parts = []string{"vrama91", "plain"}
	}
	df := "corpus"
	if r.DF != "" {
		df = "file"
	}
	parts = append(parts, "tok:"+tok, "df:"+df)
	return &meanFamily{
		values: []string{"cider"}, tok: tok, whole: true, what: strings.Join(parts, "|"),
		see: func(ctx context.Context, c *corpus) (func(int) ([]string, [][]string), error) {
			return seenCaptions(ctx, c, tok, false)
		},
		prep: func(ctx context.Context, c *corpus) (func() scorer, error) {
			t, err := c.captions(ctx, tok)
			if err != nil {
				return nil, err
			}
			if r.DF == "" {
				return corpusScorers(ctx, c, t, r, opt)
			}
			table, err := openDF(r.DF, &t.words)
			if err != nil {
				return nil, err
			}
			return func() scorer {
				s := cider.NewScorer(table, opt)
				return func(i int, row []float64) { row[0] = s.Score(t.fields.hyps[i], t.fields.refs[i]) }
			}, nil
		},
	}, nil
}

// tableLimit is how many bytes tables of the n-grams of a corpus may take.
const tableLimit = 128 << 20

// corpusScorers counts document frequencies over the references.
func corpusScorers(ctx context.Context, c *corpus, t *cutTexts, r *Request, opt cider.Options) (func() scorer, error) {
	p := cider.NewPlan(t.fields.hyps, t.fields.refs, tableLimit)
	if p.Passes > 1 && r.Notice != nil {
		r.Notice(fmt.Sprintf("cider: counting the n-grams of %d words takes up to %d MB beside the texts, in %d passes", p.Words, p.Bytes>>20, p.Passes))
	}
	all, err := cider.NewCorpus(ctx, t.fields.hyps, t.fields.refs, t.words.Len(), p, c.workers)
	if err != nil {
		return nil, err
	}
	return func() scorer {
		s := all.NewScorer(opt)
		return func(i int, row []float64) { row[0] = s.Score(i) }
	}, nil
}

// openDF reads document frequencies.
func openDF(path string, words *ngram.Words) (*cider.DF, error) {
	f, size, closeFile, err := input.Expand(path)
	if err != nil {
		return nil, err
	}
	defer closeFile()
	df, err := cider.OpenDF(words, f, size)
	if err != nil {
		return nil, &pipeline.RefusedError{File: path, Offset: -1, Reason: err.Error()}
	}
	return df, nil
}
