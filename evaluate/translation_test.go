package evaluate

import "testing"

var three, six = 3.0, 6.0 // variables: constants would divide exactly

// TER adds edits and lengths up; one misplaced phrase is one edit.
func TestTER(t *testing.T) {
	res := scorePairs(t, []string{"ter", "ter:norm=true:punct=false"}, []string{"sat the cat", "a dog , runs"}, [][]string{{"the cat sat"}, {"a dog runs ."}}, Request{})
	want := map[string]float64{
		"TER|nrefs:1|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:2.6.0": 100 * (three / 7),
		"TER|nrefs:1|case:lc|tok:tercom|norm:yes|punct:no|asian:no|version:2.6.0": 100 * (1 / six),
	}
	for _, v := range res.Values {
		if v.Value != want[v.Variant] || v.N != 2 {
			t.Errorf("%s %s: %v of %d, want %v", v.Metric, v.Variant, v.Value, v.N, want[v.Variant])
		}
	}
	if len(res.Values) != 2 {
		t.Errorf("%d values", len(res.Values))
	}
}
