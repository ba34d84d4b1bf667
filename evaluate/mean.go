package evaluate

import (
	"context"

	"espalier/evaluate/stats"
)

// meanFamily is a metric whose scores of a set are the means of its examples'
// scores. A row holds the scores and a 1.
type meanFamily struct {
	values []string
	what   string
	scale  float64 // of the values of a set and of examples; 0 means 1
	tok    string  // how captions are tokenised, "" if texts are taken as they are
	whole  bool    // an example's score looks at the whole set
	prep   func(ctx context.Context, c *corpus) (func() scorer, error)
	see    func(ctx context.Context, c *corpus) (func(int) ([]string, [][]string), error)
	cut    splitter // what is seen of a text, if see is nil
}

func (f *meanFamily) names() []string { return f.values }
func (f *meanFamily) variant() string { return f.what }
func (f *meanFamily) width() int      { return len(f.values) + 1 }

func (f *meanFamily) prepare(ctx context.Context, c *corpus) (func() scorer, error) {
	scorers, err := f.prep(ctx, c)
	if err != nil {
		return nil, err
	}
	return func() scorer {
		score := scorers()
		return func(i int, row []float64) {
			score(i, row[:len(f.values)])
			row[len(f.values)] = 1
		}
	}, nil
}

func (f *meanFamily) total(sum, values []float64) {
	n := sum[len(f.values)]
	for k := range values {
		values[k] = 0
		if n > 0 {
			values[k] = f.scaled(sum[k] / n)
		}
	}
}

func (f *meanFamily) one(_ int, row, values []float64) {
	for k := range values {
		values[k] = f.scaled(row[k])
	}
}

func (f *meanFamily) scaled(x float64) float64 {
	if f.scale == 0 {
		return x
	}
	return float64(x * f.scale)
}

func (f *meanFamily) seen(ctx context.Context, c *corpus) (func(int) ([]string, [][]string), error) {
	if f.see == nil {
		return seenText(c, f.cut), nil
	}
	return f.see(ctx, c)
}

// setFamily is a metric of a set as a whole: its statistics do not add up.
type setFamily struct {
	values []string
	what   string
	free   bool     // needs no references
	cut    splitter // what is seen of a text
	told   []string // what notes returns
	fields []string // attributes
	// unanswered is as groupFamily's.
	unanswered bool
	// open looks at the corpus and returns a function that makes one
	// goroutine's: the values of the examples at some places.
	open func(ctx context.Context, c *corpus) (func() stats.Places, error)
	of   func() stats.Places
	// single says that one example's values mean something.
	single bool
	solo   stats.Places
}

func (f *setFamily) names() []string      { return f.values }
func (f *setFamily) variant() string      { return f.what }
func (f *setFamily) width() int           { return 0 }
func (f *setFamily) attributes() []string { return f.fields }

func (f *setFamily) notes() []string { return f.told }

func (f *setFamily) seen(_ context.Context, c *corpus) (func(int) ([]string, [][]string), error) {
	return seenText(c, f.cut), nil
}

func (f *setFamily) prepare(ctx context.Context, c *corpus) (_ func() scorer, err error) {
	f.of, err = f.open(ctx, c)
	return func() scorer { return func(int, []float64) {} }, err
}

func (f *setFamily) total(_, values []float64) {}

func (f *setFamily) one(i int, _, values []float64) {
	if !f.single {
		fillNaN(values)
		return
	}
	if f.solo == nil {
		f.solo = f.of()
	}
	f.solo([]int{i}, values)
}

// ratioFamily is a metric that is one sum over another, 0 if that is 0.
type ratioFamily struct {
	name  string
	what  string
	scale float64  // 0 means 1
	cut   splitter // what is seen of a text
	prep  func(ctx context.Context, c *corpus) (func() scorer, error)
}

func (f *ratioFamily) seen(_ context.Context, c *corpus) (func(int) ([]string, [][]string), error) {
	return seenText(c, f.cut), nil
}

func (f *ratioFamily) names() []string { return []string{f.name} }
func (f *ratioFamily) variant() string { return f.what }
func (f *ratioFamily) width() int      { return 2 }

func (f *ratioFamily) prepare(ctx context.Context, c *corpus) (func() scorer, error) {
	return f.prep(ctx, c)
}

func (f *ratioFamily) total(sum, values []float64) {
	values[0] = 0
	if sum[1] == 0 {
		return
	}
	values[0] = sum[0] / sum[1]
	if f.scale != 0 {
		values[0] = float64(values[0] * f.scale)
	}
}

func (f *ratioFamily) one(_ int, row, values []float64) { f.total(row, values) }
