package corpus

import (
	"context"
	"encoding/json"
	"io"
	"iter"

	"espalier/preprocess/example"
)

// A Source is a raw file opened for reading, expanded if it was a gzip stream,
// with what is to be known of it. It is safe for concurrent reads.
type Source struct {
	io.ReaderAt
	Size     int64     // in bytes, expanded
	Name     string    // as dead letters and messages have it
	Split    string    // the label asked for, "" if the file is to say
	Marks    []string  // see coco.Options
	Encoding string    // the encoding declared, "" for UTF-8
	Joined   []*Source // files joined to it, such as the annotations of questions
	// Memory is how many bytes an index that grows with the file may hold, 0 for
	// a default; what is more goes to files in Scratch, "" for the system's.
	Memory  int64
	Scratch string
	// Files are those of a folder that is read as one, which has no bytes of its
	// own. Open opens one of them; the function it returns closes it.
	Files []File
	Open  func(name string) (src *Source, closed func() error, err error)
}

// A File is one of a folder.
type File struct {
	Name   string
	Size   int64
	SHA256 string // of the file, or of the archive it is in
}

// A Slice is a run of rows of a file: what a part of an ingest works on.
type Slice struct {
	ID string          // digest of all that decides its rows, joined files included
	Of json.RawMessage // where it lies, in the terms of its format
}

// A Format reads raw files of one layout into rows.
//
// Plan finds where rows stand and cuts the file into slices of about mean rows;
// it settles what needs the whole file, such as numbers of rows and keys that
// occur twice. Read reads one slice. Neither looks at anything but the source.
type Format[F, M any] interface {
	Plan(ctx context.Context, src *Source, mean int) ([]Slice, error)
	Read(ctx context.Context, src *Source, of json.RawMessage) iter.Seq2[Record[example.Row[F, M]], error]
}

// SliceRows is the number of rows of a slice if nobody says otherwise.
const SliceRows = 4096

// sliceBytes is how much of a file such a slice takes at least.
const sliceBytes = 4 << 20

// Whole reads a whole file by way of its slices.
func Whole[F, M any](ctx context.Context, f Format[F, M], src *Source) iter.Seq2[Record[example.Row[F, M]], error] {
	return func(yield func(Record[example.Row[F, M]], error) bool) {
		list, err := f.Plan(ctx, src, SliceRows)
		if err != nil {
			yield(Record[example.Row[F, M]]{}, err)
			return
		}
		for _, sl := range list {
			for rec, err := range f.Read(ctx, src, sl.Of) {
				if !yield(rec, err) || err != nil {
					return
				}
			}
		}
	}
}
