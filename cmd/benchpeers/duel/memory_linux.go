package duel

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

// watch samples the resident memory of a process and its descendants until the
// returned function is called, which gives the most it saw, in 1e6 bytes: at one
// time of all, or ever of the process alone. (What wait reports begins with the
// memory of the parent.)
func watch(pid int) func() float64 {
	done, peak := make(chan struct{}), make(chan float64)
	go func() {
		most := 0.0
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				peak <- most
				return
			case <-tick.C:
				most = max(most, treeRSS(pid), highWater(pid))
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

// highWater is the most memory that a process has had.
func highWater(pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, ok := bytes.Cut(text, []byte("VmHWM:"))
	if f := bytes.Fields(rest); err == nil && ok && len(f) > 0 {
		kib, _ := strconv.Atoi(string(f[0]))
		return float64(kib) * 1024 / 1e6
	}
	return 0
}
