package preprocess

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"espalier/pipeline"
	"espalier/pipeline/shard"
	"espalier/preprocess/corpus"
	"espalier/preprocess/corpus/records"
)

// A twin is a row whose id a row of an earlier file has.
type twin struct {
	part int
	file string // of the part, such as train.parquet
	row  int64  // of that file
}

// A merge finds ids that rows of several raw files have. Within a file Plan has
// settled them. It keeps eight bytes for each row.
type merge struct {
	ctx    context.Context
	t      *pipeline.Task
	files  []string // raw files by part
	hashes []uint64
	shared map[uint64]bool
	first  map[string]int // ids that are shared, and the part that has them first
	twins  []twin
	native map[string]bool // raw files of which a row has another key than its number
	same   int64           // rows known by their number that share an id
}

// merged finds the parts' rows with ids of earlier files and takes them out, each
// with a dead letter. Rows that are known by their number are no twins: they
// stay, and a warning says that their ids are not unique.
func (g *Ingest) merged(ctx context.Context, t *pipeline.Task, parts []pipeline.Part) error {
	m := &merge{ctx: ctx, t: t, shared: map[uint64]bool{}, first: map[string]int{}, native: map[string]bool{}}
	for _, p := range parts {
		var sl slice
		if err := json.Unmarshal(p.Slice, &sl); err != nil {
			return fmt.Errorf("slice of part %d: %w", p.Index, err)
		}
		m.files = append(m.files, sl.File)
	}
	if len(slices.Compact(slices.Sorted(slices.Values(m.files)))) < 2 {
		return nil
	}
	err := m.each([]string{"id", "key", "n"}, func(at twin, row []any) error {
		m.hashes = append(m.hashes, corpus.Hash([]byte(textOf(row[0]))))
		if file := m.files[at.part]; !m.native[file] && textOf(row[1]) != strconv.FormatInt(numberOf(row[2], -1), 10) {
			m.native[file] = true
		}
		return nil
	})
	if err != nil {
		return err
	}
	slices.Sort(m.hashes)
	for i := 1; i < len(m.hashes); i++ {
		if m.hashes[i] == m.hashes[i-1] {
			m.shared[m.hashes[i]] = true
		}
	}
	m.hashes = nil
	if len(m.shared) == 0 {
		return nil
	}
	if err := m.each([]string{"id", "n", "corpus", "task", "line"}, m.find); err != nil {
		return err
	}
	if m.same > 0 {
		t.Log.Warn("rows of several files have one id, because they are known by their number; name the files' splits", "rows", m.same)
		t.Out.Note("ids_shared", strconv.FormatInt(m.same, 10))
	}
	return m.remove()
}

// each reads columns of all rows of the parts.
func (m *merge) each(columns []string, do func(at twin, row []any) error) error {
	for i := range m.files {
		for _, e := range m.t.Part(i).Files {
			if err := m.rows(i, e.Name, columns, do); err != nil {
				return fmt.Errorf("part %d, %s: %w", i, e.Name, err)
			}
		}
	}
	return nil
}

func (m *merge) rows(part int, name string, columns []string, do func(at twin, row []any) error) (err error) {
	f, err := m.t.OpenPart(part, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	table, err := shard.OpenTable(f, f.Size())
	if err == nil {
		table, err = table.Select(columns...)
	}
	if err != nil {
		return err
	}
	at := twin{part: part, file: name}
	for row, err := range table.Rows() {
		if err != nil {
			return err
		}
		if err := do(at, row); err != nil {
			return err
		}
		at.row++
	}
	return m.ctx.Err()
}

// find looks at one row with an id that may be shared.
func (m *merge) find(at twin, row []any) error {
	id, n := textOf(row[0]), numberOf(row[1], -1)
	if !m.shared[corpus.Hash([]byte(id))] {
		return nil
	}
	first, ok := m.first[id]
	switch {
	case !ok:
		m.first[id] = at.part
		return nil
	case m.files[first] == m.files[at.part]:
		return nil
	case !m.native[m.files[first]] && !m.native[m.files[at.part]]:
		m.same++
		return nil
	}
	m.twins = append(m.twins, at)
	d := pipeline.DeadLetter{
		Corpus: textOf(row[2]), Task: textOf(row[3]), File: m.files[at.part], N: &n,
		Where: id, Reason: records.Duplicate + ": " + m.files[first] + " has it",
	}
	if line := numberOf(row[4], -1); line >= 0 {
		d.Line = &line
	}
	return m.t.Dead(d)
}

// remove writes the files that hold twins again, without them.
func (m *merge) remove() error {
	for i := 0; i < len(m.twins); {
		from := i
		for i++; i < len(m.twins) && m.twins[i].part == m.twins[from].part && m.twins[i].file == m.twins[from].file; i++ {
		}
		if err := m.rewrite(m.twins[from:i]); err != nil {
			return fmt.Errorf("part %d, %s: %w", m.twins[from].part, m.twins[from].file, err)
		}
	}
	return nil
}

func (m *merge) rewrite(twins []twin) (err error) {
	part, name := twins[0].part, twins[0].file
	f, err := m.t.OpenPart(part, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	c, err := shard.OpenCopier(f, f.Size(), "id", "split")
	if err != nil {
		return err
	}
	if c.Rows() == int64(len(twins)) {
		return m.t.Out.Drop(part, name)
	}
	out, err := m.t.Out.Replace(part, name)
	if err != nil {
		return err
	}
	w, err := c.NewWriter(out, shard.Options{Quick: true})
	if err != nil {
		return err
	}
	row := int64(0)
	err = c.Each(f, func(_ string, put func(*shard.CopyWriter, string) error) error {
		row++
		if len(twins) > 0 && twins[0].row == row-1 {
			twins = twins[1:]
			return nil
		}
		return put(w, "")
	})
	if err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return out.Close(w.Rows())
}
