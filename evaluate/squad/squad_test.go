package squad

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"testing"

	"espalier/internal/shared"
)

type row struct {
	Prediction string
	Golds      []string
	Normalized string
	V1EM       any      `json:"v1_em"`
	V1F1       float64  `json:"v1_f1"`
	V2EM       float64  `json:"v2_em"`
	V2F1       float64  `json:"v2_f1"`
	V2Golds    []string `json:"v2_golds_used"`
	RecordEM   any      `json:"record_em"`
	RecordF1   float64  `json:"record_f1"`
}

func rows(t *testing.T) (out []row) {
	t.Helper()
	f, err := os.Open(shared.Dir(t, "goldens", "metrics", "qa", "squad.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		if len(sc.Bytes()) == 0 {
			continue
		}
		var r row
		if err := json.Unmarshal(sc.Bytes(), &r); err != nil {
			r.V1EM = "error" // the script raises: no gold answers
			var short struct {
				Prediction string
				Golds      []string
				Normalized string
				V2EM       float64 `json:"v2_em"`
				V2F1       float64 `json:"v2_f1"`
			}
			if err := json.Unmarshal(sc.Bytes(), &short); err != nil {
				t.Fatal(err)
			}
			r.Prediction, r.Golds, r.Normalized, r.V2EM, r.V2F1 = short.Prediction, short.Golds, short.Normalized, short.V2EM, short.V2F1
		}
		out = append(out, r)
	}
	return out
}

func TestEqualToTheOfficialScripts(t *testing.T) {
	for _, r := range rows(t) {
		if got := Normalise(r.Prediction); got != r.Normalized {
			t.Errorf("Normalise(%q) = %q, want %q", r.Prediction, got, r.Normalized)
		}
		em, f, has := V2(r.Prediction, r.Golds)
		if em != r.V2EM || math.Abs(f-r.V2F1) > 1e-15 {
			t.Errorf("V2(%q, %q) = %v, %v (answer %v), want %v, %v", r.Prediction, r.Golds, em, f, has, r.V2EM, r.V2F1)
		}
		want, ok := r.V1EM.(bool)
		if !ok || len(r.Golds) == 0 {
			continue
		}
		em, f = V1(r.Prediction, r.Golds)
		if (em == 1) != want || math.Abs(f-r.V1F1) > 1e-15 {
			t.Errorf("V1(%q, %q) = %v, %v, want %v, %v", r.Prediction, r.Golds, em, f, want, r.V1F1)
		}
		if rec, ok := r.RecordEM.(bool); ok && ((em == 1) != rec || math.Abs(f-r.RecordF1) > 1e-15) {
			t.Errorf("%q: ReCoRD %v, %v, want %v, %v", r.Prediction, em, f, rec, r.RecordF1)
		}
	}
}

func TestMultiRC(t *testing.T) {
	b, err := os.ReadFile(shared.Dir(t, "goldens", "metrics", "qa", "multirc.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases map[string]struct {
		Rows   [][]int
		Scores struct {
			EM  float64 `json:"exact_match"`
			F1M float64 `json:"f1_m"`
			F1A float64 `json:"f1_a"`
		}
	}
	if err := json.Unmarshal(b, &cases); err != nil {
		t.Fatal(err)
	}
	for name, c := range cases {
		var m MultiRC
		for _, r := range c.Rows {
			m.Add(fmt.Sprint(r[0], "-", r[1]), r[3] == 1, r[2] == 1)
		}
		em, fm, fa := m.Scores()
		if math.Abs(em-c.Scores.EM) > 1e-15 || math.Abs(fm-c.Scores.F1M) > 1e-14 || math.Abs(fa-c.Scores.F1A) > 1e-15 {
			t.Errorf("%s: %v, %v, %v, want %v, %v, %v", name, em, fm, fa, c.Scores.EM, c.Scores.F1M, c.Scores.F1A)
		}
	}
}
