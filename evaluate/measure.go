package evaluate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"espalier/evaluate/input"
	"espalier/pipeline"
	"espalier/pipeline/score"
	"espalier/pipeline/shard"
	"espalier/pipeline/store"
	"espalier/preprocess/example"
	"espalier/trainer/prediction"
)

// ScoresFile is the file of scores that stages of this package write.
const ScoresFile = "scores.parquet"

// Candidates of Measure: what is scored.
const (
	FromPredictions = "predictions" // the input of that name
	FromReferences  = "references"  // one reference of each example, against its others
	FromConstant    = "constant"    // one caption for all, the best that knows no image
)

// Measure is the stage that scores predictions against the references of
// examples.
//
// Inputs: examples, as they are or rendered; predictions, unless the candidate is another; of several
// tasks also under names such as examples-small; meteor, METEOR's folder of
// tables (see meteor.Load); df, a file of document frequencies. Output:
// scores.parquet, score rows of the whole split and of every example.
type Measure struct {
	Metrics   []string          `yaml:"metrics" json:"metrics" doc:"as espalier eval names them; by default bleu, rouge-l and cider"`
	Split     string            `yaml:"split" json:"split" doc:"by default test; any for those that were predicted"`
	Only      string            `yaml:"only" json:"only" doc:"score only examples that have this mark in meta.marks, or this member of meta as true"`
	Candidate string            `yaml:"candidate" json:"candidate" doc:"predictions (default); references: one of each example against its others; constant: the best caption for all images"`
	Train     string            `yaml:"train" json:"train" doc:"split from which constant takes its caption; by default train"`
	Sample    int               `yaml:"sample" json:"sample" doc:"images against which constant chooses; by default 1000"`
	Bootstrap *int              `yaml:"bootstrap" json:"bootstrap" doc:"resamples for the 95 % intervals; by default 1000, 0 for none"`
	Seed      uint64            `yaml:"seed" json:"seed" doc:"of the resamples; by default 12345"`
	Tags      map[string]string `yaml:"tags" json:"tags" doc:"tags of every score, such as method or seed"`
}

// Kind is "evaluate/measure".
func (*Measure) Kind() string { return "evaluate/measure" }

// Version is raised when equal inputs would give other scores.
func (*Measure) Version() int { return 5 }

// Check fills in defaults and reports every fault at once.
func (m *Measure) Check() error {
	if len(m.Metrics) == 0 {
		m.Metrics = []string{"bleu", "rouge-l", "cider"}
	}
	m.Split, m.Train = cmp.Or(m.Split, "test"), cmp.Or(m.Train, "train")
	m.Candidate, m.Sample = cmp.Or(m.Candidate, FromPredictions), cmp.Or(m.Sample, 1000)
	m.Seed = cmp.Or(m.Seed, defaultSeed)
	if m.Bootstrap == nil {
		n := 1000
		m.Bootstrap = &n
	}
	var errs []error
	if *m.Bootstrap < 0 {
		errs = append(errs, fmt.Errorf("bootstrap: %d, want at least 0", *m.Bootstrap))
	}
	if m.Sample < 1 {
		errs = append(errs, fmt.Errorf("sample: %d, want at least 1", m.Sample))
	}
	if all := []string{FromPredictions, FromReferences, FromConstant}; !slices.Contains(all, m.Candidate) {
		errs = append(errs, fmt.Errorf("candidate: %q, want one of %q", m.Candidate, all))
	}
	if _, err := parseMetrics(&Request{Metrics: m.Metrics, NoFiles: true}); err != nil {
		errs = append(errs, fmt.Errorf("metrics: %w", err))
	}
	return errors.Join(errs...)
}

