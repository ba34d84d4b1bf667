package ckpt

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"sync"
	"unicode/utf8"
)

// ErrMissing says that a file has no tensor of a name.
var ErrMissing = errors.New("ckpt: no tensor")

// maxHeader is the longest header that the reference implementation accepts.
const maxHeader = 100_000_000

// A DType is an element type, as safetensors names it.
type DType string

// Element types that can be read as numbers. Files may hold others.
const (
	F64  DType = "F64"
	F32  DType = "F32"
	F16  DType = "F16"
	BF16 DType = "BF16"
	I64  DType = "I64"
	I32  DType = "I32"
)

// bytes returns the size of an element, or 0 for a type that is not known.
func (d DType) bytes() int64 {
	switch d {
	case F64, I64, "U64":
		return 8
	case F32, I32, "U32":
		return 4
	case F16, BF16, "I16", "U16":
		return 2
	case "I8", "U8", "BOOL", "F8_E4M3", "F8_E5M2":
		return 1
	}
	return 0
}

// Info describes one tensor of a file.
type Info struct {
	DType DType
	Shape []int // empty for a scalar
	Len   int   // elements

	begin int64 // place in the file
}

// A File is a safetensors file. The layout: 8 bytes little-endian length of
// the header, the header (JSON, padded with blanks), the data without holes.
type File struct {
	r      io.ReaderAt
	close  io.Closer
	info   map[string]Info
	meta   map[string]string
	source string

	mapping sync.Once
	memory  []byte // of the mapped file; nil if it is not
}

// OpenFile opens the safetensors file called name.
func OpenFile(name string) (*File, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	s, err := Open(f, st.Size(), name)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	s.close = f
	return s, nil
}

// Open reads the header of size bytes of safetensors data. source names them
// in errors. The header's length is checked against size before it is read.
func Open(r io.ReaderAt, size int64, source string) (*File, error) {
	f := &File{r: r, info: map[string]Info{}, meta: map[string]string{}, source: source}
	var head [8]byte
	if size < int64(len(head)) {
		return nil, fmt.Errorf("%s: %d bytes, too short for safetensors", source, size)
	}
	if _, err := r.ReadAt(head[:], 0); err != nil {
		return nil, fmt.Errorf("%s: read header: %w", source, err)
	}
	n := binary.LittleEndian.Uint64(head[:])
	if n > maxHeader || int64(n) > size-8 {
		return nil, fmt.Errorf("%s: header of %d bytes in a file of %d", source, n, size)
	}
	text := make([]byte, n)
	if _, err := r.ReadAt(text, 8); err != nil {
		return nil, fmt.Errorf("%s: read header: %w", source, err)
	}
	if err := f.parse(text); err != nil {
		return nil, fmt.Errorf("%s: header: %w", source, err)
	}
	if err := f.place(8+int64(n), size); err != nil {
		return nil, fmt.Errorf("%s: header: %w", source, err)
	}
	return f, nil
}

// parse reads the JSON header; begin is left relative to the data.
func (f *File) parse(text []byte) error {
	if !utf8.Valid(text) {
		return errors.New("not valid UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil {
		return err
	} else if t != json.Delim('{') {
		return fmt.Errorf("begins with %v, want an object", t)
	}
	seenMeta := false
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return err
		}
		name, ok := t.(string)
		if !ok {
			return fmt.Errorf("key %v is no string", t)
		}
		if name == "__metadata__" {
			if seenMeta {
				return errors.New("__metadata__ twice")
			}
			seenMeta = true
			if err := d.Decode(&f.meta); err != nil {
				return fmt.Errorf("__metadata__: %w", err)
			}
			continue
		}
		if _, ok := f.info[name]; ok {
			return fmt.Errorf("tensor %q twice", name)
		}
		in, err := parseInfo(d)
		if err != nil {
			return fmt.Errorf("tensor %q: %w", name, err)
		}
		f.info[name] = in
	}
	if _, err := d.Token(); err != nil {
		return err
	}
	if rest := bytes.TrimSpace(text[d.InputOffset():]); len(rest) > 0 {
		return errors.New("text after the object")
	}
	return nil
}

func parseInfo(d *json.Decoder) (Info, error) {
	var raw struct {
		DType   *DType   `json:"dtype"`
		Shape   *[]int64 `json:"shape"`
		Offsets *[]int64 `json:"data_offsets"`
	}
	if err := d.Decode(&raw); err != nil {
		return Info{}, err
	}
	if raw.DType == nil || raw.Shape == nil || raw.Offsets == nil {
		return Info{}, errors.New("dtype, shape or data_offsets missing")
	}
	width := raw.DType.bytes()
	if width == 0 {
		return Info{}, fmt.Errorf("dtype %q is not known", *raw.DType)
	}
	in := Info{DType: *raw.DType, Shape: make([]int, len(*raw.Shape))}
	elems := int64(1)
	for i, n := range *raw.Shape {
		if n < 0 || n > math.MaxInt {
			return Info{}, fmt.Errorf("shape %v", *raw.Shape)
		}
		if n > 0 && elems > math.MaxInt64/width/n {
			return Info{}, fmt.Errorf("shape %v is too large", *raw.Shape)
		}
		elems *= n
		in.Shape[i] = int(n)
	}
	if len(*raw.Offsets) != 2 {
		return Info{}, fmt.Errorf("data_offsets %v, want two", *raw.Offsets)
	}
	lo, hi := (*raw.Offsets)[0], (*raw.Offsets)[1]
	if lo < 0 || hi < lo || hi-lo != elems*width {
		return Info{}, fmt.Errorf("data_offsets %v do not hold shape %v of %s", *raw.Offsets, *raw.Shape, in.DType)
	}
	in.Len, in.begin = int(elems), lo
	return in, nil
}

