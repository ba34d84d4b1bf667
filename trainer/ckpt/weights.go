package ckpt

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Weights are named tensors of a file or of several, in any format that is
// read. They may be read from several goroutines at once.
type Weights interface {
	Names() []string                 // sorted
	Info(name string) (Info, bool)   // Len, DType and Shape
	Raw(name string) ([]byte, error) // elements, row-major and little endian, in their own type
	Floats(name string) ([]float32, error)
	Close() error
}

// OpenWeights opens a safetensors file, a PyTorch file (see [Torch]), the index
// file of a sharded checkpoint, or the folder of a published model. The format
// is told by content.
func OpenWeights(name string) (Weights, error) {
	st, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if st.IsDir() {
		for _, n := range []string{"model.safetensors.index.json", "model.safetensors", "pytorch_model.bin.index.json", "pytorch_model.bin"} {
			if _, err := os.Stat(filepath.Join(name, n)); err == nil {
				return OpenWeights(filepath.Join(name, n))
			}
		}
		return nil, fmt.Errorf("%s: no model.safetensors or pytorch_model.bin in it", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	head := make([]byte, 16)
	n, err := io.ReadFull(f, head)
	if cerr := f.Close(); cerr != nil || err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, errors.Join(err, cerr)
	}
	head = head[:n]
	switch {
	case strings.HasSuffix(name, ".index.json"):
		return openSharded(name)
	case strings.HasSuffix(name, ".safetensors"), n > 8 && head[8] == '{' && binary.LittleEndian.Uint64(head) <= uint64(st.Size()):
		return OpenFile(name)
	}
	return OpenTorch(name)
}

// Raw returns the elements of the tensor called name as they lie in the file.
func (f *File) Raw(name string) ([]byte, error) {
	in, ok := f.info[name]
	if !ok {
		return nil, fmt.Errorf("%w %q in %s", ErrMissing, name, f.source)
	}
	b := make([]byte, int64(in.Len)*in.DType.bytes())
	if _, err := f.r.ReadAt(b, in.begin); err != nil && len(b) > 0 {
		return nil, fmt.Errorf("%s: read tensor %q: %w", f.source, name, err)
	}
	return b, nil
}

// AsFloats returns the tensor called name as float32, whatever its type: as
// PyTorch converts, rounding float64 and large integers.
func AsFloats(w Weights, name string) ([]float32, error) {
	b, err := w.Raw(name)
	if err != nil {
		return nil, err
	}
	in, _ := w.Info(name)
	out := make([]float32, in.Len)
	switch in.DType {
	case F32, F16, BF16, F64:
		decodeFloats(out, b, in.DType)
		return out, nil
	}
	v, err := widen(b, in.DType)
	if err != nil {
		return nil, fmt.Errorf("tensor %q: %w", name, err)
	}
	for i, n := range v {
		out[i] = float32(n)
	}
	return out, nil
}

// AsInts returns the tensor called name, which holds integers or booleans.
func AsInts(w Weights, name string) ([]int64, error) {
	b, err := w.Raw(name)
	if err != nil {
		return nil, err
	}
	in, _ := w.Info(name)
	v, err := widen(b, in.DType)
	if err != nil {
		return nil, fmt.Errorf("tensor %q: %w", name, err)
	}
	return v, nil
}

// widen reads integers.
func widen(b []byte, dt DType) ([]int64, error) {
	w := int(dt.bytes())
	if w == 0 {
		return nil, fmt.Errorf("type %s is not known", dt)
	}
	out := make([]int64, len(b)/w)
	for i := range out {
		e := b[i*w:]
		switch dt {
		case I64, "U64":
			out[i] = int64(binary.LittleEndian.Uint64(e))
		case I32:
			out[i] = int64(int32(binary.LittleEndian.Uint32(e)))
		case "U32":
			out[i] = int64(binary.LittleEndian.Uint32(e))
		case "I16":
			out[i] = int64(int16(binary.LittleEndian.Uint16(e)))
		case "U16":
			out[i] = int64(binary.LittleEndian.Uint16(e))
		case "I8":
			out[i] = int64(int8(e[0]))
		case "U8", "BOOL":
			out[i] = int64(e[0])
		default:
			return nil, fmt.Errorf("type %s is no integer", dt)
		}
	}
	return out, nil
}

// sharded joins the files that an index names.
type sharded struct {
	files []Weights
	of    map[string]Weights
}

// openSharded opens the shards of an index: {"weight_map": {tensor: file}}.
func openSharded(name string) (Weights, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var index struct {
		WeightMap map[string]string `json:"weight_map"`
	}
	if err := json.Unmarshal(text, &index); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(index.WeightMap) == 0 {
		return nil, fmt.Errorf("%s: weight_map: missing or empty", name)
	}
	s := &sharded{of: map[string]Weights{}}
	open := map[string]Weights{}
	for _, tensor := range slices.Sorted(maps.Keys(index.WeightMap)) {
		file := index.WeightMap[tensor]
		w := open[file]
		if w == nil {
			if file == "" || file != filepath.Base(file) || strings.ContainsAny(file, `/\`) || file == ".." || file == "." {
				return nil, errors.Join(fmt.Errorf("%s: weight_map: %q is no file beside the index", name, file), s.Close())
			}
			if w, err = OpenWeights(filepath.Join(filepath.Dir(name), file)); err != nil {
				return nil, errors.Join(fmt.Errorf("%s: shard: %w", name, err), s.Close())
			}
			open[file] = w
			s.files = append(s.files, w)
		}
		if _, ok := w.Info(tensor); !ok {
			return nil, errors.Join(fmt.Errorf("%s: weight_map: %s has no tensor %q", name, file, tensor), s.Close())
		}
		s.of[tensor] = w
	}
	return s, nil
}

func (s *sharded) Names() []string { return slices.Sorted(maps.Keys(s.of)) }

func (s *sharded) Info(name string) (Info, bool) {
	if w, ok := s.of[name]; ok {
		return w.Info(name)
	}
	return Info{}, false
}

func (s *sharded) Raw(name string) ([]byte, error) {
	if w, ok := s.of[name]; ok {
		return w.Raw(name)
	}
	return nil, fmt.Errorf("%w %q in the shards", ErrMissing, name)
}

func (s *sharded) Floats(name string) ([]float32, error) { return AsFloats(s, name) }

func (s *sharded) Close() error {
	var errs []error
	for _, w := range s.files {
		errs = append(errs, w.Close())
	}
	return errors.Join(errs...)
}

// A Listing describes weights: what espalier weights inspect prints.
type Listing struct {
	Tensors []Listed        `json:"tensors"`
	Values  int64           `json:"values"` // elements of all tensors
	Bytes   int64           `json:"bytes"`
	ByType  map[DType]int64 `json:"by_type"` // elements
	Digest  string          `json:"digest"`  // of names, types, shapes and values, whatever the format
}

// Listed is one tensor of a Listing.
type Listed struct {
	Name   string `json:"name"`
	DType  DType  `json:"dtype"`
	Shape  []int  `json:"shape"`
	SHA256 string `json:"sha256"` // of its elements, row-major and little endian
}

// Inspect reads all tensors and lists them.
func Inspect(w Weights) (*Listing, error) {
	l := &Listing{ByType: map[DType]int64{}}
	digest := sha256.New()
	for _, name := range w.Names() {
		in, _ := w.Info(name)
		raw, err := w.Raw(name)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(raw)
		t := Listed{name, in.DType, append([]int{}, in.Shape...), hex.EncodeToString(sum[:])}
		l.Tensors = append(l.Tensors, t)
		l.Values += int64(in.Len)
		l.Bytes += int64(len(raw))
		l.ByType[in.DType] += int64(in.Len)
		fmt.Fprintf(digest, "%q %s %v %s\n", t.Name, t.DType, t.Shape, t.SHA256)
	}
	l.Digest = hex.EncodeToString(digest.Sum(nil))
	return l, nil
}

// Convert writes all tensors of w to the safetensors file called name, which
// appears whole or not at all. dtype F32, F16 or BF16 converts tensors of
// floating point, "" leaves each as it is.
func Convert(w Weights, name string, dtype DType) error {
	switch dtype {
	case "", F32, F16, BF16:
	default:
		return fmt.Errorf("dtype %q, want F32, F16 or BF16", string(dtype))
	}
	var ts []Tensor
	for _, n := range w.Names() {
		in, _ := w.Info(n)
		t := Tensor{Name: n, Shape: in.Shape, DType: in.DType, Raw: func() ([]byte, error) { return w.Raw(n) }}
		if float := in.DType == F64 || in.DType == F32 || in.DType == F16 || in.DType == BF16; float && dtype != "" && dtype != in.DType {
			t.DType = dtype
			t.Raw = func() ([]byte, error) {
				x, err := AsFloats(w, n)
				return encodeFloats(x, dtype), err
			}
		}
		ts = append(ts, t)
	}
	return writeFile(name, func(out io.Writer) error { return Write(out, ts, map[string]string{"format": "pt"}) })
}

func encodeFloats(x []float32, dt DType) []byte {
	var b bytes.Buffer
	b.Grow(len(x) * int(dt.bytes()))
	var e [4]byte
	for _, v := range x {
		switch dt {
		case F16:
			binary.LittleEndian.PutUint16(e[:], toHalf(v))
		case BF16:
			binary.LittleEndian.PutUint16(e[:], toBrain(v))
		default:
			binary.LittleEndian.PutUint32(e[:], math.Float32bits(v))
		}
		b.Write(e[:dt.bytes()])
	}
	return b.Bytes()
}

// toHalf rounds to half precision, ties to even.
func toHalf(f float32) uint16 {
	b := math.Float32bits(f)
	sign := uint16(b >> 16 & 0x8000)
	b &= 0x7fffffff
	switch {
	case b > 0x7f800000:
		return sign | 0x7e00
	case b >= 0x477ff000:
		return sign | 0x7c00
	case b < 0x38800000:
		// Units of 2^-24; adding 2^23 of them rounds to even.
		return sign | uint16(math.Float32bits(math.Float32frombits(b)*0x1p24+0x1p23)-0x4b000000)
	}
	b -= 112 << 23
	return sign | uint16((b+0xfff+b>>13&1)>>13)
}

// toBrain rounds to bfloat16, ties to even.
func toBrain(f float32) uint16 {
	b := math.Float32bits(f)
	if b&0x7fffffff > 0x7f800000 {
		return uint16(b>>16 | 0x40)
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}
