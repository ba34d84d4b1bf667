package pipeline

import "fmt"

type taskState struct{}

func (s *taskState) dead(t *Task, d DeadLetter) error { panic("pipeline: unfinished") }
func (s *taskState) rows(n int64)                     { panic("pipeline: unfinished") }

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
	return s + ": " + e.Reason
}
