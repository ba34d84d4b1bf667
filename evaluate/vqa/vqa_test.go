package vqa

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"espalier/internal/shared"
)

func load(t *testing.T, name string, v any) {
	t.Helper()
	b, err := os.ReadFile(shared.Dir(t, "goldens", "metrics", "vqa", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, v); err != nil {
		t.Fatal(err)
	}
}

func TestNormalisation(t *testing.T) {
	var rows []struct {
		Text, Punctuation string
		Digits            string `json:"digit_article"`
		Both              string `json:"stripped_then_both"`
	}
	load(t, "normalize.json", &rows)
	for _, r := range rows {
		if got := Punctuation(r.Text); got != r.Punctuation {
			t.Errorf("Punctuation(%q) = %q, want %q", r.Text, got, r.Punctuation)
		}
		if got := DigitsAndArticles(r.Text); got != r.Digits {
			t.Errorf("DigitsAndArticles(%q) = %q, want %q", r.Text, got, r.Digits)
		}
		if got := Process(clean(r.Text)); got != r.Both {
			t.Errorf("Process(%q) = %q, want %q", r.Text, got, r.Both)
		}
	}
}

func TestEqualToTheEvaluationScript(t *testing.T) {
	var rows []struct {
		Answers    []string
		Prediction string
	}
	load(t, "rows.json", &rows)
	var scores map[string]struct {
		PerQuestion []float64 `json:"per_question"`
		Mean        float64   `json:"unrounded_mean"`
	}
	load(t, "scores.json", &scores)
	for name, v := range map[string]Version{"2021": V2021, "2016": V2016} {
		sum := 0.0
		for i, r := range rows {
			got := Accuracy(r.Prediction, r.Answers, v)
			sum += got
			if want := scores[name].PerQuestion[i]; math.Abs(got-want) > 1e-15 && math.Abs(100*got-want) > 1e-13 {
				t.Errorf("%s: question %d %v, want %v (%q of %q)", name, i, got, want, r.Prediction, r.Answers)
			}
		}
		if got, want := sum/float64(len(rows)), scores[name].Mean; math.Abs(got-want) > 1e-13 && math.Abs(100*got-want) > 1e-11 {
			t.Errorf("%s: mean %v, want %v", name, got, want)
		}
	}
}

// Ten answers of which 1 to 4 are the prediction, and unanimous ones.
func TestKnownAnswers(t *testing.T) {
	for k, want := range []float64{0, .3, .6, .9, 1} {
		answers := make([]string, 10)
		for i := range answers {
			answers[i] = "no"
			if i < k {
				answers[i] = "yes"
			}
		}
		if got := Accuracy("yes", answers, V2021); math.Abs(got-want) > 1e-15 {
			t.Errorf("%d of ten: %v, want %v", k, got, want)
		}
	}
	black := []string{"black", "black", "black", "black", "black", "black", "black", "black", "black", "black"}
	for v, want := range map[Version]float64{V2021: 0, V2016: 1, Always: 1, Min3: 1} {
		if got := Accuracy("Black.", black, v); got != want {
			t.Errorf("version %d: %v, want %v", v, got, want)
		}
	}
}
