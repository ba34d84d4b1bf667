package evaluate

import (
	"math"
	"testing"

	"espalier/evaluate/input"
)

// The worked examples of docs/metrics.md.
func TestWorkedExamples(t *testing.T) {
	check := func(pred, refs string, metrics []string, want map[string]float64) {
		t.Helper()
		res, err := Run(t.Context(), Request{Metrics: metrics, Pred: input.Source{Path: pred}, Refs: []input.Source{{Path: refs}}})
		if err != nil {
			t.Fatal(err)
		}
		for name, w := range want {
			if got := value(t, res, name).Value; math.Abs(got-w) > 5e-6 {
				t.Errorf("%s: %v, want %v", name, got, w)
			}
		}
	}
	check(write(t, "p1", "a cat sat on the mat\n"), write(t, "r1", "the cat sat on the mat\n"),
		[]string{"bleu:tok=none", "rouge-l:tok=none", "sacrebleu", "ter", "rouge-score", "nltk-gleu"},
		map[string]float64{
			"bleu-2": math.Sqrt(2. / 3), "bleu-4": math.Pow(1./3, .25), "rouge-l": 5. / 6, "sacrebleu": 75.98357, "ter": 100. / 6,
			"rouge1": 5. / 6, "rouge2": .8, "rougeL": 5. / 6, "nltk-gleu": 14. / 18,
		})
	check(write(t, "p1", "a cat sat on the mat\n"), write(t, "r1", "the cat sat on the mat\n"), []string{"rouge"}, map[string]float64{"rouge-1": .90909})
	dogs, cats := write(t, "p2", "a dog\na cat\n"), write(t, "r2", "a dog\na red cat\n")
	second := 10 * math.Sqrt(.5) * math.Exp(-1./72) / 4
	check(dogs, cats, []string{"cider:tok=none"}, map[string]float64{"cider": (5 + second) / 2})
	check(dogs, cats, []string{"cider:tok=none:plain=true"}, map[string]float64{"cider": (5 + 10*math.Sqrt(.5)/4) / 2})
	check(write(t, "p3", "a x c\nd e\n"), write(t, "r3.m2", "S a b c\nA 1 2|||R|||x|||REQUIRED|||-NONE-|||0\n\nS d e\nA 0 1|||R|||f|||REQUIRED|||-NONE-|||0\n"),
		[]string{"maxmatch"}, map[string]float64{"maxmatch-p": 1, "maxmatch-r": .5, "maxmatch-f0.5": 5. / 6})
	check(write(t, "p4", `{"q": "the cats"}`), write(t, "r4", `{"id": "q", "answers": ["cats and dogs"]}`), []string{"squad"}, map[string]float64{"squad-f1": 50})
}
