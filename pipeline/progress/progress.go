// Package progress counts work and its rate, without printing.
//
// A [Meter] is written by the code that works and read by whoever shows it.
// All methods are safe for concurrent use; a nil *Meter counts nothing. A
// meter made by [Meter.Child] counts into its parent too, so that the parts of
// a stage add up.
package progress

import (
	"sync"
	"sync/atomic"
	"time"
)

// A Meter counts units of work done out of a total. The zero Meter is ready.
type Meter struct {
	parent      *Meter
	done, total atomic.Int64

	mu   sync.Mutex
	unit string // such as "images"
	note string // such as "loss 2.31"
	rate rate
}

// Child returns a meter whose counts are also counted here, and whose remarks
// show here.
func (m *Meter) Child() *Meter {
	if m == nil {
		return nil
	}
	return &Meter{parent: m}
}

// Expect sets the total and the unit, in the plural.
func (m *Meter) Expect(total int64, unit string) {
	if m == nil {
		return
	}
	m.grow(total-m.total.Swap(total), unit)
}

// grow sets the unit and adds to the totals of the parents.
func (m *Meter) grow(delta int64, unit string) {
	for ; m != nil; m = m.parent {
		m.mu.Lock()
		m.unit = unit
		m.mu.Unlock()
		if m.parent != nil {
			m.parent.total.Add(delta)
		}
	}
}

// Add counts n more units.
func (m *Meter) Add(n int64) {
	for ; m != nil; m = m.parent {
		m.done.Add(n)
	}
}

// Note sets a short remark shown beside the count.
func (m *Meter) Note(s string) {
	for ; m != nil; m = m.parent {
		m.mu.Lock()
		m.note = s
		m.mu.Unlock()
	}
}

// State is a reading of a Meter.
type State struct {
	Done, Total int64 // Total is 0 if unknown
	Unit, Note  string
	Rate        float64       // units a second, lately; 0 until two readings tell
	Left        time.Duration // at that rate; 0 if unknown
}

// Read returns the meter's present state.
func (m *Meter) Read() State { return m.ReadAt(time.Now()) }

// ReadAt is Read at a given time. The rate is that of the last half minute of
// readings, so a meter wants reading every second or so.
func (m *Meter) ReadAt(now time.Time) State {
	if m == nil {
		return State{}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := State{Done: m.done.Load(), Total: m.total.Load(), Unit: m.unit, Note: m.note}
	s.Rate = m.rate.read(now, s.Done)
	if s.Rate > 0 && s.Total > s.Done {
		s.Left = time.Duration(float64(s.Total-s.Done) / s.Rate * float64(time.Second))
	}
	return s
}

// A rate keeps readings of a window.
type rate struct {
	at   []time.Time
	done []int64
}

const (
	window  = 30 * time.Second
	spacing = 500 * time.Millisecond // between readings that are kept
)

func (r *rate) read(now time.Time, done int64) float64 {
	if n := len(r.at); n == 0 || now.Sub(r.at[n-1]) >= spacing {
		r.at = append(r.at, now)
		r.done = append(r.done, done)
	}
	for len(r.at) > 2 && now.Sub(r.at[1]) > window {
		r.at, r.done = r.at[1:], r.done[1:]
	}
	seconds := now.Sub(r.at[0]).Seconds()
	if seconds <= 0 {
		return 0
	}
	return float64(done-r.done[0]) / seconds
}
