package report

import (
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
	Metrics []string
	Labels  []string           // of Metrics for people; by default theirs
	Each    bool               // all scores of a report stand beside it, not its main ones alone
	Scale   map[string]float64 // factors of metrics that are not 0 to 1; by default 100
	Split   string             // whose number of examples is compared; "" for none
	Rows    []paperRow
	Ours    []paperRow
}

// Label is how metric i is written for people.
func (p *paper) Label(i int) string {
	if p.Labels != nil {
		return p.Labels[i]
	}
	return label(p.Metrics[i])
}

type paperRow struct {
	Model, Size string
	Values      []string
}

// published holds the tables that reports may name.
var published = map[string]*paper{
	"hyperpelt-glue":    &hyperpeltGLUE,
	"hyperpelt-fewshot": &hyperpeltFewShot,
	"hyperpelt-vl":      &hyperpeltVL,

	"hyperpelt-vl-fewshot": &hyperpeltVLFewShot,
	"acort": {
		Title: "ACORT (Tan et al. 2022), COCO Karpathy test split, after SCST, beam 5",
		Source: "The rows ORT, SubICap, Up-Down and Att2all are from the authors' figure data, ACORT-base and -small from their published runs, " +
			"COMIC and radix-only ORT from the COMIC repository; ACORT-xsmall follows from percentages in the text.",
		Split:   "the split's 5,000 images",
		Metrics: []string{"bleu-1", "bleu-4", "meteor", "rouge-l", "cider"},
		Rows: []paperRow{
			{"ORT-base", "55.4M", []string{"", "", "", "", "130.3"}},
			{"ORT with radix 768", "46.0M", []string{"80.3", "39.0", "", "", "129.1"}},
			{"ACORT-base", "15.0M", []string{"79.3", "38.2", "28.4", "57.8", "127.8"}},
			{"ACORT-small", "4.2M", []string{"79.7", "38.5", "28.1", "57.6", "126.9"}},
			{"ACORT-xsmall", "2.6M", []string{"", "37.7", "", "", "126.0"}},
			{"SubICap-1k", "46.3M", []string{"", "37.1", "", "", "123.2"}},
			{"Up-Down", "53.2M", []string{"", "", "", "", "120.1"}},
			{"Att2all", "46.3M", []string{"", "", "", "", "114.0"}},
			{"COMIC-256", "4.0M", []string{"75.3", "34.4", "", "", "105.0"}},
		},
	},
	"acort-xe": {
		Title:   "ORT after cross-entropy, COCO Karpathy test split",
		Source:  "The first two rows are from the COMIC repository and the authors' pruning data, the others from ORT's own repository. ACORT's cross-entropy scores were not published.",
		Split:   "the split's 5,000 images",
		Metrics: []string{"bleu-1", "bleu-4", "meteor", "rouge-l", "cider"},
		Rows: []paperRow{
			{"ORT, same authors", "55.4M", []string{"", "34.8", "", "", "113.5"}},
			{"ORT with radix 768", "46.0M", []string{"", "34.9", "", "", "113.5"}},
			{"ORT, greedy", "55.4M", []string{"", "33.5", "27.6", "56.0", "112.6"}},
			{"ORT, beam 2", "55.4M", []string{"", "35.5", "28.0", "56.6", "115.4"}},
		},
	},
}

func paperNames() string { return strings.Join(slices.Sorted(maps.Keys(published)), " or ") }

// comparison puts a report's scores beside a published table.
func comparison(name string, page *page) *paper {
	p := *published[name]
	if p.Split != "" {
		p.Source = fmt.Sprintf("The row of this report is of %d examples, the others of %s: they compare only if these are the same. ", page.Main.N, p.Split) + p.Source
	}
	for _, s := range page.Sets {
		if s != page.Main && !p.Each {
			continue
		}
		row := paperRow{Model: "this report"}
		if p.Each {
			row.Model += ": " + s.Name
		}
		for _, m := range p.Metrics {
			cell := ""
			if r, ok := s.Rows[m]; ok {
				cell = fixed(r.Value*p.scale(m), p.digits())
			}
			row.Values = append(row.Values, cell)
		}
		p.Ours = append(p.Ours, row)
	}
	return &p
}

// scale is the factor that makes a score a percentage.
func (p *paper) scale(metric string) float64 {
	if v, ok := p.Scale[metric]; ok {
		return v
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
