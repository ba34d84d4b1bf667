package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"espalier/data"
	"espalier/jobs"
	"espalier/pipeline"
	"espalier/preprocess"
)

var dataVerb = verb{
	name:  "data",
	args:  "list | check CORPUS | sample CORPUS | split | select | leaks",
	short: "list corpora, check a raw folder, write a miniature, draw splits, find leaks",
	long: []string{
		"list prints the names that ingest takes. check compares a folder with what is known of the corpus",
		"(exit 1 if something is wrong). sample draws a corpus in its raw layout from a seed, with images:",
		"the same bytes everywhere. espalier data split -h, data select -h, data leaks -h tell of the others.",
	},
	subs: []verb{splitVerb, selectVerb, leaksVerb},
	example: []string{
		"espalier data sample coco --images 200 --out out/coco",
		"espalier data check coco/karpathy --raw out/coco",
	},
	setup: func(f *pflag.FlagSet) action {
		var d directFlags
		var s data.Sample
		raw := f.String("raw", "", "check: `DIR` of the raw files")
		f.IntVar(&s.Images, "images", 0, "sample: images, or rows if it has none (default by corpus): `N`")
		f.Uint64Var(&s.Seed, "seed", 0, "sample: `SEED` (default 1)")
		d.add(f)
		return func(ctx context.Context, c *console, args []string) error {
			commands := map[string]int{"list": 1, "check": 2, "sample": 2}
			if len(args) == 0 || commands[args[0]] == 0 {
				return usagef("%s: want list, check CORPUS, sample CORPUS, split, select or leaks", strings.Join(append([]string{"data"}, args...), " "))
			}
			if n := commands[args[0]]; len(args) != n {
				return usagef("%s: %d arguments, want %d", args[0], len(args)-1, n-1)
			}
			switch args[0] {
			case "list":
				return listCorpora(c, d.json)
			case "check":
				if *raw == "" {
					return usagef("check needs --raw DIR")
				}
				if names := preprocess.Corpora(); !slices.Contains(names, args[1]) {
					return usagef("no corpus %s%s (espalier data list prints all)", args[1], jobs.DidYouMean(args[1], names))
				}
				return checkCorpus(ctx, c, args[1], *raw, d.json)
			}
			s.Corpus = args[1]
			return d.make(ctx, c, pipeline.Graph{Nodes: []pipeline.Node{{Name: "sample", Stage: &s}}}, "sample")
		}
	},
}

func checkCorpus(ctx context.Context, c *console, corpus, raw string, asJSON bool) error {
	found, err := data.Check(ctx, corpus, raw)
	if err != nil {
		return err
	}
	t := newTable("", " found", " expected", "state", "")
	bad := 0
	for _, f := range found {
		if f.Bad() {
			bad++
		}
		if asJSON {
			if err := c.json(f); err != nil {
				return err
			}
			continue
		}
		t.add(f.What, f.Found, f.Expected, f.State, f.Note)
	}
	if !asJSON {
		if err := t.write(c.out); err != nil {
			return err
		}
	}
	if bad > 0 {
		return fmt.Errorf("%s: not as the card of %s says: %d of %d lines", raw, corpus, bad, len(found))
	}
	return nil
}

func listCorpora(c *console, asJSON bool) error {
	t := newTable("corpus", "miniature")
	for _, name := range preprocess.Corpora() {
		family := data.SampleOf(name)
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
