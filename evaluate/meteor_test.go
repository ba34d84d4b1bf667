package evaluate

import (
	"math"
	"os"
	"testing"

	"espalier/evaluate/captiontest"
)

// METEOR of real captions, with all of its tables.
func TestMETEOR(t *testing.T) {
	dir := os.Getenv("ESPALIER_METEOR")
	if dir == "" {
		t.Skip("ESPALIER_METEOR names no folder")
	}
	for _, name := range captiontest.Names {
		c := captiontest.Shared(t, name)
		var preds []string
		var refs [][]string
		for _, im := range c.Scored() {
			preds, refs = append(preds, im.Hyp), append(refs, im.Refs)
		}
		res := scorePairs(t, []string{"meteor:tok=none"}, preds, refs, Request{MeteorData: dir})
		if got := res.Values[0].Value; math.Abs(got-c.Corpus.METEOR) > 1e-14 {
			t.Errorf("%s: %v, want %v", name, got, c.Corpus.METEOR)
		}
		for i, want := range c.PerImage {
			if got := res.Each[i][0]; math.Abs(got-want.METEOR) > 1e-14 {
				t.Errorf("%s, image %d: %v, want %v", name, i, got, want.METEOR)
			}
		}
	}
}

// Without tables two modules run, and the variant says so.
func TestMETEORAlone(t *testing.T) {
	res := scorePairs(t, []string{"meteor:tok=none"}, []string{"the cats sat", "a dog"}, [][]string{{"nothing", "the cat sat"}, {"a dog"}}, Request{})
	v := res.Values[0]
	if v.Variant != "meteor[exact,stem]|1.5|tok:none" || res.Each[1][0] != 1 {
		t.Errorf("%+v, second %v", v, res.Each[1][0])
	}
	// Weighted matches 2 of exact and .6 of stem in 3 words; one chunk of 3.
	p := 2.6 / 3
	if got, want := res.Each[0][0], p; math.Abs(got-want) > 1e-14 {
		t.Errorf("first %v, want %v", got, want)
	}
}
