package shard

import "sync"

// Lent is the memory of a file's columns, which those of the next one get: where
// files are written one after another, none of them has to make its own grow.
type lent struct {
	leaves []*leaf // of the last file, emptied
	pack   packer
}

var spare = sync.Pool{New: func() any { return new(lent) }}

func lend() *lent { return spare.Get().(*lent) }

// to gives a new column what the one in its place had.
func (m *lent) to(i int, l *leaf) {
	if i >= len(m.leaves) {
		return
	}
	old := m.leaves[i]
	l.reps, l.defs, l.texts, l.lengths, l.longs, l.ints, l.plain, l.bools = old.reps, old.defs, old.texts, old.lengths, old.longs, old.ints, old.plain, old.bools
	l.body, l.chunk = old.body, old.chunk
	l.dict.codes, l.dict.bytes, l.dict.ends, l.dict.page = old.dict.codes, old.dict.bytes, old.dict.ends, old.dict.page
}

// back takes the memory of columns that have ended.
func (m *lent) back(leaves []*leaf) {
	for _, l := range leaves {
		l.clear()
		l.body, l.chunk = l.body[:0], l.chunk[:0]
		l.dict.reset()
	}
	m.leaves = leaves
	spare.Put(m)
}
