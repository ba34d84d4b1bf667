package preprocess

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"path"
	"regexp"
	"strings"

	"espalier/pipeline"
	"espalier/pipeline/store"
	"espalier/preprocess/corpus"
	"espalier/preprocess/corpus/coco"
	"espalier/preprocess/example"
	"espalier/preprocess/rawfile"
)

// A reader is what Ingest knows of a corpus.
type reader struct {
	name  string
	files *regexp.Regexp // published names of its files
	one   bool           // of one file only
	marks bool
	plan  func(ctx context.Context, p *rawfile.Plain, mean int, o coco.Options) ([]planned, error)
	read  func(ctx context.Context, t *pipeline.Task, p *rawfile.Plain, of json.RawMessage, o coco.Options) error
	whole func(ctx context.Context, p *rawfile.Plain, o coco.Options) iter.Seq2[outcome, error]
}

// A planned slice of a file.
type planned struct {
	id string // digest of all that decides its rows
	of any    // what read takes
}

// readers lists the corpora that Ingest reads.
var readers = []*reader{
	{
		name: "coco/karpathy", files: regexp.MustCompile(`^dataset_coco(_[a-z]+)?\.json(\.gz)?$`), one: true, marks: true,
		plan: func(ctx context.Context, p *rawfile.Plain, mean int, o coco.Options) ([]planned, error) {
			list, err := coco.PlanKarpathy(ctx, p, p.Size, mean, o)
			return plannedOf(list, func(s coco.Slice) string { return s.ID }), err
		},
		read: readKarpathy,
		whole: func(ctx context.Context, p *rawfile.Plain, o coco.Options) iter.Seq2[outcome, error] {
			return outcomes(coco.ReadKarpathy(ctx, p, p.Size, o), func(r *coco.MarkedRow) (string, string) { return r.Split, r.Meta.KarpathySplit })
		},
	},
	{
		name: "coco/captions", files: regexp.MustCompile(`^captions_(train|val)20\d\d\.json(\.gz)?$`),
		plan: func(ctx context.Context, p *rawfile.Plain, mean int, o coco.Options) ([]planned, error) {
			list, err := coco.PlanCaptions(ctx, p, p.Size, mean, o)
			return plannedOf(list, func(s coco.CaptionsSlice) string { return s.ID }), err
		},
		read: func(ctx context.Context, t *pipeline.Task, p *rawfile.Plain, of json.RawMessage, o coco.Options) error {
			var sl coco.CaptionsSlice
			if err := json.Unmarshal(of, &sl); err != nil {
				return err
			}
			return write(ctx, t, o.File, example.Schema, coco.ReadCaptionsSlice(ctx, p, sl, o), func(r *coco.CaptionsRow) (string, coco.CaptionsRow) { return r.Split, *r })
		},
		whole: func(ctx context.Context, p *rawfile.Plain, o coco.Options) iter.Seq2[outcome, error] {
			return outcomes(coco.ReadCaptions(ctx, p, p.Size, o), func(r *coco.CaptionsRow) (string, string) { return r.Split, r.Split })
		},
	},
	flickr("flickr8k", `^Flickr8k\.token(\.[a-z]+)?\.txt(\.gz)?$`),
	flickr("flickr30k", `^(results_20130124|results)\.token(\.gz)?$`),
}

func flickr(name, files string) *reader {
	return &reader{
		name: name, files: regexp.MustCompile(files), one: true,
		plan: func(ctx context.Context, p *rawfile.Plain, mean int, o coco.Options) ([]planned, error) {
			id, err := wholeFile(ctx, p, o.File)
			return []planned{{id: id}}, err
		},
		read: func(ctx context.Context, t *pipeline.Task, p *rawfile.Plain, of json.RawMessage, o coco.Options) error {
			o.Corpus = name
			return write(ctx, t, o.File, example.Schema, coco.ReadFlickr(ctx, p, p.Size, o), func(r *coco.FlickrRow) (string, coco.FlickrRow) { return r.Split, *r })
		},
		whole: func(ctx context.Context, p *rawfile.Plain, o coco.Options) iter.Seq2[outcome, error] {
			o.Corpus = name
			return outcomes(coco.ReadFlickr(ctx, p, p.Size, o), func(r *coco.FlickrRow) (string, string) { return r.Split, r.Split })
		},
	}
}

func readKarpathy(ctx context.Context, t *pipeline.Task, p *rawfile.Plain, of json.RawMessage, o coco.Options) error {
	var sl coco.Slice
	if err := json.Unmarshal(of, &sl); err != nil {
		return err
	}
	seq := coco.ReadKarpathySlice(ctx, p, sl, o)
	if len(o.Marks) > 0 {
		return write(ctx, t, o.File, example.Schema, seq, func(r *coco.MarkedRow) (string, coco.MarkedRow) { return r.Split, *r })
	}
	return write(ctx, t, o.File, example.Schema, seq, func(r *coco.MarkedRow) (string, coco.KarpathyRow) { return r.Split, coco.Unmarked(r) })
}

// Corpora returns the names of the corpora that Ingest reads.
func Corpora() []string {
	names := make([]string, len(readers))
	for i, r := range readers {
		names[i] = r.name
	}
	return names
}

func readerOf(name string) (*reader, bool) {
	for _, r := range readers {
		if r.name == name {
			return r, true
		}
	}
	return nil, false
}

func (g *Ingest) options(file string) coco.Options {
	return coco.Options{File: file, Split: g.Split, Marks: g.Marks}
}

// find returns the corpus's files among others: those with published names, or
// else the only file there is.
func (r *reader) find(files []store.FileEntry) ([]string, error) {
	var found []string
	for _, f := range files {
		if r.files.MatchString(path.Base(f.Name)) {
			found = append(found, f.Name)
		}
	}
	switch {
	case len(found) == 0 && len(files) == 1:
		return []string{files[0].Name}, nil
	case len(found) == 0 && len(files) == 0:
		return nil, nil // all were refused before
	case len(found) == 0:
		return nil, &pipeline.RefusedError{File: r.name, Offset: -1, Reason: fmt.Sprintf("no file named like %s among %d raw files", plainPattern(r.files), len(files))}
	case len(found) > 1 && r.one:
		return nil, &pipeline.RefusedError{File: found[1], Offset: -1, Reason: "a second file of " + r.name + " beside " + found[0]}
	}
	return found, nil
}

// plainPattern shows a pattern without its anchors and escapes.
func plainPattern(re *regexp.Regexp) string {
	s := strings.TrimSuffix(strings.TrimPrefix(re.String(), "^"), "$")
	return strings.NewReplacer(`(\.gz)?`, "", `(_[a-z]+)?`, "", `(\.[a-z]+)?`, "", `\`, "").Replace(s)
}

func plannedOf[S any](list []S, id func(S) string) []planned {
	out := make([]planned, len(list))
	for i, s := range list {
		out[i] = planned{id: id(s), of: s}
	}
	return out
}

// wholeFile is the digest of a file that is one slice.
func wholeFile(ctx context.Context, p *rawfile.Plain, name string) (string, error) {
	d := corpus.NewDigest(name)
	buf := make([]byte, 1<<20)
	for at := int64(0); at < p.Size; {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		n := min(int64(len(buf)), p.Size-at)
		if _, err := p.ReadAt(buf[:n], at); err != nil && at+n < p.Size {
			return "", err
		}
		d.Add(at, buf[:n])
		at += n
	}
	return d.String(), nil
}
