// Package vectors is the image-feature record.
//
// Grids lie in Arrow IPC files: columns id (utf8), height, width (int32) and
// values, one fixed-size list of float16 or float32 a row, whose values lie
// side by side (row-major, channels last), so that a row's place is computed
// and read with one pread. Region features have columns id, count (int32),
// values and boxes (lists).
//
// A [File] is safe for concurrent use, a [Writer] is not.
package vectors

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"

	"espalier/pipeline/shard"
)

// Schemas are the schema ids of vector shards.
const (
	GridSchema   = "vectors/grid/1"
	RegionSchema = "vectors/region/1"
)

const schemaKey = "espalier.schema"

// A Row is one image's features.
type Row struct {
	ID            string    // as written in the list, or relative to the root of the folder
	Height, Width int       // cells of a grid; 0 for regions
	Count         int       // vectors: Height*Width of a grid, boxes of a region row
	Dim           int       // length of one vector
	Values        []float32 // Count*Dim
	Boxes         []float32 // Count*4: x1 y1 x2 y2 relative to the image; nil for grids
}

// Options say what a file holds.
type Options struct {
	// Height and Width are the cells of every grid; both 0 means regions.
	Height, Width int
	Dim           int               // length of one vector
	Half          bool              // float16 values; boxes are float32 always
	Metadata      map[string]string // of the file
}

func (o Options) regions() bool { return o.Height == 0 && o.Width == 0 }

// Schema returns the schema id of files with these options.
func (o Options) Schema() string {
	if o.regions() {
		return RegionSchema
	}
	return GridSchema
}

// A Writer writes rows to a vector shard.
type Writer struct {
	w *shard.ArrayWriter
	o Options
}

// NewWriter returns a Writer to w.
func NewWriter(w io.Writer, o Options) (*Writer, error) {
	if o.Dim < 1 || o.Height < 0 || o.Width < 0 || !o.regions() && (o.Height == 0 || o.Width == 0) {
		return nil, fmt.Errorf("vectors: grid of %dx%d vectors of %d numbers", o.Height, o.Width, o.Dim)
	}
	spec := shard.ArraySpec{Metadata: map[string]string{schemaKey: o.Schema()}}
	maps.Copy(spec.Metadata, o.Metadata)
	dtype := map[bool]string{false: "float32", true: "float16"}[o.Half]
	if o.regions() {
		spec.Ints = []string{"count"}
		spec.Lists = []shard.ListSpec{
			{Name: "values", Half: o.Half, Metadata: map[string]string{"shape": fmt.Sprintf("-1,%d", o.Dim), "dtype": dtype}},
			{Name: "boxes", Metadata: map[string]string{"shape": "-1,4", "dtype": "float32"}},
		}
	} else {
		spec.Ints = []string{"height", "width"}
		spec.Lists = []shard.ListSpec{{
			Name: "values", Half: o.Half, Len: o.Height * o.Width * o.Dim,
			Metadata: map[string]string{"shape": fmt.Sprintf("%d,%d,%d", o.Height, o.Width, o.Dim), "dtype": dtype},
		}}
	}
	a, err := shard.NewArrayWriter(w, spec)
	return &Writer{a, o}, err
}

// Write appends a row. It keeps no reference to it.
func (w *Writer) Write(r *Row) error {
	if r.Height != w.o.Height || r.Width != w.o.Width || r.Dim != w.o.Dim || !w.o.regions() && r.Count != r.Height*r.Width {
		return fmt.Errorf("image %q: %dx%d, %d vectors of %d numbers; the file holds %dx%d of %d", r.ID, r.Height, r.Width, r.Count, r.Dim, w.o.Height, w.o.Width, w.o.Dim)
	}
	if len(r.Values) != r.Count*r.Dim || w.o.regions() && len(r.Boxes) != 4*r.Count || !w.o.regions() && r.Boxes != nil {
		return fmt.Errorf("image %q: %d values and %d box numbers for %d vectors of %d", r.ID, len(r.Values), len(r.Boxes), r.Count, r.Dim)
	}
	if w.o.regions() {
		return w.w.Write(r.ID, []int32{int32(r.Count)}, r.Values, r.Boxes)
	}
	return w.w.Write(r.ID, []int32{int32(r.Height), int32(r.Width)}, r.Values)
}

// Rows returns the number of rows written so far.
func (w *Writer) Rows() int64 { return w.w.Rows() }

// Close finishes the file. It does not close the underlying writer.
func (w *Writer) Close() error { return w.w.Close() }

// A File is an open vector shard.
type File struct {
	a *shard.Arrays
	o Options
}

// Open opens the vector shard of size bytes in r.
func Open(r io.ReaderAt, size int64) (*File, error) {
	a, err := shard.OpenArrays(r, size)
	if err != nil {
		return nil, err
	}
	spec := a.Spec()
	f := &File{a: a, o: Options{Metadata: spec.Metadata}}
	switch schema := spec.Metadata[schemaKey]; {
	case schema == GridSchema && len(spec.Ints) == 2 && len(spec.Lists) == 1:
		var h, w, d int
		if _, err := fmt.Sscanf(spec.Lists[0].Metadata["shape"], "%d,%d,%d", &h, &w, &d); err != nil || h < 1 || w < 1 || d < 1 || h > spec.Lists[0].Len || w > spec.Lists[0].Len || d > spec.Lists[0].Len || h*w > spec.Lists[0].Len || h*w*d != spec.Lists[0].Len {
			return nil, fmt.Errorf("%w: grid of shape %q in lists of %d numbers", shard.ErrFormat, spec.Lists[0].Metadata["shape"], spec.Lists[0].Len)
		}
		f.o.Height, f.o.Width, f.o.Dim = h, w, d
	case schema == RegionSchema && len(spec.Ints) == 1 && len(spec.Lists) == 2 && !spec.Lists[1].Half:
		if _, err := fmt.Sscanf(spec.Lists[0].Metadata["shape"], "-1,%d", &f.o.Dim); err != nil || f.o.Dim < 1 {
			return nil, fmt.Errorf("%w: regions of shape %q", shard.ErrFormat, spec.Lists[0].Metadata["shape"])
		}
		for i := range a.Len() {
			n := int(a.Int(0, i))
			if n < 0 || a.ListLen(0, i) != n*f.o.Dim || a.ListLen(1, i) != 4*n {
				return nil, fmt.Errorf("%w: row %d, image %q: %d values and %d box numbers for %d regions", shard.ErrFormat, i, a.ID(i), a.ListLen(0, i), a.ListLen(1, i), n)
			}
		}
	default:
		return nil, fmt.Errorf("%w: no vectors: schema %q", shard.ErrFormat, schema)
	}
	f.o.Half = spec.Lists[0].Half
	return f, nil
}

