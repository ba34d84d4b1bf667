package corpus

import (
	"context"
	"encoding/json"
	"io"
	"iter"
	"path"
	"regexp"
	"strings"

	"espalier/preprocess/example"
)

// An either is a format that is told by the file.
type either[F, M any] struct {
	of func(src *Source) (Format[F, M], error)
}

// Either returns a format that is another one for each file: of must tell the
// same whenever it is asked.
func Either[F, M any](of func(src *Source) (Format[F, M], error)) Format[F, M] {
	return either[F, M]{of}
}

func (e either[F, M]) Plan(ctx context.Context, src *Source, mean int) ([]Slice, error) {
	f, err := e.of(src)
	if err != nil {
		return nil, err
	}
	return f.Plan(ctx, src, mean)
}

func (e either[F, M]) Read(ctx context.Context, src *Source, of json.RawMessage) iter.Seq2[Record[example.Row[F, M]], error] {
	f, err := e.of(src)
	if err != nil {
		return func(yield func(Record[example.Row[F, M]], error) bool) { yield(Record[example.Row[F, M]]{}, err) }
	}
	return f.Read(ctx, src, of)
}

// A standard format labels rows with the standard name of their file's split.
type standard[F, M any] struct {
	Format[F, M]
	or string
}

// Standard returns a format whose rows have the label asked for, or else the
// standard name of the split that the file's name says, or else another one.
func Standard[F, M any](f Format[F, M], or string) Format[F, M] { return standard[F, M]{f, or} }

func (s standard[F, M]) labelled(src *Source) *Source {
	if src.Split != "" {
		return src
	}
	c := *src
	if c.Split = StandardSplit(src.Name); c.Split == "" {
		c.Split = s.or
	}
	return &c
}

func (s standard[F, M]) Plan(ctx context.Context, src *Source, mean int) ([]Slice, error) {
	return s.Format.Plan(ctx, s.labelled(src), mean)
}

func (s standard[F, M]) Read(ctx context.Context, src *Source, of json.RawMessage) iter.Seq2[Record[example.Row[F, M]], error] {
	return s.Format.Read(ctx, s.labelled(src), of)
}

// Saved is the pattern of names that save_to_disk gives to files, whose folder is
// the split.
const Saved = `data-\d{5}-of-\d{5}\.arrow`

var saved = regexp.MustCompile("^" + Saved + "$")

// StandardSplit returns the standard name of the split that a file's name says:
// "validation_matched" for dev_matched.tsv, "train" for
// msr_paraphrase_train_original.txt, and "test" for test/data-00000-of-00001.arrow.
// It is "" if the name says none, or two.
func StandardSplit(name string) string {
	base := path.Base(name)
	if saved.MatchString(base) {
		base = path.Base(path.Dir(name))
	}
	words := strings.FieldsFunc(strings.ToLower(base), func(r rune) bool {
		return r == '_' || r == '-' || r == ' ' || r == '.'
	})
	split := ""
	for _, w := range words {
		s := ""
		switch strings.TrimRight(w, "0123456789") {
		case "train":
			s = "train"
		case "dev", "val", "valid", "validation":
			s = "validation"
		case "test":
			s = "test"
		case "matched", "mismatched":
			if split != "" && !strings.Contains(split, "_") {
				split += "_" + w
			}
		}
		if s != "" && split != "" && split != s {
			return ""
		}
		if s != "" {
			split = s
		}
	}
	return split
}

// IsParquet reports whether a source is a Parquet file, an Arrow file or an Arrow
// stream, as save_to_disk of Hugging Face's datasets writes them, or one of those
// that cannot be read: an encrypted one, or Feather of version 1.
func IsParquet(src *Source) (bool, error) {
	var magic [6]byte
	n, err := src.ReadAt(magic[:min(src.Size, 6)], 0)
	if err != nil && err != io.EOF {
		return false, err
	}
	head := string(magic[:n])
	return strings.HasPrefix(head, "PAR1") || strings.HasPrefix(head, "PARE") || head == "ARROW1" || strings.HasPrefix(head, "FEA1") || strings.HasPrefix(head, "\xff\xff\xff\xff"), nil
}

// Ext returns the extension of a source's name, that of a gzip stream's content.
func Ext(src *Source) string { return path.Ext(strings.TrimSuffix(src.Name, ".gz")) }

// nothing is what all rows without fields or meta have.
var nothing = None{}

// Zero returns the zero value of a row's fields or meta; for those that have
// none, a None that is not nil.
func Zero[T any]() (v T) {
	if p, ok := any(&v).(*None); ok {
		*p = nothing
	}
	return v
}
