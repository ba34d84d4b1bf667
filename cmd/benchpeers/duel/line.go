package duel

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
)

// Verdicts on a line.
const (
	OK      = "ok"
	Below   = "below"
	Skipped = "skipped" // a file or package is missing
	Failed  = "failed"  // a side failed, or its result is another one
)

func verdict(reached bool) string {
	if reached {
		return OK
	}
	return Below
}

// A Rival is one of several that a target is against.
type Rival struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Ratio float64 `json:"ratio"`
}

// A Line is the outcome of one target. The ratio is their time to ours, or,
// where there is a limit, the limit to ours.
type Line struct {
	Group   string  `json:"group"`
	Work    string  `json:"work"`
	Ours    float64 `json:"ours"`
	Theirs  float64 `json:"theirs"`
	Unit    string  `json:"unit"`
	Against string  `json:"against"`
	Ratio   float64 `json:"ratio"`
	Target  float64 `json:"target"` // the ratio that was promised
	Verdict string  `json:"verdict"`
	Pairs   int     `json:"pairs"`
	Rivals  []Rival `json:"rivals,omitempty"` // all of them, where there are several
	Note    string  `json:"note,omitempty"`
}

// Limit returns the line of a figure that should not exceed a limit.
func Limit(group, work, unit string, ours, limit float64, note string) Line {
	l := Line{Group: group, Work: work, Unit: unit, Ours: ours, Theirs: limit, Against: "the limit", Ratio: limit / ours, Target: 1, Pairs: 1, Note: note}
	l.Verdict = verdict(l.Ratio >= 1)
	return l
}

// Undone returns the line of work that could not be done or that failed.
func Undone(group, work, verdict string, err error) Line {
	return Line{Group: group, Work: work, Verdict: verdict, Note: err.Error()}
}

// widths of the table's columns, which are printed as they come.
const (
	groupWidth = 10
	workWidth  = 64
)

// Head writes the head of the table.
func Head(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%-*s  %-*s %9s %9s  %-9s %7s %7s  %-7s %s\n", groupWidth, "group", workWidth, "work", "ours", "theirs", "unit", "ratio", "target", "", "against, pairs")
	return err
}

// Write writes a line of the table.
func (l *Line) Write(w io.Writer) error {
	if l.Verdict == Skipped || l.Verdict == Failed {
		_, err := fmt.Fprintf(w, "%-*s  %-*s %9s %9s  %-9s %7s %7s  %-7s %s\n", groupWidth, l.Group, workWidth, l.Work, "-", "-", "-", "-", "-", l.Verdict, l.Note)
		return err
	}
	end := fmt.Sprintf("%s, %d", l.Against, l.Pairs)
	if l.Note != "" {
		end += "; " + l.Note
	}
	_, err := fmt.Fprintf(w, "%-*s  %-*s %9s %9s  %-9s %6.2fx %6.2fx  %-7s %s\n", groupWidth, l.Group, workWidth, l.Work,
		number(l.Ours), number(l.Theirs), l.Unit, math.Floor(100*l.Ratio+1e-6)/100, l.Target, l.Verdict, end) // not rounded up to what it has not reached
	return err
}

// JSON writes the line as one JSON object.
func (l *Line) JSON(w io.Writer) error {
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	_, err = w.Write(append(text, '\n'))
	return err
}

// number prints four digits.
func number(x float64) string {
	switch {
	case x >= 1000:
		return fmt.Sprintf("%.0f", x)
	case x >= 100:
		return fmt.Sprintf("%.1f", x)
	case x >= 10:
		return fmt.Sprintf("%.2f", x)
	case x >= 1:
		return fmt.Sprintf("%.3f", x)
	}
	return fmt.Sprintf("%.4f", x)
}
