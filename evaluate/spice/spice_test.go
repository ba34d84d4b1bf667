package spice

import (
	"math"
	"testing"
)

func parsed(t *testing.T, s string) []Tuple {
	t.Helper()
	out, err := Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Cases that a reader can check by hand.
func TestCompare(t *testing.T) {
	const ref = `[["girl"],["girl","young"],["bench"],["girl","on","bench"]]`
	senses := func(w string) []int32 {
		return map[string][]int32{"girl": {1, 5}, "woman": {5}, "young": {9}}[w]
	}
	for name, c := range map[string]struct {
		cand, ref string
		senses    func(string) []int32
		want      [4]Score
	}{
		"itself":                  {ref, ref, nil, [4]Score{{1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}}},
		"part":                    {`[["girl"],["dog"]]`, ref, nil, [4]Score{{.5, .25, 1.0 / 3}, {.5, .5, .5}, {}, {}}},
		"a synset":                {`[["woman"]]`, ref, senses, [4]Score{{1, .25, .4}, {1, .5, 2.0 / 3}, {}, {}}},
		"without synsets":         {`[["woman"]]`, ref, nil, [4]Score{}},
		"words of a concept":      {`[["woman"]]`, `[["girl|woman"]]`, nil, [4]Score{{1, 1, 1}, {1, 1, 1}, {math.NaN(), math.NaN(), math.NaN()}, {math.NaN(), math.NaN(), math.NaN()}}},
		"as SPICE writes it":      {`[["woman"]]`, `[["girl/woman"]]`, nil, [4]Score{{1, 1, 1}, {1, 1, 1}, {math.NaN(), math.NaN(), math.NaN()}, {math.NaN(), math.NaN(), math.NaN()}}},
		"recall above 1":          {`[["girl"],["woman"]]`, `[["girl|woman"]]`, nil, [4]Score{{1, 2, 4.0 / 3}, {1, 2, 4.0 / 3}, {math.NaN(), math.NaN(), math.NaN()}, {math.NaN(), math.NaN(), math.NaN()}}},
		"captions, written twice": {`[[["girl"]],[["girl"],["girl","young"]],[]]`, ref, nil, [4]Score{{1, .5, 2.0 / 3}, {1, .5, 2.0 / 3}, {1, 1, 1}, {}}},
		"SPICE's own objects":     {`[{"tuple":["bench"],"truth_value":true}]`, ref, nil, [4]Score{{1, .25, .4}, {1, .5, 2.0 / 3}, {}, {}}},
		"no reference":            {ref, `[]`, nil, [4]Score{{}, {math.NaN(), math.NaN(), math.NaN()}, {math.NaN(), math.NaN(), math.NaN()}, {math.NaN(), math.NaN(), math.NaN()}}},
	} {
		got := (&Matcher{c.senses}).Compare(parsed(t, c.cand), parsed(t, c.ref))
		for k := range c.want {
			g, w := [3]float64{got[k].P, got[k].R, got[k].F}, [3]float64{c.want[k].P, c.want[k].R, c.want[k].F}
			for i := range g {
				if math.IsNaN(g[i]) != math.IsNaN(w[i]) || math.Abs(g[i]-w[i]) > 1e-15 {
					t.Errorf("%s: kind %d %v, want %v", name, k, g, w)
				}
			}
		}
	}
	for _, bad := range []string{`["girl"]`, `{}`, `[["a","b","c","d"]]`, `[["",""]]`, `girl`} {
		if _, err := Parse(bad); err == nil {
			t.Errorf("Parse(%s) takes it", bad)
		}
	}
}

// Attributes that are a number, a colour or a size are scored apart.
func TestKinds(t *testing.T) {
	cand := parsed(t, `[["cat"],["cat","black"],["cat","two"],["dog","big"],["cat","on","black"],["dog","happy"]]`)
	ref := parsed(t, `[["cat"],["cat","black"],["cat","three"],["dog","huge"],["dog","small"],["dog","red/dark"]]`)
	got := (&Matcher{}).Compare(cand, ref)
	for kind, want := range map[int]Score{
		Object: {1, 1, 1}, Attribute: {.25, .2, 2. / 9}, Relation: {math.NaN(), math.NaN(), math.NaN()},
		Cardinality: {}, Color: {1, 1, 1}, Size: {}, // the concept red/dark is no colour of the list
	} {
		g := got[kind]
		if math.IsNaN(want.F) != math.IsNaN(g.F) || math.Abs(g.P-want.P) > 1e-15 || math.Abs(g.R-want.R) > 1e-15 || math.Abs(g.F-want.F) > 1e-15 {
			t.Errorf("%s: %v, want %v", Names[kind], g, want)
		}
	}
	if n := len(words); n != 10+18+105 {
		t.Errorf("%d words of kinds", n)
	}
}
