package bottomup

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// An Array is a NumPy array converted to float32, row-major.
type Array struct {
	Shape []int
	Data  []float32
}

const npyMagic = "\x93NUMPY"

// npyHeader picks the three members out of the header, a Python dict literal.
var (
	npyDescr = regexp.MustCompile(`'descr'\s*:\s*'([<>|=]?)([a-zA-Z])(\d*)'`)
	npyOrder = regexp.MustCompile(`'fortran_order'\s*:\s*(True|False)`)
	npyShape = regexp.MustCompile(`'shape'\s*:\s*\(([0-9,\s]*)\)`)
)

// ReadNPY reads an NPY file, versions 1 to 3, of floats, integers or booleans.
// Objects, which are pickles, are refused. Bytes behind the array are ignored,
// as NumPy does.
func ReadNPY(data []byte) (*Array, error) {
	if bytes.HasPrefix(data, []byte("\x89HDF\r\n\x1a\n")) {
		return nil, ErrHDF5
	}
	if len(data) < 10 || string(data[:6]) != npyMagic {
		return nil, errors.New("no NPY file: the magic bytes are missing")
	}
	n, at := int(binary.LittleEndian.Uint16(data[8:])), 10
	switch data[6] {
	case 1:
	case 2, 3:
		if len(data) < 12 {
			return nil, errors.New("cut in the header")
		}
		n, at = int(binary.LittleEndian.Uint32(data[8:])), 12
	default:
		return nil, fmt.Errorf("NPY version %d.%d is not known", data[6], data[7])
	}
	if n < 0 || n > len(data)-at {
		return nil, errors.New("cut in the header")
	}
	head, body := string(data[at:at+n]), data[at+n:]
	descr, order, shape := npyDescr.FindStringSubmatch(head), npyOrder.FindStringSubmatch(head), npyShape.FindStringSubmatch(head)
	if strings.Contains(head, "'O'") || strings.Contains(head, "|O") {
		return nil, errors.New("an array of Python objects, which is a pickle, is not read")
	}
	if descr == nil || order == nil || shape == nil {
		return nil, fmt.Errorf("header %.100q", head)
	}
	a := &Array{Shape: []int{}}
	width, _ := strconv.Atoi(descr[3])
	get, err := reader(descr[2], width, descr[1] == ">")
	if err != nil {
		return nil, err
	}
	total := 1
	for _, s := range strings.Split(shape[1], ",") {
		if s = strings.TrimSpace(s); s == "" {
			continue
		}
		d, err := strconv.Atoi(s)
		if err != nil || d < 0 || d > 0 && total > len(body)/d {
			return nil, fmt.Errorf("shape (%.60s) with %d bytes behind it", shape[1], len(body))
		}
		total *= d
		a.Shape = append(a.Shape, d)
	}
	if total > len(body)/width {
		return nil, fmt.Errorf("cut: shape (%.60s) of %d bytes a number, %d bytes behind it", shape[1], width, len(body))
	}
	a.Data = make([]float32, total)
	if order[1] == "False" || len(a.Shape) < 2 {
		for i := range a.Data {
			a.Data[i] = get(body[i*width:])
		}
		return a, nil
	}
	// The first index runs fastest.
	idx := make([]int, len(a.Shape))
	for i := range a.Data {
		place, step := 0, 1
		for d, k := range idx {
			place += k * step
			step *= a.Shape[d]
		}
		a.Data[i] = get(body[place*width:])
		for d := len(idx) - 1; d >= 0; d-- {
			if idx[d]++; idx[d] < a.Shape[d] {
				break
			}
			idx[d] = 0
		}
	}
	return a, nil
}

// reader returns what reads one number of a type.
func reader(kind string, width int, big bool) (func([]byte) float32, error) {
	var order binary.ByteOrder = binary.LittleEndian
	if big {
		order = binary.BigEndian
	}
	switch kind + strconv.Itoa(width) {
	case "f4":
		return func(b []byte) float32 { return math.Float32frombits(order.Uint32(b)) }, nil
	case "f8":
		return func(b []byte) float32 { return float32(math.Float64frombits(order.Uint64(b))) }, nil
	case "f2":
		return func(b []byte) float32 { return half(order.Uint16(b)) }, nil
	case "i8":
		return func(b []byte) float32 { return float32(int64(order.Uint64(b))) }, nil
	case "i4":
		return func(b []byte) float32 { return float32(int32(order.Uint32(b))) }, nil
	case "i2":
		return func(b []byte) float32 { return float32(int16(order.Uint16(b))) }, nil
	case "i1":
		return func(b []byte) float32 { return float32(int8(b[0])) }, nil
	case "u1", "b1":
		return func(b []byte) float32 { return float32(b[0]) }, nil
	case "u2":
		return func(b []byte) float32 { return float32(order.Uint16(b)) }, nil
	case "u4":
		return func(b []byte) float32 { return float32(order.Uint32(b)) }, nil
	}
	return nil, fmt.Errorf("elements of type %s%d are not read", kind, width)
}

func half(h uint16) float32 {
	sign, rest := uint32(h&0x8000)<<16, uint32(h&0x7fff)
	switch {
	case rest >= 0x7c00:
		return math.Float32frombits(sign | rest<<13 | 0x7f800000)
	case rest >= 0x400:
		return math.Float32frombits(sign | (rest<<13 + 112<<23))
	}
	return math.Float32frombits(sign | math.Float32bits(float32(rest)*0x1p-24))
}

// ReadNPZ reads the array called key of an NPZ file; "" means the only one.
func ReadNPZ(data []byte, key string) (*Array, error) {
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, fmt.Errorf("no NPZ file: %w", err)
	}
	var found *zip.File
	for _, f := range z.File {
		if f.Name == key+".npy" || key == "" && len(z.File) == 1 {
			found = f
		}
	}
	if found == nil {
		return nil, fmt.Errorf("no array %q among %d", key, len(z.File))
	}
	// Deflate cannot blow up more than 1032 times.
	if n := found.UncompressedSize64; n > 1040*(found.CompressedSize64+16) || n > 1<<32 || found.CompressedSize64 > uint64(len(data)) {
		return nil, fmt.Errorf("array %q claims %d bytes", key, n)
	}
	r, err := found.Open()
	if err != nil {
		return nil, fmt.Errorf("array %q: %w", key, err)
	}
	defer r.Close()
	raw := make([]byte, found.UncompressedSize64)
	if _, err = io.ReadFull(r, raw); err == nil {
		_, err = io.Copy(io.Discard, r) // the end verifies the checksum
	}
	if err != nil {
		return nil, fmt.Errorf("array %q: %w", key, err)
	}
	return ReadNPY(raw)
}

// ReadArray reads NPY or NPZ data, told by their first bytes; key names the
// array of an NPZ.
func ReadArray(data []byte, key string) (*Array, error) {
	if bytes.HasPrefix(data, []byte("PK")) {
		return ReadNPZ(data, key)
	}
	return ReadNPY(data)
}
