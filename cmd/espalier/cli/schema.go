package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/pflag"

	"espalier/jobs"
	"espalier/pipeline/shard"
)

var schemaVerb = verb{
	name:  "schema",
	args:  "PATH | job",
	short: "print the columns of a Parquet or Arrow file, or the JSON Schema of job files",
	long: []string{
		"espalier schema job prints the schema of job files, which editors use to complete and check them",
		"(a file of that name is ./job).",
	},
	example: []string{"espalier schema job > job.schema.json"},
	setup: func(f *pflag.FlagSet) action {
		asJSON := f.Bool("json", false, "print one JSON object a file")
		return func(_ context.Context, c *console, args []string) error {
			if err := want(args, 1, 1, "one file or folder, or the word job"); err != nil {
				return err
			}
			if args[0] == "job" {
				s, err := jobs.Schema(c.kinds)
				if err != nil {
					return err
				}
				_, err = c.out.Write(append(s, '\n'))
				return err
			}
			files, err := tables(args[0])
			if err != nil {
				return err
			}
			for _, file := range files {
				err := withTable(file, func(t *shard.Table) error { return printSchema(c, file, t, *asJSON) })
				if err != nil {
					return err
				}
			}
			return nil
		}
	},
}

func printSchema(c *console, file string, t *shard.Table, asJSON bool) error {
	if asJSON {
		type column struct {
			Name     string `json:"name"`
			Type     string `json:"type"`
			Nullable bool   `json:"nullable"`
		}
		var cols []column
		for _, col := range t.Columns() {
			cols = append(cols, column(col))
		}
		return c.json(map[string]any{"file": file, "format": t.Format(), "rows": t.NumRows(), "columns": cols, "metadata": t.Metadata()})
	}
	fmt.Fprintf(c.out, "%s: %s, %d rows\n", file, t.Format(), t.NumRows())
	tab := newTable("column", "type", "null")
	for _, col := range t.Columns() {
		null := "no"
		if col.Nullable {
			null = "yes"
		}
		tab.add(col.Name, col.Type, null)
	}
	if err := tab.write(c.out); err != nil {
		return err
	}
	meta := t.Metadata()
	for _, k := range slices.Sorted(maps.Keys(meta)) {
		if _, err := fmt.Fprintf(c.out, "%s = %s\n", k, clip(firstLine(meta[k]), 100)); err != nil {
			return err
		}
	}
	return nil
}
