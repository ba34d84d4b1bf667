package pool

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

type count struct {
	hits    []atomic.Int32
	threads []atomic.Int32
}

func (c *count) Tile(thread, i int) {
	c.hits[i].Add(1)
	c.threads[thread].Add(1)
}

func TestRunCoversEveryTileOnce(t *testing.T) {
	for _, n := range []int{1, 2, 3, 7} {
		p := New(n)
		for _, tiles := range []int{0, 1, 2, 3, 6, 7, 8, 1000} {
			c := &count{make([]atomic.Int32, tiles), make([]atomic.Int32, n)}
			p.Run(c, tiles)
			for i := range c.hits {
				if got := c.hits[i].Load(); got != 1 {
					t.Fatalf("threads=%d tiles=%d: tile %d ran %d times", n, tiles, i, got)
				}
			}
		}
		p.Close()
	}
}

func TestRunAllocatesNothing(t *testing.T) {
	p := New(3)
	defer p.Close()
	c := &count{make([]atomic.Int32, 64), make([]atomic.Int32, 3)}
	if got := testing.AllocsPerRun(100, func() { p.Run(c, 64) }); got != 0 {
		t.Errorf("Run allocates %g times, want 0", got)
	}
}

func TestCloseLeavesNoGoroutine(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 10 {
		p := New(5)
		p.Run(&count{make([]atomic.Int32, 9), make([]atomic.Int32, 5)}, 9)
		p.Close()
	}
	for range 100 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Errorf("%d goroutines, want at most %d", runtime.NumGoroutine(), before)
}

func BenchmarkRun(b *testing.B) {
	p := New(2)
	defer p.Close()
	c := &count{make([]atomic.Int32, 2), make([]atomic.Int32, 2)}
	for b.Loop() {
		p.Run(c, 2)
	}
}

// TestRunsFollowEachOther begins runs at all distances in time: helpers look
// out, fall asleep or are late.
func TestRunsFollowEachOther(t *testing.T) {
	for _, n := range []int{2, 3, 9} {
		p := New(n)
		total := &count{make([]atomic.Int32, 20), make([]atomic.Int32, n)}
		const runs = 3000
		for i := range runs {
			p.Run(total, 20)
			for k := range total.hits {
				if got := total.hits[k].Load(); got != int32(i+1) {
					t.Fatalf("threads=%d: tile %d ran %d times when run %d ended", n, k, got, i+1)
				}
			}
			switch i % 100 {
			case 7:
				time.Sleep(50 * time.Microsecond)
			case 30, 60:
				for begin := time.Now(); time.Since(begin) < time.Duration(i%50)*time.Microsecond; {
				}
			}
		}
		p.Close()
	}
}
