package preprocess

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"espalier/pipeline"
	"espalier/pipeline/shard"
	"espalier/pipeline/store"
	"espalier/preprocess/split"
)

// Rules of Split.
const (
	Draw    = "draw"     // K rows, of all or of each class, go to split Into
	Halves  = "halves"   // half of the rows, rounded down, go to validation, the others to test
	HoldOut = "hold-out" // K rows go to validation, the others stay in train
)

// Split draws subsets of one split of its input "examples" by keyed hashes. Its
// output is split.parquet, a row for each example that is in a subset. A row of
// the examples more or less moves no other, but for the one that takes its place.
type Split struct {
	Rule     string `yaml:"rule" json:"rule" doc:"draw, halves or hold-out; default draw"`
	From     string `yaml:"from" json:"from" doc:"the split to draw from; default train"`
	Into     string `yaml:"into" json:"into" doc:"name of a draw; default train"`
	K        int    `yaml:"k" json:"k" doc:"rows of a draw or hold-out"`
	PerClass bool   `yaml:"per_class" json:"per_class" doc:"draw K rows of each label"`
	Seed     uint64 `yaml:"seed" json:"seed" doc:"default 0"`
}

// Kind is "preprocess/split".
func (*Split) Kind() string { return "preprocess/split" }

// Version is raised when equal examples would be split in another way.
func (*Split) Version() int { return 2 }

// Check fills in defaults.
func (s *Split) Check() error {
	s.Rule = cmp.Or(s.Rule, Draw)
	s.From = cmp.Or(s.From, "train")
	var errs []error
	switch s.Rule {
	case Draw:
		s.Into = cmp.Or(s.Into, "train")
		fallthrough
	case HoldOut:
		if s.K < 1 {
			errs = append(errs, fmt.Errorf("k: %d, want at least 1", s.K))
		}
	case Halves:
		if s.K != 0 {
			errs = append(errs, errors.New("k: halves have none"))
		}
	default:
		errs = append(errs, fmt.Errorf("rule: %q, want %s, %s or %s", s.Rule, Draw, Halves, HoldOut))
	}
	if s.Rule != Draw && (s.PerClass || s.Into != "") {
		errs = append(errs, fmt.Errorf("per_class, into: only a draw has them, not %s", s.Rule))
	}
	return errors.Join(errs...)
}

// labelled is what Split reads of an example.
type labelled struct {
	ID    string  `parquet:"id"`
	Label *string `parquet:"label,optional"`
}

// Run draws the subsets.
func (s *Split) Run(ctx context.Context, t *pipeline.Task, _ pipeline.Part) error {
	in := t.In["examples"]
	if in == nil {
		return errors.New("preprocess/split: no input named examples")
	}
	shards := in.Shards(s.From)
	if len(shards) == 0 {
		return fmt.Errorf("preprocess/split: %s has no split %s, only %s", in.Node, s.From, strings.Join(in.Manifest.Splits(), ", "))
	}
	draw := split.NewDraw(s.K)
	var all []split.Row
	seen := int64(0)
	for _, e := range shards {
		err := eachLabelled(ctx, in, e, func(x *labelled) {
			seen++
			r := split.Row{ID: x.ID, Key: split.Key(s.Seed, x.ID)}
			if s.Rule != Draw {
				all = append(all, r)
				return
			}
			if s.PerClass && x.Label != nil {
				r.Class = *x.Label
			}
			if !s.PerClass || x.Label != nil { // rows without a label have no class
				draw.Add(r)
			}
		})
		if err != nil {
			return err
		}
	}
	out := newSink[split.Member](t.Out, split.Schema)
	put := func(name string, rows []split.Row) error {
		for _, r := range rows {
			if err := out.put("split", split.Member{ID: r.ID, Split: name}); err != nil {
				return err
			}
		}
		t.Out.Note("rows_"+name, strconv.Itoa(len(rows)))
		return nil
	}
	var err error
	switch s.Rule {
	case Draw:
		err = put(s.Into, draw.Rows())
	case Halves:
		first, second := split.Halves(all)
		err = errors.Join(put("validation", first), put("test", second))
	case HoldOut:
		held, rest := split.HoldOut(all, s.K)
		err = errors.Join(put("validation", held), put("train", rest))
	}
	t.Out.Note("rows_seen", strconv.FormatInt(seen, 10))
	return errors.Join(err, out.close())
}

func eachLabelled(ctx context.Context, in *pipeline.Input, e store.FileEntry, f func(*labelled)) (err error) {
	file, err := in.Open(e.Name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	r, err := shard.Open[labelled](file, file.Size())
	if err != nil {
		return fmt.Errorf("%s: %w", e.Name, err)
	}
	for row, err := range r.All() {
		if err != nil {
			return fmt.Errorf("%s: %w", e.Name, err)
		}
		f(&row)
	}
	return ctx.Err()
}
