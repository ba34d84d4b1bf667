package ckpt

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/big"
	"os"
	"slices"
	"strconv"
)

// Torch is a PyTorch file: what torch.save writes (a zip archive, or before
// version 1.6 a row of pickles) and TorchScript archives. The pickles are
// interpreted by a list of allowed names; nothing in the file is run.
//
// Tensors of a state dict have their names. Those deeper in the object tree
// are named by the path to them: keys and list indices joined by "/",
// attributes of TorchScript modules by ".".
type Torch struct {
	source  string
	tensors map[string]*pyTensor
	infos   map[string]Info
	values  map[string]any
	objects int // seen by flatten
	open    func(s *pyStorage) (io.ReadCloser, error)
	close   io.Closer
}

// maxExpanded bounds the elements of a tensor that repeats its storage, and
// maxObjects the objects of a tree, in which one may stand many times.
const (
	maxExpanded = 1 << 28
	maxObjects  = 1 << 22
)

var errTree = errors.New("the object tree is too deep or too large")

// OpenTorch opens the PyTorch file called name.
func OpenTorch(name string) (*Torch, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	t, err := ReadTorch(f, st.Size(), name)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	t.close = f
	return t, nil
}

// ReadTorch reads the object tree of a PyTorch file of size bytes. Tensors are
// read when asked for. source names the file in errors.
func ReadTorch(r io.ReaderAt, size int64, source string) (*Torch, error) {
	t := &Torch{source: source, tensors: map[string]*pyTensor{}, infos: map[string]Info{}, values: map[string]any{}}
	var head [4]byte
	if size == 0 {
		return nil, fmt.Errorf("%s: empty file", source)
	}
	if n, err := r.ReadAt(head[:], 0); err != nil && n < len(head) && err != io.EOF {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	load := t.legacy
	if string(head[:]) == "PK\x03\x04" {
		load = t.archive
	}
	root, err := load(r, size)
	if err == nil {
		err = t.flatten(root, "", "/", 0)
	}
	if err == nil && len(t.tensors) == 0 {
		err = errors.New("no tensors in it")
	}
	if err == nil {
		err = t.check()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	return t, nil
}

// flatten walks the object tree.
func (t *Torch) flatten(v any, name, sep string, depth int) error {
	if t.objects++; depth > 64 || t.objects > maxObjects {
		return errTree
	}
	child := func(key, sep string) string {
		if name == "" {
			return key
		}
		return name + sep + key
	}
	switch x := v.(type) {
	case *pyTensor:
		if _, ok := t.tensors[name]; ok {
			return fmt.Errorf("two tensors named %q", name)
		}
		t.tensors[name] = x
	case *pyObject:
		for i, k := range x.state.keys {
			if err := t.flatten(x.state.vals[i], child(keyName(k), "."), ".", depth+1); err != nil {
				return err
			}
		}
	case *pyDict:
		for i, k := range x.keys {
			if err := t.flatten(x.vals[i], child(keyName(k), sep), sep, depth+1); err != nil {
				return err
			}
		}
	case *pyList:
		return t.flatten(pyTuple(x.items), name, sep, depth)
	case pyTuple:
		for i, e := range x {
			if err := t.flatten(e, child(strconv.Itoa(i), sep), sep, depth+1); err != nil {
				return err
			}
		}
	case pyName:
		t.values[name] = x.String()
	case *pyStorage:
	default:
		t.values[name] = v
	}
	return nil
}

func keyName(k any) string {
	switch v := k.(type) {
	case string:
		return v
	case *big.Int:
		return v.String()
	}
	return fmt.Sprint(k)
}

// check holds every tensor against its storage.
func (t *Torch) check() error {
	for _, name := range slices.Sorted(maps.Keys(t.tensors)) {
		x := t.tensors[name]
		info := Info{DType: x.dtype, Shape: make([]int, len(x.shape))}
		n, last := int64(1), int64(0)
		for i, d := range x.shape {
			info.Shape[i] = int(d)
			if d != 0 && n > math.MaxInt64/8/d {
				return fmt.Errorf("tensor %q: shape %v is too large", name, x.shape)
			}
			n *= d
			if d > 1 && x.strides[i] > (math.MaxInt64-last)/(d-1) {
				return fmt.Errorf("tensor %q: strides %v of shape %v", name, x.strides, x.shape)
			}
			last += max(d-1, 0) * x.strides[i]
		}
		count := x.storage.count * x.storage.dtype.bytes() / x.dtype.bytes()
		if n > 0 && (x.offset > count || last >= count-x.offset) {
			return fmt.Errorf("tensor %q: shape %v with strides %v from element %d does not fit its storage of %d", name, x.shape, x.strides, x.offset, count)
		}
		if n > count && n > maxExpanded {
			return fmt.Errorf("tensor %q: %d elements repeat a storage of %d", name, n, count)
		}
		info.Len = int(n)
		t.infos[name] = info
	}
	return nil
}

// Close closes the file that OpenTorch opened.
func (t *Torch) Close() error {
	if t.close == nil {
		return nil
	}
	return t.close.Close()
}

// Names returns the names of all tensors, sorted.
func (t *Torch) Names() []string { return slices.Sorted(maps.Keys(t.tensors)) }

// Info describes the tensor called name.
func (t *Torch) Info(name string) (Info, bool) {
	in, ok := t.infos[name]
	return in, ok
}

// Values returns what else the file holds, named as tensors are: nil, bool,
// int64, *big.Int, float64, string and []byte.
func (t *Torch) Values() map[string]any { return t.values }

// Raw returns the elements of the tensor called name, row-major and little
// endian, in its own type.
func (t *Torch) Raw(name string) ([]byte, error) {
	x, ok := t.tensors[name]
	if !ok {
		return nil, fmt.Errorf("%w %q in %s", ErrMissing, name, t.source)
	}
	b, err := t.raw(x, t.infos[name].Len)
	if err != nil {
		return nil, fmt.Errorf("%s: tensor %q: %w", t.source, name, err)
	}
	return b, nil
}

// raw reads the whole storage, so that its checksum is verified, and picks the
// tensor's elements out of it.
func (t *Torch) raw(x *pyTensor, n int) ([]byte, error) {
	r, err := t.open(x.storage)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data := make([]byte, x.storage.count*x.storage.dtype.bytes())
	if _, err := io.ReadFull(r, data); err != nil {
		return nil, fmt.Errorf("read storage %s: %w", x.storage.key, err)
	}
	// Reading the end verifies the checksum of a zip record.
	if k, err := r.Read(make([]byte, 1)); k != 0 || err != io.EOF {
		return nil, fmt.Errorf("read storage %s: %w", x.storage.key, cmpErr(err, errors.New("longer than it says")))
	}
	w := x.dtype.bytes()
	if contiguous(x) {
		lo := x.offset * w
		return data[min(lo, int64(len(data))):][:int64(n)*w], nil
	}
	out := make([]byte, 0, int64(n)*w)
	idx := make([]int64, len(x.shape))
	at := x.offset
	for range n {
		out = append(out, data[at*w:(at+1)*w]...)
		for d := len(idx) - 1; d >= 0; d-- {
			idx[d]++
			at += x.strides[d]
			if idx[d] < x.shape[d] {
				break
			}
			at -= idx[d] * x.strides[d]
			idx[d] = 0
		}
	}
	return out, nil
}

func cmpErr(err, other error) error {
	if err != nil && err != io.EOF {
		return err
	}
	return other
}

// contiguous reports whether elements lie side by side in row-major order.
func contiguous(x *pyTensor) bool {
	step := int64(1)
	for d := len(x.shape) - 1; d >= 0; d-- {
		if x.shape[d] == 0 {
			return true
		}
		if x.shape[d] != 1 && x.strides[d] != step {
			return false
		}
		step *= x.shape[d]
	}
	return true
}

// Floats returns the tensor called name as float32, whatever its type; see
// [AsFloats].
func (t *Torch) Floats(name string) ([]float32, error) { return AsFloats(t, name) }
