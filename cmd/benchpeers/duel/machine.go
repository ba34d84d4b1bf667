package duel

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strings"
)

// A Machine says where and when something was measured.
type Machine struct {
	CPU     string `json:"cpu"`
	Threads int    `json:"threads"`
	Go      string `json:"go"`
	System  string `json:"system"`
	Load    string `json:"load"` // averages of 1, 5 and 15 minutes; "" if unknown
}

// Here describes this machine now.
func Here() Machine {
	m := Machine{CPU: "unknown processor", Threads: runtime.GOMAXPROCS(0), Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH}
	family, model := "", ""
	if f, err := os.Open("/proc/cpuinfo"); err == nil {
		defer f.Close()
		for s := bufio.NewScanner(f); s.Scan() && s.Text() != ""; {
			k, v, _ := strings.Cut(s.Text(), ":")
			switch strings.TrimSpace(k) {
			case "model name":
				m.CPU = strings.TrimSpace(v)
			case "cpu family":
				family = strings.TrimSpace(v)
			case "model":
				model = strings.TrimSpace(v)
			}
		}
		if family != "" {
			m.CPU += fmt.Sprintf(" (family %s, model %s)", family, model)
		}
	}
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		if f := strings.Fields(string(text)); len(f) >= 3 {
			m.Load = strings.Join(f[:3], " ")
		}
	}
	return m
}

// Busy reports a load of the last minute at which times mean little.
func (m Machine) Busy() bool {
	var one float64
	if _, err := fmt.Sscan(m.Load, &one); err != nil {
		return false
	}
	return one > 0.5
}

// String is the machine in a line.
func (m Machine) String() string {
	load := m.Load
	if load == "" {
		load = "unknown"
	}
	return fmt.Sprintf("%s; %d threads; %s; %s; load %s", m.CPU, m.Threads, m.System, m.Go, load)
}
