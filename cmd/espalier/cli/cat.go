package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"espalier/pipeline/shard"
	"espalier/pipeline/store"
)

var catVerb = verb{
	name:  "cat",
	args:  "PATH...",
	short: "print the rows of Parquet and Arrow files or output folders as JSON lines",
	long: []string{
		"Of a folder, data shards are read in the order of its manifest, else by name; dead letters are not.",
		"Nulls are null, NaN and infinities are strings, binary is base64, times are RFC 3339.",
	},
	example: []string{"espalier cat out/examples --limit 5 --columns id,references"},
	setup: func(f *pflag.FlagSet) action {
		limit := f.Int64("limit", 0, "print at most `N` rows (default: all)")
		columns := f.StringSlice("columns", nil, "print only these columns, in this order: `A,B,C`")
		return func(ctx context.Context, c *console, args []string) error {
			if err := want(args, 1, -1, "at least one file or folder"); err != nil {
				return err
			}
			if *limit < 0 {
				return usagef("--limit %d: want at least 0", *limit)
			}
			left := *limit
			if left == 0 {
				left = -1
			}
			for _, path := range args {
				files, err := tables(path)
				if err != nil {
					return err
				}
				for _, file := range files {
					if left == 0 {
						return nil
					}
					if left, err = catFile(ctx, c, file, *columns, left); err != nil {
						return err
					}
				}
			}
			return nil
		}
	},
}

// catFile prints rows of one file, at most left unless that is negative, and
// returns what is left of it.
func catFile(ctx context.Context, c *console, path string, columns []string, left int64) (int64, error) {
	err := withTable(path, func(t *shard.Table) error {
		if len(columns) > 0 {
			var err error
			if t, err = t.Select(columns...); err != nil {
				return usagef("%s: %v", path, err)
			}
		}
		cols := t.Columns()
		var line []byte
		n := 0
		for row, err := range t.Rows() {
			if left == 0 {
				return nil
			}
			if err != nil {
				return fmt.Errorf("%s: row %d: %w", path, n, err)
			}
			line = append(shard.AppendJSON(line[:0], cols, row), '\n')
			if _, err := c.out.Write(line); err != nil {
				return err
			}
			left--
			if n++; n%256 == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
		}
		return nil
	})
	return left, err
}

// withTable opens a Parquet or Arrow file and calls f with it.
func withTable(path string, f func(*shard.Table) error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	t, err := shard.OpenTable(file, info.Size())
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return f(t)
}

// tables lists the files that a path means: itself, or the data shards of an
// output's folder in the order of its manifest, those of a folder that
// save_to_disk of Hugging Face's datasets wrote in the order of its state.json,
// else all in the order of their names.
func tables(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, usagef("%v", err)
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	var names []string
	m, err := store.ReadManifest(path)
	switch {
	case err == nil:
		for _, e := range m.Files {
			names = append(names, e.Name)
		}
	case !errors.Is(err, store.ErrMissing) && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	default:
		if out, err := savedTables(path); out != nil || err != nil {
			return out, err
		}
		entries, err := os.ReadDir(path)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if !e.IsDir() {
				names = append(names, e.Name())
			}
		}
	}
	var out []string
	dead := 0
	for _, n := range names {
		if n == store.DeadLetters {
			dead++
		} else if shard.Named(n) {
			out = append(out, filepath.Join(path, filepath.FromSlash(n)))
		}
	}
	if ours := err == nil; len(out) == 0 && !(ours && len(names) == dead) { // an output may have no rows
		return nil, usagef("%s: no Parquet or Arrow file in this folder", path)
	}
	return out, nil
}

// savedTables lists the files of a folder that save_to_disk wrote, a data set or
// several by split; nil if it is none.
func savedTables(dir string) ([]string, error) {
	var splits struct {
		Splits []string `json:"splits"`
	}
	if found, err := readJSON(filepath.Join(dir, "dataset_dict.json"), &splits); err != nil {
		return nil, err
	} else if found {
		var out []string
		for _, s := range splits.Splits {
			list, err := savedTables(filepath.Join(dir, s))
			if err == nil && list == nil {
				err = usagef("%s: split %s has no state.json", dir, s)
			}
			if err != nil {
				return nil, err
			}
			out = append(out, list...)
		}
		return out, nil
	}
	var state struct {
		Files []struct {
			Name string `json:"filename"`
		} `json:"_data_files"`
	}
	found, err := readJSON(filepath.Join(dir, "state.json"), &state)
	if err != nil || !found {
		return nil, err
	}
	out := []string{}
	for _, f := range state.Files {
		if !filepath.IsLocal(f.Name) {
			return nil, usagef("%s: %q is not a file of the folder", filepath.Join(dir, "state.json"), f.Name)
		}
		out = append(out, filepath.Join(dir, f.Name))
	}
	return out, nil
}

// readJSON reads a file, if it is there.
func readJSON(path string, v any) (found bool, err error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return false, usagef("%s: %v", path, err)
	}
	return true, nil
}
