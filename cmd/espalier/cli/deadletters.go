package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/pflag"

	"espalier/pipeline"
	"espalier/pipeline/shard"
	"espalier/pipeline/store"
)

var deadlettersVerb = verb{
	name:  "deadletters",
	args:  "DIR",
	short: "say why rows of an output are missing: reasons, counts and an example of each",
	long:  []string{"Takes an output's folder or its deadletter.parquet. In --rows, raw is base64."},
	example: []string{
		"espalier deadletters out/examples",
	},
	setup: func(f *pflag.FlagSet) action {
		rows := f.Bool("rows", false, "print every dead letter, one JSON object a line")
		asJSON := f.Bool("json", false, "print one JSON object a reason")
		return func(ctx context.Context, c *console, args []string) error {
			if err := want(args, 1, 1, "one output folder"); err != nil {
				return err
			}
			path := args[0]
			if info, err := os.Stat(path); err != nil {
				return usagef("%v", err)
			} else if info.IsDir() {
				path = filepath.Join(path, store.DeadLetters)
			}
			if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
				if *rows || *asJSON {
					return nil
				}
				return writeString(c.out, "no dead letters\n")
			}
			if *rows {
				_, err := catFile(ctx, c, path, nil, -1)
				return err
			}
			reasons, err := readReasons(ctx, path)
			if err != nil {
				return err
			}
			return printReasons(c, reasons, *asJSON)
		}
	},
}

// A deadReason is the dead letters of one reason.
type deadReason struct {
	Reason  string `json:"reason"`
	Field   string `json:"field"`
	Count   int64  `json:"count"`
	Example string `json:"example"` // file:line of the first
}

func readReasons(ctx context.Context, path string) ([]*deadReason, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	r, err := shard.Open[pipeline.DeadLetter](f, info.Size())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var out []*deadReason
	for d, err := range r.All() {
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		i := slices.IndexFunc(out, func(x *deadReason) bool { return x.Reason == d.Reason && x.Field == d.Field })
		if i < 0 {
			i = len(out)
			out = append(out, &deadReason{Reason: d.Reason, Field: d.Field, Example: whereabouts(&d)})
		}
		out[i].Count++
	}
	slices.SortStableFunc(out, func(a, b *deadReason) int { return int(b.Count - a.Count) })
	return out, nil
}

// whereabouts is where a record stood, as an editor opens it.
func whereabouts(d *pipeline.DeadLetter) string {
	s := d.File
	switch {
	case d.Line != nil:
		s += fmt.Sprintf(":%d", *d.Line)
	case d.Offset != nil:
		s += fmt.Sprintf(" at byte %d", *d.Offset)
	case d.N != nil:
		s += fmt.Sprintf(" row %d", *d.N)
	}
	if d.Where != "" {
		s += " " + d.Where
	}
	return s
}

func printReasons(c *console, reasons []*deadReason, asJSON bool) error {
	t := newTable(" count", "field", "reason", "first")
	for _, r := range reasons {
		if asJSON {
			if err := c.json(r); err != nil {
				return err
			}
			continue
		}
		t.add(count(r.Count, true), r.Field, r.Reason, r.Example)
	}
	if asJSON {
		return nil
	}
	return t.write(c.out)
}
