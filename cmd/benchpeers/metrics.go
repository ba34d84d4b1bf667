package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"espalier/cmd/benchpeers/duel"
)

// exact is how close scores must be: another order of the same sums.
const exact = 1e-9

// metricsGroup is the scorers, ours as the built binary.
func metricsGroup(ctx context.Context, b *bench) error {
	m := &metrics{bench: b, ctx: ctx}
	var err error
	if m.binary, err = b.espalier(ctx); err != nil {
		return err
	}
	return errors.Join(
		b.do(ctx, "BLEU, ROUGE-L, CIDEr of 5,000 images x 5, whole process", m.captions),
		b.do(ctx, "the same and METEOR with paraphrases", m.meteor),
		b.do(ctx, "sacrebleu BLEU of 100,000 lines", func() error {
			return m.lines("sacrebleu BLEU of 100,000 lines", "bleu", "sacrebleu", "sacrebleu", 100_000, 1, 20)
		}),
		b.do(ctx, "sacrebleu chrF of 100,000 lines", func() error {
			return m.lines("sacrebleu chrF of 100,000 lines", "chrf", "chrf", "chrf", 100_000, 1, 20)
		}),
		b.do(ctx, "rouge_score L, stemmer, of 10,000 documents", func() error {
			return m.lines("rouge_score L, stemmer, of 10,000 documents", "rouge", "rouge-score:stem=true", "rougeL", 10_000, 8, 50)
		}),
		b.do(ctx, "MaxMatch of the worst sentence", func() error { return m.worstSentence("MaxMatch of the worst sentence") }),
		b.do(ctx, "MaxMatch of 2,000 sentences", func() error { return m.maxMatch("MaxMatch of 2,000 sentences") }),
	)
}

// metrics are works of scorers.
type metrics struct {
	*bench
	ctx context.Context
}

// eval returns the binary as a side, and its scores of one run.
func (m *metrics) eval(env []string, args ...string) (*duel.Program, map[string][]float64, error) {
	p := &duel.Program{Label: "espalier", Argv: append([]string{m.binary, "eval", "--json"}, args...), Env: env}
	scores := map[string][]float64{}
	p.After = func(out []byte) error {
		for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
			var s struct {
				Metric string
				Value  float64
			}
			if err := dec.Decode(&s); err != nil {
				return fmt.Errorf("espalier eval: %w", err)
			}
			scores[s.Metric] = []float64{s.Value}
		}
		return nil
	}
	_, err := p.Time(m.ctx, 1)
	p.After = nil
	return p, scores, err
}

// write writes a set in COCO's layouts.
func (m *metrics) write() (annotations, results string, err error) {
	set, err := m.bench.captions(5000)
	if err != nil {
		return "", "", err
	}
	type caption struct {
		Image   int    `json:"image_id"`
		ID      int    `json:"id,omitempty"`
		Caption string `json:"caption"`
	}
	type image struct {
		ID int `json:"id"`
	}
	var refs, hyps []caption
	var images []image
	for i, r := range set.refs {
		images = append(images, image{i + 1})
		hyps = append(hyps, caption{i + 1, 0, set.hyps[i]})
		for _, c := range r {
			refs = append(refs, caption{i + 1, len(refs) + 1, c})
		}
	}
	annotations, results = filepath.Join(m.work, "annotations.json"), filepath.Join(m.work, "results.json")
	err = errors.Join(
		os.WriteFile(annotations, []byte(jsonText(map[string]any{"images": images, "annotations": refs, "type": "captions"})), 0o666),
		os.WriteFile(results, []byte(jsonText(hyps)), 0o666))
	return annotations, results, err
}

// coco returns pycocoevalcap as a side that compares its scores with ours.
func (m *metrics) coco(ours map[string][]float64, args ...string) *duel.Program {
	return &duel.Program{
		Label: "pycocoevalcap", Argv: append(append(append([]string(nil), m.python...), filepath.Join(m.peers, "captions.py")), args...),
		After: func(out []byte) error {
			var theirs map[string]float64
			if err := json.Unmarshal(out, &theirs); err != nil {
				return fmt.Errorf("captions.py: %w", err)
			}
			all := map[string][]float64{}
			for k, v := range theirs {
				all[k] = []float64{v}
				if ours[k] == nil {
					return fmt.Errorf("espalier gives no %s", k)
				}
			}
			return duel.Same(ours, all, exact)
		},
	}
}

