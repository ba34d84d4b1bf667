// Package bottomup reads region features in the files that public code writes:
// the tab-separated files of bottom-up attention and of LXMERT, and NPY and NPZ
// arrays, one an image.
//
// Files are untrusted: sizes are checked before memory is taken, and nothing in
// a file is run. HDF5 is not read; see [ErrHDF5].
package bottomup

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
)

// ErrHDF5 says that a file is HDF5.
var ErrHDF5 = errors.New("HDF5 is not read; write the features as NPY or NPZ files, one an image, or as bottom-up TSV")

// A Row is one image's regions.
type Row struct {
	ID            string
	Width, Height int       // of the image, in pixels
	Count         int       // regions
	Dim           int       // length of a feature
	Boxes         []float32 // Count*4: x1 y1 x2 y2 in pixels
	Features      []float32 // Count*Dim
}

// Relative returns the boxes divided by (width, height, width, height) and
// clipped to [0, 1], computed in float64.
func (r *Row) Relative() []float32 {
	out := make([]float32, len(r.Boxes))
	side := [4]float64{float64(r.Width), float64(r.Height), float64(r.Width), float64(r.Height)}
	for i, v := range r.Boxes {
		out[i] = float32(min(max(float64(v)/side[i%4], 0), 1))
	}
	return out
}

// A Layout says which columns a TSV has.
type Layout uint8

// Layouts. BottomUp: image_id, image_w, image_h, num_boxes, boxes, features.
// LXMERT: img_id, img_h, img_w, objects_id, objects_conf, attrs_id, attrs_conf,
// num_boxes, boxes, features; the height comes first.
const (
	BottomUp Layout = iota
	LXMERT
)

// columns are the places of a layout's columns.
type columns struct{ n, width, height, count, boxes, features int }

var layouts = [...]columns{
	BottomUp: {n: 6, width: 1, height: 2, count: 3, boxes: 4, features: 5},
	LXMERT:   {n: 10, width: 2, height: 1, count: 7, boxes: 8, features: 9},
}

// maxLine bounds a line; real ones have up to 1.1 MB.
const maxLine = 64 << 20

// A Fault is a line that cannot be used.
type Fault struct {
	Line   int64 // from 1
	Offset int64
	ID     string // as far as it could be read
	Field  string
	Reason string
}

// ReadTSV reads a TSV without header. Each good row goes to row, each bad line
// to bad; the file is read to its end unless one of them returns an error.
// Slices of a Row are its own.
func ReadTSV(r io.Reader, l Layout, row func(*Row, Fault) error, bad func(Fault) error) error {
	br := bufio.NewReaderSize(r, 1<<20)
	var buf []byte
	f := Fault{}
	for {
		line, n, err := readLine(br, buf[:0])
		buf = line
		if err != nil && err != io.EOF {
			return err
		}
		if n == 0 {
			return nil
		}
		f.Line++
		f.ID, f.Field, f.Reason = "", "", ""
		var x *Row
		if n > maxLine {
			f.Reason = fmt.Sprintf("line of %d bytes, %d at most", n, maxLine)
		} else {
			x, f = parse(bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")), layouts[l], f)
		}
		if f.Reason != "" {
			err = bad(f)
		} else {
			err = row(x, f)
		}
		if err != nil {
			return err
		}
		f.Offset += n
	}
}

// readLine returns the next line with its end, and its length. Of a line that
// is too long the rest is passed over.
func readLine(br *bufio.Reader, buf []byte) (line []byte, n int64, err error) {
	for {
		part, err := br.ReadSlice('\n')
		n += int64(len(part))
		if n <= maxLine {
			buf = append(buf, part...)
		}
		if err != bufio.ErrBufferFull {
			return buf, n, err
		}
	}
}

// parse reads one line, or sets f's reason.
func parse(line []byte, c columns, f Fault) (*Row, Fault) {
	fail := func(field, format string, args ...any) (*Row, Fault) {
		f.Field, f.Reason = field, fmt.Sprintf(format, args...)
		return nil, f
	}
	if len(line) == 0 {
		return fail("", "empty line")
	}
	cols := bytes.Split(line, []byte("\t"))
	f.ID = string(cols[0])
	if len(f.ID) > 100 {
		f.ID = f.ID[:100]
	}
	if len(cols) != c.n {
		return fail("", "%d columns, want %d", len(cols), c.n)
	}
	r := &Row{ID: f.ID}
	for _, p := range []struct {
		name string
		col  int
		to   *int
		min  int
	}{{"image width", c.width, &r.Width, 1}, {"image height", c.height, &r.Height, 1}, {"num_boxes", c.count, &r.Count, 0}} {
		v, err := strconv.Atoi(string(cols[p.col]))
		if err != nil || v < p.min || v > 1<<24 {
			return fail(p.name, "%.40q is no number from %d on", cols[p.col], p.min)
		}
		*p.to = v
	}
	var reason string
	if r.Boxes, reason = decodeFloats(cols[c.boxes]); reason != "" {
		return fail("boxes", "%s", reason)
	}
	if len(r.Boxes) != 4*r.Count {
		return fail("boxes", "%d numbers for %d boxes", len(r.Boxes), r.Count)
	}
	if r.Features, reason = decodeFloats(cols[c.features]); reason != "" {
		return fail("features", "%s", reason)
	}
	if r.Count > 0 {
		r.Dim = len(r.Features) / r.Count
	}
	if r.Dim*r.Count != len(r.Features) || r.Count > 0 && r.Dim == 0 {
		return fail("features", "%d numbers for %d boxes", len(r.Features), r.Count)
	}
	return r, f
}

// decodeFloats reads base64 of little-endian float32.
func decodeFloats(text []byte) (x []float32, reason string) {
	if len(text)%4 != 0 {
		return nil, fmt.Sprintf("base64 of %d characters, which is no multiple of 4", len(text))
	}
	raw := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Strict().Decode(raw, text)
	if err != nil {
		var c base64.CorruptInputError
		if errors.As(err, &c) {
			return nil, fmt.Sprintf("illegal base64 at character %d", int64(c))
		}
		return nil, err.Error()
	}
	if n%4 != 0 {
		return nil, fmt.Sprintf("%d bytes are no whole number of float32", n)
	}
	x = make([]float32, n/4)
	for i := range x {
		x[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return x, ""
}
