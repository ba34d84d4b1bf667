package classify

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"espalier/internal/shared"
)

func number(raw json.RawMessage) (v float64, ok bool) {
	if string(raw) == `"nan"` {
		return math.NaN(), true
	}
	return v, json.Unmarshal(raw, &v) == nil
}

func near(got, want, bound float64) bool {
	return got == want || math.IsNaN(got) && math.IsNaN(want) || math.Abs(got-want) <= bound*math.Abs(want)
}

func TestEqualToScikitLearnAndSciPy(t *testing.T) {
	var cases map[string]struct {
		Kind       string
		Gold, Pred []float64
		Classes    int `json:"n_classes"`
	}
	var scores map[string]map[string]json.RawMessage
	for name, v := range map[string]any{"cases.json": &cases, "scores.json": &scores} {
		b, err := os.ReadFile(shared.Dir(t, "goldens", "metrics", "glue", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, v); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range cases {
		got := make(map[string]float64)
		bound := map[string]float64{"matthews": 1e-12, "pearson": 1e-12, "spearman": 1e-12, "mean_of_both": 1e-12}
		if c.Kind == "regression" {
			p, err := Pearson(c.Pred, c.Gold)
			if err == nil {
				got["pearson"] = p
			}
			got["spearman"] = Spearman(c.Pred, c.Gold)
			var ranks []float64
			if json.Unmarshal(scores[name]["ranks_pred"], &ranks) == nil && !slices.Equal(Ranks(c.Pred), ranks) {
				t.Errorf("%s: ranks %v, want %v", name, Ranks(c.Pred), ranks)
			}
		} else {
			labels := slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(c.Gold), c.Pred...))))
			for k := range c.Classes {
				if !slices.Contains(labels, float64(k)) {
					labels = append(labels, float64(k))
				}
			}
			slices.Sort(labels)
			m := NewConfusion(len(labels))
			for i := range c.Gold {
				m.Add(slices.Index(labels, c.Gold[i]), slices.Index(labels, c.Pred[i]))
			}
			got["accuracy"], got["matthews"], got["f1_macro"], got["f1_micro"], got["f1_weighted"] = m.Accuracy(), m.Matthews(), m.Macro(false), m.Accuracy(), m.Weighted()
			if i := slices.Index(labels, 1); i >= 0 {
				one := m.Label(i)
				got["f1_binary"], got["precision_binary"], got["recall_binary"] = one.F, one.P, one.R
			}
			if c.Classes > 0 && c.Classes == len(labels) {
				got["f1_mean_fixed_classes"] = m.Macro(true)
			}
		}
		for key, g := range got {
			want, ok := number(scores[name][key])
			if !ok {
				continue
			}
			b := bound[key]
			if b == 0 {
				b = 1e-15
			}
			if !near(g, want, b) {
				t.Errorf("%s: %s = %v, want %v", name, key, g, want)
			}
		}
	}
}

func TestFewPairs(t *testing.T) {
	if _, err := Pearson([]float64{1}, []float64{2}); err != ErrFew {
		t.Errorf("Pearson of one pair: %v", err)
	}
	if !math.IsNaN(Spearman([]float64{1}, []float64{2})) {
		t.Error("Spearman of one pair is a number")
	}
	empty := NewConfusion(2)
	if empty.Accuracy() != 0 || empty.Macro(true) != 0 || empty.Matthews() != 0 || empty.Weighted() != 0 {
		t.Error("scores of nothing are not 0")
	}
}