// Run scores the split.
func (m *Measure) Run(ctx context.Context, t *pipeline.Task, _ pipeline.Part) error {
	ins := members(t, "examples")
	if len(ins) == 0 {
		return errors.New("evaluate/measure: no input named examples")
	}
	in := ins[0]
	refs, head, err := m.references(ctx, t, ins)
	if err != nil {
		return err
	}
	var joined *input.Joined
	switch m.Candidate {
	case FromReferences:
		joined = leaveOneOut(refs)
	case FromConstant:
		text, err := m.constant(ctx, in)
		if err != nil {
			return err
		}
		t.Out.Note("constant", text)
		joined = everywhere(refs, text)
	default:
		if joined, err = m.predictions(ctx, t, refs); err != nil {
			return err
		}
	}
	if len(joined.IDs) == 0 {
		return fmt.Errorf("evaluate/measure: nothing to score in split %s of %s", m.Split, in.Node)
	}
	t.Meter.Expect(int64(len(joined.IDs)), "examples")
	r := &Request{Metrics: m.Metrics, NoFiles: true, Bootstrap: *m.Bootstrap, Seed: m.Seed, Workers: t.Env.Threads}
	if err := r.tables(t); err != nil {
		return err
	}
	fams, err := parseMetrics(r)
	if err != nil {
		return err
	}
	res, err := scoreAll(ctx, &corpus{Joined: joined, predFile: m.Candidate, workers: max(1, t.Env.Threads)}, fams, r)
	if err != nil {
		return err
	}
	t.Meter.Add(int64(len(joined.IDs)))
	if n := len(joined.Unpredicted); n > 0 {
		t.Log.Warn("examples without a prediction are not scored", "examples", n)
		t.Out.Note("unpredicted", strconv.Itoa(n))
	}
	head.Split, head.Tags = m.Split, maps.Clone(m.Tags)
	if head.Tags == nil {
		head.Tags = map[string]string{}
	}
	if m.Only != "" {
		head.Tags["only"] = m.Only
	}
	if m.Candidate != FromPredictions {
		head.Tags["candidate"] = m.Candidate
	}
	return writeScores(t, res.Rows(head, true))
}

// writeScores writes the stage's file of scores.
func writeScores(t *pipeline.Task, rows []score.Row) error {
	f, err := t.Out.Create(ScoresFile, score.Schema)
	if err != nil {
		return err
	}
	if err := WriteRows(f, rows); err != nil {
		return err
	}
	return f.Close(int64(len(rows)))
}

// readShards calls each with every row of a split's shards, or, if there are
// none of that name, of all tables with the schema.
func readShards[T any](ctx context.Context, in *pipeline.Input, entries []store.FileEntry, each func(*T) error) error {
	for _, e := range entries {
		err := func() error {
			f, err := in.Open(e.Name)
			if err != nil {
				return err
			}
			defer f.Close()
			r, err := shard.Open[T](f, f.Size())
			if err != nil {
				return err
			}
			n := 0
			for row, err := range r.All() {
				if err != nil {
					return err
				}
				if n++; n%4096 == 0 && ctx.Err() != nil {
					return ctx.Err()
				}
				if err := each(&row); err != nil {
					return err
				}
			}
			return nil
		}()
		if err != nil {
			return fmt.Errorf("%s of %s: %w", e.Name, in.Node, err)
		}
	}
	return nil
}

// AnySplit means the splits that were predicted.
const AnySplit = "any"

// splitsOf returns the splits of predictions that are scored.
func (m *Measure) splitsOf(in *pipeline.Input) []string {
	if m.Split == AnySplit {
		return in.Manifest.Splits()
	}
	return []string{m.Split}
}

// members returns the inputs of a name, those of NAME-ANYTHING, and what a
// collecting stage gathered under either.
func members(t *pipeline.Task, name string) []*pipeline.Input {
	out := t.Gather(name)
	seen := map[string]bool{}
	for _, in := range slices.Sorted(maps.Keys(t.In)) {
		base, _, _ := strings.Cut(in, "[")
		if strings.HasPrefix(base, name+"-") && !seen[base] {
			seen[base] = true
			out = append(out, t.Gather(base)...)
		}
	}
	return out
}

// references reads the references of all examples, which may be of several
// tasks.
func (m *Measure) references(ctx context.Context, t *pipeline.Task, ins []*pipeline.Input) (*input.Joined, score.Row, error) {
	splits := []string{m.Split}
	if m.Split == AnySplit {
		splits = nil
		for _, p := range members(t, "predictions") {
			splits = append(splits, p.Manifest.Splits()...)
		}
		slices.Sort(splits)
		splits = slices.Compact(splits)
	}
	var head score.Row
	out := &input.Joined{}
	for i, in := range ins {
		for _, split := range splits {
			if m.Split == AnySplit && len(in.Shards(split)) == 0 {
				continue
			}
			r, h, err := readExamples(ctx, in, split, m.Only)
			if err != nil {
				return nil, head, err
			}
			out.IDs, out.References, out.Places = append(out.IDs, r.IDs...), append(out.References, r.References...), append(out.Places, r.Places...)
			if i == 0 {
				head = h
			}
			if h.Corpus != head.Corpus {
				head.Corpus = ""
			}
			if h.Task != head.Task {
				head.Task = ""
			}
		}
	}
	return out, head, nil
}

