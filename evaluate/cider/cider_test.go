package cider

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"espalier/evaluate/captiontest"
	"espalier/evaluate/ngram"
	"espalier/evaluate/numeric"
	"espalier/internal/shared"
)

// near is the bound that the reference data states: numpy's logarithm depends
// on the processor.
func near(got, want float64) bool {
	return got == want || math.Abs(got-want) <= 1e-12*max(math.Abs(want), 1e-3)
}

type image struct {
	hyp  []uint32
	refs [][]uint32
}

func number(words *ngram.Words, images []captiontest.Image) []image {
	var out []image
	for _, im := range images {
		x := image{hyp: words.Fields(nil, im.Hyp)}
		for _, r := range im.Refs {
			x.refs = append(x.refs, words.Fields(nil, r))
		}
		out = append(out, x)
	}
	return out
}

func corpusDF(words *ngram.Words, images []image) *DF {
	df := NewDF(words)
	for _, im := range images {
		df.AddImage(im.refs)
	}
	df.Finish()
	return df
}

func check(t *testing.T, what string, df *DF, opt Options, images []image, corpus float64, perImage []float64) {
	t.Helper()
	s := NewScorer(df, opt)
	var sum numeric.Sum
	for i, im := range images {
		got := s.Score(im.hyp, im.refs)
		sum.Add(got)
		if !near(got, perImage[i]) {
			t.Errorf("%s: image %d = %v, want %v", what, i, got, perImage[i])
		}
	}
	if got := sum.Value() / float64(len(images)); !near(got, corpus) {
		t.Errorf("%s = %v, want %v", what, got, corpus)
	}
}

func checkCorpus(t *testing.T, c *captiontest.Corpus) {
	t.Helper()
	var words ngram.Words
	images := number(&words, c.Scored())
	df := corpusDF(&words, images)
	var per []float64
	for _, p := range c.PerImage {
		per = append(per, p.CIDEr)
	}
	check(t, c.Name, df, Options{}, images, c.Corpus.CIDEr, per)
	if c.Plain != nil {
		check(t, c.Name+" plain", df, Options{Plain: true}, images, c.Plain.Corpus, c.Plain.PerImage)
	}

	// Halves counted over words numbered apart merge to the same table.
	var other ngram.Words
	right := NewDF(&other)
	for i := len(images) - 1; i >= len(images)/2; i-- {
		var refs [][]uint32
		for _, r := range c.Scored()[i].Refs {
			refs = append(refs, other.Fields(nil, r))
		}
		right.AddImage(refs)
	}
	merged := NewDF(&words)
	for _, im := range images[:len(images)/2] {
		merged.AddImage(im.refs)
	}
	merged.Merge(right)
	merged.Finish()
	a, b := NewScorer(df, Options{}), NewScorer(merged, Options{})
	for i, im := range images {
		if x, y := a.Score(im.hyp, im.refs), b.Score(im.hyp, im.refs); x != y {
			t.Errorf("%s: image %d: %v with one table, %v with merged ones", c.Name, i, x, y)
		}
	}
	sameScores(t, c.Name, df, images, words.Len())
}

func TestEqualToTheCaptionTools(t *testing.T) {
	for _, c := range captiontest.Adversarial(t) {
		checkCorpus(t, c)
	}
	for _, name := range captiontest.Names {
		t.Run(name, func(t *testing.T) { checkCorpus(t, captiontest.Shared(t, name)) })
	}
}

// Document frequencies from the corpus and from a file, both formulas.
func TestEqualToTheRewardCode(t *testing.T) {
	dir := shared.Dir(t, "goldens", "metrics", "cider_df")
	type scores struct {
		Corpus   float64
		PerImage []float64 `json:"per_image"`
	}
	var golden map[string]struct {
		Rows   int
		Corpus map[string]scores `json:"corpus_df"`
		Given  map[string]scores `json:"given_df"`
	}
	var adversarial map[string]map[string]map[string]scores
	for name, v := range map[string]any{"scores.json": &golden, "adversarial_scores.json": &adversarial} {
		b, err := os.ReadFile(dir + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, v); err != nil {
			t.Fatal(err)
		}
	}
	table, err := os.ReadFile(dir + "/df_words.json")
	if err != nil {
		t.Fatal(err)
	}
	run := func(name string, c []captiontest.Image, corpus, given map[string]scores) {
		for formula, opt := range map[string]Options{"CIDEr": {Plain: true}, "CIDEr-D": {}} {
			var words ngram.Words
			images := number(&words, c)
			check(t, name+" "+formula, corpusDF(&words, images), opt, images, corpus[formula].Corpus, corpus[formula].PerImage)
			df, err := ParseDF(&words, table)
			if err != nil {
				t.Fatal(err)
			}
			if df.Images() != 100 {
				t.Fatalf("%d images, want 100", df.Images())
			}
			check(t, name+" given df "+formula, df, opt, images, given[formula].Corpus, given[formula].PerImage)
		}
	}
	for name, g := range golden {
		run(name, captiontest.Shared(t, name).Scored()[:g.Rows], g.Corpus, g.Given)
	}
	for _, c := range captiontest.Adversarial(t) {
		run(c.Name, c.Images, adversarial[c.Name]["corpus_df"], adversarial[c.Name]["given_df"])
	}
}

