package reward

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"espalier/evaluate/cider"
	"espalier/evaluate/ngram"
	"espalier/internal/shared"
)

// golden is a reward_*.json of the reference data.
type golden struct {
	References [][]string
	Samples    [][]string
	DF         json.RawMessage `json:"document_frequency"`
	Rewards    []struct {
		Reward   string
		EOS      bool `json:"eos_appended"`
		Scores   [][]float64
		LOO      [][]float64 `json:"advantage_leave_one_out"`
		Mean     [][]float64 `json:"advantage_mean_of_all"`
		Greedy   [][]float64 `json:"advantage_greedy"`
		Baseline []float64   `json:"baseline_mean_of_all"`
	}
}

var kinds = map[string]Weights{
	"cider_d":          {CIDEr: 1},
	"cider_d + bleu_4": {CIDEr: 1, BLEU: [4]float64{3: 1}},
	"mean bleu_1..4":   {BLEU: [4]float64{.25, .25, .25, .25}},
}

func near(got, want float64) bool {
	return got == want || math.Abs(got-want) <= 1e-12*max(1, math.Abs(want))
}

func TestRewardsEqualThePublicCode(t *testing.T) {
	for _, name := range []string{"reward_spec_example.json", "reward_karpathy_mini.json"} {
		b, err := os.ReadFile(shared.Dir(t, "goldens", "papers", "acort", name))
		if err != nil {
			t.Fatal(err)
		}
		var g golden
		if err := json.Unmarshal(b, &g); err != nil {
			t.Fatal(err)
		}
		for _, r := range g.Rewards {
			w, ok := kinds[r.Reward]
			if !ok {
				t.Fatalf("%s: unknown reward %q", name, r.Reward)
			}
			end := ""
			if r.EOS {
				end = "<eos>"
			}
			var words ngram.Words
			df, err := cider.ParseDF(&words, g.DF)
			if err != nil {
				t.Fatal(err)
			}
			s := New(&words, df, w, end)
			for i := range g.Samples {
				got := s.Score(nil, g.Samples[i], g.References[i])
				adv := make([]float64, len(got))
				for j := range got {
					if !near(got[j], r.Scores[i][j]) {
						t.Errorf("%s %s eos=%v: score %d,%d = %v, want %v", name, r.Reward, r.EOS, i, j, got[j], r.Scores[i][j])
					}
				}
				for _, c := range []struct {
					name string
					f    func(adv, r []float64)
					want []float64
				}{
					{"leave one out", LeaveOneOut, r.LOO[i]},
					{"mean of all", MeanOfAll, r.Mean[i]},
					{"greedy", func(a, x []float64) { Greedy(a, x, x[0]) }, r.Greedy[i]},
				} {
					c.f(adv, got)
					for j := range adv {
						if !near(adv[j], c.want[j]) {
							t.Errorf("%s %s eos=%v: %s %d,%d = %v, want %v", name, r.Reward, r.EOS, c.name, i, j, adv[j], c.want[j])
						}
					}
				}
			}
		}
	}
}

// The numbers are those of ACORT's public code on three made-up images.
func TestRewardsOfAnExample(t *testing.T) {
	refs := [][]string{
		{"a man riding a wave on a surfboard", "a surfer rides a large wave in the ocean"},
		{"a dog sitting on a couch", "a brown dog is sitting on a sofa", "the dog sits on the couch"},
		{"two zebras standing in a field", "a pair of zebras in a grassy field"},
	}
	var words ngram.Words
	df := cider.NewDF(&words)
	for _, image := range refs {
		var ids [][]uint32
		for _, r := range image {
			ids = append(ids, words.Fields(nil, r))
		}
		df.AddImage(ids)
	}
	df.Finish()
	s := New(&words, df, Weights{CIDEr: 1, BLEU: [4]float64{3: 1}}, "")
	got := s.Score(nil, []string{"a man riding a wave in the ocean", "a man riding a wave on a", "a surfer"}, refs[0])
	adv := make([]float64, 3)
	LeaveOneOut(adv, got)
	for i, want := range []float64{5.310805033187389, 5.586916694701955, 0.4994612741301778} {
		if !near(got[i], want) {
			t.Errorf("reward %d = %v, want %v", i, got[i], want)
		}
	}
	for i, want := range []float64{2.2676160487713224, 2.6817835410431714, -4.949399589814494} {
		if !near(adv[i], want) {
			t.Errorf("advantage %d = %v, want %v", i, adv[i], want)
		}
	}
	single := []float64{3}
	LeaveOneOut(single, []float64{7})
	if single[0] != 0 {
		t.Errorf("advantage of a single sample = %v, want 0", single[0])
	}
}
