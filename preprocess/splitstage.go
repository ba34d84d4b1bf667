package preprocess

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"espalier/pipeline"
	"espalier/preprocess/split"
)

// Rules of Split.
const (
	Draw    = "draw"     // K rows, of all or of each class, go to split Into
	Halves  = "halves"   // half of the rows, rounded down, go to validation, the others to test
	HoldOut = "hold-out" // K rows go to validation, the others stay in train
	Shares  = "shares"   // each row goes to a split by its key alone
)

// Split draws subsets of one split of its input "examples" by keyed hashes. Its
// output is split.parquet, a row for each example that is in a subset. A row of
// the examples more or less moves no other, but for the one that takes its place.
type Split struct {
	Rule     string   `yaml:"rule" json:"rule" doc:"draw, halves, hold-out or shares; default draw, shares if there are some"`
	From     string   `yaml:"from" json:"from" doc:"the split to draw from; default train"`
	Into     string   `yaml:"into" json:"into" doc:"name of a draw; default train"`
	K        int      `yaml:"k" json:"k" doc:"rows of a draw or hold-out"`
	PerClass bool     `yaml:"per_class" json:"per_class" doc:"draw K rows of each label"`
	Seed     uint64   `yaml:"seed" json:"seed" doc:"default 0"`
	Shares   []string `yaml:"shares" json:"shares,omitempty" doc:"names of splits and their parts, such as train=8, validation=1, test=1"`
	By       string   `yaml:"by" json:"by,omitempty" doc:"image: rows of one image stay together in shares"`
}

// ByImage is the value of By for shares whose rows go by their image's key.
const ByImage = "image"

// Kind is "preprocess/split".
func (*Split) Kind() string { return "preprocess/split" }

// Version is raised when equal examples would be split in another way.
func (*Split) Version() int { return 4 }

// Check fills in defaults.
func (s *Split) Check() error {
	if len(s.Shares) > 0 {
		s.Rule = cmp.Or(s.Rule, Shares)
	}
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
	case Shares:
		if _, err := s.shares(); err != nil {
			errs = append(errs, err)
		}
		if s.K != 0 {
			errs = append(errs, errors.New("k: shares have none"))
		}
	default:
		errs = append(errs, fmt.Errorf("rule: %q, want %s, %s, %s or %s", s.Rule, Draw, Halves, HoldOut, Shares))
	}
	if s.Rule != Shares && len(s.Shares) > 0 {
		errs = append(errs, fmt.Errorf("shares: %s has none", s.Rule))
	}
	if s.By != "" && (s.By != ByImage || s.Rule != Shares) {
		errs = append(errs, fmt.Errorf("by: %q for %s, want image for shares, or nothing", s.By, s.Rule))
	}
	if s.Rule != Draw && (s.PerClass || s.Into != "") {
		errs = append(errs, fmt.Errorf("per_class, into: only a draw has them, not %s", s.Rule))
	}
	return errors.Join(errs...)
}

// A share is a split that takes the rows whose keys are below upTo parts of all,
// and not below those of the share before.
type share struct {
	name string
	upTo uint64
}

// shares reads the shares.
func (s *Split) shares() (list []share, err error) {
	sum := uint64(0)
	for _, text := range s.Shares {
		name, parts, ok := strings.Cut(text, "=")
		n, err := strconv.ParseUint(parts, 10, 32)
		switch {
		case !ok || err != nil || n == 0:
			return nil, fmt.Errorf("shares: %q, want a name and a whole number, such as train=8", text)
		case name == "" || strings.ContainsAny(name, "/\\\x00"):
			return nil, fmt.Errorf("shares: %q is no name for a split", name)
		case slices.ContainsFunc(list, func(o share) bool { return o.name == name }):
			return nil, fmt.Errorf("shares: %s is there twice", name)
		}
		sum += n
		list = append(list, share{name, sum})
	}
	if len(list) < 2 {
		return nil, errors.New("shares: want two or more, such as train=8, validation=1, test=1")
	}
	return list, nil
}

// RecipeKey is the key of a split file's metadata that holds its [Recipe].
const RecipeKey = "espalier.split"

