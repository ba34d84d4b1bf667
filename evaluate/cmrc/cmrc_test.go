package cmrc

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"
)

// testdata/words.jsonl: random joins of awkward pieces, cut by
// nltk.tokenize.destructive.NLTKWordTokenizer of NLTK 3.10.4.
func TestWordsAreNLTKs(t *testing.T) {
	f, err := os.Open("testdata/words.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d := json.NewDecoder(f)
	n := 0
	for ; d.More(); n++ {
		var row struct {
			Text  string
			Words []string
		}
		if err := d.Decode(&row); err != nil {
			t.Fatal(err)
		}
		if got := Words(row.Text); !slices.Equal(got, row.Words) {
			t.Errorf("Words(%q) = %q, want %q", row.Text, got, row.Words)
		}
	}
	if n != 120 {
		t.Errorf("%d rows, want 120", n)
	}
}

// Cases that a reader can check by hand.
func TestScore(t *testing.T) {
	for _, c := range []struct {
		pred    string
		answers []string
		em, f   float64
	}{
		{"北京大学", []string{"北京大学"}, 1, 1},
		{"《北京大学》。", []string{"北京大学"}, 1, 1},        // marks count for nothing
		{"在北京", []string{"北京大学"}, 0, 4.0 / 7},      // 2 of 3, 2 of 4
		{"北大京学", []string{"北京大学"}, 0, 1.0 / 4},     // the longest run is one character
		{"1998年5月", []string{"1998年"}, 0, 4.0 / 6}, // a number is one piece: 2 of 4, 2 of 2
		{"GPT 是模型", []string{"gpt是模型", "模型"}, 0, 1},
		{"", []string{"北京"}, 0, 0},
		{"。", []string{"，"}, 1, 0},  // nothing is left: equal texts, nothing shared
		{"……", []string{"…"}, 0, 0}, // one piece of two marks, which is another than one of one
	} {
		em, f := Score(c.pred, c.answers)
		if em != c.em || math.Abs(f-c.f) > 1e-15 {
			t.Errorf("Score(%q, %q) = %v, %v, want %v, %v", c.pred, c.answers, em, f, c.em, c.f)
		}
	}
}

func FuzzScore(f *testing.F) {
	f.Add("北京 don't", "北京")
	f.Fuzz(func(t *testing.T, a, b string) {
		em, v := Score(a, []string{b})
		if v < 0 || v > 1 || em != 0 && em != 1 {
			t.Errorf("Score(%q, %q) = %v, %v", a, b, em, v)
		}
		if em, v := Score(a, []string{a}); em != 1 || v != 1 && len(Pieces(a)) > 0 {
			t.Errorf("Score(%q, itself) = %v, %v", a, em, v)
		}
	})
}
