package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"espalier/pipeline"
	"espalier/pipeline/score"
	"espalier/pipeline/shard"
	"espalier/pipeline/store"
	"espalier/preprocess"
	"espalier/preprocess/leak"
)

var splitVerb = verb{
	name:  "data split",
	args:  "EXAMPLES",
	short: "draw a split of examples that anyone can draw again from the same ids and seed",
	long: []string{
		"EXAMPLES: a folder of ingest, or of tables with ids. The output, split.parquet, has ids and splits,",
		"and its recipe in the metadata (espalier schema). A row more moves no other. As in papers:",
		"  --k 100 --per-class --seed 3           100 of each label (without --per-class: 100 of all)",
		"  --rule hold-out --k 1000               1,000 rows of train become validation (HyperPELT)",
		"  --rule halves --from validation        one half is validation, the other test",
		"  --shares train=8,validation=1,test=1   each row by its own key, with --by image by its image's",
	},
	example: []string{
		"espalier data split out/sst2 --k 100 --per-class --seed 3 --out out/draw3",
		"espalier data split out/vgqa --shares train=8,test=2 --by image --out out/parts",
	},
	setup: func(f *pflag.FlagSet) action {
		var d directFlags
		var s preprocess.Split
		f.StringVar(&s.Rule, "rule", "", "draw (default), halves, hold-out or shares: `RULE`")
		f.StringVar(&s.From, "from", "", "the `SPLIT` to draw from (default train)")
		f.StringVar(&s.Into, "into", "", "`NAME` of a draw (default train)")
		f.IntVar(&s.K, "k", 0, "rows of a draw or hold-out: `K`")
		f.BoolVar(&s.PerClass, "per-class", false, "draw K rows of each label")
		f.Uint64Var(&s.Seed, "seed", 0, "`SEED` of the draw (default 0)")
		f.StringSliceVar(&s.Shares, "shares", nil, "splits and their parts: `A=8,B=1`")
		f.StringVar(&s.By, "by", "", "image: rows of one image stay together in shares: `WHAT`")
		d.addOutput(f)
		return func(ctx context.Context, c *console, args []string) error {
			if err := want(args, 1, 1, "one folder of examples"); err != nil {
				return err
			}
			g := pipeline.Graph{Nodes: []pipeline.Node{
				{Name: "examples", Stage: tablesIn(args[0])},
				{Name: "split", Stage: &s, Inputs: map[string]string{"examples": "examples"}},
			}}
			return d.make(ctx, c, g, "split")
		}
	},
}

// tablesIn takes the tables of an output's folder, or one table.
func tablesIn(path string) *pipeline.Files {
	f := &pipeline.Files{Path: path, Exclude: []string{store.DeadLetters}}
	for _, ext := range shard.Extensions {
		f.Include = append(f.Include, "*"+ext)
	}
	return f
}

var selectVerb = verb{
	name:  "data select",
	args:  "EXAMPLES --split FILE",
	short: "apply a split to examples: those that it names, under the split that it says",
	long:  []string{"FILE is a folder of data split or data leaks, or its split.parquet, or any table of id and split."},
	example: []string{
		"espalier data select out/sst2 --split out/draw3 --out out/few3",
	},
	setup: func(f *pflag.FlagSet) action {
		var d directFlags
		var s preprocess.Select
		by := f.String("split", "", "`FILE` of ids and splits, or the folder that holds it")
		f.StringSliceVar(&s.Only, "only", nil, "splits of the file that are wanted (default all): `A,B`")
		d.addOutput(f)
		return func(ctx context.Context, c *console, args []string) error {
			if err := want(args, 1, 1, "one folder of examples"); err != nil {
				return err
			}
			if *by == "" {
				return usagef("want --split FILE")
			}
			g := pipeline.Graph{Nodes: []pipeline.Node{
				{Name: "examples", Stage: tablesIn(args[0])},
				{Name: "split", Stage: splitIn(*by)},
				{Name: "selected", Stage: &s, Inputs: map[string]string{"examples": "examples", "split": "split"}},
			}}
			return d.make(ctx, c, g, "selected")
		}
	},
}

// splitIn takes a split file, or that of an output's folder.
func splitIn(path string) *pipeline.Files {
	if p := filepath.Join(path, "split.parquet"); isFile(p) {
		return &pipeline.Files{Path: p}
	}
	return tablesIn(path)
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

var leaksVerb = verb{
	name:  "data leaks",
	args:  "EXAMPLES...",
	short: "find rows and images that several splits have, and say which rows may stay",
	long: []string{
		"Compares the texts of all fields (to the byte; but for case, punctuation and blanks) and the images",
		"of the splits of folders of ingest. Prints the shares; leaks.parquet has the rows, scores.parquet",
		"the shares, and, with --remove, split.parquet the ids that stay.",
	},
	example: []string{
		"espalier data leaks out/qqp --remove train --out out/qqp-leaks",
		"espalier data select out/qqp --split out/qqp-leaks --out out/qqp-clean",
		"espalier data leaks out/coco out/vqav2 --kinds image --out out/image-leaks",
	},
	setup: func(f *pflag.FlagSet) action {
		var d directFlags
		var s preprocess.Guard
		f.StringSliceVar(&s.Kinds, "kinds", nil, "`KINDS` that are wanted: "+strings.Join(leak.Kinds, ",")+" (default all)")
		f.StringSliceVar(&s.Fields, "fields", nil, "`FIELDS` whose texts are compared (default all)")
		f.StringVar(&s.Remove, "remove", "", "`SPLIT` that loses its rows with a twin elsewhere")
		d.addOutput(f)
		return func(ctx context.Context, c *console, args []string) error {
			if err := want(args, 1, -1, "one folder of examples or more"); err != nil {
				return err
			}
			g := pipeline.Graph{Nodes: []pipeline.Node{{Name: "leaks", Stage: &s, Inputs: map[string]string{}}}}
			for i, path := range args {
				name := fmt.Sprintf("examples%d", i)
				g.Nodes = slices.Insert(g.Nodes, i, pipeline.Node{Name: name, Stage: tablesIn(path)})
				g.Nodes[len(g.Nodes)-1].Inputs[name] = name
			}
			if err := d.make(ctx, c, g, "leaks"); err != nil {
				return err
			}
			return printLeaks(c, filepath.Join(d.out, "scores.parquet"), d.json)
		}
	},
}

// A leakRecord is one line of data leaks.
type leakRecord struct {
	Kind    string  `json:"kind"`
	Split   string  `json:"split"`
	Against string  `json:"against"`
	Rows    string  `json:"rows"`
	Of      int64   `json:"of"`
	Share   float64 `json:"share"`
}

// printLeaks prints the shares that data leaks has written.
func printLeaks(c *console, path string, asJSON bool) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	r, err := shard.Open[score.Row](f, info.Size())
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	t := newTable("kind", "split", "against", " rows", " of", " share")
	for row, err := range r.All() {
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		rec := leakRecord{row.Variant, row.Split, row.Tags["against"], row.Tags["rows"], row.N, row.Value}
		if asJSON {
			if err := c.json(rec); err != nil {
				return err
			}
			continue
		}
		t.add(rec.Kind, rec.Split, rec.Against, rec.Rows, fmt.Sprint(rec.Of), fmt.Sprintf("%.2f%%", 100*rec.Share))
	}
	if asJSON {
		return nil
	}
	return t.write(c.out)
}
