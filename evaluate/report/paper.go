package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A paper is a published table beside the main scores. Values are in percent;
// an empty cell was not published.
type paper struct {
	Title   string
	Source  string
	Columns []column
	Each    bool      // all scores of a report stand beside it, not its main ones alone
	Size    published // what of a model of ours is its size
	Split   string    // whose number of examples is compared; "" for none
	Rows    []paperRow

	Lines []paperLine // with ours, see comparison
}

// A column is a metric of the table.
type column struct {
	Metric string
	Name   string // for people; by default the metric's
	Input  string // of the report, to which it belongs; by default any
	Points bool   // the score is in percent, not 0 to 1
}

// Label is how a column is written for people.
func (c column) Label() string { return cmp.Or(c.Name, label(c.Metric)) }

// A published size is of a kind.
type published uint8

const (
	noSize published = iota
	total            // of backbone and what is trained for all tasks, over the backbone
	share            // of what is trained, in percent of the backbone
)

type paperRow struct {
	Model, Size string
	Values      []string
	Of          string // value of our axis method that it is compared with
}

// A paperLine is a row as it is printed.
type paperLine struct {
	paperRow
	Ours bool
}

var captionColumns = []column{{Metric: "bleu-1"}, {Metric: "bleu-4"}, {Metric: "meteor"}, {Metric: "rouge-l"}, {Metric: "cider"}}

// papers holds the tables that reports may name.
var papers = map[string]*paper{
	"hyperpelt-glue":    &hyperpeltGLUE,
	"hyperpelt-fewshot": &hyperpeltFewShot,
	"hyperpelt-vl":      &hyperpeltVL,

	"hyperpelt-vl-fewshot": &hyperpeltVLFewShot,
	"acort": {
		Title: "ACORT (Tan et al. 2022), COCO Karpathy test split, after SCST, beam 5",
		Source: "The rows ORT, SubICap, Up-Down and Att2all are from the authors' figure data, ACORT-base and -small from their published runs, " +
			"COMIC and radix-only ORT from the COMIC repository; ACORT-xsmall follows from percentages in the text.",
		Split:   "the split's 5,000 images",
		Columns: captionColumns,
		Rows: []paperRow{
			{Model: "ORT-base", Size: "55.4M", Values: []string{"", "", "", "", "130.3"}},
			{Model: "ORT with radix 768", Size: "46.0M", Values: []string{"80.3", "39.0", "", "", "129.1"}},
			{Model: "ACORT-base", Size: "15.0M", Values: []string{"79.3", "38.2", "28.4", "57.8", "127.8"}},
			{Model: "ACORT-small", Size: "4.2M", Values: []string{"79.7", "38.5", "28.1", "57.6", "126.9"}},
			{Model: "ACORT-xsmall", Size: "2.6M", Values: []string{"", "37.7", "", "", "126.0"}},
			{Model: "SubICap-1k", Size: "46.3M", Values: []string{"", "37.1", "", "", "123.2"}},
			{Model: "Up-Down", Size: "53.2M", Values: []string{"", "", "", "", "120.1"}},
			{Model: "Att2all", Size: "46.3M", Values: []string{"", "", "", "", "114.0"}},
			{Model: "COMIC-256", Size: "4.0M", Values: []string{"75.3", "34.4", "", "", "105.0"}},
		},
	},
	"acort-xe": {
		Title:   "ORT after cross-entropy, COCO Karpathy test split",
		Source:  "The first two rows are from the COMIC repository and the authors' pruning data, the others from ORT's own repository. ACORT's cross-entropy scores were not published.",
		Split:   "the split's 5,000 images",
		Columns: captionColumns,
		Rows: []paperRow{
			{Model: "ORT, same authors", Size: "55.4M", Values: []string{"", "34.8", "", "", "113.5"}},
			{Model: "ORT with radix 768", Size: "46.0M", Values: []string{"", "34.9", "", "", "113.5"}},
			{Model: "ORT, greedy", Size: "55.4M", Values: []string{"", "33.5", "27.6", "56.0", "112.6"}},
			{Model: "ORT, beam 2", Size: "55.4M", Values: []string{"", "35.5", "28.0", "56.6", "115.4"}},
		},
	},
}

func paperNames() string { return strings.Join(slices.Sorted(maps.Keys(papers)), " or ") }

// comparison puts a report's scores beside a published table: behind each of
// its rows those of ours that it is compared with, and before them what stands
// alone. Scores of several inputs are one row if they agree in the axes.
func comparison(name string, page *page) *paper {
	p := *papers[name]
	if p.Split != "" {
		p.Source = fmt.Sprintf("The row of this report is of %d examples, the others of %s: they compare only if these are the same. ", page.Main.N, p.Split) + p.Source
	}
	var ours []paperLine
	at := map[string]int{}
	for _, s := range page.Sets {
		if s != page.Main && !p.Each {
			continue
		}
		values, any := make([]string, len(p.Columns)), false
		base, _, axes := strings.Cut(s.Input, "[")
		for i, c := range p.Columns {
			if r, ok := s.Rows[c.Metric]; ok && (c.Input == "" || c.Input == base) {
				values[i], any = fixed(r.Value*c.scale(), p.digits()), true
			}
		}
		if !any {
			continue
		}
		row := paperRow{Model: "this report", Values: values, Of: methodOf(s.Input)}
		key := s.Input
		if p.Each {
			row.Model += ": " + axesOf(s.Input)
			row.Size = p.size(page.Sizes, row.Of)
		}
		if axes && p.Each {
			key = axesOf(s.Input)
		}
		if i, ok := at[key]; ok && merge(ours[i].Values, values) {
			continue
		}
		at[key] = len(ours)
		ours = append(ours, paperLine{row, true})
	}
	known := map[string]bool{}
	for _, r := range p.Rows {
		known[r.Of] = r.Of != ""
	}
	for _, o := range ours {
		if !known[o.Of] {
			p.Lines = append(p.Lines, o)
		}
	}
	for _, r := range p.Rows {
		p.Lines = append(p.Lines, paperLine{r, false})
		for _, o := range ours {
			if r.Of != "" && o.Of == r.Of {
				p.Lines = append(p.Lines, o)
			}
		}
	}
	return &p
}

// merge puts the cells of one row into another unless both fill one.
func merge(row, cells []string) bool {
	for i, c := range cells {
		if c != "" && row[i] != "" {
			return false
		}
	}
	for i, c := range cells {
		row[i] = cmp.Or(row[i], c)
	}
	return true
}

// methodOf returns the value of an input's axis method, or "".
func methodOf(input string) string {
	_, axes, _ := strings.Cut(strings.TrimSuffix(input, "]"), "[")
	for axis := range strings.SplitSeq(axes, ",") {
		if v, ok := strings.CutPrefix(axis, "method="); ok {
			return v
		}
	}
	return ""
}

// size is that of our model of a method.
func (p *paper) size(sizes []size, method string) string {
	for _, s := range sizes {
		switch {
		case s.Name != method:
		case p.Size == total:
			return s.Total
		case p.Size == share:
			return s.Percent
		}
	}
	return ""
}

// scale is the factor that makes a score a percentage.
func (c column) scale() float64 {
	if c.Points {
		return 1
	}
	return 100
}

// digits is how many are printed behind the point.
func (p *paper) digits() int {
	if p.Each {
		return 2
	}
	return 1
}
