package preprocess

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"espalier/pipeline"
	"espalier/pipeline/store"
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
	plan  func(ctx context.Context, src *corpus.Source, mean int) ([]corpus.Slice, error)
	read  func(ctx context.Context, t *pipeline.Task, src *corpus.Source, of json.RawMessage) error
	whole func(ctx context.Context, src *corpus.Source) iter.Seq2[outcome, error]
}

// readers lists the corpora that Ingest reads.
var readers = slices.Concat(captionReaders, visionReaders, chineseReaders, englishReaders)

// captionReaders read captions of images.
var captionReaders = []*reader{
	karpathy,
	{
		name: "coco/captions", files: named(`^captions_(train|val)20\d\d\.json(\.gz)?$`),
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
	flickr("flickr8k", `^Flickr8k\.token(\.[a-z]+)?\.txt(\.gz)?$`),
	flickr("flickr30k", `^(results_20130124|results)\.token(\.gz)?$`),
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
	name: "coco/karpathy", files: named(`^dataset_coco(_[a-z]+)?\.json(\.gz)?$`), one: true, marks: true,
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

// Within returns the number of folders above a raw file whose names tell a
// corpus something: an ingest must keep them in the file's name.
func Within(name string) int {
	if r, ok := readerOf(name); ok {
		return r.within
	}
	return 0
}

func readerOf(name string) (*reader, bool) {
	for _, r := range readers {
		if r.name == name {
			return r, true
		}
	}
	return nil, false
}

// find returns the corpus's files among others: those with published names, or
// else the only file there is. If names tell splits, a split selects files.
func (r *reader) find(files []store.FileEntry, split string) ([]string, error) {
	var found []string
	for _, f := range files {
		name := path.Base(f.Name)
		if r.folders {
			name = strings.Join(lastOf(f.Name, 3), "/")
		}
		if r.files().MatchString(name) {
			found = append(found, f.Name)
		}
	}
	refuse := func(file, reason string) ([]string, error) {
		return nil, &pipeline.RefusedError{File: file, Offset: -1, Reason: reason}
	}
	switch {
	case len(found) == 0 && len(files) == 1 && !r.folders:
		return []string{files[0].Name}, nil
	case len(found) == 0 && len(files) == 0:
		return nil, nil // all were refused before
	case len(found) == 0:
		return refuse(r.name, fmt.Sprintf("no file named like %s among %d raw files", plainPattern(r.files()), len(files)))
	case len(found) > 1 && r.one:
		return refuse(found[1], "a second file of "+r.name+" beside "+found[0])
	}
	if r.folders {
		for i := range found {
			found[i] = path.Dir(found[i])
		}
		slices.Sort(found)
		found = slices.Compact(found)
	}
	if home := r.atHome(found); len(home) > 0 {
		found = home
	}
	if split != "" && len(found) > 1 {
		same := func(name string) bool {
			return example.SameSplit(r.splitOf(name), strings.TrimRight(split, "0123456789"))
		}
		if slices.ContainsFunc(found, same) {
			found = slices.DeleteFunc(found, func(name string) bool { return !same(name) })
		}
	}
	if len(r.home) > 0 {
		seen := map[string]string{}
		for _, name := range found {
			s := r.splitOf(name)
			if other, twice := seen[s]; twice && !strings.Contains(name, "-of-") {
				return refuse(name, "a second file of "+r.name+" for one split beside "+other)
			}
			seen[s] = name
		}
	}
	return found, nil
}

// splitOf is the split that the name of a file or folder says.
func (r *reader) splitOf(name string) string {
	if r.folders {
		name = path.Dir(name)
	}
	return corpus.StandardSplit(name)
}

// atHome returns the files that lie in a folder of the corpus's own.
func (r *reader) atHome(names []string) (out []string) {
	for _, name := range names {
		parts := strings.Split(path.Dir(name), "/")
		if slices.ContainsFunc(parts, func(p string) bool {
			p = strings.TrimSuffix(p, ".zip")
			return slices.ContainsFunc(r.home, func(h string) bool { return strings.EqualFold(p, h) })
		}) {
			out = append(out, name)
		}
	}
	return out
}

// below returns the files of a folder that is read as one.
func (r *reader) below(dir string, files []store.FileEntry) (out []store.FileEntry) {
	if !r.folders {
		return nil
	}
	for _, f := range files {
		if path.Dir(f.Name) == dir && r.files().MatchString(strings.Join(lastOf(f.Name, 3), "/")) {
			out = append(out, f)
		}
	}
	return out
}

// lastOf returns the last names of a path.
func lastOf(name string, n int) []string {
	parts := strings.Split(name, "/")
	return parts[max(len(parts)-n, 0):]
}

// named returns a function that compiles a pattern of names once, when it is
// asked for: most runs of the program read no raw file.
func named(files string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(files) })
}

// plainPattern shows a pattern without its anchors and escapes.
func plainPattern(re *regexp.Regexp) string {
	s := strings.TrimSuffix(strings.TrimPrefix(re.String(), "^"), "$")
	return strings.NewReplacer(`(\.gz)?`, "", `(_[a-z]+)?`, "", `(\.[a-z]+)?`, "", `\`, "").Replace(s)
}

// joined returns the names of the files that are joined to a file.
func (r *reader) joined(name string, files []store.FileEntry) []string {
	if r.joins == nil {
		return nil
	}
	var out []string
	for _, names := range r.joins(path.Base(name)) {
		if found := firstOf(names, path.Dir(name), files); found != "" {
			out = append(out, found)
		}
	}
	return out
}

// firstOf returns the first of some base names that a file has, one of the
// same folder before others.
func firstOf(names []string, dir string, files []store.FileEntry) string {
	for _, want := range names {
		other := ""
		for _, f := range files {
			if path.Base(f.Name) != want {
				continue
			}
			if path.Dir(f.Name) == dir {
				return f.Name
			}
			if other == "" {
				other = f.Name
			}
		}
		if other != "" {
			return other
		}
	}
	return ""
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
