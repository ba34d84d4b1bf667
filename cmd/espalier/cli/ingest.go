package cli

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

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
		"espalier ingest glue/qnli --raw QNLI.zip --out out/qnli",
	},
	setup: func(f *pflag.FlagSet) action {
		var d directFlags
		var g preprocess.Ingest
		raw := f.String("raw", "", "raw `FILE`, or the folder of the corpus with its published names")
		notes := f.String("annotations", "", "`FILE` joined to the raw file, such as the annotations of VQA's questions")
		devIDs := f.String("dev-ids", "", "`FILE` with the pairs of MRPC that are validation")
		f.StringVar(&g.Encoding, "encoding", "", "not the corpus's own `E`: utf-8, latin-1, windows-1252, gb18030")
		f.StringVar(&g.Member, "member", "", "`PATH` in the archive (default: the published names)")
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
			if *devIDs != "" {
				if *notes != "" || g.Corpus != "glue/mrpc" {
					return usagef("--dev-ids goes with glue/mrpc, without --annotations")
				}
				*notes = *devIDs
			}
			if *notes != "" && !preprocess.Joins(g.Corpus) {
				return usagef("--annotations: nothing is joined to the files of %s", g.Corpus)
			}
			files, err := rawFiles(ctx, *raw, d.out, g.Corpus)
			if err != nil {
				return err
			}
			graph := pipeline.Graph{Nodes: []pipeline.Node{{Name: "raw", Stage: files}}}
			inputs := map[string]string{"raw": "raw"}
			if *notes != "" {
				graph.Nodes = append(graph.Nodes, pipeline.Node{Name: "annotations", Stage: &pipeline.Files{Path: *notes}})
				inputs["annotations"] = "annotations"
			}
			graph.Nodes = append(graph.Nodes, pipeline.Node{Name: "examples", Stage: &g, Inputs: inputs})
			if os.Getenv("GOGC") == "" {
				defer debug.SetGCPercent(debug.SetGCPercent(250)) // what lives is small, and much is thrown away
			}
			return d.make(ctx, c, graph, "examples")
		}
	},
}

// rawFiles takes a file, or the files below a folder, and keeps in their names
// those of folders above that tell the corpus something. An output in the folder
// is none of the corpus's files.
func rawFiles(ctx context.Context, raw, out, corpus string) (*pipeline.Files, error) {
	root, err := filepath.Abs(raw)
	if err != nil {
		return nil, err
	}
	plain := &pipeline.Files{Path: raw, Exclude: slices.Concat(pictures, inside(root, out))}
	if preprocess.Above(corpus, "") == 0 {
		return plain, nil
	}
	info, err := os.Stat(root)
	if err != nil {
		return plain, nil // the engine says that it is not there
	}
	names := []string{filepath.Base(root)}
	if !info.IsDir() {
		root = filepath.Dir(root)
	} else if names, err = (&pipeline.Files{Path: root, Exclude: plain.Exclude}).Find(ctx); err != nil {
		return nil, err
	}
	up := preprocess.Above(corpus, filepath.ToSlash(root), names...)
	if up == 0 || len(names) == 0 {
		return plain, nil
	}
	f := &pipeline.Files{Path: root}
	for range up {
		f.Path = filepath.Dir(f.Path)
	}
	rel, err := filepath.Rel(f.Path, root)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		f.Names = append(f.Names, path.Join(filepath.ToSlash(rel), name))
	}
	return f, nil
}

// inside returns patterns of the files of an output and of work on it, if it
// lies below a root.
func inside(root, out string) []string {
	if out == "" {
		return nil
	}
	dir, err := filepath.Abs(out)
	if err != nil {
		return nil
	}
	rel, err := filepath.Rel(root, dir)
	if err != nil || rel == "." || !filepath.IsLocal(rel) {
		return nil
	}
	escape := strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`)
	var patterns []string
	for _, folder := range jobs.Folders(rel) {
		patterns = append(patterns, escape.Replace(filepath.ToSlash(folder))+"/**")
	}
	return patterns
}
