// Package duel times a piece of our work and the same piece of others', turn
// about, in one run, and says whether ours is as much faster as was promised.
//
// A [Contest] is one piece of work with its sides. In a round each side has a
// turn, and the order of the sides is reversed from round to round; a turn is
// as many calls as last long enough to be timed, and counts as the median of
// their times. A round that would
// take longer than the budget is the only one. A pair is our turn and a rival's of the same round. What is
// reported is the median of the ratios of the pairs, so that whatever slows the
// machine down for a while slows both. A side is checked for giving the same
// result before it is timed; that is the business of who makes the side.
//
// A Runner is used from one goroutine.
package duel

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// A Side is a program that does the work.
type Side interface {
	Name() string
	// Time does the work so many times, at least once, and returns the seconds
	// of each.
	Time(ctx context.Context, calls int) ([]float64, error)
}

// Func returns a side that is a function of this process.
func Func(name string, f func() error) Side { return funcSide{name, f} }

type funcSide struct {
	name string
	f    func() error
}

func (s funcSide) Name() string { return s.name }

func (s funcSide) Time(ctx context.Context, calls int) ([]float64, error) {
	times := make([]float64, 0, calls)
	for range calls {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		t := time.Now()
		if err := s.f(); err != nil {
			return nil, err
		}
		times = append(times, time.Since(t).Seconds())
	}
	return times, nil
}

// A Unit turns the seconds of a call into what is printed.
type Unit struct {
	Name   string  // such as "GFLOP/s"
	Amount float64 // units of work of a call; 0: the seconds themselves
}

// Of returns the figure of a call of so many seconds.
func (u Unit) Of(seconds float64) float64 {
	if u.Amount == 0 {
		return seconds
	}
	return u.Amount / seconds
}

// Seconds is the unit of work that is told by its time.
var Seconds = Unit{Name: "s"}

// A Target is what was promised against one rival or the best of several.
type Target struct {
	Against string   // as it is printed; by default the rival's name
	Rivals  []string // names; the fastest of them counts; nil: all
	AtLeast float64  // ratio of their time to ours
}

// A Contest is a piece of work and who does it.
type Contest struct {
	Group, Work string
	Unit        Unit
	Ours        Side
	Rivals      []Side
	Targets     []Target
	Note        func(ours float64) string // of our seconds; nil: none
	Budget      time.Duration             // about how long it may take; 0: the runner's
}

// A Runner holds contests.
type Runner struct {
	Budget time.Duration // about how long a contest may take
	Turn   time.Duration // how long a turn lasts at least
	Rest   time.Duration // between turns, so that waiting threads fall asleep
	Emit   func(Line)    // takes each finished line
}

// Rounds of a contest.
const (
	leastRounds = 3
	mostRounds  = 9
)

// Run holds a contest and emits a line for each target.
func (r *Runner) Run(ctx context.Context, c Contest) error {
	if len(c.Rivals) == 0 {
		return fmt.Errorf("%s: %s: no rival", c.Group, c.Work)
	}
	for _, t := range c.Targets {
		for _, n := range t.Rivals {
			if !slices.ContainsFunc(c.Rivals, func(s Side) bool { return s.Name() == n }) {
				return fmt.Errorf("%s: %s: target against %q, who does not take part", c.Group, c.Work, n)
			}
		}
	}
	times, err := r.rounds(ctx, c)
	if err != nil {
		return fmt.Errorf("%s: %s: %w", c.Group, c.Work, err)
	}
	for _, t := range c.Targets {
		r.Emit(c.line(t, times))
	}
	return nil
}

// rounds returns the seconds of each side's turns; ours is the first side.
func (r *Runner) rounds(ctx context.Context, c Contest) ([][]float64, error) {
	sides := append([]Side{c.Ours}, c.Rivals...)
	calls, round := make([]int, len(sides)), 0.0
	times := make([][]float64, len(sides))
	for i, s := range sides {
		first, err := s.Time(ctx, 1) // a first call warms up, a second says how long one takes
		if err != nil {
			return nil, sideError(s, err)
		}
		if _, whole := s.(*Program); !whole || first[0] < 1 {
			if first, err = s.Time(ctx, 1); err != nil {
				return nil, sideError(s, err)
			}
		}
		times[i] = first
		one := max(first[0], 1e-7)
		calls[i] = int(min(max(math.Ceil(r.Turn.Seconds()/one), 1), 1000))
		round += one*float64(calls[i]) + r.Rest.Seconds()
	}
	budget := r.Budget
	if c.Budget > 0 {
		budget = c.Budget
	}
	n := min(max(int(budget.Seconds()/round), leastRounds), mostRounds)
	if round > budget.Seconds() {
		return times, nil // so long that one pair must do
	}
	clear(times)
	for k := range n {
		for j := range sides {
			i := j
			if k%2 == 1 {
				i = len(sides) - 1 - j
			}
			if err := wait(ctx, r.Rest); err != nil {
				return nil, err
			}
			t, err := sides[i].Time(ctx, calls[i])
			if err != nil {
				return nil, sideError(sides[i], err)
			}
			times[i] = append(times[i], Median(t))
		}
	}
	return times, nil
}

func sideError(s Side, err error) error { return fmt.Errorf("%s: %w", s.Name(), err) }

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// line makes the line of a target of the times of all sides.
func (c *Contest) line(t Target, times [][]float64) Line {
	l := Line{Group: c.Group, Work: c.Work, Unit: c.Unit.Name, Ratio: math.Inf(1), Target: t.AtLeast}
	ours := Median(times[0])
	l.Ours, l.Pairs = c.Unit.Of(ours), len(times[0])
	var rivals []Rival
	for i, s := range c.Rivals {
		if t.Rivals != nil && !slices.Contains(t.Rivals, s.Name()) {
			continue
		}
		v := Rival{Name: s.Name(), Value: c.Unit.Of(Median(times[i+1])), Ratio: medianRatio(times[i+1], times[0])}
		rivals = append(rivals, v)
		if v.Ratio < l.Ratio {
			l.Ratio, l.Theirs, l.Against = v.Ratio, v.Value, v.Name
		}
	}
	if t.Against != "" && t.Against != l.Against {
		l.Against = strings.TrimSpace(t.Against + ": " + l.Against)
	}
	if len(rivals) > 1 {
		l.Rivals = rivals
	}
	if c.Note != nil {
		l.Note = c.Note(ours)
	}
	l.Verdict = verdict(l.Ratio >= t.AtLeast)
	return l
}

// medianRatio is the median of x[i]/y[i].
func medianRatio(x, y []float64) float64 {
	r := make([]float64, len(x))
	for i := range x {
		r[i] = x[i] / y[i]
	}
	return Median(r)
}

// Median returns the middle value, or the mean of the two in the middle; NaN of
// nothing.
func Median(x []float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(x))
	n := len(s)
	return (s[(n-1)/2] + s[n/2]) / 2
}

// ErrMissing is the cause of work that could not be done for want of a file or
// a package.
var ErrMissing = errors.New("missing")

// Missing returns an error that says what is missing.
func Missing(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMissing, fmt.Sprintf(format, args...))
}
