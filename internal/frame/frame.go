// Package frame writes zstd frames in which bytes are Huffman coded and nothing
// else is done: no match is looked for. Where texts repeat little, as short ones
// in Chinese do, that takes a quarter of the time of a compressor that looks for
// matches, and hardly more bytes.
//
// Frames hold their content's size and are read by every zstd (RFC 8878). Equal
// bytes give equal frames. An Encoder is not safe for concurrent use.
package frame

import "encoding/binary"

const (
	blockBytes  = 128 << 10 // the most that a block may hold
	codeBlocks  = 8         // blocks that share codes
	fourStreams = 1024      // literals from here on are coded as four streams
	leastCoded  = 64        // fewer literals stay as they are
)

// An Encoder writes frames. The zero value is ready.
type Encoder struct {
	code   code
	counts [codeBlocks]counts
}

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
		return blockHead(dst, rawBlock, 0, true)
	}
	for _, text := range texts {
		for len(text) > 0 {
			n := min(len(text), codeBlocks*blockBytes)
			size -= n
			dst = e.blocks(dst, text[:n], size == 0)
			text = text[n:]
		}
	}
	return dst
}

// Kinds of blocks.
const (
	rawBlock   = 0
	sameBlock  = 1
	codedBlock = 2
)

// blockHead begins a block.
func blockHead(dst []byte, kind, size int, last bool) []byte {
	h := uint32(kind)<<1 | uint32(size)<<3
	if last {
		h |= 1
	}
	return append(dst, byte(h), byte(h>>8), byte(h>>16))
}

// blocks appends blocks that share codes.
func (e *Encoder) blocks(dst, src []byte, last bool) []byte {
	n := (len(src) + blockBytes - 1) / blockBytes
	var all [256]uint32
	block := func(i int) []byte { return src[i*blockBytes : min((i+1)*blockBytes, len(src))] }
	for i := range n {
		c := &e.counts[i]
		c.count(block(i))
		for k := range c {
			for b, v := range c[k] {
				all[b] += v
			}
		}
	}
	coded := e.code.make(&all)
	told := false // the codes stand in an earlier block
	for i := range n {
		text, last := block(i), last && i == n-1
		if all[text[0]] == uint32(len(src)) {
			dst = append(blockHead(dst, sameBlock, len(text), last), text[0])
			continue
		}
		if coded && len(text) >= leastCoded {
			tree := e.code.tree
			if told {
				tree = nil
			}
			if out, ok := e.block(dst, text, tree, &e.counts[i], last); ok {
				dst, told = out, true
				continue
			}
		}
		dst = append(blockHead(dst, rawBlock, len(text), last), text...)
	}
	return dst
}

// Kinds of literals.
const (
	huffLiterals     = 2
	huffSameLiterals = 3 // their codes are those of the block before
)

// block appends a block of coded bytes, behind the tree of their codes if that is
// not known yet. It reports false if too little is gained.
func (e *Encoder) block(dst, src, tree []byte, c *counts, last bool) ([]byte, bool) {
	streams, sizes := 4, [4]int{}
	if len(src) < fourStreams {
		streams = 1
	}
	size := len(tree)
	if streams == 4 {
		size += 6
	}
	for i := range streams {
		sizes[i] = e.code.size(&c[i])
		size += sizes[i]
	}
	if size >= len(src)-len(src)/64 {
		return dst, false
	}
	kind := uint64(huffLiterals)
	if tree == nil {
		kind = huffSameLiterals
	}
	var head [5]byte
	used := 0
	switch n, c := uint64(len(src)), uint64(size); {
	case n < 1<<10: // so are the coded bytes
		used = 3
		h := kind | n<<4 | c<<14
		binary.LittleEndian.PutUint32(head[:], uint32(h))
	case n < 1<<14:
		used = 4
		binary.LittleEndian.PutUint32(head[:], uint32(kind|2<<2|n<<4|c<<18))
	default:
		used = 5
		h := kind | 3<<2 | n<<4 | c<<22
		binary.LittleEndian.PutUint32(head[:], uint32(h))
		head[4] = byte(h >> 32)
	}
	dst = blockHead(dst, codedBlock, used+size+1, last)
	dst = append(append(dst, head[:used]...), tree...)
	if streams == 4 {
		for _, n := range sizes[:3] {
			dst = binary.LittleEndian.AppendUint16(dst, uint16(n))
		}
	}
	dst = e.code.streams(dst, src, sizes[:streams])
	return append(dst, 0), true // no sequences
}
