package evaluate

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"espalier/evaluate/captiontest"
	"espalier/evaluate/input"
	"espalier/internal/shared"
	"espalier/pipeline"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	p := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(p, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return p
}

func near(got, want, bound float64) bool {
	return got == want || math.Abs(got-want) <= bound*max(math.Abs(want), 1e-3)
}

func value(t *testing.T, r *Result, metric string) Value {
	t.Helper()
	for _, v := range r.Values {
		if v.Metric == metric {
			return v
		}
	}
	t.Fatalf("no value %s in %v", metric, r.Values)
	return Value{}
}

// files writes a corpus as COCO results and annotations.
func files(t *testing.T, c *captiontest.Corpus) (pred, refs string) {
	t.Helper()
	type ann struct {
		ImageID int    `json:"image_id"`
		ID      int    `json:"id"`
		Caption string `json:"caption"`
	}
	type image struct {
		ID int `json:"id"`
	}
	var doc struct {
		Images      []image `json:"images"`
		Annotations []ann   `json:"annotations"`
	}
	var res []ann
	for i, im := range c.Images {
		id := 1000 + 7*i
		doc.Images = append(doc.Images, image{id})
		for j, r := range im.Refs {
			doc.Annotations = append(doc.Annotations, ann{id, 10*i + j, r})
		}
		res = append(res, ann{ImageID: id, ID: i, Caption: im.Hyp})
	}
	for i := range res { // results come in another order
		j := (i * 7) % len(res)
		res[i], res[j] = res[j], res[i]
	}
	marshal := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	return write(t, "results.json", marshal(res)), write(t, "annotations.json", marshal(doc))
}

func TestCaptionMetricsEqualTheCaptionTools(t *testing.T) {
	for _, name := range []string{"coco200", "flickr150", "pascal_29refs", "pascal_1ref", "fakecap1000"} {
		t.Run(name, func(t *testing.T) {
			c := captiontest.Shared(t, name)
			tok := "tok=ptb"
			if c.Tokenized == nil {
				tok = "tok=none"
			}
			pred, refs := files(t, c)
			var first *Result
			for _, workers := range []int{1, 2, 7} {
				r, err := Run(t.Context(), Request{
					Metrics: []string{"bleu:" + tok, "rouge-l:" + tok, "cider:" + tok},
					Pred:    input.Source{Path: pred}, Refs: []input.Source{{Path: refs}},
					Bootstrap: 100, Workers: workers,
				})
				if err != nil {
					t.Fatal(err)
				}
				w := c.Corpus
				for _, x := range []struct {
					metric string
					want   float64
					bound  float64
				}{
					{"bleu-1", w.Bleu1, 1e-14},
					{"bleu-2", w.Bleu2, 1e-14},
					{"bleu-3", w.Bleu3, 1e-14},
					{"bleu-4", w.Bleu4, 1e-14},
					{"rouge-l", w.RougeL, 1e-14},
					{"cider", w.CIDEr, 1e-12},
				} {
					v := value(t, r, x.metric)
					if !near(v.Value, x.want, x.bound) || v.N != int64(len(c.Images)) {
						t.Errorf("%s = %v over %d, want %v", x.metric, v.Value, v.N, x.want)
					}
					if *v.CILow > v.Value || *v.CIHigh < v.Value {
						t.Errorf("%s = %v outside its interval %v to %v", x.metric, v.Value, *v.CILow, *v.CIHigh)
					}
				}
				for i, p := range c.PerImage {
					for k, want := range []float64{p.Bleu1, p.Bleu2, p.Bleu3, p.Bleu4, p.RougeL, p.CIDEr} {
						if !near(r.Each[i][k], want, 1e-12) {
							t.Errorf("image %d, value %d: %v, want %v", i, k, r.Each[i][k], want)
						}
					}
				}
				if first == nil {
					first = r
				} else if fmt.Sprint(r.Each) != fmt.Sprint(first.Each) || *r.Values[5].CILow != *first.Values[5].CILow {
					t.Error("results depend on the number of workers")
				}
			}
		})
	}
}

