package spm

import (
	"errors"
	"fmt"
	"math"
)

var errTruncated = errors.New("truncated")

// A field is one field of a protocol buffer message: a number (varint, fixed32,
// fixed64) or bytes.
type field struct {
	num   uint64
	wire  byte
	value uint64
	bytes string
}

// Wire types.
const (
	varint  = 0
	fixed64 = 1
	blob    = 2
	fixed32 = 5
)

// fields calls f with each field of a message. Offset is where the message
// begins in the file, for errors.
func fields(b string, offset int, f func(field, int) error) error {
	at := 0
	fail := func(err error) error { return fmt.Errorf("offset %d: %w", offset+at, err) }
	uvarint := func() (uint64, error) {
		if at < len(b) && b[at] < 0x80 {
			at++
			return uint64(b[at-1]), nil
		}
		v := uint64(0)
		for shift := 0; shift < 64; shift += 7 {
			if at == len(b) {
				return 0, errTruncated
			}
			c := b[at]
			at++
			v |= uint64(c&0x7F) << shift
			if c < 0x80 {
				return v, nil
			}
		}
		return 0, errors.New("number of more than 64 bits")
	}
	fixed := func(n int) uint64 {
		v := uint64(0)
		for k := range n {
			v |= uint64(b[at+k]) << (8 * k)
		}
		at += n
		return v
	}
	for at < len(b) {
		key, err := uvarint()
		if err != nil {
			return fail(err)
		}
		x := field{num: key >> 3, wire: byte(key & 7)}
		if x.num == 0 {
			return fail(errors.New("field 0"))
		}
		switch x.wire {
		case varint:
			if x.value, err = uvarint(); err != nil {
				return fail(err)
			}
		case fixed64:
			if len(b)-at < 8 {
				return fail(errTruncated)
			}
			x.value = fixed(8)
		case fixed32:
			if len(b)-at < 4 {
				return fail(errTruncated)
			}
			x.value = fixed(4)
		case blob:
			n, err := uvarint()
			if err != nil {
				return fail(err)
			}
			if n > uint64(len(b)-at) {
				return fail(errTruncated)
			}
			x.bytes = b[at : at+int(n)]
			at += int(n)
		default:
			return fail(fmt.Errorf("field %d: wire type %d", x.num, x.wire))
		}
		if err := f(x, offset+at-len(x.bytes)); err != nil {
			return err
		}
	}
	return nil
}

func (f field) is(num uint64, wire byte) bool { return f.num == num && f.wire == wire }

func (f field) float() float32 { return math.Float32frombits(uint32(f.value)) }

func (f field) int() int32 { return int32(uint32(f.value)) }

func (f field) bool() bool { return f.value != 0 }
