package jobs

import (
	"maps"
	"slices"

	"espalier/data"
	"espalier/pipeline"
	"espalier/preprocess"
	"espalier/tokenize"
	"espalier/trainer"
)

// Kinds returns every kind of stage that a job may name: the one list of them.
func Kinds() map[string]func() pipeline.Stage {
	tools := Tools()
	return map[string]func() pipeline.Stage{
		pipeline.FilesKind:  func() pipeline.Stage { return new(pipeline.Files) },
		"data/sample":       func() pipeline.Stage { return new(data.Sample) },
		"preprocess/ingest": func() pipeline.Stage { return new(preprocess.Ingest) },
		"tokenize/train":    func() pipeline.Stage { return new(tokenize.Train) },
		"tokenize/encode":   func() pipeline.Stage { return new(tokenize.Encode) },
		"trainer/train":     func() pipeline.Stage { return trainer.NewTrain(tools) },
		"trainer/predict":   func() pipeline.Stage { return trainer.NewPredict(tools) },
	}
}

func kindNames(kinds map[string]func() pipeline.Stage) []string {
	return slices.Sorted(maps.Keys(kinds))
}
