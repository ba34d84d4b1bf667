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
	Rows    []paperRow
	Ours    []string
}

type paperRow struct {
	Model, Size string
	Values      []string
}

// published holds the tables that reports may name.
var published = map[string]*paper{
	"acort": {
		Title: "ACORT (Tan et al. 2022), COCO Karpathy test split, after SCST, beam 5",
		Source: "The rows ORT, SubICap, Up-Down and Att2all are from the authors' figure data, ACORT-base and -small from their published runs, " +
			"COMIC and radix-only ORT from the COMIC repository; ACORT-xsmall follows from percentages in the text.",
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

// comparison puts the main scores beside a published table.
func comparison(name string, main *set) *paper {
	p := *published[name]
	p.Source = fmt.Sprintf("The row of this report is of %d examples, the others of the split's 5,000 images: they compare only if these are the same. ", main.N) + p.Source
	for _, m := range p.Metrics {
		cell := ""
		if row, ok := main.Rows[m]; ok {
			cell = fmt.Sprintf("%.1f", 100*row.Value)
		}
		p.Ours = append(p.Ours, cell)
	}
	return &p
}
