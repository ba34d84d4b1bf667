package cli

import (
	"cmp"
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
	long:  []string{"Takes an output's folder, its deadletter.parquet, or a store. In --rows, raw is base64."},
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
			paths, err := deadTables(args[0])
			if err != nil {
				return err
			}
			if len(paths) == 0 && !*rows && !*asJSON {
				return writeString(c.out, "no dead letters\n")
			}
			if *rows {
				for _, path := range paths {
					if _, err := catFile(ctx, c, path, nil, -1); err != nil {
						return err
					}
				}
				return nil
			}
			if len(paths) == 0 {
				return nil
			}
			var reasons []*deadReason
			for _, path := range paths {
				if reasons, err = addReasons(ctx, reasons, path); err != nil {
					return err
				}
			}
			slices.SortStableFunc(reasons, func(a, b *deadReason) int { return cmp.Compare(b.Count, a.Count) })
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

// deadTables are the tables of dead letters at path: such a table, that of an
// output's folder, or those of all outputs of a store, which is what a verb
// leaves in DIR.partial if it ends before DIR is there.
func deadTables(path string) ([]string, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if partial, e := os.Stat(path + ".partial"); e == nil && partial.IsDir() {
			path, info, err = path+".partial", partial, nil
		}
	}
	if err != nil {
		return nil, usagef("%v", err)
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	if table := filepath.Join(path, store.DeadLetters); exists(table) {
		return []string{table}, nil
	}
	if exists(filepath.Join(path, "manifest.json")) {
		return nil, nil
	}
	outputs := filepath.Join(path, "outputs")
	if !exists(outputs) {
		return nil, usagef("%s: neither an output nor a store", path)
	}
	list, err := os.ReadDir(outputs)
	if err != nil {
		return nil, err
	}
	var tables []string
	for _, e := range list {
		if table := filepath.Join(outputs, e.Name(), store.DeadLetters); exists(table) {
			tables = append(tables, table)
		}
	}
	return tables, nil
}

// addReasons adds the reasons of a table to a list.
func addReasons(ctx context.Context, out []*deadReason, path string) ([]*deadReason, error) {
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
			out = append(out, &deadReason{Reason: d.Reason, Field: d.Field, Example: d.At()})
		}
		out[i].Count++
	}
	return out, nil
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

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
