package jobs

import (
	"cmp"
	"slices"
	"strings"
)

// A Fault is one mistake in a job file or in an override of it.
type Fault struct {
	Pos  string // such as "job.yaml:7" or "--set train.steps=x"
	Path string // such as "train.peft.dim"; empty for the file as a whole
	What string // such as "0, want at least 1"

	line int // for the order of a report
}

func (f Fault) Error() string {
	if f.Path == "" {
		return f.Pos + ": " + f.What
	}
	return f.Pos + ": " + f.Path + ": " + f.What
}

// Faults are all mistakes of a job file, in the order of its lines, those of
// overrides last.
type Faults []Fault

func (fs Faults) Error() string {
	lines := make([]string, len(fs))
	for i, f := range fs {
		lines[i] = f.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives each fault as an error of its own.
func (fs Faults) Unwrap() []error {
	errs := make([]error, len(fs))
	for i, f := range fs {
		errs[i] = f
	}
	return errs
}

// A faultList collects faults, each once.
type faultList struct {
	faults []Fault
	seen   map[Fault]bool
}

func (l *faultList) add(at place, path, what string) {
	f := Fault{Pos: at.String(), Path: path, What: what, line: at.order()}
	if l.seen[f] {
		return
	}
	if l.seen == nil {
		l.seen = make(map[Fault]bool)
	}
	l.seen[f] = true
	l.faults = append(l.faults, f)
}

// err returns the faults in order, or nil.
func (l *faultList) err() error {
	if len(l.faults) == 0 {
		return nil
	}
	slices.SortStableFunc(l.faults, func(a, b Fault) int { return cmp.Compare(a.line, b.line) })
	return Faults(l.faults)
}
