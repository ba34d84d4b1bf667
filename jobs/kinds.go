package jobs

import (
	"maps"
	"slices"

	"espalier/pipeline"
)

// Kinds returns every kind of stage that a job may name: the one list of them.
func Kinds() map[string]func() pipeline.Stage {
	return map[string]func() pipeline.Stage{
		pipeline.FilesKind: func() pipeline.Stage { return new(pipeline.Files) },
	}
}

func kindNames(kinds map[string]func() pipeline.Stage) []string {
	return slices.Sorted(maps.Keys(kinds))
}
