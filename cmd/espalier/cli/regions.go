package cli

import (
	"context"

	"github.com/spf13/pflag"

	"espalier/features"
	"espalier/pipeline"
)

var regionsVerb = verb{
	name:  "regions",
	args:  "--raw FILE|DIR",
	short: "turn region features that others made into vector shards",
	long: []string{
		"Reads TSV files of bottom-up attention or LXMERT, and folders of NPY or NPZ files, one an image.",
	},
	example: []string{
		"espalier regions --raw karpathy_train.tsv --out out/regions",
		"espalier regions --raw cocobu --format arrays --features att --out out/regions",
	},
	setup: func(f *pflag.FlagSet) action {
		var d directFlags
		var m features.Import
		raw := f.String("raw", "", "`PATH` of a TSV file, or of a folder")
		f.StringVar(&m.Format, "format", "", "`FORMAT`: tsv (bottom-up attention, default), lxmert or arrays (NPY, NPZ)")
		f.StringVar(&m.DType, "dtype", "", "`TYPE` of stored values: float32 (default) or float16")
		f.StringVar(&m.Features, "features", "", "arrays: `FOLDER` of the features below --raw (default att)")
		f.StringVar(&m.Boxes, "boxes", "", "arrays: `FOLDER` of the boxes relative to the image (default box_relative)")
		f.StringVar(&m.Key, "array", "", "arrays: `NAME` of the array in an NPZ file (default feat)")
		d.add(f)
		return func(ctx context.Context, c *console, args []string) error {
			if err := want(args, 0, 0, "none"); err != nil {
				return err
			}
			if *raw == "" {
				return usagef("want --raw FILE or DIR")
			}
			return d.make(ctx, c, pipeline.Graph{Nodes: []pipeline.Node{
				{Name: "raw", Stage: &pipeline.Files{Path: *raw}},
				{Name: "regions", Stage: &m, Inputs: map[string]string{"raw": "raw"}},
			}}, "regions")
		}
	},
}
