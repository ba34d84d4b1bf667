package cli

import (
	"context"
	"slices"

	"github.com/spf13/pflag"

	"espalier/data"
	"espalier/pipeline"
	"espalier/preprocess"
)

var dataVerb = verb{
	name:  "data",
	args:  "list|sample CORPUS",
	short: "list the corpora that are read, or write a miniature of one",
	long: []string{
		"list prints the names that ingest takes. sample draws a corpus in its native raw layout from a seed,",
		"images included: the same bytes everywhere.",
	},
	example: []string{
		"espalier data sample coco --images 200 --out out/coco",
	},
	setup: func(f *pflag.FlagSet) action {
		var d directFlags
		var s data.Sample
		f.IntVar(&s.Images, "images", 0, "sample: images (default 2400): `N`")
		f.Uint64Var(&s.Seed, "seed", 0, "sample: `SEED` (default 1)")
		d.add(f)
		return func(ctx context.Context, c *console, args []string) error {
			if err := want(args, 1, 2, "list, or sample and a corpus"); err != nil {
				return err
			}
			switch args[0] {
			case "list":
				if err := want(args, 1, 1, "list alone"); err != nil {
					return err
				}
				return listCorpora(c, d.json)
			case "sample":
				if err := want(args, 2, 2, "sample and a corpus"); err != nil {
					return err
				}
				s.Corpus = args[1]
				return d.make(ctx, c, pipeline.Graph{Nodes: []pipeline.Node{{Name: "sample", Stage: &s}}}, "sample")
			}
			return usagef("no command %s; want list, which prints the corpora, or sample, which draws a miniature of one", args[0])
		}
	},
}

func listCorpora(c *console, asJSON bool) error {
	t := newTable("corpus", "sample")
	for _, name := range preprocess.Corpora() {
		family := sampleOf(name)
		if asJSON {
			if err := c.json(map[string]any{"corpus": name, "sample": family}); err != nil {
				return err
			}
			continue
		}
		t.add(name, family)
	}
	if asJSON {
		return nil
	}
	return t.write(c.out)
}

// sampleOf is the miniature that holds the files of a corpus, "" if there is
// none: that of coco has those of coco/karpathy and coco/captions.
func sampleOf(name string) string {
	for _, s := range data.Samples() {
		if name == s || slices.Contains([]string{s + "/karpathy", s + "/captions"}, name) {
			return s
		}
	}
	return ""
}
