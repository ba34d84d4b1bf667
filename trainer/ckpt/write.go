package ckpt

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// A Tensor is an array to be written: as Raw if that is set, else F32 if Floats
// is set, else I64.
type Tensor struct {
	Name   string
	Shape  []int
	Floats func(dst []float32) error // fills dst, which has the shape's size
	Ints   []int64
	Raw    func() ([]byte, error) // little-endian elements of type DType
	DType  DType
}

func (t *Tensor) dtype() DType {
	if t.Raw != nil {
		return t.DType
	}
	if t.Floats != nil {
		return F32
	}
	return I64
}

func (t *Tensor) size() int {
	n := 1
	for _, d := range t.Shape {
		n *= d
	}
	return n
}

// Slice returns a Tensor that writes x.
func Slice(name string, x []float32, shape ...int) Tensor {
	return Tensor{Name: name, Shape: shape, Floats: func(dst []float32) error {
		if len(x) != len(dst) {
			return fmt.Errorf("%d values for shape %v", len(x), shape)
		}
		copy(dst, x)
		return nil
	}}
}

// Write writes the tensors as safetensors, sorted by name, with the metadata
// meta. Equal tensors and metadata give equal bytes. Only one tensor at a time
// is held in memory.
func Write(w io.Writer, tensors []Tensor, meta map[string]string) error {
	ts := slices.Clone(tensors)
	slices.SortFunc(ts, func(a, b Tensor) int { return strings.Compare(a.Name, b.Name) })
	head, err := header(ts, meta)
	if err != nil {
		return err
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	var floats []float32
	var buf []byte
	for i := range ts {
		t := &ts[i]
		n := t.size()
		if t.Raw != nil {
			raw, err := t.Raw()
			if err == nil && len(raw) != n*int(t.DType.bytes()) {
				err = fmt.Errorf("%d bytes for shape %v of %s", len(raw), t.Shape, t.DType)
			}
			if err != nil {
				return fmt.Errorf("tensor %q: %w", t.Name, err)
			}
			if _, err := w.Write(raw); err != nil {
				return err
			}
			continue
		}
		buf = slices.Grow(buf[:0], n*int(t.dtype().bytes()))
		if t.Floats != nil {
			floats = slices.Grow(floats[:0], n)[:n]
			if err := t.Floats(floats); err != nil {
				return fmt.Errorf("tensor %q: %w", t.Name, err)
			}
			for _, v := range floats {
				buf = binary.LittleEndian.AppendUint32(buf, math.Float32bits(v))
			}
		} else {
			for _, v := range t.Ints {
				buf = binary.LittleEndian.AppendUint64(buf, uint64(v))
			}
		}
		if _, err := w.Write(buf); err != nil {
			return err
		}
	}
	return nil
}

// header returns the length and the JSON text, padded so that the data begin
// at a multiple of 8.
func header(ts []Tensor, meta map[string]string) ([]byte, error) {
	type entry struct {
		DType   DType    `json:"dtype"`
		Shape   []int    `json:"shape"`
		Offsets [2]int64 `json:"data_offsets"`
	}
	b := bytes.NewBuffer(make([]byte, 8, 1024))
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	put := func(key string, v any) error {
		if b.Len() > 8 {
			b.WriteByte(',')
		} else {
			b.WriteByte('{')
		}
		if err := enc.Encode(key); err != nil {
			return err
		}
		b.Truncate(b.Len() - 1) // the encoder's newline
		b.WriteByte(':')
		if err := enc.Encode(v); err != nil {
			return err
		}
		b.Truncate(b.Len() - 1)
		return nil
	}
	if len(meta) > 0 {
		if err := put("__metadata__", meta); err != nil {
			return nil, err
		}
	}
	at := int64(0)
	for i := range ts {
		t := &ts[i]
		switch {
		case t.Name == "__metadata__" || !utf8.ValidString(t.Name):
			return nil, fmt.Errorf("ckpt: tensor name %q", t.Name)
		case i > 0 && t.Name == ts[i-1].Name:
			return nil, fmt.Errorf("ckpt: tensor %q twice", t.Name)
		case t.Raw == nil && t.Floats == nil && len(t.Ints) != t.size():
			return nil, fmt.Errorf("ckpt: tensor %q: %d values for shape %v", t.Name, len(t.Ints), t.Shape)
		}
		end := at + int64(t.size())*t.dtype().bytes()
		shape := t.Shape
		if shape == nil {
			shape = []int{}
		}
		if err := put(t.Name, entry{t.dtype(), shape, [2]int64{at, end}}); err != nil {
			return nil, err
		}
		at = end
	}
	if b.Len() == 8 {
		b.WriteByte('{')
	}
	b.WriteByte('}')
	for b.Len()%8 != 0 {
		b.WriteByte(' ')
	}
	if b.Len()-8 > maxHeader {
		return nil, errors.New("ckpt: header too long")
	}
	binary.LittleEndian.PutUint64(b.Bytes(), uint64(b.Len()-8))
	return b.Bytes(), nil
}
