package duel

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"
)

// watch samples the resident memory of a process and its descendants until the
// returned function is called, which gives the most it saw, in 1e6 bytes.
func watch(pid int) func() float64 {
	done, peak := make(chan struct{}), make(chan float64)
	go func() {
		most := 0.0
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				peak <- most
				return
			case <-tick.C:
				most = max(most, treeRSS(pid))
			}
		}
	}()
	return func() float64 {
		close(done)
		return <-peak
	}
}

func treeRSS(pid int) float64 {
	pages, todo := 0, []int{pid}
	for len(todo) > 0 {
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p))
		if f := bytes.Fields(stat); err == nil && len(f) > 1 {
			n, _ := strconv.Atoi(string(f[1]))
			pages += n
		}
		threads, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", p))
		for _, t := range threads {
			kids, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", p, t.Name()))
			for _, k := range bytes.Fields(kids) {
				if c, err := strconv.Atoi(string(k)); err == nil {
					todo = append(todo, c)
				}
			}
		}
	}
	return float64(pages) * float64(os.Getpagesize()) / 1e6
}

// maxRSS is the most memory of the process alone, as the system counts it.
func maxRSS(s *os.ProcessState) float64 {
	if u, ok := s.SysUsage().(*syscall.Rusage); ok {
		return float64(u.Maxrss) * 1024 / 1e6
	}
	return 0
}
