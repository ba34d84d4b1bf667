package cli

import (
	"context"
	"slices"

	"github.com/spf13/pflag"

	"espalier/jobs"
	"espalier/pipeline"
	"espalier/preprocess"
)

// pictures are raw files that no ingest reads; features do.
var pictures = []string{"*.jpg", "*.jpeg", "*.png", "*.JPG"}

var ingestVerb = verb{
	name:  "ingest",
	args:  "CORPUS",
	short: "turn the raw files of a corpus into example shards",
	long:  []string{"CORPUS names a reader; espalier data list prints all. Rows that cannot be used become dead letters."},
	example: []string{
		"espalier ingest coco/karpathy --raw dataset_coco.json --out out/examples",
	},
	setup: func(f *pflag.FlagSet) action {
		var d directFlags
		var g preprocess.Ingest
		raw := f.String("raw", "", "raw `FILE`, or the folder of the corpus with its published names")
		notes := f.String("annotations", "", "`FILE` joined to the raw file, such as the annotations of VQA's questions")
		f.StringVar(&g.Split, "split", "", "the rows' split where the files do not say, or the one wanted: `S`")
		d.add(f)
		return func(ctx context.Context, c *console, args []string) error {
			if err := want(args, 1, 1, "one corpus"); err != nil {
				return err
			}
			if *raw == "" {
				return usagef("want --raw FILE or --raw DIR")
			}
			g.Corpus = args[0]
			if names := preprocess.Corpora(); !slices.Contains(names, g.Corpus) {
				return usagef("no corpus %s%s (espalier data list prints all)", g.Corpus, jobs.DidYouMean(g.Corpus, names))
			}
			graph := pipeline.Graph{Nodes: []pipeline.Node{{Name: "raw", Stage: &pipeline.Files{Path: *raw, Exclude: pictures}}}}
			inputs := map[string]string{"raw": "raw"}
			if *notes != "" {
				graph.Nodes = append(graph.Nodes, pipeline.Node{Name: "annotations", Stage: &pipeline.Files{Path: *notes}})
				inputs["annotations"] = "annotations"
			}
			graph.Nodes = append(graph.Nodes, pipeline.Node{Name: "examples", Stage: &g, Inputs: inputs})
			return d.make(ctx, c, graph, "examples")
		}
	},
}
