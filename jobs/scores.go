package jobs

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"espalier/pipeline/score"
	"espalier/pipeline/shard"
	"espalier/pipeline/store"
)

// ReportKind is the kind of the stages that write a report for people.
const ReportKind = "evaluate/report"

// Reports yields the job's stages that write a report.
func (j *Job) Reports() iter.Seq[*Stage] {
	return func(yield func(*Stage) bool) {
		for _, s := range j.Stages {
			if s.Params.Kind() == ReportKind && !yield(s) {
				return
			}
		}
	}
}

// HasScores tells whether an output holds scores.
func HasScores(m *store.Manifest) bool {
	return slices.ContainsFunc(m.Files, func(e store.FileEntry) bool { return e.Schema == score.Schema })
}

// Scores reads the scores of whole splits that an output holds: not those of
// single examples, and no curves.
func Scores(ctx context.Context, s *store.Store, m *store.Manifest) ([]score.Row, error) {
	var out []score.Row
	for _, e := range m.Files {
		if e.Schema != score.Schema {
			continue
		}
		if err := scoresOf(ctx, s, m, e.Name, &out); err != nil {
			return nil, fmt.Errorf("%s of %s: %w", e.Name, m.Key.Short(), err)
		}
	}
	return out, nil
}

func scoresOf(ctx context.Context, s *store.Store, m *store.Manifest, name string, out *[]score.Row) error {
	f, err := s.OpenFile(ctx, m, name)
	if err != nil {
		return err
	}
	defer f.Close()
	r, err := shard.Open[score.Row](f, f.Size())
	if err != nil {
		return err
	}
	for row, err := range r.All() {
		if err != nil {
			return err
		}
		if row.ID == "" && row.Step == nil { // not an example's, not a point of a curve
			*out = append(*out, row)
		}
	}
	return nil
}

// A ScoreSet is the scores that a stage reads under one name.
type ScoreSet struct {
	Name string
	Rows []score.Row
}

// ScoreTable arranges scores as text: a line for each set, corpus, split and
// tags, a column for each metric in the order of its first row. Headers of
// columns of numbers begin with a blank.
func ScoreTable(sets []ScoreSet) (headers []string, lines [][]string) {
	var metrics []string
	type line struct {
		name, split, tags string
		n                 int64
		values            map[string]float64
	}
	var rows []*line
	for _, s := range sets {
		for _, r := range s.Rows {
			if !slices.Contains(metrics, r.Metric) {
				metrics = append(metrics, r.Metric)
			}
			tags := tagText(r.Tags)
			i := slices.IndexFunc(rows, func(l *line) bool { return l.name == s.Name && l.split == r.Split && l.tags == tags })
			if i < 0 {
				i = len(rows)
				rows = append(rows, &line{name: s.Name, split: r.Split, tags: tags, n: r.N, values: make(map[string]float64)})
			}
			rows[i].values[r.Metric] = r.Value
		}
	}
	headers = []string{"scores", "split", "tags", " n"}
	for _, m := range metrics {
		headers = append(headers, " "+m)
	}
	for _, l := range rows {
		cells := []string{l.name, l.split, l.tags, fmt.Sprint(l.n)}
		for _, m := range metrics {
			v, ok := l.values[m]
			if !ok {
				cells = append(cells, "-")
				continue
			}
			cells = append(cells, fmt.Sprintf("%.4f", v))
		}
		lines = append(lines, cells)
	}
	return headers, lines
}

func tagText(tags map[string]string) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		parts = append(parts, k+"="+tags[k])
	}
	return strings.Join(parts, " ")
}