func (m *metrics) captions() error {
	annotations, results, err := m.write()
	if err != nil {
		return err
	}
	ours, scores, err := m.eval(nil, "--metrics", "bleu,rouge-l,cider", "--pred", results, "--refs", annotations)
	if err != nil {
		return err
	}
	return m.runner.Run(m.ctx, duel.Contest{
		Group: "metrics", Work: "BLEU, ROUGE-L, CIDEr of 5,000 images x 5, whole process", Unit: duel.Seconds, Ours: ours,
		Rivals: []duel.Side{m.coco(scores, annotations, results)}, Targets: []duel.Target{{AtLeast: 30}}, Budget: 30 * time.Second,
	})
}

// meteor times the first run, which reads METEOR's own tables, and later ones.
func (m *metrics) meteor() error {
	annotations, results, err := m.write()
	if err != nil {
		return err
	}
	w, err := m.worker(m.ctx, "scores")
	if err != nil {
		return err
	}
	p, err := w.Prepare("where", map[string]any{})
	if err != nil {
		return err
	}
	cache := filepath.Join(m.work, "cache")
	env := []string{"XDG_CACHE_HOME=" + cache}
	args := []string{"--metrics", "bleu,rouge-l,cider,meteor", "--meteor-data", letters(p.Values["folder"]), "--pred", results, "--refs", annotations}
	for _, c := range []struct {
		work   string
		target float64
		before func() error
	}{
		{"the same and METEOR with paraphrases, first time", 3, func() error { return os.RemoveAll(cache) }},
		{"the same and METEOR with paraphrases, later", 10, nil},
	} {
		ours, scores, err := m.eval(env, args...)
		if err != nil {
			return err
		}
		ours.Before = c.before
		if err := m.runner.Run(m.ctx, duel.Contest{
			Group: "metrics", Work: c.work, Unit: duel.Seconds, Ours: ours, Rivals: []duel.Side{m.coco(scores, annotations, results, "meteor")},
			Targets: []duel.Target{{AtLeast: c.target}}, Budget: 15 * time.Second,
		}); err != nil {
			return err
		}
	}
	return nil
}

// lines times a metric of two files of lines, ours as a whole process, theirs
// from the moment on when it has read them. A document is several captions.
func (m *metrics) lines(work, peer, metric, name string, n, captions int, target float64) error {
	set, err := m.bench.captions(5000)
	if err != nil {
		return err
	}
	var base []string
	for _, r := range set.refs {
		base = append(base, r...)
	}
	doc := func(i int) string {
		var parts []string
		for k := range captions {
			parts = append(parts, strings.TrimSpace(base[(i*captions+k)%len(base)]))
		}
		return strings.Join(parts, " ")
	}
	var hyps, refs []string
	for i := range n {
		refs = append(refs, doc(i))
		hyps = append(hyps, mixed(refs[i], doc(i*7+i*captions/len(base)+1)))
	}
	pred, err := m.writeLines("hyps.txt", hyps)
	if err != nil {
		return err
	}
	ref, err := m.writeLines("refs.txt", refs)
	if err != nil {
		return err
	}
	ours, scores, err := m.eval(nil, "--metrics", metric, "--pred", pred, "--refs", ref)
	if err != nil {
		return err
	}
	rival, err := m.peer(m.ctx, strings.SplitN(work, " ", 2)[0], "scores", peer, map[string]any{"pred": pred, "refs": ref}, map[string][]float64{name: scores[name]}, exact)
	if err != nil {
		return err
	}
	return m.runner.Run(m.ctx, duel.Contest{
		Group: "metrics", Work: work, Unit: duel.Seconds, Ours: ours, Rivals: []duel.Side{rival}, Targets: []duel.Target{{AtLeast: target}}, Budget: 15 * time.Second,
	})
}
