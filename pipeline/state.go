package pipeline

import (
	"context"

	"espalier/pipeline/store"
)

type taskState struct{}

func (s *taskState) gather(t *Task, name string) []*Input { panic("pipeline: unfinished") }
func (s *taskState) dead(d DeadLetter) error              { panic("pipeline: unfinished") }
func (s *taskState) rows(file string, n int64)            { panic("pipeline: unfinished") }
func (s *taskState) part(i int) *store.PartManifest       { panic("pipeline: unfinished") }
func (s *taskState) openPart(i int, name string) (*store.File, error) {
	panic("pipeline: unfinished")
}

func (s *taskState) saveCheckpoint(ctx context.Context, step int64, save func(dir string) error) error {
	panic("pipeline: unfinished")
}

func (s *taskState) latestCheckpoint() (int64, string, bool, error) { panic("pipeline: unfinished") }

func (s *taskState) share(ctx context.Context, key string, build func(context.Context) (any, func(), error)) (any, func(), error) {
	panic("pipeline: unfinished")
}