// place turns relative into absolute offsets and checks that the tensors
// cover the data exactly.
func (f *File) place(start, size int64) error {
	names := slices.Collect(maps.Keys(f.info))
	slices.SortFunc(names, func(a, b string) int {
		x, y := f.info[a], f.info[b]
		if x.begin != y.begin {
			return int(min(max(x.begin-y.begin, -1), 1))
		}
		return x.Len - y.Len // empty ones first
	})
	at := int64(0)
	for _, name := range names {
		in := f.info[name]
		if in.begin != at {
			return fmt.Errorf("tensor %q begins at %d, want %d: the data must have no holes", name, in.begin, at)
		}
		at += int64(in.Len) * in.DType.bytes()
		if at > size-start {
			return fmt.Errorf("tensor %q ends at %d of %d bytes", name, at, size-start)
		}
		in.begin += start
		f.info[name] = in
	}
	if at != size-start {
		return fmt.Errorf("the tensors end at %d of %d bytes", at, size-start)
	}
	return nil
}

// Close closes the file that OpenFile opened.
func (f *File) Close() error {
	if f.close == nil {
		return nil
	}
	return errors.Join(f.unmap(), f.close.Close())
}

// Names returns the names of all tensors, sorted.
func (f *File) Names() []string { return slices.Sorted(maps.Keys(f.info)) }

// Meta returns the value of a key of the file's metadata, "" if absent.
func (f *File) Meta(key string) string { return f.meta[key] }

// Info describes the tensor called name.
func (f *File) Info(name string) (Info, bool) {
	in, ok := f.info[name]
	return in, ok
}

// ReadFloats fills dst with elements of the tensor called name, from element
// first on, converted from F32, F16, BF16 or F64.
func (f *File) ReadFloats(name string, first int, dst []float32) error {
	return read(f, name, first, dst, []DType{F32, F16, BF16, F64}, decodeFloats)
}

// Floats returns the whole tensor called name as float32.
func (f *File) Floats(name string) ([]float32, error) {
	dst := make([]float32, f.info[name].Len)
	return dst, f.ReadFloats(name, 0, dst)
}

// Floats64 returns the whole tensor called name, which is F64 or F32.
func (f *File) Floats64(name string) ([]float64, error) {
	dst := make([]float64, f.info[name].Len)
	return dst, read(f, name, 0, dst, []DType{F64, F32}, decodeFloats64)
}

// Ints returns the whole tensor called name, which is I64 or I32.
func (f *File) Ints(name string) ([]int64, error) {
	dst := make([]int64, f.info[name].Len)
	return dst, read(f, name, 0, dst, []DType{I64, I32}, decodeInts)
}

// read goes through the tensor in pieces, so that only dst grows with it.
func read[T any](f *File, name string, first int, dst []T, ok []DType, decode func([]T, []byte, DType)) error {
	in, found := f.info[name]
	if !found {
		return fmt.Errorf("%w %q in %s", ErrMissing, name, f.source)
	}
	if !slices.Contains(ok, in.DType) {
		return fmt.Errorf("%s: tensor %q is %s, want one of %v", f.source, name, in.DType, ok)
	}
	if first < 0 || first > in.Len || len(dst) > in.Len-first {
		return fmt.Errorf("%s: tensor %q has %d elements, asked for %d from %d on", f.source, name, in.Len, len(dst), first)
	}
	width := int(in.DType.bytes())
	buf := make([]byte, min(1<<16, len(dst)*width))
	at := in.begin + int64(first)*int64(width)
	for len(dst) > 0 {
		n := min(len(dst), len(buf)/width)
		if _, err := f.r.ReadAt(buf[:n*width], at); err != nil {
			return fmt.Errorf("%s: read tensor %q: %w", f.source, name, err)
		}
		decode(dst[:n], buf[:n*width], in.DType)
		dst, at = dst[n:], at+int64(n*width)
	}
	return nil
}

func decodeFloats(dst []float32, b []byte, d DType) {
	le := binary.LittleEndian
	switch d {
	case F32:
		for i := range dst {
			dst[i] = math.Float32frombits(le.Uint32(b[4*i:]))
		}
	case F16:
		for i := range dst {
			dst[i] = fromHalf(le.Uint16(b[2*i:]))
		}
	case BF16:
		for i := range dst {
			dst[i] = math.Float32frombits(uint32(le.Uint16(b[2*i:])) << 16)
		}
	case F64:
		for i := range dst {
			dst[i] = float32(math.Float64frombits(le.Uint64(b[8*i:])))
		}
	}
}

func decodeFloats64(dst []float64, b []byte, d DType) {
	for i := range dst {
		if d == F64 {
			dst[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
		} else {
			dst[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])))
		}
	}
}

func decodeInts(dst []int64, b []byte, d DType) {
	for i := range dst {
		if d == I64 {
			dst[i] = int64(binary.LittleEndian.Uint64(b[8*i:]))
		} else {
			dst[i] = int64(int32(binary.LittleEndian.Uint32(b[4*i:])))
		}
	}
}

// fromHalf widens an IEEE 754 half-precision number, exactly.
func fromHalf(h uint16) float32 {
	sign := uint32(h>>15) << 31
	exp, frac := uint32(h>>10)&31, uint32(h)&1023
	switch exp {
	case 0:
		v := float32(frac) / (1 << 24)
		return math.Float32frombits(math.Float32bits(v) | sign)
	case 31:
		return math.Float32frombits(sign | 255<<23 | frac<<13)
	}
	return math.Float32frombits(sign | (exp+112)<<23 | frac<<13)
}
