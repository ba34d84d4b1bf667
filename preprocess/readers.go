package preprocess

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"espalier/pipeline"
	"espalier/preprocess/corpus"
	"espalier/preprocess/corpus/coco"
	"espalier/preprocess/example"
)

// A reader is what Ingest knows of a corpus.
type reader struct {
	name  string
	files func() *regexp.Regexp // published names of its files
	one   bool                  // of one file only
	marks bool
	// encoded says that an encoding may be declared.
	encoded bool
	// home has the published names of the folder of the files, in which those
	// of other tasks have the same names. A split is then in one file.
	home []string
	// folders says that what is read as one is a folder of files.
	folders bool
	// within is the number of folders above a file whose names tell something.
	within int
	// joins names the files that are joined to a file, by their published
	// names; of each the first that exists is taken. Nil if there are none.
	joins func(name string) [][]string
	// rather are the names of files that are read in the place of others of the
	// same split. Nil if there are none.
	rather func() *regexp.Regexp
	// says returns the splits that rows of a file with a published name have, if
	// they are not what such names say as a rule. It may be nil.
	says func(name string, joined bool) []string
	// selects says that a split asked for selects rows of a file.
	selects bool
	plan    func(ctx context.Context, src *corpus.Source, mean int) ([]corpus.Slice, error)
	read    func(ctx context.Context, t *pipeline.Task, src *corpus.Source, of json.RawMessage) error
	whole   func(ctx context.Context, src *corpus.Source) iter.Seq2[outcome, error]
}

// readers lists the corpora that Ingest reads.
var readers = slices.Concat(captionReaders, visionReaders, chineseReaders, englishReaders)

// captionReaders read captions of images.
var captionReaders = []*reader{
	karpathy,
	{
		name: "coco/captions", files: named(`^captions_(train|val)20\d\d\.json$`),
		plan: func(ctx context.Context, src *corpus.Source, mean int) ([]corpus.Slice, error) {
			list, err := coco.PlanCaptions(ctx, src, src.Size, mean, cocoOptions(src))
			return slicesOf(list, func(s coco.CaptionsSlice) string { return s.ID }, err)
		},
		read: func(ctx context.Context, t *pipeline.Task, src *corpus.Source, of json.RawMessage) error {
			var sl coco.CaptionsSlice
			if err := json.Unmarshal(of, &sl); err != nil {
				return err
			}
			return write(ctx, t, src.Name, example.Schema, coco.ReadCaptionsSlice(ctx, src, sl, cocoOptions(src)), func(r *coco.CaptionsRow) (string, coco.CaptionsRow) { return r.Split, *r })
		},
		whole: func(ctx context.Context, src *corpus.Source) iter.Seq2[outcome, error] {
			return outcomes(coco.ReadCaptions(ctx, src, src.Size, cocoOptions(src)), func(r *coco.CaptionsRow) (string, string) { return r.Split, r.Split })
		},
	},
	flickr("flickr8k", `^Flickr8k\.token(\.[a-z]+)?\.txt$`),
	flickr("flickr30k", `^(results_20130124|results)\.token$`),
}

// of makes the reader of a corpus whose files have names of a pattern.
func of[F, M any](name, files string, f corpus.Format[F, M]) *reader {
	type row = example.Row[F, M]
	return &reader{
		name: name, files: named(files), plan: f.Plan,
		read: func(ctx context.Context, t *pipeline.Task, src *corpus.Source, of json.RawMessage) error {
			return write(ctx, t, src.Name, example.Schema, f.Read(ctx, src, of), func(r *row) (string, row) { return r.Split, *r })
		},
		whole: func(ctx context.Context, src *corpus.Source) iter.Seq2[outcome, error] {
			return outcomes(corpus.Whole(ctx, f, src), func(r *row) (string, string) { return r.Split, r.Split })
		},
	}
}

// within makes a reader look at the names of so many folders above a file.
func within(folders int, r *reader) *reader {
	r.within = folders
	return r
}

// rather makes a reader pass over files beside those of a pattern of the same
// split, which have the rows that are wanted.
func rather(files string, r *reader) *reader {
	r.rather = named(files)
	return r
}

// selecting makes a reader whose files say the split of each row.
func selecting(r *reader) *reader {
	r.selects = true
	return r
}

// pick makes a reader of others, of which the file tells one.
func pick(name, files string, one func(src *corpus.Source) (*reader, error)) *reader {
	return &reader{
		name: name, files: named(files),
		plan: func(ctx context.Context, src *corpus.Source, mean int) ([]corpus.Slice, error) {
			r, err := one(src)
			if err != nil {
				return nil, err
			}
			return r.plan(ctx, src, mean)
		},
		read: func(ctx context.Context, t *pipeline.Task, src *corpus.Source, of json.RawMessage) error {
			r, err := one(src)
			if err != nil {
				return err
			}
			return r.read(ctx, t, src, of)
		},
		whole: func(ctx context.Context, src *corpus.Source) iter.Seq2[outcome, error] {
			r, err := one(src)
			if err != nil {
				return func(yield func(outcome, error) bool) { yield(outcome{}, err) }
			}
			return r.whole(ctx, src)
		},
	}
}

