// Package progress counts work and its rate, without printing.
//
// A [Meter] is written by the code that works and read by whoever shows it.
// All methods are safe for concurrent use; a nil *Meter counts nothing.
package progress

import (
	"sync"
	"sync/atomic"
)

// A Meter counts units of work done out of a total.
type Meter struct {
	done, total atomic.Int64

	mu   sync.Mutex
	unit string // such as "images"
	note string // such as "loss 2.31"
}

// Expect sets the total and the unit, in the plural.
func (m *Meter) Expect(total int64, unit string) {
	if m == nil {
		return
	}
	m.total.Store(total)
	m.mu.Lock()
	m.unit = unit
	m.mu.Unlock()
}

// Add counts n more units.
func (m *Meter) Add(n int64) {
	if m != nil {
		m.done.Add(n)
	}
}

// Note sets a short remark shown beside the count.
func (m *Meter) Note(s string) {
	if m == nil {
		return
	}
	m.mu.Lock()
	m.note = s
	m.mu.Unlock()
}

// State is a reading of a Meter.
type State struct {
	Done, Total int64
	Unit, Note  string
}

// Read returns the meter's present state.
func (m *Meter) Read() State {
	if m == nil {
		return State{}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return State{m.done.Load(), m.total.Load(), m.unit, m.note}
}
