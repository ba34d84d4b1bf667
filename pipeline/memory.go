package pipeline

import (
	"bytes"
	"os"
	"runtime"
	"strconv"
	"sync"
	"time"
)

// memory watches the resident memory of the process, so that each node's row
// in the run log has the peak while it ran.
type memory struct {
	mu   sync.Mutex
	open map[*memoryPeak]bool
	quit chan struct{}
	done chan struct{}
}

type memoryPeak struct{ peak int64 }

const memoryEvery = 100 * time.Millisecond

func startMemory() *memory {
	m := &memory{open: make(map[*memoryPeak]bool), quit: make(chan struct{}), done: make(chan struct{})}
	m.sample()
	go func() {
		defer close(m.done)
		tick := time.NewTicker(memoryEvery)
		defer tick.Stop()
		for {
			select {
			case <-m.quit:
				return
			case <-tick.C:
				m.sample()
			}
		}
	}()
	return m
}

func (m *memory) stop() {
	close(m.quit)
	<-m.done
}

func (m *memory) sample() {
	rss := residentBytes()
	m.mu.Lock()
	defer m.mu.Unlock()
	for p := range m.open {
		p.peak = max(p.peak, rss)
	}
}

// begin starts watching for one node.
func (m *memory) begin() *memoryPeak {
	p := &memoryPeak{peak: residentBytes()}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.open[p] = true
	return p
}

// end returns the peak since begin.
func (m *memory) end(p *memoryPeak) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.open, p)
	return max(p.peak, residentBytes())
}

// processPeak returns the peak of the process since it began.
func (m *memory) processPeak() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err == nil {
		for line := range bytes.Lines(status) {
			if rest, ok := bytes.CutPrefix(line, []byte("VmHWM:")); ok {
				if f := bytes.Fields(rest); len(f) > 0 {
					if kib, err := strconv.ParseInt(string(f[0]), 10, 64); err == nil {
						return kib << 10
					}
				}
			}
		}
	}
	return residentBytes()
}

// residentBytes returns the resident memory of the process; where there is no
// /proc, what the Go runtime holds.
func residentBytes() int64 {
	statm, err := os.ReadFile("/proc/self/statm")
	if err == nil {
		if f := bytes.Fields(statm); len(f) > 1 {
			if pages, err := strconv.ParseInt(string(f[1]), 10, 64); err == nil {
				return pages * int64(os.Getpagesize())
			}
		}
	}
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.Sys)
}
