package scienceqa

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"espalier/internal/shared"
)

// TestExtract compares letters and explanations with the repository's.
func TestExtract(t *testing.T) {
	b, err := os.ReadFile(shared.Dir(t, "goldens", "metrics", "scienceqa", "extract.json"))
	if err != nil {
		t.Fatal(err)
	}
	var rows []struct{ Output, Extracted, Explanation string }
	if err := json.Unmarshal(b, &rows); err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		got := "FAILED"
		if c, ok := Extract(r.Output); ok {
			got = string(c)
		}
		if got != r.Extracted {
			t.Errorf("%q: %s, want %s", r.Output, got, r.Extracted)
		}
		if got := Explanation(r.Output); got != r.Explanation {
			t.Errorf("%q: explanation %q, want %q", r.Output, got, r.Explanation)
		}
	}
}

func TestChoice(t *testing.T) {
	for s, want := range map[string]int{"0": 0, " 3\n": 3, "The answer is C.": 2} {
		if got, ok := Choice(s); !ok || got != want {
			t.Errorf("%q: %d %v, want %d", s, got, ok, want)
		}
	}
	for _, s := range []string{"", "C", "-1", "The answer is C"} {
		if got, ok := Choice(s); ok {
			t.Errorf("%q names choice %d", s, got)
		}
	}
}

func TestIn(t *testing.T) {
	q := Question{Subject: "social science", Grade: "grade6", Hint: "x", Image: "image.png"}
	if got, want := q.In(), []bool{true, false, true, false, true, true, false, true, false}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	q = Question{Grade: "7"}
	if got, want := q.In(), []bool{true, false, false, false, false, false, true, false, false}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if len(q.In()) != len(Columns) {
		t.Error("columns")
	}
}
