package jobs

import (
	"maps"
	"slices"

	"espalier/data"
	"espalier/evaluate"
	"espalier/evaluate/report"
	"espalier/evaluate/vqa"
	"espalier/features"
	"espalier/pipeline"
	"espalier/preprocess"
	"espalier/tokenize"
	"espalier/trainer"
)

// Kinds returns every kind of stage that a job may name: the one list of them.
func Kinds() map[string]func() pipeline.Stage {
	tools := Tools()
	return map[string]func() pipeline.Stage{
		pipeline.FilesKind:   func() pipeline.Stage { return new(pipeline.Files) },
		"data/sample":        func() pipeline.Stage { return new(data.Sample) },
		"preprocess/split":   func() pipeline.Stage { return new(preprocess.Split) },
		"preprocess/ingest":  func() pipeline.Stage { return new(preprocess.Ingest) },
		"preprocess/render":  func() pipeline.Stage { return new(preprocess.Render) },
		"preprocess/select":  func() pipeline.Stage { return new(preprocess.Select) },
		"preprocess/guard":   func() pipeline.Stage { return new(preprocess.Guard) },
		"preprocess/answers": func() pipeline.Stage { return preprocess.NewAnswers(vqa.Process) },
		"tokenize/train":     func() pipeline.Stage { return new(tokenize.Train) },
		"tokenize/encode":    func() pipeline.Stage { return new(tokenize.Encode) },
		"features/extract":   func() pipeline.Stage { return new(features.Extract) },
		"features/import":    func() pipeline.Stage { return new(features.Import) },
		"trainer/train":      func() pipeline.Stage { return trainer.NewTrain(tools) },
		"trainer/predict":    func() pipeline.Stage { return trainer.NewPredict(tools) },
		"trainer/backbone":   func() pipeline.Stage { return new(trainer.Backbone) },
		"trainer/tune":       func() pipeline.Stage { return trainer.NewTune(tools) },
		"trainer/generate":   func() pipeline.Stage { return trainer.NewGenerate(tools) },
		"evaluate/measure":   func() pipeline.Stage { return new(evaluate.Measure) },
		"evaluate/aggregate": func() pipeline.Stage { return new(evaluate.Aggregate) },
		"evaluate/report":    func() pipeline.Stage { return new(report.Report) },
	}
}

// A ports says which inputs a kind reads, by the names it knows them under.
type ports struct {
	needs []string
	takes []string // can do without
	parts []string // may also come as several, NAME-ANYTHING
	any   bool     // reads inputs of all other names too
}

// inputsOf has the kinds whose inputs are checked when a job is read.
var inputsOf = map[string]ports{
	pipeline.FilesKind:   {},
	"data/sample":        {},
	"preprocess/ingest":  {needs: []string{"raw"}, takes: []string{"annotations"}},
	"preprocess/split":   {needs: []string{"examples"}},
	"preprocess/render":  {needs: []string{"examples"}},
	"preprocess/select":  {needs: []string{"examples", "split"}},
	"preprocess/guard":   {any: true},
	"preprocess/answers": {needs: []string{"examples"}},
	"tokenize/train":     {takes: []string{"examples", "words", "texts"}, parts: []string{"texts"}}, // by its type; Run says so
	"tokenize/encode":    {needs: []string{"examples", "vocab"}},
	"features/import":    {needs: []string{"raw"}, takes: []string{"examples"}},
	"features/extract":   {needs: []string{"images"}, takes: []string{"examples", "weights"}},
	"trainer/train":      {needs: []string{"tokens", "vocab", "features"}, takes: []string{"examples", "init"}},
	"trainer/predict":    {needs: []string{"model", "features", "examples"}},
	"trainer/backbone":   {needs: []string{"vocab"}},
	"trainer/tune":       {takes: []string{"backbone", "vocab", "features", "init"}, any: true},
	"trainer/generate":   {needs: []string{"model", "tokens"}, takes: []string{"backbone", "vocab", "features"}, any: true},
	"evaluate/measure":   {needs: []string{"examples"}, takes: []string{"predictions", "meteor", "df"}, parts: []string{"examples", "predictions"}},
	"evaluate/aggregate": {needs: []string{"scores"}},
	"evaluate/report":    {any: true},
}

func kindNames(kinds map[string]func() pipeline.Stage) []string {
	return slices.Sorted(maps.Keys(kinds))
}