// readExamples reads the references of a split, in the order of its shards; of
// an example without any, its label, and of a rendered one its target.
func readExamples(ctx context.Context, in *pipeline.Input, split, only string) (*input.Joined, score.Row, error) {
	var head score.Row
	out := &input.Joined{}
	entries := in.Shards(split)
	if len(entries) == 0 {
		return nil, head, fmt.Errorf("evaluate/measure: %s has no split %s, only %q", in.Node, split, in.Manifest.Splits())
	}
	marked, err := readMarks(ctx, in, entries, only)
	if err != nil {
		return nil, head, err
	}
	if entries[0].Schema == example.TextSchema {
		err = readShards(ctx, in, entries, func(e *example.Text) error {
			if len(e.References) == 0 {
				e.References = []string{e.Target}
			}
			if n := len(out.IDs); n > 0 && out.IDs[n-1] == e.ID { // another text of the example
				return nil
			}
			head.Corpus, head.Task = e.Corpus, e.Task
			out.IDs = append(out.IDs, e.ID)
			out.References = append(out.References, e.References)
			out.Places = append(out.Places, input.Place{File: in.Node, Offset: -1})
			return nil
		})
		return out, head, err
	}
	err = readShards(ctx, in, entries, func(e *example.Head) error {
		if len(e.References) == 0 && e.Label != nil {
			e.References = []string{*e.Label}
		}
		if only != "" && !marked[e.ID] || len(e.References) == 0 {
			return nil
		}
		head.Corpus, head.Task = e.Corpus, e.Task
		out.IDs = append(out.IDs, e.ID)
		out.References = append(out.References, e.References)
		out.Places = append(out.Places, input.Place{File: in.Node, Offset: -1})
		return nil
	})
	return out, head, err
}

// readMarks returns the ids of examples that have a mark, or a member of meta
// of that name that is true.
func readMarks(ctx context.Context, in *pipeline.Input, entries []store.FileEntry, only string) (map[string]bool, error) {
	if only == "" {
		return nil, nil
	}
	out := make(map[string]bool)
	known := false
	for _, e := range entries {
		err := func() error {
			f, err := in.Open(e.Name)
			if err != nil {
				return err
			}
			defer f.Close()
			t, err := shard.OpenTable(f, f.Size())
			if err != nil {
				return err
			}
			if t, err = t.Select("id", "meta"); err != nil {
				return err
			}
			n := 0
			for row, err := range t.Rows() {
				if err != nil {
					return err
				}
				if n++; n%4096 == 0 && ctx.Err() != nil {
					return ctx.Err()
				}
				meta, _ := row[1].(shard.Struct)
				for _, field := range meta {
					switch v := field.Value.(type) {
					case bool:
						if field.Name == only {
							known = true
							out[row[0].(string)] = out[row[0].(string)] || v
						}
					case []any:
						if field.Name == "marks" {
							known = true
							if slices.Contains(v, any(only)) {
								out[row[0].(string)] = true
							}
						}
					}
				}
			}
			return nil
		}()
		if err != nil {
			return nil, fmt.Errorf("%s of %s: %w", e.Name, in.Node, err)
		}
	}
	if !known {
		return nil, fmt.Errorf("evaluate/measure: only: %s: the examples' meta has neither marks nor a truth value of that name", only)
	}
	return out, nil
}

// predictions joins the best prediction of each example.
func (m *Measure) predictions(ctx context.Context, t *pipeline.Task, refs *input.Joined) (*input.Joined, error) {
	ins := members(t, "predictions")
	if len(ins) == 0 {
		return nil, errors.New("evaluate/measure: no input named predictions")
	}
	in := ins[0]
	texts := make(map[string]string)
	for _, in := range ins {
		var entries []store.FileEntry
		for _, split := range m.splitsOf(in) {
			entries = append(entries, in.Shards(split)...)
		}
		if len(entries) == 0 {
			return nil, fmt.Errorf("evaluate/measure: %s has no predictions of split %s, only %q", in.Node, m.Split, in.Manifest.Splits())
		}
		err := readShards(ctx, in, entries, func(p *prediction.Row) error {
			if p.Rank != 0 {
				return nil
			}
			if _, twice := texts[p.ID]; twice {
				return fmt.Errorf("example %s is predicted twice", p.ID)
			}
			texts[p.ID] = p.Text
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	out := &input.Joined{}
	for i, id := range refs.IDs {
		text, ok := texts[id]
		if !ok && m.Split == AnySplit {
			continue
		}
		if !ok {
			out.Unpredicted = append(out.Unpredicted, id)
			continue
		}
		out.IDs, out.Predictions = append(out.IDs, id), append(out.Predictions, text)
		out.References, out.Places = append(out.References, refs.References[i]), append(out.Places, refs.Places[i])
	}
	if len(out.IDs) == 0 && len(texts) > 0 {
		return nil, fmt.Errorf("evaluate/measure: none of %d predictions of %s is of an example of split %s", len(texts), in.Node, m.Split)
	}
	return out, nil
}
