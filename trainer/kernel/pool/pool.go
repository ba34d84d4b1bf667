// Package pool runs tiles of work on a fixed number of threads.
//
// A [Pool] of n threads has n-1 goroutines; the caller of Run is the n-th.
// Tiles are claimed from an atomic counter, so that which thread runs which
// tile is not fixed: a tile must write only what is its own. Run is called
// from one goroutine at a time and not from inside a tile; it allocates
// nothing. A thread that has nothing to do looks out for more for some
// microseconds, as runs often follow each other at once, and then sleeps.
package pool

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// A Task is work that has been cut into tiles. Thread is in [0, n) and belongs
// to one goroutine for the length of the call: it may index scratch memory.
type Task interface {
	Tile(thread, i int)
}

// A Pool is a number of threads.
type Pool struct {
	task    Task
	tiles   int64
	looks   int // how often a thread looks out before it sleeps
	helpers []*helper
	ended   sync.WaitGroup
	done    chan struct{}

	_     line
	next  atomic.Int64 // tile
	_     line
	busy  atomic.Int64 // helpers that have not finished this run
	waits atomic.Bool  // the caller sleeps until they have
	_     line
}

// A line keeps what threads write apart from what others read.
type line [64]byte

// A helper is one goroutine.
type helper struct {
	state atomic.Uint32
	wake  chan struct{}
	_     line
}

// States of a helper.
const (
	looking uint32 = iota // it has nothing to do and looks out
	asleep                // it waits for wake
	working
	closing
)

// Looks and the moments between them, together some 80 microseconds: about what
// a step of decoding takes to choose its beams between two runs.
const (
	looks   = 512
	moments = 4
)

// rest is what a thread does between two looks. Now and then it lets another
// goroutine run, as the one that it waits for may be queued behind it.
func rest(i int) {
	if i%4 == 3 {
		runtime.Gosched()
	} else {
		pause(moments)
	}
}

// New returns a pool of n threads, at least one.
func New(n int) *Pool {
	p := &Pool{done: make(chan struct{}, 1)}
	if n <= runtime.GOMAXPROCS(0) { // else a thread that looks out keeps another from its work
		p.looks = looks
	}
	for i := 1; i < n; i++ {
		h := &helper{wake: make(chan struct{}, 1)}
		p.helpers = append(p.helpers, h)
		p.ended.Go(func() { p.help(h, i) })
	}
	return p
}

// Threads returns the number of threads.
func (p *Pool) Threads() int { return len(p.helpers) + 1 }

// Run calls t.Tile for every i in [0, tiles) and returns when all are done.
func (p *Pool) Run(t Task, tiles int) {
	n := min(len(p.helpers), tiles-1)
	if n <= 0 {
		for i := range tiles {
			t.Tile(0, i)
		}
		return
	}
	p.task, p.tiles = t, int64(tiles)
	p.next.Store(0)
	p.busy.Store(int64(n))
	for _, h := range p.helpers[:n] {
		h.begin(working)
	}
	p.drain(0)
	p.wait()
	p.task = nil
}

// begin gives a helper its next state and wakes it if it sleeps.
func (h *helper) begin(state uint32) {
	if h.state.Swap(state) == asleep {
		h.wake <- struct{}{}
	}
}

// wait returns when all helpers have finished.
func (p *Pool) wait() {
	for i := range p.looks {
		if p.busy.Load() == 0 {
			return
		}
		rest(i)
	}
	// Each time that waits goes from true to false, whoever did it sends, unless
	// it was the caller. A helper of an earlier run may come late and do it for
	// nothing.
	for {
		p.waits.Store(true)
		if p.busy.Load() == 0 && p.waits.Swap(false) {
			return
		}
		<-p.done
		if p.busy.Load() == 0 {
			return
		}
	}
}

// Close ends the goroutines and waits for them. The pool is of no use after.
func (p *Pool) Close() {
	for _, h := range p.helpers {
		h.begin(closing)
	}
	p.ended.Wait()
	p.helpers = nil
}

// help is the goroutine of one helper.
func (p *Pool) help(h *helper, thread int) {
	for p.look(h) {
		p.drain(thread)
		h.state.Store(looking) // before busy: the next run may begin at once
		if p.busy.Add(-1) == 0 && p.waits.Swap(false) {
			p.done <- struct{}{}
		}
	}
}

// look returns when the helper has work, or reports false at the end.
func (p *Pool) look(h *helper) bool {
	for i := range p.looks {
		if s := h.state.Load(); s != looking {
			return s == working
		}
		rest(i)
	}
	if h.state.CompareAndSwap(looking, asleep) {
		<-h.wake
	}
	return h.state.Load() == working
}

func (p *Pool) drain(thread int) {
	t, tiles := p.task, p.tiles
	for {
		i := p.next.Add(1) - 1
		if i >= tiles {
			return
		}
		t.Tile(thread, int(i))
	}
}
