// Package report writes what a job found for people to read: the stage Report
// makes one self-contained page, the same as Markdown, and a table.
//
// report.html has no scripts and no outside links: figures are SVG, pictures
// are small JPEGs inside the page. It follows the reader's light or dark
// setting and prints on paper. Nothing in it depends on clock, host or the
// names that a job gives its stages: equal inputs give equal bytes.
package report

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"espalier/pipeline"
)

// Files of a report.
const (
	PageFile     = "report.html"
	MarkdownFile = "report.md"
	TableFile    = "scores.csv"
)

// Inputs with a meaning of their own. All other inputs are outputs of Measure
// or Aggregate: their name is the name of a row of scores.
const (
	examplesInput    = "examples"
	predictionsInput = "predictions"
	imagesInput      = "images"
	vocabInput       = "vocab"
	modelInput       = "model"
)

// Report is the stage that writes a report.
//
// Inputs: any number of score outputs, each under the name it is to have
// ("ours", "shuffled", "scores[seed=3]"); and, each optional: model (an output
// of trainer/train: curves and sizes; or several of trainer/tune, such as
// model[method=lora]: their sizes), predictions, examples and images (raw
// files or a sample's output) for the page of pictures, vocab (of
// tokenize/train).
type Report struct {
	Title    string   `yaml:"title" json:"title" doc:"heading; by default Report"`
	Main     string   `yaml:"main" json:"main" doc:"the scores that the report is about; by default ours, else the first"`
	Ceiling  string   `yaml:"ceiling" json:"ceiling" doc:"scores that main is compared with, as a share; by default ceiling, if there is such an input"`
	Control  string   `yaml:"control" json:"control" doc:"scores that main is a multiple of; by default shuffled, if there is such an input"`
	Metric   string   `yaml:"metric" json:"metric" doc:"metric of the figure and of the pictures' order; by default cider"`
	Paper    string   `yaml:"paper" json:"paper" doc:"published table to print beside the scores: acort, acort-xe, hyperpelt-glue, -fewshot, -vl or -vl-fewshot"`
	Pictures *int     `yaml:"pictures" json:"pictures" doc:"images in each group of the page of pictures; by default 8, 0 for none"`
	Split    string   `yaml:"split" json:"split" doc:"split of the pictures; by default test"`
	Remarks  []string `yaml:"remarks" json:"remarks" doc:"sentences printed below the heading"`
}

// Kind is "evaluate/report".
func (*Report) Kind() string { return "evaluate/report" }

// Version is raised when equal inputs would give another page.
func (*Report) Version() int { return 5 }

// Check fills in defaults and reports every fault at once.
func (r *Report) Check() error {
	r.Title, r.Metric, r.Split = cmp.Or(r.Title, "Report"), cmp.Or(r.Metric, "cider"), cmp.Or(r.Split, "test")
	if r.Pictures == nil {
		n := 8
		r.Pictures = &n
	}
	var errs []error
	if *r.Pictures < 0 {
		errs = append(errs, fmt.Errorf("pictures: %d, want at least 0", *r.Pictures))
	}
	if r.Paper != "" && papers[r.Paper] == nil {
		errs = append(errs, fmt.Errorf("paper: %q, want %s", r.Paper, paperNames()))
	}
	return errors.Join(errs...)
}

// Run writes the report.
func (r *Report) Run(ctx context.Context, t *pipeline.Task, _ pipeline.Part) error {
	p, err := r.collect(ctx, t)
	if err != nil {
		return err
	}
	for _, f := range []struct {
		name  string
		write func(*page) ([]byte, error)
	}{
		{PageFile, renderPage}, {MarkdownFile, renderMarkdown}, {TableFile, renderTable},
	} {
		if err := ctx.Err(); err != nil {
			return err
		}
		b, err := f.write(p)
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		out, err := t.Out.Create(f.name, "")
		if err != nil {
			return err
		}
		if _, err := out.Write(b); err != nil {
			return err
		}
		if err := out.Close(0); err != nil {
			return err
		}
	}
	return nil
}

// scoreInputs returns the names of the inputs that hold scores: those that the
// report compares first, in their order, then the others by name.
func (r *Report) scoreInputs(t *pipeline.Task) []string {
	var names []string
	for name := range t.In {
		switch base, _, _ := strings.Cut(name, "["); base {
		case examplesInput, predictionsInput, imagesInput, vocabInput, modelInput:
		default:
			names = append(names, name)
		}
	}
	slices.SortFunc(names, natural)
	rank := func(name string) int {
		for i, n := range []string{r.main(names), r.ceiling(), r.control()} {
			if n == name {
				return i
			}
		}
		return 3
	}
	slices.SortStableFunc(names, func(a, b string) int { return rank(a) - rank(b) })
	return names
}

// natural compares texts, numbers within them by value: shots=4 comes before
// shots=16.
func natural(a, b string) int {
	digits := func(s string) int {
		n := 0
		for n < len(s) && s[n] >= '0' && s[n] <= '9' {
			n++
		}
		return n
	}
	for x, y := a, b; x != "" && y != ""; {
		m, n := digits(x), digits(y)
		if m > 0 && n > 0 {
			p, q := strings.TrimLeft(x[:m], "0"), strings.TrimLeft(y[:n], "0")
			if c := cmp.Or(cmp.Compare(len(p), len(q)), strings.Compare(p, q)); c != 0 {
				return c
			}
			x, y = x[m:], y[n:]
			continue
		}
		if x[0] != y[0] {
			return cmp.Compare(x[0], y[0])
		}
		x, y = x[1:], y[1:]
	}
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

func (r *Report) main(names []string) string {
	switch {
	case r.Main != "":
		return r.Main
	case slices.Contains(names, "ours"), len(names) == 0:
		return "ours"
	}
	return names[0]
}

func (r *Report) ceiling() string { return cmp.Or(r.Ceiling, "ceiling") }
func (r *Report) control() string { return cmp.Or(r.Control, "shuffled") }