// A Recipe is all that is needed to draw a split again from the same examples.
type Recipe struct {
	Split
	RowsSeen int64  `json:"rows_seen"`
	Method   string `json:"method"`
}

// method says what a draw does, for those who have another tool.
const method = "rows by key, the smallest first; ties: the smaller id in byte order. " +
	"key: the first 8 bytes, big-endian, of SHA-256 over the text espalier-split/1, the seed in 8 bytes big-endian, and the id"

// methodByImage is method where rows go by their image.
const methodByImage = "rows by the key of their image; " +
	"key: the first 8 bytes, big-endian, of SHA-256 over the text espalier-split/1, the seed in 8 bytes big-endian, and the image's name"

// Run draws the subsets.
func (s *Split) Run(ctx context.Context, t *pipeline.Task, _ pipeline.Part) error {
	in := t.In["examples"]
	if in == nil {
		return errors.New("preprocess/split: no input named examples")
	}
	shards, err := tablesOf(in, s.From, s.From == "train")
	if err != nil {
		return fmt.Errorf("preprocess/split: %w", err)
	}
	var parts []share
	total := uint64(0)
	if s.Rule == Shares {
		if parts, err = s.shares(); err != nil {
			return err
		}
		total = parts[len(parts)-1].upTo
	}
	draw := split.NewDraw(s.K)
	var all []split.Row
	seen := int64(0)
	columns := []string{"id"}
	switch {
	case s.PerClass:
		columns = append(columns, "label")
	case s.By == ByImage:
		columns = append(columns, "image")
	}
	for _, e := range shards {
		for row, err := range rowsOf(ctx, in, e, columns) {
			if err != nil {
				return err
			}
			seen++
			id := textOf(row[0])
			if id == "" {
				return &pipeline.RefusedError{File: e.Name, Offset: -1, Field: "id", Reason: "a row without an id"}
			}
			of := id
			if s.By == ByImage {
				if of = textOf(row[1]); of == "" {
					return &pipeline.RefusedError{File: e.Name, Offset: -1, Field: "image", Reason: "row " + id + " has no image to go by"}
				}
			}
			r := split.Row{ID: id, Key: split.Key(s.Seed, of)}
			if s.Rule == Shares {
				at := slices.IndexFunc(parts, func(p share) bool { return split.In(r.Key, p.upTo, total) })
				r.Class = parts[at].name
			}
			if s.Rule != Draw {
				all = append(all, r)
				continue
			}
			if s.PerClass {
				if row[1] == nil { // rows without a label have no class
					continue
				}
				r.Class = fmt.Sprint(row[1])
			}
			draw.Add(r)
		}
	}
	if s.PerClass && seen > 0 && len(draw.Rows()) == 0 {
		return &pipeline.RefusedError{File: in.Node, Offset: -1, Field: "label", Reason: "no row of " + s.From + " has a label to draw by"}
	}
	how := method
	if s.By == ByImage {
		how = methodByImage
	}
	recipe, err := json.Marshal(Recipe{*s, seen, how})
	if err != nil {
		return err
	}
	out := newSink[split.Member](t.Out, split.Schema)
	out.notes = map[string]string{RecipeKey: string(recipe)}
	put := func(name string, rows []split.Row) error {
		for _, r := range rows {
			if err := out.put("split", split.Member{ID: r.ID, Split: name}); err != nil {
				return err
			}
		}
		t.Out.Note("rows_"+name, strconv.Itoa(len(rows)))
		return nil
	}
	switch s.Rule {
	case Draw:
		err = put(s.Into, draw.Rows())
	case Halves:
		first, second := split.Halves(all)
		err = errors.Join(put("validation", first), put("test", second))
	case HoldOut:
		held, rest := split.HoldOut(all, s.K)
		err = errors.Join(put("validation", held), put("train", rest))
	case Shares:
		for _, p := range parts {
			rows := slices.DeleteFunc(slices.Clone(all), func(r split.Row) bool { return r.Class != p.name })
			err = errors.Join(err, put(p.name, rows))
		}
	}
	t.Out.Note("rows_seen", strconv.FormatInt(seen, 10))
	return errors.Join(err, out.close())
}
