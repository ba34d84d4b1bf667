package preprocess

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"espalier/pipeline"
	"espalier/pipeline/score"
	"espalier/pipeline/shard"
	"espalier/preprocess/corpus"
	"espalier/preprocess/example"
	"espalier/preprocess/leak"
	"espalier/preprocess/split"
)

// Guard looks for what its inputs, examples of one corpus or of several, have in
// two splits: rows of the same text - of the same image, if they have one - and
// rows of the same image. It writes a row
// for each in leaks.parquet and the shares in scores.parquet. If rows are to be
// removed, it writes split.parquet too, with the ids that stay, for Select.
//
// Splits are known by their standard names: train2014 and train are one. Sixteen
// bytes are kept in memory for each text and image, and the rows that leak.
type Guard struct {
	Fields []string `yaml:"fields" json:"fields" doc:"fields whose texts are compared; default all"`
	Kinds  []string `yaml:"kinds" json:"kinds" doc:"exact, normalised, image; default all"`
	Remove string   `yaml:"remove" json:"remove" doc:"the split that loses its rows with a twin elsewhere; default none"`
}

// Kind is "preprocess/guard".
func (*Guard) Kind() string { return "preprocess/guard" }

// Version is raised when equal examples would give another report.
func (*Guard) Version() int { return 3 }

// Check reports kinds that there are not.
func (s *Guard) Check() error {
	var errs []error
	for _, k := range s.Kinds {
		if !slices.Contains(leak.Kinds, k) {
			errs = append(errs, fmt.Errorf("kinds: %q, want %s", k, strings.Join(leak.Kinds, ", ")))
		}
	}
	if slices.Contains(s.Fields, "") {
		errs = append(errs, errors.New("fields: a field without a name"))
	}
	return errors.Join(errs...)
}

// Names of Guard's files.
const (
	leaksFile  = "leaks"
	scoresFile = "scores"
	splitFile  = "split"
)

// Run reads the examples twice, and once more if rows are removed.
func (s *Guard) Run(ctx context.Context, t *pipeline.Task, _ pipeline.Part) error {
	g := &guarding{s: s, t: t}
	if err := g.each(ctx, func(r leak.Row) error { g.find.First(r); return nil }); err != nil {
		return err
	}
	g.find.Turn()
	if err := g.each(ctx, func(r leak.Row) error { g.find.Second(r); return nil }); err != nil {
		return err
	}
	if err := g.report(); err != nil {
		return err
	}
	if s.Remove == "" {
		return nil
	}
	return g.remaining(ctx)
}

// A guarding is one run of Guard.
type guarding struct {
	s     *Guard
	t     *pipeline.Task
	find  leak.Finder
	tasks map[[2]string]bool // corpora and tasks
	gone  map[string]bool    // ids that are removed
}

// splitName is the standard name by which Guard knows a split.
func splitName(name string) string {
	if s := corpus.StandardSplit(name); s != "" {
		return s
	}
	return example.Standard(name)
}

