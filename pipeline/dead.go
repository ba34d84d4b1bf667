package pipeline

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"espalier/pipeline/shard"
	"espalier/pipeline/store"
)

// A DeadLetter is one record that could not be kept.
type DeadLetter struct {
	Corpus string `parquet:"corpus" json:"corpus"`
	Task   string `parquet:"task" json:"task"`
	File   string `parquet:"file" json:"file"`
	N      *int64 `parquet:"n,optional" json:"n"`           // 0-based data row, if known
	Line   *int64 `parquet:"line,optional" json:"line"`     // 1-based physical line, if the file has lines
	Offset *int64 `parquet:"offset,optional" json:"offset"` // byte offset of that line or element
	Field  string `parquet:"field" json:"field"`
	Where  string `parquet:"where" json:"where"` // JSON path, if any
	Reason string `parquet:"reason" json:"reason"`
	Raw    []byte `parquet:"raw" json:"raw"`
}

// At is where the record stood, as an editor opens it: file and line, else byte
// offset or row, and the JSON path.
func (d *DeadLetter) At() string {
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

// DeadSchema is the schema id of tables of dead letters.
const DeadSchema = "deadletter/1"

// deadSide is the side file in which a part keeps its dead letters, as JSON
// lines, until Finish puts them into one table.
const deadSide = ".deadletters.jsonl"

// A spool takes the dead letters of one unit in the order in which they come.
type spool struct {
	path string // in the unit's scratch folder

	mu     sync.Mutex
	file   *os.File
	buf    *bufio.Writer
	enc    *json.Encoder
	n      int64
	byFile map[string]int64
	err    error
}

func newSpool(scratch string) *spool {
	return &spool{path: filepath.Join(scratch, ".deadletters"), byFile: make(map[string]int64)}
}

func (s *spool) add(d DeadLetter) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	if s.file == nil {
		if s.file, s.err = os.Create(s.path); s.err != nil {
			return s.err
		}
		s.buf = bufio.NewWriter(s.file)
		s.enc = json.NewEncoder(s.buf)
	}
	for _, text := range []*string{&d.Corpus, &d.Task, &d.File, &d.Field, &d.Where, &d.Reason} {
		*text = strings.ToValidUTF8(*text, "\uFFFD") // raw bytes belong in Raw
	}
	if s.err = s.enc.Encode(&d); s.err != nil {
		return s.err
	}
	s.n++
	if d.File != "" {
		s.byFile[d.File]++
	}
	return nil
}

// close ends the spool; it may be called more than once.
func (s *spool) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file != nil {
		s.file.Close()
		s.file = nil
		os.Remove(s.path)
	}
}

// reader returns the dead letters from the first on; nil if there are none.
func (s *spool) reader() (io.Reader, error) {
	if s.n == 0 {
		return nil, nil
	}
	if err := s.buf.Flush(); err != nil {
		return nil, err
	}
	_, err := s.file.Seek(0, io.SeekStart)
	return s.file, err
}

// toSide keeps the spool as a side file of a part or plan.
func (s *spool) toSide(w *store.Writer) error {
	r, err := s.reader()
	if err != nil || r == nil {
		return err
	}
	out, err := w.Side(deadSide)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, r); err != nil {
		return err
	}
	return out.Close(s.n)
}

// writeDead puts the dead letters of the readers, in their order, into the
// output's table. Without any there is no table.
func writeDead(w *store.Writer, n int64, readers ...io.Reader) error {
	if n == 0 {
		return nil
	}
	out, err := w.Create(store.DeadLetters, DeadSchema)
	if err != nil {
		return err
	}
	table, err := shard.NewWriter[DeadLetter](out, shard.Options{})
	if err != nil {
		return err
	}
	rows := make([]DeadLetter, 0, 256)
	flush := func() error {
		err := table.Write(rows)
		clear(rows)
		rows = rows[:0]
		return err
	}
	for _, r := range readers {
		if r == nil {
			continue
		}
		d := json.NewDecoder(bufio.NewReader(r))
		for {
			var row DeadLetter
			if err := d.Decode(&row); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return fmt.Errorf("read dead letters: %w", err)
			}
			if rows = append(rows, row); len(rows) == cap(rows) {
				if err := flush(); err != nil {
					return err
				}
			}
		}
	}
	if err := flush(); err != nil {
		return err
	}
	if err := table.Close(); err != nil {
		return err
	}
	return out.Close(n)
}

// addCounts sums the counts of raw files.
func addCounts(lists ...[]store.FileCount) []store.FileCount {
	sums := make(map[string]store.FileCount)
	for _, list := range lists {
		for _, c := range list {
			sum := sums[c.File]
			sums[c.File] = store.FileCount{File: c.File, Rows: sum.Rows + c.Rows, Dead: sum.Dead + c.Dead}
		}
	}
	var out []store.FileCount
	for _, name := range sortedKeys(sums) {
		out = append(out, sums[name])
	}
	return out
}

// judge reports an output that holds too many dead letters.
func (e *engine) judge(n *node, m *store.Manifest) error {
	if m.Dead == 0 {
		return nil
	}
	limit := DefaultLimit
	if n.MaxDead != nil {
		limit = *n.MaxDead
	}
	if e.o.MaxDead != nil {
		limit = *e.o.MaxDead
	}
	rejected := &RejectedError{Node: n.Name, Key: m.Key, Dir: e.s.OutputDir(m.Key), Dead: m.Dead, Seen: m.RowsSeen, Limit: limit}
	i := slices.IndexFunc(m.ByFile, func(c store.FileCount) bool { return c.Rows > 0 && c.Dead >= c.Rows })
	switch {
	case i >= 0:
		rejected.File, rejected.Dead, rejected.Seen = m.ByFile[i].File, m.ByFile[i].Dead, m.ByFile[i].Rows
	case m.RowsSeen > 0 && m.Dead >= m.RowsSeen && len(m.ByFile) == 0:
		rejected.File = "the input"
	case !limit.exceeded(m.Dead, m.RowsSeen):
		return nil
	}
	rejected.First = e.firstDead(m, rejected.File)
	return rejected
}

// firstDead says where and why the first dead letter of an output, or of one of
// its raw files, is one.
func (e *engine) firstDead(m *store.Manifest, file string) string {
	f, err := e.s.OpenFile(context.Background(), m, store.DeadLetters)
	if err != nil {
		return ""
	}
	defer f.Close()
	r, err := shard.Open[DeadLetter](f, f.Size())
	if err != nil {
		return ""
	}
	of := slices.ContainsFunc(m.ByFile, func(c store.FileCount) bool { return c.File == file })
	for d, err := range r.All() {
		if err != nil {
			return ""
		}
		if of && d.File != file {
			continue
		}
		s := d.At()
		for _, text := range []string{d.Field, d.Reason} {
			if text != "" {
				s += ": " + text
			}
		}
		return s
	}
	return ""
}
