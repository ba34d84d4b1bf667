package evaluate

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"espalier/evaluate/input"
	"espalier/evaluate/ngram"
	"espalier/evaluate/ptb"
)

// However many workers there are, captions are cut as one stream of predictions
// and one of references.
func TestCaptionsAreCutAsTwoStreams(t *testing.T) {
	texts := []string{"A dog runs.", "", "  two  blanks ", "The U.S.", "The dog's 1 1/2 cups, (555) 555-1234", "naïve\u00a0café", ".", "a\tb", "Mr.", "...?", "x y"}
	r := rand.New(rand.NewPCG(5, 6))
	joined := &input.Joined{}
	var stream []string
	for i := range 700 {
		joined.IDs = append(joined.IDs, fmt.Sprint(i))
		joined.Predictions = append(joined.Predictions, texts[r.IntN(len(texts))])
		refs := []string{}
		for range r.IntN(4) {
			refs = append(refs, texts[r.IntN(len(texts))])
		}
		joined.References = append(joined.References, refs)
		stream = append(stream, refs...)
	}
	for _, tok := range []string{"ptb", "none"} {
		preds, refs := joined.Predictions, stream
		if tok == "ptb" {
			preds, refs = tokens(t, preds), tokens(t, refs)
		}
		for _, workers := range []int{0, 1, 2, 7} {
			c := &corpus{Joined: joined, workers: workers, digest: workers == 2}
			cut, err := c.captions(t.Context(), tok)
			if err != nil {
				t.Fatal(err)
			}
			left := refs
			for i, p := range preds {
				checkCut(t, cut, p, cut.fields.hyps[i], cut.pieces.hyps[i])
				n := len(joined.References[i])
				if len(cut.fields.refs[i]) != n || len(cut.pieces.refs[i]) != n {
					t.Fatalf("%s, %d workers: example %d has not %d references", tok, workers, i, n)
				}
				for k, text := range left[:n] {
					checkCut(t, cut, text, cut.fields.refs[i][k], cut.pieces.refs[i][k])
				}
				if c.digest {
					if want := digest(p, left[:n]); cut.seen[i] != want {
						t.Fatalf("%s: digest %s, want %s", tok, cut.seen[i], want)
					}
				}
				left = left[n:]
			}
		}
	}
}

func tokens(t *testing.T, captions []string) []string {
	t.Helper()
	lines, err := ptb.Lines(captions)
	if err != nil {
		t.Fatal(err)
	}
	for i, l := range lines {
		lines[i] = string(ptb.Filter([]byte(l)))
	}
	return lines
}

func checkCut(t *testing.T, cut *cutTexts, text string, fields, pieces []uint32) {
	t.Helper()
	var v ngram.Words
	words := func(ids []uint32) []string {
		out := make([]string, len(ids))
		for i, id := range ids {
			out[i] = v.Word(id)
		}
		return out
	}
	if got, want := cut.text(fields), words(v.Fields(nil, text)); !reflect.DeepEqual(got, want) {
		t.Fatalf("%q: fields %q, want %q", text, got, want)
	}
	if got, want := cut.text(pieces), words(v.Cut(nil, text)); !reflect.DeepEqual(got, want) {
		t.Fatalf("%q: pieces %q, want %q", text, got, want)
	}
}
