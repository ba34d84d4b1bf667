package duel

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

// A Program is a whole process: its time is from its start to its end.
type Program struct {
	Label  string
	Argv   []string
	Env    []string // beside Environ
	Dir    string
	Before func() error                  // before each run, not timed; may be nil
	After  func([]byte) error            // sees what a run wrote to standard output, not timed; may be nil
	Self   func([]byte) (float64, error) // reads the seconds that the program says it took; nil: the clock
	PeakMB float64                       // the most memory a run of it and its children had, in 1e6 bytes
	Watch  bool                          // measure PeakMB
}

// Name returns the label.
func (p *Program) Name() string { return p.Label }

// Time runs the program so many times.
func (p *Program) Time(ctx context.Context, calls int) ([]float64, error) {
	var times []float64
	for range calls {
		if p.Before != nil {
			if err := p.Before(); err != nil {
				return nil, err
			}
		}
		out, seconds, err := p.run(ctx)
		if err != nil {
			return nil, err
		}
		if p.Self != nil {
			if seconds, err = p.Self(out); err != nil {
				return nil, err
			}
		}
		if p.After != nil {
			if err := p.After(out); err != nil {
				return nil, err
			}
		}
		times = append(times, seconds)
	}
	return times, nil
}

func (p *Program) run(ctx context.Context) ([]byte, float64, error) {
	cmd := exec.CommandContext(ctx, p.Argv[0], p.Argv[1:]...)
	cmd.Env, cmd.Dir = append(Environ(), p.Env...), p.Dir
	cmd.WaitDelay = 10 * time.Second
	var stderr tail
	cmd.Stderr = &stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return nil, 0, err
	}
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, 0, err
	}
	stop := func() float64 { return 0 }
	if p.Watch {
		stop = watch(cmd.Process.Pid)
	}
	out, readErr := io.ReadAll(pipe)
	err = cmd.Wait()
	seconds := time.Since(begin).Seconds()
	if peak := stop(); p.Watch {
		p.PeakMB = max(p.PeakMB, peak)
	}
	if err == nil {
		err = readErr
	}
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w%s", strings.Join(p.Argv[:min(len(p.Argv), 3)], " "), err, stderr.text())
	}
	return out, seconds, nil
}
