// Package spill sorts more records than memory may hold.
//
// A [Sorter] takes records of four numbers. Once they take as many bytes as it
// was given, they are sorted and written to a file; reading merges the files. The
// order is that of all four numbers, so it does not depend on how much memory
// there was. A Sorter is not safe for concurrent use.
package spill

import (
	"bufio"
	"cmp"
	"container/heap"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
)

// A Record is what is sorted: by Key, then by the others.
type Record struct{ Key, A, B, C int64 }

// Size is the number of bytes of a record.
const Size = 32

func compare(a, b Record) int {
	return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.A, b.A), cmp.Compare(a.B, b.B), cmp.Compare(a.C, b.C))
}

// A Sorter sorts records. Close removes its files.
type Sorter struct {
	dir   string
	limit int
	held  []Record
	runs  []*run
	err   error
}

// A run is a sorted stretch of records in a file.
type run struct {
	f *os.File
	n int64
}

// New returns a sorter that holds about so many bytes in memory and writes to a
// folder, that of temporary files if it is "".
func New(dir string, bytes int64) *Sorter {
	return &Sorter{dir: dir, limit: int(max(bytes/Size, 16))}
}

// Add takes a record. What goes wrong is told by Sorted.
func (s *Sorter) Add(r Record) {
	if s.held = append(s.held, r); len(s.held) >= s.limit && s.err == nil {
		s.err = s.flush()
	}
}

// flush writes what is held to a file.
func (s *Sorter) flush() (err error) {
	slices.SortFunc(s.held, compare)
	f, err := os.CreateTemp(s.dir, "spill-*")
	if err != nil {
		return err
	}
	// Nobody needs its name: it goes when it is closed, or with the process.
	if err := os.Remove(f.Name()); err != nil {
		return errors.Join(err, f.Close())
	}
	s.runs = append(s.runs, &run{f, int64(len(s.held))})
	w := bufio.NewWriterSize(f, 256<<10)
	var b [Size]byte
	for _, r := range s.held {
		for i, v := range [...]int64{r.Key, r.A, r.B, r.C} {
			binary.LittleEndian.PutUint64(b[8*i:], uint64(v))
		}
		if _, err := w.Write(b[:]); err != nil {
			return err
		}
	}
	s.held = s.held[:0]
	return w.Flush()
}

// Spilled reports whether records had to be written to files.
func (s *Sorter) Spilled() bool { return len(s.runs) > 0 }

// Sorted gives all records in order, as often as it is asked. None may be added
// meanwhile.
func (s *Sorter) Sorted() iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		if s.err != nil {
			yield(Record{}, s.err)
			return
		}
		slices.SortFunc(s.held, compare)
		m := merge{{rest: s.held}}
		for _, r := range s.runs {
			m = append(m, &source{in: bufio.NewReaderSize(io.NewSectionReader(r.f, 0, r.n*Size), 64<<10)})
		}
		m = slices.DeleteFunc(m, func(x *source) bool { return !x.next() && x.err == nil })
		heap.Init(&m)
		for len(m) > 0 {
			x := m[0]
			if x.err != nil {
				yield(Record{}, fmt.Errorf("read spilled records: %w", x.err))
				return
			}
			if !yield(x.now, nil) {
				return
			}
			if x.next() || x.err != nil {
				heap.Fix(&m, 0)
			} else {
				heap.Pop(&m)
			}
		}
	}
}

// Close removes the files.
func (s *Sorter) Close() error {
	var err error
	for _, r := range s.runs {
		err = errors.Join(err, r.f.Close())
	}
	s.held, s.runs = nil, nil
	return err
}

// A source is where the next records of a merge come from.
type source struct {
	now  Record
	rest []Record
	in   *bufio.Reader
	err  error
}

// next moves on; false at the end and after an error.
func (x *source) next() bool {
	if x.in == nil {
		if len(x.rest) == 0 {
			return false
		}
		x.now, x.rest = x.rest[0], x.rest[1:]
		return true
	}
	var b [Size]byte
	if _, err := io.ReadFull(x.in, b[:]); err != nil {
		if err != io.EOF {
			x.err = err
		}
		return false
	}
	v := func(i int) int64 { return int64(binary.LittleEndian.Uint64(b[8*i:])) }
	x.now = Record{v(0), v(1), v(2), v(3)}
	return true
}

// Merge is a heap of sources, that of the least record, or an error, on top.
type merge []*source

func (m merge) Len() int { return len(m) }
func (m merge) Less(i, k int) bool {
	if m[i].err != nil || m[k].err != nil {
		return m[i].err != nil && m[k].err == nil
	}
	return compare(m[i].now, m[k].now) < 0
}
func (m merge) Swap(i, k int) { m[i], m[k] = m[k], m[i] }
func (m *merge) Push(x any)   { *m = append(*m, x.(*source)) }
func (m *merge) Pop() any {
	last := len(*m) - 1
	x := (*m)[last]
	*m = (*m)[:last]
	return x
}