// firstByte returns the first byte of a file that is not blank, 0 if there is
// none among the first few.
func firstByte(src *corpus.Source) (byte, error) {
	var head [512]byte
	n, err := src.ReadAt(head[:min(src.Size, int64(len(head)))], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	text := bytes.TrimLeft(bytes.TrimPrefix(head[:n], []byte("\xef\xbb\xbf")), " \t\r\n")
	if len(text) == 0 {
		return 0, nil
	}
	return text[0], nil
}

// name0 is the corpus of a reader's name: okvqa of okvqa/stemmed.
func name0(name string) string {
	name, _, _ = strings.Cut(name, "/")
	return name
}

var karpathy = &reader{
	name: "coco/karpathy", files: named(`^dataset_coco(_[a-z]+)?\.json$`), one: true, marks: true, selects: true,
	plan: func(ctx context.Context, src *corpus.Source, mean int) ([]corpus.Slice, error) {
		list, err := coco.PlanKarpathy(ctx, src, src.Size, mean, cocoOptions(src))
		return slicesOf(list, func(s coco.Slice) string { return s.ID }, err)
	},
	read: func(ctx context.Context, t *pipeline.Task, src *corpus.Source, of json.RawMessage) error {
		var sl coco.Slice
		if err := json.Unmarshal(of, &sl); err != nil {
			return err
		}
		seq := coco.ReadKarpathySlice(ctx, src, sl, cocoOptions(src))
		if len(src.Marks) > 0 {
			return write(ctx, t, src.Name, example.Schema, seq, func(r *coco.MarkedRow) (string, coco.MarkedRow) { return r.Split, *r })
		}
		return write(ctx, t, src.Name, example.Schema, seq, func(r *coco.MarkedRow) (string, coco.KarpathyRow) { return r.Split, coco.Unmarked(r) })
	},
	whole: func(ctx context.Context, src *corpus.Source) iter.Seq2[outcome, error] {
		return outcomes(coco.ReadKarpathy(ctx, src, src.Size, cocoOptions(src)), func(r *coco.MarkedRow) (string, string) { return r.Split, r.Meta.KarpathySplit })
	},
}

func flickr(name, files string) *reader {
	options := func(src *corpus.Source) coco.Options {
		o := cocoOptions(src)
		o.Corpus = name
		return o
	}
	return &reader{
		name: name, files: named(files), one: true,
		plan: func(ctx context.Context, src *corpus.Source, mean int) ([]corpus.Slice, error) {
			id, err := wholeFile(ctx, src)
			return []corpus.Slice{{ID: id, Of: json.RawMessage("null")}}, err
		},
		read: func(ctx context.Context, t *pipeline.Task, src *corpus.Source, of json.RawMessage) error {
			return write(ctx, t, src.Name, example.Schema, coco.ReadFlickr(ctx, src, src.Size, options(src)), func(r *coco.FlickrRow) (string, coco.FlickrRow) { return r.Split, *r })
		},
		whole: func(ctx context.Context, src *corpus.Source) iter.Seq2[outcome, error] {
			return outcomes(coco.ReadFlickr(ctx, src, src.Size, options(src)), func(r *coco.FlickrRow) (string, string) { return r.Split, r.Split })
		},
	}
}

func cocoOptions(src *corpus.Source) coco.Options {
	return coco.Options{File: src.Name, Split: src.Split, Marks: src.Marks}
}

// Corpora returns the names of the corpora that Ingest reads.
func Corpora() []string {
	names := make([]string, len(readers))
	for i, r := range readers {
		names[i] = r.name
	}
	return names
}

// Above returns how many folders above a root an ingest must keep in the names of
// the files below it, because they tell the corpus something. Without names it is
// the most.
func Above(corpus, root string, names ...string) int {
	r, known := readerOf(corpus)
	if !known {
		return 0
	}
	parts := strings.Split(strings.Trim(root, "/"), "/")
	for up := range min(r.within, len(parts)) {
		deep := 0
		enough := !slices.ContainsFunc(names, func(name string) bool {
			name = path.Join(path.Join(parts[len(parts)-up:]...), name)
			if !r.has(name) {
				return false
			}
			deep++
			return strings.Count(name, "/") < r.within
		})
		if enough && deep > 0 {
			return up
		}
	}
	return r.within
}

// Joins reports whether a file is joined to the raw files of a corpus.
func Joins(name string) bool {
	r, ok := readerOf(name)
	return ok && r.joins != nil
}

func readerOf(name string) (*reader, bool) {
	for _, r := range readers {
		if r.name == name {
			return r, true
		}
	}
	return nil, false
}

// named returns a function that compiles a pattern of names once, when it is
// asked for: most runs of the program read no raw file.
func named(files string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(files) })
}

func slicesOf[S any](list []S, id func(S) string, err error) ([]corpus.Slice, error) {
	if err != nil {
		return nil, err
	}
	out := make([]corpus.Slice, len(list))
	for i, s := range list {
		of, err := json.Marshal(s)
		if err != nil {
			return nil, err
		}
		out[i] = corpus.Slice{ID: id(s), Of: of}
	}
	return out, nil
}

// wholeFile is the digest of a file that is one slice.
func wholeFile(ctx context.Context, src *corpus.Source) (string, error) {
	d := corpus.NewDigest(src.Name)
	if err := d.AddAll(ctx, src); err != nil {
		return "", err
	}
	return d.String(), nil
}