// each reads all examples.
func (g *guarding) each(ctx context.Context, do func(leak.Row) error) error {
	g.tasks = map[[2]string]bool{}
	for _, name := range slices.Sorted(maps.Keys(g.t.In)) {
		in := g.t.In[name]
		splits := in.Manifest.Splits()
		if len(splits) == 0 {
			return fmt.Errorf("preprocess/guard: %s has no example shards", in.Node)
		}
		for _, from := range splits {
			for _, e := range in.Shards(from) {
				for row, err := range rowsOf(ctx, in, e, []string{"id", "corpus", "task", "split", "fields"}, "image") {
					if err != nil {
						return err
					}
					g.tasks[[2]string{textOf(row[1]), textOf(row[2])}] = true
					r := leak.Row{ID: textOf(row[0]), Split: splitName(textOf(row[3])), Image: path.Base(textOf(row[5]))}
					if row[5] == nil || !g.s.wants(leak.Image) {
						r.Image = ""
					}
					if r.Text, err = g.s.text(row[4]); err != nil {
						return fmt.Errorf("%s: %s: %w", e.Name, r.ID, err)
					}
					if row[5] != nil && r.Text != "" { // a question is another one with each image
						r.Text = path.Base(textOf(row[5])) + string(leak.Between) + r.Text
					}
					if err := do(r); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

func (s *Guard) wants(kind string) bool { return len(s.Kinds) == 0 || slices.Contains(s.Kinds, kind) }

// text joins the texts that are compared.
func (s *Guard) text(fields any) (string, error) {
	if !s.wants(leak.Exact) && !s.wants(leak.Normalised) {
		return "", nil
	}
	list, _ := fields.(shard.Struct)
	var b strings.Builder
	some := false
	add := func(v any) {
		if some {
			b.WriteRune(leak.Between)
		}
		some = true
		appendText(&b, v)
	}
	if len(s.Fields) == 0 {
		for _, f := range list {
			add(f.Value)
		}
		return b.String(), nil
	}
	for _, name := range s.Fields {
		i := slices.IndexFunc(list, func(f shard.Field) bool { return f.Name == name })
		if i < 0 {
			return "", fmt.Errorf("no field %s", name)
		}
		add(list[i].Value)
	}
	return b.String(), nil
}

// appendText writes the texts of a value, and its numbers.
func appendText(b *strings.Builder, v any) {
	switch v := v.(type) {
	case nil:
	case string:
		b.WriteString(v)
	case []any:
		for i, item := range v {
			if i > 0 {
				b.WriteRune(leak.Between)
			}
			appendText(b, item)
		}
	case shard.Struct:
		for i, f := range v {
			if i > 0 {
				b.WriteRune(leak.Between)
			}
			appendText(b, f.Value)
		}
	default:
		fmt.Fprint(b, v)
	}
}

// report writes the leaks and their shares.
func (g *guarding) report() error {
	type pair struct{ kind, split, against string }
	counts := map[pair]int64{}
	g.gone = map[string]bool{}
	remove := splitName(g.s.Remove)
	leaks := newSink[leak.Leak](g.t.Out, leak.Schema)
	total := int64(0)
	err := g.find.Leaks(func(l leak.Leak) error {
		if !g.s.wants(l.Kind) {
			return nil
		}
		counts[pair{l.Kind, l.Split, l.Against}]++
		total++
		if g.s.Remove != "" && l.Split == remove {
			g.gone[l.ID] = true
		}
		return leaks.put(leaksFile, l)
	})
	if err := errors.Join(err, leaks.close()); err != nil {
		return err
	}
	names, rows := g.find.Splits()
	if g.s.Remove != "" && !slices.Contains(names, remove) {
		return fmt.Errorf("preprocess/guard: remove: no split %s, only %s", g.s.Remove, strings.Join(names, ", "))
	}
	corpusName, taskName := g.what()
	scores := newSink[score.Row](g.t.Out, score.Schema)
	for _, kind := range leak.Kinds {
		for _, of := range names {
			for _, against := range names {
				if of == against || !g.s.wants(kind) {
					continue
				}
				n := counts[pair{kind, of, against}]
				if n > 0 {
					g.t.Log.Warn("rows of one split are in another", "kind", kind, "split", of, "against", against, "rows", n, "of", rows[of])
				}
				row := score.Row{
					Metric: "leakage", Variant: kind, Corpus: corpusName, Task: taskName, Split: of, Value: float64(n) / float64(rows[of]), N: rows[of],
					Tags: map[string]string{"against": against, "rows": strconv.FormatInt(n, 10)},
				}
				if err := scores.put(scoresFile, row); err != nil {
					return err
				}
			}
		}
	}
	g.t.Out.Note("leaks", strconv.FormatInt(total, 10))
	return scores.close()
}

// what names the corpus and task, those of several joined.
func (g *guarding) what() (corpusName, taskName string) {
	var corpora, tasks []string
	for ct := range g.tasks {
		corpora, tasks = append(corpora, ct[0]), append(tasks, ct[1])
	}
	join := func(list []string) string {
		slices.Sort(list)
		return strings.Join(slices.Compact(list), "+")
	}
	return join(corpora), join(tasks)
}

// remaining writes the ids that stay.
func (g *guarding) remaining(ctx context.Context) error {
	out := newSink[split.Member](g.t.Out, split.Schema)
	stay := int64(0)
	err := g.each(ctx, func(r leak.Row) error {
		if g.gone[r.ID] {
			return nil
		}
		stay++
		return out.put(splitFile, split.Member{ID: r.ID, Split: r.Split})
	})
	g.t.Out.Note("removed", strconv.Itoa(len(g.gone)))
	g.t.Out.Note("stay", strconv.FormatInt(stay, 10))
	return errors.Join(err, out.close())
}
