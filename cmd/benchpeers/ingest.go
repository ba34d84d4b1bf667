package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"espalier/cmd/benchpeers/duel"
)

// A corpus is a generated raw corpus and what is asked of its ingestion.
type corpus struct {
	name   string // of the peers
	title  string
	make   func(dir string) error
	verb   []string // of the binary, in the folder of the raw files
	rows   int
	slow   float64 // target against datasets
	fast   float64 // against the fastest other
	peakMB float64
}

var corpora = []corpus{
	{"qqp", "QQP, 400,000 rows of TSV", makeQQP, []string{"glue/qqp", "--raw", "QQP/train.tsv", "--split", "train"}, qqpRows, 3, 0.8, 300},
	{"coco", "COCO, 600,000 captions in JSON", makeCOCO, []string{"coco/karpathy", "--raw", "dataset_coco.json"}, cocoRows, 14, 2, 300},
	{"vqa", "VQA v2, 400,000 questions joined", makeVQA, []string{
		"vqav2", "--raw", "v2_OpenEnded_mscoco_train2014_questions.json",
		"--annotations", "v2_mscoco_train2014_annotations.json", "--split", "train",
	}, vqaRows, 14, 2, 500},
	{"adgen", "ADGEN, 400,000 rows of Chinese JSON lines", makeADGEN, []string{"adgen", "--raw", "adgen/train.json", "--split", "train"}, adgenRows, 4, 1.3, 300},
}

const ingestThreads = 2

// ingestGroup is ingestion of generated raw files to shards, ours as the built
// binary with all that it does besides.
func ingestGroup(ctx context.Context, b *bench) error {
	var errs []error
	for _, c := range corpora {
		errs = append(errs, b.do(ctx, c.title, func() error {
			i := ingest{b, ctx, c, filepath.Join(b.work, "raw-"+c.name)}
			err := i.run()
			return errors.Join(err, os.RemoveAll(i.dir))
		}))
	}
	return errors.Join(errs...)
}

type ingest struct {
	*bench
	ctx context.Context
	corpus
	dir string
}

// ours returns the binary as a side; fresh begins without output and caches.
func (i *ingest) ours(fresh bool) (*duel.Program, error) {
	binary, err := i.espalier(i.ctx)
	if err != nil {
		return nil, err
	}
	out, cache := filepath.Join(i.dir, "out"), filepath.Join(i.dir, "cache")
	argv := append([]string{binary, "ingest"}, i.verb...)
	p := &duel.Program{
		Label: "espalier", Dir: i.dir, Watch: true, Env: []string{"XDG_CACHE_HOME=" + cache},
		Argv: append(argv, "--out", out, "--json", "--progress", "none", "-j", strconv.Itoa(ingestThreads), "--threads", strconv.Itoa(ingestThreads)),
	}
	if fresh {
		p.Before = func() error { return errors.Join(os.RemoveAll(out), os.RemoveAll(cache)) }
	}
	return p, nil
}

// tool returns a peer as a side, which says how long it took. With a cache it
// finds there what an earlier run did, and does not write its shards again.
func (i *ingest) tool(name, cache string) *duel.Program {
	out := filepath.Join(i.dir, "peer")
	argv := append(append([]string(nil), i.python...), filepath.Join(i.peers, "ingest.py"), name, i.name, i.dir, out, strconv.Itoa(ingestThreads))
	if cache != "" {
		argv = append(argv, cache)
	}
	return &duel.Program{
		Label: name, Argv: argv, Watch: true, Env: []string{"HF_HOME=" + filepath.Join(i.dir, "hf")},
		Before: func() error {
			if cache != "" {
				return nil
			}
			return os.RemoveAll(out)
		},
		Self: func(text []byte) (float64, error) {
			var r struct {
				Rows    int
				Seconds float64
				Version string
			}
			if err := json.Unmarshal(text, &r); err != nil {
				return 0, fmt.Errorf("ingest.py: %w", err)
			}
			if r.Rows != i.expected() {
				return 0, fmt.Errorf("results differ: %s makes %d rows, wanted %d", name, r.Rows, i.expected())
			}
			i.versions[name] = r.Version
			return r.Seconds, nil
		},
	}
}

// expected is the rows that are whole.
func (i *ingest) expected() int {
	if i.name == "qqp" {
		return i.rows - (i.rows-77_777+130_000-1)/130_000
	}
	return i.rows
}

func (i *ingest) run() error {
	if err := i.make(i.dir); err != nil {
		return err
	}
	ours, err := i.ours(true)
	if err != nil {
		return err
	}
	ours.After = func(out []byte) error {
		var r struct{ Rows int }
		if err := json.Unmarshal(out, &r); err != nil {
			return fmt.Errorf("espalier ingest: %w", err)
		}
		if r.Rows != i.expected() {
			return fmt.Errorf("results differ: espalier makes %d rows, wanted %d", r.Rows, i.expected())
		}
		return nil
	}
	unit := duel.Unit{Name: "krow/s", Amount: float64(i.expected()) / 1e3}
	slow := i.tool("datasets", "")
	if err := i.runner.Run(i.ctx, duel.Contest{
		Group: "ingest", Work: i.title, Unit: unit, Ours: ours, Rivals: []duel.Side{slow}, Targets: []duel.Target{{AtLeast: i.slow}},
		Budget: 12 * time.Second, Note: func(float64) string { return fmt.Sprintf("peak memory %.0f MB", slow.PeakMB) },
	}); err != nil {
		return err
	}
	var best *duel.Program
	least := 0.0
	for _, name := range []string{"polars", "pyarrow", "duckdb"} {
		p := i.tool(name, "")
		t, err := p.Time(i.ctx, 1)
		if err != nil {
			return err
		}
		if best == nil || t[0] < least {
			best, least = p, t[0]
		}
	}
	if err := i.runner.Run(i.ctx, duel.Contest{
		Group: "ingest", Work: i.title, Unit: unit, Ours: ours, Rivals: []duel.Side{best}, Targets: []duel.Target{{AtLeast: i.fast}},
		Budget: 12 * time.Second, Note: func(float64) string { return fmt.Sprintf("peak memory %.0f MB", best.PeakMB) },
	}); err != nil {
		return err
	}
	i.emit(duel.Limit("ingest", i.title+", peak memory", "MB", ours.PeakMB, i.peakMB, ""))
	return i.again()
}

// again times second runs with nothing changed, for one corpus.
func (i *ingest) again() error {
	if i.name != "qqp" {
		return nil
	}
	ours, err := i.ours(false)
	if err != nil {
		return err
	}
	theirs := i.tool("datasets", filepath.Join(i.dir, "kept"))
	if _, err := theirs.Time(i.ctx, 1); err != nil {
		return err
	}
	work := i.title + ", second run"
	if err := i.runner.Run(i.ctx, duel.Contest{
		Group: "ingest", Work: work, Unit: duel.Seconds, Ours: ours, Rivals: []duel.Side{theirs}, Targets: []duel.Target{{AtLeast: 1}},
	}); err != nil {
		return err
	}
	t, err := ours.Time(i.ctx, 3)
	if err != nil {
		return err
	}
	i.emit(duel.Limit("ingest", work, "s", duel.Median(t), 0.5, ""))
	return nil
}