// Options returns what the file holds.
func (f *File) Options() Options { return f.o }

// Regions reports whether rows hold boxes.
func (f *File) Regions() bool { return f.o.regions() }

// Len returns the number of rows.
func (f *File) Len() int { return f.a.Len() }

// ID returns the id of row i.
func (f *File) ID(i int) string { return f.a.ID(i) }

// Count returns the number of vectors of row i.
func (f *File) Count(i int) int {
	if f.o.regions() {
		return int(f.a.Int(0, i))
	}
	return f.o.Height * f.o.Width
}

// ReadValues reads the vectors of row i into dst, which has Count(i)*Dim
// elements.
func (f *File) ReadValues(i int, dst []float32) error { return f.a.ReadList(0, i, dst) }

// ReadBoxes reads the boxes of row i into dst, which has Count(i)*4 elements.
func (f *File) ReadBoxes(i int, dst []float32) error {
	if !f.o.regions() {
		return errors.New("vectors: grids have no boxes")
	}
	return f.a.ReadList(1, i, dst)
}

// Read reads row i. It uses the room of r's slices.
func (f *File) Read(i int, r *Row) error {
	r.ID, r.Height, r.Width, r.Dim, r.Count = f.ID(i), f.o.Height, f.o.Width, f.o.Dim, f.Count(i)
	r.Values = resize(r.Values, r.Count*r.Dim)
	if err := f.ReadValues(i, r.Values); err != nil {
		return err
	}
	if !f.o.regions() {
		r.Boxes = nil
		return nil
	}
	r.Boxes = resize(r.Boxes, 4*r.Count)
	return f.ReadBoxes(i, r.Boxes)
}

func resize(s []float32, n int) []float32 {
	if cap(s) < n {
		return make([]float32, n)
	}
	return s[:n]
}

// An Index finds images by id in several files.
type Index struct {
	files  []*File
	starts []int // first row of each file
	rows   map[string]int
}

// NewIndex makes an index over files, which must hold vectors of the same
// kind and size, and no id twice.
func NewIndex(files ...*File) (*Index, error) { return newIndex(files, false) }

// JoinIndex is NewIndex, but an image may be in several files if they hold the
// same of it.
func JoinIndex(files ...*File) (*Index, error) { return newIndex(files, true) }

func newIndex(files []*File, again bool) (*Index, error) {
	x := &Index{files: files, rows: map[string]int{}}
	n := 0
	for k, f := range files {
		a, b := f.o, files[0].o
		if a.Height != b.Height || a.Width != b.Width || a.Dim != b.Dim {
			return nil, fmt.Errorf("vectors of %dx%dx%d in file %d, %dx%dx%d in the first", a.Height, a.Width, a.Dim, k, b.Height, b.Width, b.Dim)
		}
		x.starts = append(x.starts, n)
		for i := range f.Len() {
			id := f.ID(i)
			if _, twice := x.rows[id]; twice {
				if !again {
					return nil, fmt.Errorf("image %s has features twice", strconv.Quote(id))
				}
				if err := x.compare(id, f, i); err != nil {
					return nil, err
				}
				continue
			}
			x.rows[id] = n + i
		}
		n += f.Len()
	}
	return x, nil
}

// compare holds that row i of a file is what the index has of the image.
func (x *Index) compare(id string, f *File, i int) error {
	var a, b Row
	g, k, _ := x.Find(id)
	if err := errors.Join(g.Read(k, &a), f.Read(i, &b)); err != nil {
		return err
	}
	bits := func(x, y float32) int { return cmp.Compare(math.Float32bits(x), math.Float32bits(y)) }
	if slices.CompareFunc(a.Values, b.Values, bits) != 0 || slices.CompareFunc(a.Boxes, b.Boxes, bits) != 0 {
		return fmt.Errorf("image %s has features twice, and they differ", strconv.Quote(id))
	}
	return nil
}

// Len returns the number of images.
func (x *Index) Len() int { return len(x.rows) }

// Options returns what the files hold, as the first of them says it.
func (x *Index) Options() Options {
	if len(x.files) == 0 {
		return Options{}
	}
	return x.files[0].o
}

// Most returns how many vectors an image has at most, 0 without images.
func (x *Index) Most() int {
	most := 0
	for _, f := range x.files {
		for i := range f.Len() {
			most = max(most, f.Count(i))
		}
	}
	return most
}

// Find returns the file that holds an image's features and the row there.
func (x *Index) Find(id string) (f *File, row int, ok bool) {
	at, ok := x.rows[id]
	if !ok {
		return nil, 0, false
	}
	k := len(x.starts) - 1
	for x.starts[k] > at {
		k--
	}
	return x.files[k], at - x.starts[k], true
}
