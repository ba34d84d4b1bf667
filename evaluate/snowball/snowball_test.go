package snowball

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"

	"espalier/internal/shared"
)

// TestMeteor compares with the stemmer in METEOR's program.
func TestMeteor(t *testing.T) {
	f, err := os.Open(shared.Dir(t, "goldens", "metrics", "meteor", "stem.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	n := 0
	for sc.Scan() {
		var row [2]string
		if err := json.Unmarshal(sc.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		if got := Stem(row[0]); got != row[1] {
			t.Errorf("%q: %q, want %q", row[0], got, row[1])
		}
		n++
	}
	if n != 3500 || sc.Err() != nil {
		t.Errorf("%d words: %v", n, sc.Err())
	}
}

// Words of Porter's own description.
func TestStem(t *testing.T) {
	for word, want := range map[string]string{
		"consistency": "consist", "knightly": "knight", "generate": "generat", "general": "general", "ties": "tie", "cries": "cri",
		"gas": "gas", "gaps": "gap", "kiwis": "kiwi", "hopping": "hop", "hoping": "hope", "luxuriated": "luxuri", "say": "say", "by": "by",
		"cry": "cri", "proceeds": "proceed", "skies": "sky", "dog's": "dog", "": "", "é": "é",
	} {
		if got := Stem(word); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}
