// Package frame writes zstd frames in which bytes are Huffman coded and nothing
// else is done: no match is looked for. Where texts repeat little, as short ones
// in Chinese do, that takes a quarter of the time of a compressor that looks for
// matches, and hardly more bytes.
//
// Frames hold their content's size and are read by every zstd (RFC 8878). Equal
// bytes give equal frames. An Encoder is not safe for concurrent use.
package frame

import (
	"encoding/binary"
	"errors"

	"github.com/klauspost/compress/huff0"
)

const (
	blockBytes  = 128 << 10 // the most that a block may hold
	fourStreams = 1024      // literals from here on are coded as four streams
	leastCoded  = 64        // fewer literals stay as they are
)

// An Encoder writes frames. The zero value is ready.
type Encoder struct{ huff huff0.Scratch }

// Append appends a frame to dst that holds texts one behind the other. Each has
// codes of its own.
func (e *Encoder) Append(dst []byte, texts ...[]byte) []byte {
	size := 0
	for _, text := range texts {
		size += len(text)
	}
	dst = append(dst, 0x28, 0xb5, 0x2f, 0xfd)
	const single = 1 << 5 // one segment: its size stands in the header, and no window
	switch n := size; {
	case n < 256:
		dst = append(dst, single, byte(n))
	case n < 256+1<<16:
		dst = append(dst, single|1<<6)
		dst = binary.LittleEndian.AppendUint16(dst, uint16(n-256))
	case uint64(n) < 1<<32:
		dst = append(dst, single|2<<6)
		dst = binary.LittleEndian.AppendUint32(dst, uint32(n))
	default:
		dst = append(dst, single|3<<6)
		dst = binary.LittleEndian.AppendUint64(dst, uint64(n))
	}
	if size == 0 {
		return e.block(dst, nil, true)
	}
	for _, text := range texts {
		for len(text) > 0 {
			n := min(len(text), blockBytes)
			size -= n
			dst = e.block(dst, text[:n], size == 0)
			text = text[n:]
		}
	}
	return dst
}

// Kinds of blocks.
const (
	rawBlock   = 0
	codedBlock = 2
)

// block appends a block with its header.
func (e *Encoder) block(dst, src []byte, last bool) []byte {
	head := len(dst)
	dst = append(dst, 0, 0, 0)
	kind := codedBlock
	if dst = e.literals(dst, src); len(dst)-head-3 < len(src) {
		dst = append(dst, 0) // no sequences
	} else {
		dst, kind = append(dst[:head+3], src...), rawBlock
	}
	h := uint32(kind)<<1 | uint32(len(dst)-head-3)<<3
	if last {
		h |= 1
	}
	dst[head], dst[head+1], dst[head+2] = byte(h), byte(h>>8), byte(h>>16)
	return dst
}

// Kinds of literals.
const (
	rawLiterals  = 0
	sameLiterals = 1
	huffLiterals = 2
)

// literals appends a section of literals.
func (e *Encoder) literals(dst, src []byte) []byte {
	if len(src) < leastCoded {
		return append(literalsHead(dst, rawLiterals, len(src)), src...)
	}
	e.huff.Reuse = huff0.ReusePolicyNone
	compress, streams := huff0.Compress4X, uint64(1)
	if len(src) < fourStreams {
		compress, streams = huff0.Compress1X, 0
	}
	out, _, err := compress(src, &e.huff)
	switch {
	case errors.Is(err, huff0.ErrUseRLE):
		return append(literalsHead(dst, sameLiterals, len(src)), src[0])
	case err != nil || len(out) >= len(src)-len(src)/64:
		return append(literalsHead(dst, rawLiterals, len(src)), src...)
	}
	n, c := uint64(len(src)), uint64(len(out))
	switch {
	case n < 1<<10: // so are the coded bytes
		h := huffLiterals | streams<<2 | n<<4 | c<<14
		dst = append(dst, byte(h), byte(h>>8), byte(h>>16))
	case n < 1<<14:
		dst = binary.LittleEndian.AppendUint32(dst, uint32(huffLiterals|2<<2|n<<4|c<<18))
	default:
		h := huffLiterals | 3<<2 | n<<4 | c<<22
		dst = append(dst, byte(h), byte(h>>8), byte(h>>16), byte(h>>24), byte(h>>32))
	}
	return append(dst, out...)
}

// literalsHead begins literals that are not coded.
func literalsHead(dst []byte, kind uint32, n int) []byte {
	switch {
	case n < 1<<5:
		return append(dst, byte(kind|uint32(n)<<3))
	case n < 1<<12:
		return binary.LittleEndian.AppendUint16(dst, uint16(kind|1<<2|uint32(n)<<4))
	}
	h := kind | 3<<2 | uint32(n)<<4
	return append(dst, byte(h), byte(h>>8), byte(h>>16))
}
