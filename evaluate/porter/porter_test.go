package porter

import (
	"encoding/json"
	"os"
	"testing"

	"espalier/internal/shared"
)

func TestEqualToNLTK(t *testing.T) {
	b, err := os.ReadFile(shared.Dir(t, "goldens", "metrics", "rouge", "stems.json"))
	if err != nil {
		t.Fatal(err)
	}
	var stems [][2]string
	if err := json.Unmarshal(b, &stems); err != nil {
		t.Fatal(err)
	}
	for _, s := range stems {
		if got := Stem(s[0]); got != s[1] {
			t.Errorf("Stem(%q) = %q, want %q", s[0], got, s[1])
		}
	}
}

// Examples of Porter's paper and of NLTK's additions.
func TestStem(t *testing.T) {
	for w, want := range map[string]string{
		"caresses": "caress", "ponies": "poni", "ties": "tie", "cats": "cat", "agreed": "agre", "plastered": "plaster", "motoring": "motor",
		"conflated": "conflat", "hopping": "hop", "falling": "fall", "filing": "file", "happy": "happi", "sky": "sky", "relational": "relat",
		"rationally": "ration", "dying": "die", "die": "die", "enjoy": "enjoy", "controll": "control", "adoption": "adopt", "go": "go",
	} {
		if got := Stem(w); got != want {
			t.Errorf("Stem(%q) = %q, want %q", w, got, want)
		}
	}
}
