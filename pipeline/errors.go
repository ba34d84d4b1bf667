package pipeline

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"espalier/pipeline/store"
)

// Exit codes of the command line.
const (
	ExitDone        = 0   // done, or already up to date
	ExitFailed      = 1   // failed
	ExitUsage       = 2   // usage or job file
	ExitBadInput    = 20  // bad input: do not retry
	ExitTemporary   = 75  // lock or disk: retry
	ExitInterrupted = 130 // cancelled; the command line makes it 143 after SIGTERM
)

// A RefusedError says that a whole input file cannot be used. The engine
// collects all of them, writes no output and exits with code 20.
type RefusedError struct {
	File   string
	Line   int64 // 1-based, 0 if unknown
	Offset int64 // byte offset, -1 if unknown
	Field  string
	Reason string
}

func (e *RefusedError) Error() string {
	s := e.File
	if e.Line > 0 {
		s += fmt.Sprintf(":%d", e.Line)
	}
	if e.Offset >= 0 && e.Line == 0 {
		s += fmt.Sprintf(" at byte %d", e.Offset)
	}
	if e.Field != "" {
		s += ": " + e.Field
	}
	s += ": " + e.Reason
	if e.Offset >= 0 && e.Line > 0 {
		s += fmt.Sprintf(" (byte %d)", e.Offset)
	}
	return s
}

// A RejectedError says that an output stands but holds too many dead letters:
// nothing downstream runs until a laxer limit accepts it.
type RejectedError struct {
	Node  string
	Key   store.Key
	Dir   string // where the output and its deadletter.parquet lie
	File  string // a file of which every row is dead, or "" if the limit was passed
	Dead  int64
	Seen  int64
	Limit Limit
	First string // where and why of the first of them, or "" if that cannot be read
}

func (e *RejectedError) Error() string {
	first := ""
	if e.First != "" {
		first = ", the first: " + e.First
	}
	if e.File != "" {
		return fmt.Sprintf("%s: %s: all %d rows are dead letters%s (see %s)", e.Node, e.File, e.Seen, first, e.Dir)
	}
	return fmt.Sprintf("%s: %d of %d rows are dead letters, more than %s%s (see %s; --max-dead accepts more)", e.Node, e.Dead, e.Seen, e.Limit, first, e.Dir)
}

// A UsageError is a fault of the graph or of the options.
type UsageError struct {
	Pos string // of the job file, or ""
	Msg string
}

func (e *UsageError) Error() string {
	if e.Pos != "" {
		return e.Pos + ": " + e.Msg
	}
	return e.Msg
}

func usagef(pos, format string, args ...any) error {
	return &UsageError{Pos: pos, Msg: fmt.Sprintf(format, args...)}
}

// A TemporaryError says that the same command may succeed later.
type TemporaryError struct {
	Err error
}

func (e *TemporaryError) Error() string { return e.Err.Error() }

func (e *TemporaryError) Unwrap() error { return e.Err }

// A StageError is the failure of one node.
type StageError struct {
	Node string
	Part int // -1 if the failure is not of one part
	Err  error
}

func (e *StageError) Error() string {
	msg := e.Err.Error()
	if strings.HasPrefix(msg, e.Node+": ") {
		return msg
	}
	if e.Part >= 0 {
		return fmt.Sprintf("%s: part %d: %s", e.Node, e.Part, msg)
	}
	return e.Node + ": " + msg
}

func (e *StageError) Unwrap() error { return e.Err }

// ExitCode maps an error of this package to the exit code of the command
// line. Where several stages failed, what a retry may mend comes first (75),
// then a failure (1), then bad input (20); an interruption comes before all.
func ExitCode(err error) int {
	if err == nil {
		return ExitDone
	}
	seen := make(map[int]bool)
	classify(err, seen)
	for _, code := range []int{ExitInterrupted, ExitUsage, ExitTemporary, ExitFailed, ExitBadInput} {
		if seen[code] {
			return code
		}
	}
	return ExitFailed
}

// classify adds the codes of err's leaves to seen.
func classify(err error, seen map[int]bool) {
	var (
		refused  *RefusedError
		rejected *RejectedError
		usage    *UsageError
		temp     *TemporaryError
	)
	switch {
	case asLeaf(err, &refused), asLeaf(err, &rejected):
		seen[ExitBadInput] = true
		return
	case asLeaf(err, &usage):
		seen[ExitUsage] = true
		return
	case asLeaf(err, &temp):
		seen[ExitTemporary] = true
		return
	case err == context.Canceled:
		seen[ExitInterrupted] = true
		return
	}
	switch u := err.(type) {
	case *store.WriteError:
	case interface{ Unwrap() []error }:
		for _, e := range u.Unwrap() {
			classify(e, seen)
		}
		return
	case interface{ Unwrap() error }:
		if inner := u.Unwrap(); inner != nil {
			classify(inner, seen)
			return
		}
	}
	if store.IsTemporary(err) {
		seen[ExitTemporary] = true
	} else {
		seen[ExitFailed] = true
	}
}

// asLeaf is a type assertion on err itself, not on what it wraps.
func asLeaf[T error](err error, target *T) bool {
	t, ok := err.(T)
	if ok {
		*target = t
	}
	return ok
}

// refusals returns every RefusedError in the tree of err, in order.
func refusals(err error) []*RefusedError {
	switch u := err.(type) {
	case nil:
		return nil
	case *RefusedError:
		return []*RefusedError{u}
	case interface{ Unwrap() []error }:
		var all []*RefusedError
		for _, e := range u.Unwrap() {
			all = append(all, refusals(e)...)
		}
		return all
	case interface{ Unwrap() error }:
		return refusals(u.Unwrap())
	}
	return nil
}

// onlyRefusals reports whether every leaf of err is a RefusedError.
func onlyRefusals(err error) bool {
	seen := make(map[int]bool)
	classify(err, seen)
	return len(seen) == 1 && seen[ExitBadInput] && !errors.As(err, new(*RejectedError))
}
