package report

import (
	"slices"
	"strings"
	"testing"

	"espalier/pipeline/score"
)

func scored(input string, values map[string]float64) *set {
	s := &set{Input: input, Name: axesOf(input), Rows: map[string]score.Row{}}
	for m, v := range values {
		s.Rows[m] = score.Row{Metric: m, Value: v}
	}
	return s
}

// Behind a published row stand ours of the same method, with their sizes; scores
// of several inputs make one row; what no row is about comes first.
func TestComparison(t *testing.T) {
	p := &page{Sets: []*set{
		scored("vqa[method=vl-hyperpelt]", map[string]float64{"vqa": 66.1}),
		scored("gqa[method=vl-hyperpelt]", map[string]float64{"accuracy": 0.5}),
		scored("caption[method=vl-hyperpelt]", map[string]float64{"bleu-1": 1, "cider": 1.1}),
		scored("vqa-shuffled[method=vl-hyperpelt]", map[string]float64{"vqa": 40}),
		scored("vqa[method=other]", map[string]float64{"vqa": 1}),
	}, Sizes: []size{{Name: "vl-hyperpelt", Percent: "6.62 %", Total: "2x"}}}
	var got []string
	for _, l := range comparison("hyperpelt-vl", p).Lines {
		got = append(got, strings.Join(append([]string{l.Model, l.Size}, l.Values...), "|"))
	}
	want := []string{
		"this report: other||1.00|||",
		"VL-Adapter|7.16 %||||",
		"VL-HyperPELT|6.62 %||||",
		"this report: vl-hyperpelt|6.62 %|66.10|50.00||110.00",
	}
	if !slices.Equal(got, want) {
		t.Errorf("rows\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Each published row has a cell for each column.
func TestPublished(t *testing.T) {
	for name, p := range papers {
		for _, r := range p.Rows {
			if len(r.Values) != len(p.Columns) {
				t.Errorf("%s: %s has %d values for %d columns", name, r.Model, len(r.Values), len(p.Columns))
			}
		}
	}
}

func TestNatural(t *testing.T) {
	got := []string{"a[shots=16]", "a[shots=4]", "a", "b2", "a[shots=016]", "b10", "", "b"}
	slices.SortFunc(got, natural)
	want := []string{"", "a", "a[shots=4]", "a[shots=16]", "a[shots=016]", "b", "b2", "b10"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