// The published demo, from the file that holds predictions and references.
func TestKnownAnswer(t *testing.T) {
	path := shared.Dir(t, "data", "cap-spice-refs", "example_input_larger.json")
	for tok, cider := range map[string]float64{"none": .59979, "ptb": .59990} {
		r, err := Run(t.Context(), Request{
			Metrics: []string{"bleu:tok=" + tok, "rouge-l:tok=" + tok, "cider:tok=" + tok},
			Pred:    input.Source{Path: path, ID: "image_id", Text: "test"}, Refs: []input.Source{{Path: path, ID: "image_id", Text: "refs"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		for metric, want := range map[string]float64{"bleu-1": .57940, "bleu-2": .40439, "bleu-3": .27854, "bleu-4": .19083, "rouge-l": .39625, "cider": cider} {
			if got := value(t, r, metric).Value; math.Abs(got-want) > 2e-4 || tok == "none" && math.Abs(got-want) > 5e-6 || metric == "cider" && math.Abs(got-want) > 6e-6 {
				t.Errorf("tok=%s: %s = %.5f, want %.5f", tok, metric, got, want)
			}
		}
	}
}

// Real results whose image ids repeat.
func TestRepeatedPredictions(t *testing.T) {
	r := Request{
		Metrics: []string{"cider"},
		Pred:    input.Source{Path: shared.Dir(t, "data", "cap-coco-val4800", "captions_val2014_results.json")},
		Refs:    []input.Source{{Path: shared.Dir(t, "data", "cap-coco-val4800", "captions_val2014.json")}},
	}
	var refused *pipeline.RefusedError
	if _, err := Run(t.Context(), r); !errors.As(err, &refused) || !strings.Contains(err.Error(), "predicted again") || refused.Offset < 0 {
		t.Fatalf("repeated predictions: error %v", err)
	}
	r.Duplicates = input.First
	res, err := Run(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if v := value(t, res, "cider"); v.N != 972 || !near(v.Value, 0.03985774524093625, 1e-12) { // of pycocoevalcap on the first of each
		t.Errorf("cider %v over %d images", v.Value, v.N)
	}
	if len(res.Warnings) != 2 || !strings.Contains(res.Warnings[0], "3828 of") || !strings.Contains(res.Warnings[1], "3828 repeated") {
		t.Errorf("warnings %q", res.Warnings)
	}
}

func TestFaultsOfMetricsAreNamedAtOnce(t *testing.T) {
	_, err := Run(t.Context(), Request{Metrics: []string{"blue", "bleu:tok=pbt:x=1", "cider:sigma=a", "rouge-l:tok", "bleu:tok=none:tok=ptb"}})
	var usage *pipeline.UsageError
	if !errors.As(err, &usage) {
		t.Fatalf("error %v, want a usage error", err)
	}
	for _, want := range []string{"no metric blue", "tok=pbt: want ptb, none", "no option x", "sigma=a", `option "tok": want NAME=VALUE`, "tok is given twice"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not say %q", err, want)
		}
	}
}

func TestLineBreaksInsideCaptionsAreRefused(t *testing.T) {
	pred := write(t, "p.jsonl", "{\"id\": 1, \"text\": \"a\\rdog\"}\n")
	refs := write(t, "r.jsonl", "{\"id\": 1, \"text\": \"a dog\"}\n")
	r := Request{Metrics: []string{"bleu"}, Pred: input.Source{Path: pred}, Refs: []input.Source{{Path: refs}}}
	if _, err := Run(t.Context(), r); err == nil || !strings.Contains(err.Error(), "U+000D") || pipeline.ExitCode(err) != pipeline.ExitBadInput {
		t.Errorf("error %v", err)
	}
	r.Metrics = []string{"bleu:tok=none"}
	if res, err := Run(t.Context(), r); err != nil || res.Values[0].Value < 0.99 {
		t.Errorf("tok=none: %v, %v", res, err)
	}
}