// The self-critical form: words are indices, every sentence ends in 0, and an
// image has several hypotheses.
func TestEqualToTheIndexForm(t *testing.T) {
	b, err := os.ReadFile(shared.Dir(t, "goldens", "metrics", "cider_df", "scst_idxs.json"))
	if err != nil {
		t.Fatal(err)
	}
	var g struct {
		Gts map[string][]string
		Res []struct {
			ImageID json.Number `json:"image_id"`
			Caption []string
		}
		Scores map[string]struct {
			PerImage []float64 `json:"per_image"`
		}
	}
	if err := json.Unmarshal(b, &g); err != nil {
		t.Fatal(err)
	}
	var words ngram.Words
	df, err := ParseDF(&words, b)
	if err != nil {
		t.Fatal(err)
	}
	for formula, opt := range map[string]Options{"CIDEr": {Plain: true}, "CIDEr-D": {}} {
		s := NewScorer(df, opt)
		for i, r := range g.Res {
			var refs [][]uint32
			for _, x := range g.Gts[r.ImageID.String()] {
				refs = append(refs, words.Fields(nil, x))
			}
			if got, want := s.Score(words.Fields(nil, r.Caption[0]), refs), g.Scores[formula].PerImage[i]; !near(got, want) {
				t.Errorf("%s %d = %v, want %v", formula, i, got, want)
			}
		}
	}
}

func TestBadTablesAreRefused(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`[]`, "want {"},
		{`{"ref_len": 3}`, "no document_frequency"},
		{`{"document_frequency": {"a": 1}}`, "no ref_len"},
		{`{"ref_len": 1.5, "document_frequency": {}}`, "ref_len"},
		{`{"ref_len": 3, "document_frequency": {"a b c d e": 1}}`, "5 words"},
		{`{"ref_len": 3, "document_frequency": {"a": -1}}`, "count -1"},
		{`{"images": 3, "ngrams": [["a"]]}`, "1 values"},
		{`{"images": 3, "ngrams": [["a", 1]`, "unexpected"},
	} {
		var words ngram.Words
		if _, err := ParseDF(&words, []byte(c.in)); err == nil || !strings.Contains(strings.ToLower(err.Error()), c.want) {
			t.Errorf("ParseDF(%s): error %v, want one with %q", c.in, err, c.want)
		}
	}
}

func BenchmarkScore(b *testing.B) {
	c := captiontest.Shared(b, "fakecap1000")
	var words ngram.Words
	images := number(&words, c.Images)
	b.ReportAllocs()
	for b.Loop() {
		df := corpusDF(&words, images)
		s := NewScorer(df, Options{})
		for _, im := range images {
			s.Score(im.hyp, im.refs)
		}
	}
}

// The centre's score of a sentence is the mean of its plain CIDEr over images.
func TestCentreIsTheMeanOverImages(t *testing.T) {
	c := captiontest.Adversarial(t)[10]
	for _, x := range captiontest.Adversarial(t) {
		if len(x.Images) > len(c.Images) {
			c = x
		}
	}
	var words ngram.Words
	images := number(&words, c.Images)
	df := corpusDF(&words, images)
	centre := NewCentre(df)
	for _, im := range images {
		centre.Add(im.refs)
	}
	plain := NewScorer(df, Options{Plain: true})
	for i, im := range images {
		for _, h := range im.refs { // all their n-grams are in the table
			var sum float64
			for _, other := range images {
				sum += plain.Score(h, other.refs)
			}
			if got, want := centre.Score(h), sum/float64(len(images)); math.Abs(got-want) > 1e-12 {
				t.Errorf("image %d: centre gives %v, the mean is %v", i, got, want)
			}
		}
	}
}
