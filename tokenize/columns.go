package tokenize

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"espalier/pipeline"
	"espalier/pipeline/shard"
	"espalier/pipeline/store"
)

// textColumns are the columns of a table that are read.
type textColumns struct {
	table                *shard.Table
	at                   map[string]int // of the table's columns
	source, pair, target *column
}

// A column is where in a row a text stands.
type column struct {
	name string
	at   int
	path []string // of fields below
}

// heads are what is read of every row, if there is such a column.
var heads = []string{"id", "corpus", "task", "split", "image", "part"}

// open opens a shard of examples, or of texts.
func (s *Encode) open(in *pipeline.Input, e store.FileEntry) (c *textColumns, closer io.Closer, err error) {
	f, err := in.Open(e.Name)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("%s: %w", e.Name, err), f.Close())
		}
	}()
	table, err := shard.OpenTable(f, f.Size())
	if err != nil {
		return nil, nil, err
	}
	var names []string
	for _, c := range table.Columns() {
		names = append(names, c.Name)
	}
	source, target := s.Source, s.Target
	if source == "" && slices.Contains(names, "source") && slices.Contains(names, "target") {
		source = "source"
		if target == "" {
			target = "target"
		}
	}
	if source == "" && target == "" {
		return nil, nil, fmt.Errorf("tokenize/encode: want source or target; there are the columns %s", strings.Join(names, ", "))
	}
	c = &textColumns{at: map[string]int{}}
	var wanted []string
	want := func(name string) int {
		if i := slices.Index(wanted, name); i >= 0 {
			return i
		}
		wanted = append(wanted, name)
		return len(wanted) - 1
	}
	for _, name := range heads {
		if slices.Contains(names, name) {
			c.at[name] = want(name)
		}
	}
	for _, x := range []struct {
		name string
		to   **column
	}{{source, &c.source}, {s.Pair, &c.pair}, {target, &c.target}} {
		if x.name != "" {
			path := strings.Split(x.name, ".")
			*x.to = &column{x.name, want(path[0]), path[1:]}
		}
	}
	if c.table, err = table.Select(wanted...); err != nil {
		return nil, nil, err
	}
	return c, f, nil
}

// A textRow is what is read of a row.
type textRow struct {
	id, corpus, task, split, image string
	part                           int32
	source, pair                   *string // nil if there is none
	targets                        []string
}

func (c *textColumns) read(row []any) (x textRow, err error) {
	for name, to := range map[string]*string{"id": &x.id, "corpus": &x.corpus, "task": &x.task, "split": &x.split, "image": &x.image} {
		if i, ok := c.at[name]; ok {
			*to, _ = row[i].(string)
		}
	}
	if i, ok := c.at["part"]; ok {
		n, _ := row[i].(int64)
		x.part = int32(n)
	}
	for _, y := range []struct {
		c  *column
		to **string
	}{{c.source, &x.source}, {c.pair, &x.pair}} {
		if y.c == nil {
			continue
		}
		texts, err := y.c.texts(row)
		switch {
		case err != nil:
			return x, fmt.Errorf("%s: %w", x.id, err)
		case len(texts) > 1:
			return x, fmt.Errorf("%s: %s: %d texts, want one", x.id, y.c.name, len(texts))
		case len(texts) == 1:
			*y.to = &texts[0]
		}
	}
	if c.source != nil && x.source == nil {
		x.source = new(string)
	}
	if c.target != nil {
		if x.targets, err = c.target.texts(row); err != nil {
			return x, fmt.Errorf("%s: %w", x.id, err)
		}
	}
	return x, nil
}

// texts returns the texts of a row: one, those of a list, or none of a null.
func (c *column) texts(row []any) ([]string, error) {
	v := row[c.at]
	for i, name := range c.path {
		s, ok := v.(shard.Struct)
		if v != nil && !ok {
			return nil, fmt.Errorf("%s: no field %s", c.name, strings.Join(c.path[:i+1], "."))
		}
		k := slices.IndexFunc(s, func(f shard.Field) bool { return f.Name == name })
		if k < 0 && v != nil {
			return nil, fmt.Errorf("%s: no field %s", c.name, name)
		}
		if v == nil {
			return nil, nil
		}
		v = s[k].Value
	}
	switch v := v.(type) {
	case nil:
		return nil, nil
	case string:
		return []string{v}, nil
	case []any:
		texts := make([]string, len(v))
		for i := range v {
			s, ok := v[i].(string)
			if !ok && v[i] != nil {
				return nil, fmt.Errorf("%s: a list of %T, want text", c.name, v[i])
			}
			texts[i] = s
		}
		return texts, nil
	}
	return nil, fmt.Errorf("%s: %T, want text", c.name, v)
}
