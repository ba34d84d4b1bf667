package distinct

import "testing"

func TestScore(t *testing.T) {
	texts := []string{"a b a b", "b a", "", "c", "a b c d e"}
	var whole, left, right Counter
	for i, s := range texts {
		whole.Add(s)
		if i%2 == 0 {
			left.Add(s)
		} else {
			right.Add(s)
		}
	}
	right.Merge(&left)
	for n, want := range []float64{5. / 12, 5. / 8, 5. / 5, 3. / 3} {
		if got := whole.Score(n + 1); got != want {
			t.Errorf("Distinct-%d = %v, want %v", n+1, got, want)
		}
		if got := right.Score(n + 1); got != want {
			t.Errorf("merged Distinct-%d = %v, want %v", n+1, got, want)
		}
	}
	var empty Counter
	if empty.Score(2) != 0 {
		t.Error("Distinct-2 of nothing is not 0")
	}
}
