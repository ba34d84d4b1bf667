package shard

import (
	"encoding/binary"
	"errors"
)

var errFlat = errors.New("malformed metadata")

// flat reads FlatBuffers, the format of Arrow's metadata. Every step is held
// against the buffer's length: a step outside sets bad and gives zero values.
type flat struct {
	b   []byte
	bad bool
}

func (f *flat) at(pos, n int64) []byte {
	if pos < 0 || n < 0 || pos > int64(len(f.b))-n {
		f.bad = true
		return make([]byte, min(max(n, 0), 16))
	}
	return f.b[pos : pos+n]
}

func (f *flat) u8(pos int64) uint8   { return f.at(pos, 1)[0] }
func (f *flat) u16(pos int64) uint16 { return binary.LittleEndian.Uint16(f.at(pos, 2)) }
func (f *flat) i32(pos int64) int32  { return int32(binary.LittleEndian.Uint32(f.at(pos, 4))) }
func (f *flat) i64(pos int64) int64  { return int64(binary.LittleEndian.Uint64(f.at(pos, 8))) }

func (f *flat) offset(pos int64) int64 { return pos + int64(uint32(f.i32(pos))) }

// A flatTable is the place of a table; 0 is an absent one.
type flatTable int64

func (f *flat) root() flatTable { return flatTable(f.offset(0)) }

// field returns the place of field i of a table, or 0 if it is absent.
func (f *flat) field(t flatTable, i int64) int64 {
	if t == 0 {
		return 0
	}
	vtable := int64(t) - int64(f.i32(int64(t)))
	if 4+2*i+2 > int64(f.u16(vtable)) {
		return 0
	}
	off := int64(f.u16(vtable + 4 + 2*i))
	if off == 0 {
		return 0
	}
	return int64(t) + off
}

func (f *flat) table(t flatTable, i int64) flatTable {
	pos := f.field(t, i)
	if pos == 0 {
		return 0
	}
	return flatTable(f.offset(pos))
}

func (f *flat) byteField(t flatTable, i int64) uint8 {
	if pos := f.field(t, i); pos != 0 {
		return f.u8(pos)
	}
	return 0
}

func (f *flat) shortField(t flatTable, i int64) int16 {
	if pos := f.field(t, i); pos != 0 {
		return int16(f.u16(pos))
	}
	return 0
}

func (f *flat) intField(t flatTable, i int64) int32 {
	if pos := f.field(t, i); pos != 0 {
		return f.i32(pos)
	}
	return 0
}

func (f *flat) longField(t flatTable, i int64) int64 {
	if pos := f.field(t, i); pos != 0 {
		return f.i64(pos)
	}
	return 0
}

// vector returns the first element's place and the number of elements of a
// vector whose elements take size bytes.
func (f *flat) vector(t flatTable, i, size int64) (pos, n int64) {
	at := f.field(t, i)
	if at == 0 {
		return 0, 0
	}
	at = f.offset(at)
	n = int64(uint32(f.i32(at)))
	if n*size > int64(len(f.b)) {
		f.bad = true
		return 0, 0
	}
	f.at(at+4, n*size)
	if f.bad {
		return 0, 0
	}
	return at + 4, n
}

// tables returns the elements of a vector of tables.
func (f *flat) tables(t flatTable, i int64) []flatTable {
	pos, n := f.vector(t, i, 4)
	list := make([]flatTable, n)
	for k := range list {
		list[k] = flatTable(f.offset(pos + 4*int64(k)))
	}
	return list
}

func (f *flat) text(t flatTable, i int64) string {
	pos, n := f.vector(t, i, 1)
	if n == 0 {
		return ""
	}
	return string(f.at(pos, n))
}

// pairs returns a vector of key-value tables.
func (f *flat) pairs(t flatTable, i int64) map[string]string {
	list := f.tables(t, i)
	if len(list) == 0 {
		return nil
	}
	m := make(map[string]string, len(list))
	for _, kv := range list {
		m[f.text(kv, 0)] = f.text(kv, 1)
	}
	return m
}
