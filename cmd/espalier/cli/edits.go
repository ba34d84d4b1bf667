package cli

import (
	"bufio"
	"context"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"espalier/evaluate"
	"espalier/evaluate/cherrant"
	"espalier/evaluate/input"
)

var editsVerb = verb{
	name:  "edits",
	args:  "[FILE...]",
	short: "find the edits between Chinese sentences and their corrections, as ChERRANT, in M2",
	long: []string{
		"Reads lines NUMBER, SENTENCE, CORRECTION, further corrections, with tabs between (gzip and zstd",
		"too); writes an M2 file of edits of characters, which eval --metrics cherrant reads.",
	},
	example: []string{
		"espalier edits --data ChERRANT/data references.para > references.m2",
	},
	setup: func(f *pflag.FlagSet) action {
		var e editsFlags
		f.StringVar(&e.data, "data", "", "ChERRANT's `DIR` data: cilin.txt, confusion_dict.txt, chinese_vocab.txt")
		f.StringVar(&e.strategy, "strategy", "all", "of several cheapest alignments take `WHICH`: all or first")
		f.BoolVar(&e.bpe, "bpe", false, "Latin words are cut into pieces of chinese_vocab.txt, not into letters")
		f.BoolVar(&e.traditional, "no-simplified", false, "leave corrections in traditional characters")
		return e.run
	},
}

type editsFlags struct {
	data, strategy   string
	bpe, traditional bool
}

func (e *editsFlags) run(ctx context.Context, c *console, args []string) error {
	if err := oneOf("strategy", e.strategy, "all", "first"); err != nil {
		return err
	}
	if e.data != "" {
		if _, err := os.Stat(e.data); err != nil {
			return usagef("%v", err)
		}
	}
	tables, err := cherrant.Load(e.data)
	if err != nil {
		return err
	}
	f := &cherrant.Finder{Tables: tables, Options: cherrant.Options{First: e.strategy == "first", Traditional: e.traditional, Words: e.bpe}}
	if err := f.Check(); err != nil {
		return usagef("--bpe: %v", err)
	}
	if names := tables.Names(); !slices.Contains(names, "cilin") || !slices.Contains(names, "confusion") {
		c.warn("warning: edits by %s alone may differ from ChERRANT's, which also reads cilin.txt and confusion_dict.txt (--data DIR)", strings.Join(names, " and "))
	}
	if len(args) == 0 {
		args = []string{"-"}
	}
	w := bufio.NewWriter(c.out)
	cut := 0
	for _, path := range args {
		if path != "-" {
			if _, err := os.Stat(path); err != nil {
				return usagef("%v", err)
			}
		}
		n, err := edits(ctx, c, f, path, w)
		if err != nil {
			return err
		}
		cut += n
	}
	if cut > 0 {
		c.warn("warning: %d sentences have so many cheapest alignments that not all were looked at", cut)
	}
	return w.Flush()
}

func edits(ctx context.Context, c *console, f *cherrant.Finder, path string, w io.Writer) (cut int, err error) {
	if path == "-" {
		return evaluate.WriteEdits(ctx, f, c.in, path, w)
	}
	r, size, done, err := input.Expand(path)
	if err != nil {
		return 0, err
	}
	defer done()
	return evaluate.WriteEdits(ctx, f, io.NewSectionReader(r, 0, size), path, w)
}
