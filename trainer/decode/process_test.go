package decode

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"espalier/internal/shared"
	"espalier/trainer/ckpt"
)

// parse makes the settings of a name such as temperature_0.7_top_k_8.
func parse(t *testing.T, name string) (p Processing, f Filter, seenLess, limit int) {
	t.Helper()
	limit = 1 << 20
	scan := func(format string, to ...any) {
		if _, err := fmt.Sscanf(name, format, to...); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	zero, eos := int32(0), int32(2)
	switch {
	case name == "temperature_0.7_top_k_8_top_p_0.9":
		f = Filter{Temperature: 0.7, TopK: 8, TopP: 0.9}
	case name == "temperature_0.1_top_p_0.75":
		f = Filter{Temperature: 0.1, TopP: 0.75}
	case name == "top_k_1_keep2":
		f = Filter{TopK: 1, Keep: 2}
	case name == "top_p_0.1_keep3":
		f = Filter{TopP: 0.1, Keep: 3}
	case name == "top_p_0.0":
		f.TopP = math.SmallestNonzeroFloat64
	case strings.HasPrefix(name, "temperature_"):
		scan("temperature_%g", &f.Temperature)
	case strings.HasPrefix(name, "top_k_"):
		scan("top_k_%d", &f.TopK)
	case strings.HasPrefix(name, "top_p_"):
		scan("top_p_%g", &f.TopP)
	case strings.HasPrefix(name, "min_p_"):
		scan("min_p_%g", &f.MinP)
	case strings.HasPrefix(name, "typical_"):
		scan("typical_%g", &f.Typical)
	case strings.HasPrefix(name, "repetition_"):
		scan("repetition_%g", &p.Repetition)
	case strings.HasPrefix(name, "no_repeat_"):
		scan("no_repeat_%d", &p.NoRepeat)
	case strings.HasPrefix(name, "min_length_"): // counts the start token
		scan("min_length_%d", &p.MinNew)
		p.MinNew--
	case name == "min_new_tokens_4_prompt_5":
		p.MinNew, seenLess = 4, 4 // of 8 tokens the first 5 are a prompt
	case strings.HasPrefix(name, "forced_eos_max_"):
		scan("forced_eos_max_%d", &limit)
		limit--
		p.ForcedEOS = &eos
	case name == "forced_bos_len_8":
		p.ForcedBOS = &zero
	case name == "forced_bos_len_1":
		p.ForcedBOS, seenLess = &zero, 7
	case name == "bad_words":
		p.BadWords = [][]int32{{7}, {1, 2, 9}, {5, 5, 11}, {4, 4}}
	default:
		t.Fatalf("no settings for %s", name)
	}
	return p, f, seenLess, limit
}

// Scores behind each processor are those of transformers 5.24.
func TestProcessors(t *testing.T) {
	w, err := ckpt.OpenWeights(filepath.Join(shared.Dir(t, "goldens", "models", "logits_processors"), "processors.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	floats := func(name string) []float32 {
		x, err := ckpt.AsFloats(w, name)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	ids, err := ckpt.AsInts(w, "input_ids")
	if err != nil {
		t.Fatal(err)
	}
	in, _ := w.Info("scores")
	rows, vocab := in.Shape[0], in.Shape[1]
	for _, name := range w.Names() {
		if name == "scores" || name == "input_ids" {
			continue
		}
		p, f, less, limit := parse(t, name)
		got, want := floats("scores"), floats(name)
		for r := range rows {
			var seen []int32
			for _, id := range ids[r*8+less : r*8+8] {
				seen = append(seen, int32(id))
			}
			p.process(got[r*vocab:][:vocab], seen, 2, limit)
			f.apply(got[r*vocab:][:vocab])
		}
		for i := range got {
			same := got[i] == want[i] || math.Abs(float64(got[i]-want[i])) <= 1e-6*max(1, math.Abs(float64(want[i])))
			if math.IsInf(float64(got[i]), -1) != math.IsInf(float64(want[i]), -1) || !same {
				t.Errorf("%s: row %d, token %d: %g, want %g", name, i/vocab, i%vocab, got[i], want[i])
			}
		}
	}
}
