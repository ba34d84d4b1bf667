// Package pool runs tiles of work on a fixed number of threads.
//
// A [Pool] of n threads has n-1 goroutines; the caller of Run is the n-th.
// Tiles are claimed from an atomic counter, so that which thread runs which
// tile is not fixed: a tile must write only what is its own. Run is called
// from one goroutine at a time and not from inside a tile. A pool that has
// nothing to do sleeps; Run allocates nothing.
package pool

import (
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
	task  Task
	tiles int64
	next  atomic.Int64
	busy  atomic.Int64 // helpers that have not finished this run
	wake  []chan struct{}
	done  chan struct{}
	ended sync.WaitGroup
}

// New returns a pool of n threads, at least one.
func New(n int) *Pool {
	p := &Pool{done: make(chan struct{}, 1)}
	for i := 1; i < n; i++ {
		p.wake = append(p.wake, make(chan struct{}, 1))
	}
	p.ended.Add(len(p.wake))
	for i := range p.wake {
		go p.help(i)
	}
	return p
}

// Threads returns the number of threads.
func (p *Pool) Threads() int { return len(p.wake) + 1 }

// Run calls t.Tile for every i in [0, tiles) and returns when all are done.
func (p *Pool) Run(t Task, tiles int) {
	helpers := min(len(p.wake), tiles-1)
	if helpers <= 0 {
		for i := range tiles {
			t.Tile(0, i)
		}
		return
	}
	p.task, p.tiles = t, int64(tiles)
	p.next.Store(0)
	p.busy.Store(int64(helpers))
	for i := range helpers {
		p.wake[i] <- struct{}{}
	}
	p.drain(0)
	<-p.done
	p.task = nil
}

// Close ends the goroutines and waits for them. The pool is of no use after.
func (p *Pool) Close() {
	for _, c := range p.wake {
		close(c)
	}
	p.ended.Wait()
	p.wake = nil
}

func (p *Pool) help(i int) {
	defer p.ended.Done()
	for range p.wake[i] {
		p.drain(i + 1)
		if p.busy.Add(-1) == 0 {
			p.done <- struct{}{}
		}
	}
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
