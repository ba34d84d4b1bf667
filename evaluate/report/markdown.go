package report

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"espalier/pipeline/score"
)

// escaped keeps a text inside one cell of a Markdown table.
var escaped = strings.NewReplacer("|", "\\|", "\n", " ", "<", "&lt;", ">", "&gt;", "*", "\\*", "_", "\\_", "`", "\\`").Replace

// chainTitle is the heading of the stages and their keys.
const chainTitle = "How each number came to be"

// renderMarkdown writes the page without its pictures.
func renderMarkdown(p *page) ([]byte, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", escaped(p.Title))
	if len(p.Verdict) > 0 {
		fmt.Fprintf(&b, "\n%s\n", escaped(strings.Join(p.Verdict, " ")))
	}
	for _, r := range p.Remarks {
		fmt.Fprintf(&b, "\n%s\n", escaped(r))
	}
	fmt.Fprintf(&b, "\n## Scores\n\n95 %% %s in parentheses.\n\n| scored |", p.Intervals())
	for _, m := range p.Metrics {
		fmt.Fprintf(&b, " %s |", p.Head(m))
	}
	fmt.Fprintf(&b, " %s |\n", p.Counted())
	b.WriteString("|---|" + strings.Repeat("---:|", len(p.Metrics)+1) + "\n")
	for _, s := range p.Sets {
		name := escaped(s.Name)
		if s == p.Main {
			name = "**" + name + "**"
		}
		fmt.Fprintf(&b, "| %s |", name)
		for _, m := range p.Metrics {
			c := cellOf(s, m)
			text := c.Value
			if c.SD != "" {
				text += " ± " + c.SD
			}
			if c.Low != "" {
				text += " (" + c.Low + "–" + c.High + ")"
			}
			if text == "" {
				text = "–"
			}
			fmt.Fprintf(&b, " %s |", text)
		}
		fmt.Fprintf(&b, " %d |\n", s.N)
	}
	b.WriteString("\n")
	if p.About != "" {
		fmt.Fprintf(&b, "All are the %s.\n", escaped(p.About))
	}
	for _, s := range p.Sets {
		if s.About != "" && p.About == "" {
			fmt.Fprintf(&b, "- %s: %s\n", escaped(s.Name), escaped(s.About))
		}
	}
	if len(p.Sizes) > 0 {
		b.WriteString("\n## What is trained\n\n| model | parameters | of the backbone | without norms | a task | all, backbone included |\n|---|---:|---:|---:|---:|---:|\n")
		for _, s := range p.Sizes {
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", escaped(s.Name), s.Trained, s.Percent, s.WithoutNorms, s.ATask, s.Total)
		}
	}
	if p.Paper != nil {
		fmt.Fprintf(&b, "\n## Beside the published table\n\n%s. In percent.\n\n| model | size |", escaped(p.Paper.Title))
		for _, c := range p.Paper.Columns {
			fmt.Fprintf(&b, " %s |", c.Label())
		}
		b.WriteString("\n|---|---:|" + strings.Repeat("---:|", len(p.Paper.Columns)) + "\n")
		for _, r := range p.Paper.Lines {
			model := escaped(r.Model)
			if r.Ours {
				model = "**" + model + "**"
			}
			fmt.Fprintf(&b, "| %s | %s |", model, r.Size)
			cells(&b, r.Values)
		}
		fmt.Fprintf(&b, "\n%s\n", escaped(p.Paper.Source))
	}
	if len(p.Curves) > 0 {
		b.WriteString("\n## Training\n\n")
		for _, c := range p.Curves {
			fmt.Fprintf(&b, "- %s: %s\n", escaped(c.Title), escaped(c.Caption))
		}
	}
	facts(&b, "The model", p.Model)
	for _, g := range p.Groups {
		fmt.Fprintf(&b, "\n## %s\n\n", g.Name)
		for _, pic := range g.Pictures {
			fmt.Fprintf(&b, "- %s (%s %s): **%s**\n", escaped(pic.ID), label(p.Metric), short(pic.Score), escaped(pic.Caption))
			for _, r := range pic.References {
				fmt.Fprintf(&b, "  - %s\n", escaped(r))
			}
		}
	}
	facts(&b, "What the model writes", p.Anatomy)
	facts(&b, "Vocabulary", p.Vocabulary)
	if len(p.Codes) > 0 {
		b.WriteString("\n| word | index | digits |\n|---|---:|---:|\n")
		for _, c := range p.Codes {
			fmt.Fprintf(&b, "| %s | %d | %s |\n", escaped(c.Word), c.Index, c.Digits)
		}
	}
	b.WriteString("\n## " + chainTitle + "\n\n| stage | key | made from | rows | digest | parameters |\n|---|---|---|---:|---|---|\n")
	for _, s := range p.Chain {
		var from []string
		for _, l := range s.From {
			from = append(from, escaped(l.Name)+" `"+l.Short+"`")
		}
		fmt.Fprintf(&b, "| %s | `%s` | %s | %s | `%s` | %s |\n", escaped(s.Kind), s.Short, strings.Join(from, ", "), s.Rows, s.Digest, escaped(s.Params))
	}
	return []byte(b.String()), nil
}

func cells(b *strings.Builder, values []string) {
	for _, v := range values {
		if v == "" {
			v = "–"
		}
		fmt.Fprintf(b, " %s |", v)
	}
	b.WriteString("\n")
}

func facts(b *strings.Builder, title string, list []fact) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## %s\n\n", title)
	for _, f := range list {
		note := ""
		if f.Note != "" {
			note = " (" + escaped(f.Note) + ")"
		}
		fmt.Fprintf(b, "- %s: %s%s\n", f.Name, escaped(f.Value), note)
	}
}

// renderTable writes every score of whole splits as comma-separated values.
func renderTable(p *page) ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	_ = w.Write([]string{"scores", "metric", "value", "ci_low", "ci_high", "n", "corpus", "task", "split", "tags", "variant"})
	number := func(v *float64) string {
		if v == nil {
			return ""
		}
		return strconv.FormatFloat(*v, 'g', -1, 64)
	}
	for _, s := range p.Sets {
		metrics := slices.Clone(p.Metrics)
		for _, m := range slices.Sorted(maps.Keys(s.Rows)) {
			if !slices.Contains(metrics, m) {
				metrics = append(metrics, m)
			}
		}
		for _, m := range metrics {
			r, ok := s.Rows[m]
			if !ok {
				continue
			}
			_ = w.Write([]string{s.Name, m, number(&r.Value), number(r.CILow), number(r.CIHigh), strconv.FormatInt(r.N, 10), r.Corpus, r.Task, r.Split, tags(r), r.Variant})
		}
	}
	w.Flush()
	return b.Bytes(), w.Error()
}

func tags(r score.Row) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(r.Tags)) {
		parts = append(parts, k+"="+r.Tags[k])
	}
	return strings.Join(parts, " ")
}
