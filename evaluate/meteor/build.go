package meteor

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/klauspost/compress/gzip"
)

// blockSize is how much text of the table is cut at a time.
const blockSize = 1 << 20

// buildIndex makes the index of METEOR's file: lines by threes, a probability
// and two phrases. One goroutine unpacks while another takes the text apart.
func buildIndex(ctx context.Context, table string) ([]byte, error) {
	f, err := os.Open(table)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	b := newBuilder(int(min(info.Size(), 1<<30)))
	if err := eachBlock(ctx, f, b.block); err != nil {
		return nil, err
	}
	if b.line%3 != 0 {
		return nil, fmt.Errorf("line %d: the table ends within a pair", b.line)
	}
	return b.bytes(), nil
}

// eachBlock unpacks a file while it visits what is unpacked: whole lines, with a
// line feed behind each but perhaps the last.
func eachBlock(ctx context.Context, f io.Reader, visit func([]byte) error) error {
	const ahead = 3
	blocks, spare := make(chan []byte, ahead), make(chan []byte, ahead+2)
	for range cap(spare) {
		spare <- make([]byte, 0, blockSize)
	}
	stop := make(chan struct{})
	var unpackErr error // set before blocks is closed
	go func() {
		defer close(blocks)
		unpackErr = unpack(f, func(text []byte) ([]byte, bool) {
			select {
			case blocks <- text:
			case <-stop:
				return nil, false
			}
			return <-spare, true
		}, <-spare)
	}()
	var err error
	for text := range blocks {
		if err == nil {
			if err = visit(text); err == nil {
				err = ctx.Err()
			}
			if err != nil {
				close(stop)
			}
		}
		spare <- text
	}
	if err == nil {
		err = unpackErr
	}
	return err
}

// unpack gives away blocks of whole lines, and takes an empty one for each.
func unpack(f io.Reader, give func(text []byte) (next []byte, more bool), buf []byte) error {
	z, err := gzip.NewReader(bufio.NewReaderSize(f, 1<<18))
	if err != nil {
		return err
	}
	for {
		for len(buf) < cap(buf) && err == nil {
			var n int
			n, err = z.Read(buf[len(buf):cap(buf)])
			buf = buf[:len(buf)+n]
		}
		end := bytes.LastIndexByte(buf, '\n') + 1
		switch {
		case errors.Is(err, io.EOF):
			give(lineFeeds(buf))
			return nil
		case err != nil:
			return err
		case end == 0: // a line longer than a block
			buf = append(make([]byte, 0, 2*cap(buf)), buf...)
			continue
		}
		rest := buf[end:]
		next, more := give(lineFeeds(buf[:end])) // which leaves the rest as it is until the block comes back
		if !more {
			return nil
		}
		buf = append(next[:0], rest...)
	}
}

// lineFeeds makes all ends of lines line feeds: Java's are CR and CR LF too.
func lineFeeds(text []byte) []byte {
	if bytes.IndexByte(text, '\r') < 0 {
		return text
	}
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	return bytes.ReplaceAll(text, []byte("\r"), []byte("\n"))
}

// A builder makes an index.
type builder struct {
	line   int // lines read
	words  words
	nodes  []node
	slots  []uint32
	shift  uint
	list   []byte
	source []byte // the last first phrase, its line feed included
	at     uint32 // its node
	open   bool   // its list is not ended
	phrase []uint32
}

// A node is one of the index, and where its last list ends.
type node struct{ before, word, first, last uint32 }

func newBuilder(size int) *builder {
	b := &builder{nodes: make([]node, 1, 1<<16), list: make([]byte, 1, size*3/4+1<<10)} // place 0 is none
	b.words.grow()
	b.grow()
	return b
}

func (b *builder) grow() {
	n := max(1<<12, 2*len(b.slots))
	b.slots, b.shift = make([]uint32, n), shiftOf(uint64(n))
	for i := 1; i < len(b.nodes); i++ {
		b.put(uint32(i))
	}
}

func (b *builder) put(n uint32) {
	mask := uint32(len(b.slots) - 1)
	i := slotOf(b.nodes[n].before, b.nodes[n].word, b.shift)
	for b.slots[i] != 0 {
		i = (i + 1) & mask
	}
	b.slots[i] = n
}

// child returns the node behind a node and a word, a new one if need be.
func (b *builder) child(before, word uint32) uint32 {
	for i, mask := slotOf(before, word, b.shift), uint32(len(b.slots)-1); ; i = (i + 1) & mask {
		n := b.slots[i]
		if n == 0 {
			break
		}
		if x := &b.nodes[n]; x.before == before && x.word == word {
			return n
		}
	}
	n := uint32(len(b.nodes))
	b.nodes = append(b.nodes, node{before: before, word: word})
	if 2*len(b.nodes) > len(b.slots) {
		b.grow()
	} else {
		b.put(n)
	}
	return n
}

// block takes lines apart.
func (b *builder) block(text []byte) error {
	for len(text) > 0 {
		switch b.line++; b.line % 3 {
		case 1:
			if i := bytes.IndexByte(text, '\n'); i >= 0 {
				text = text[i+1:]
			} else {
				text = nil
			}
		case 2:
			if n := len(b.source); n > 0 && len(text) >= n && bytes.Equal(text[:n], b.source) {
				text = text[n:]
				continue
			}
			before := text
			b.end()
			b.at = 0
			text = b.words.line(text, func(id uint32) { b.at = b.child(b.at, id) })
			if b.at == 0 {
				return fmt.Errorf("line %d: a phrase without words", b.line)
			}
			if b.source = append(b.source[:0], before[:len(before)-len(text)]...); b.source[len(b.source)-1] != '\n' {
				b.source = b.source[:0]
			}
		default:
			b.phrase = b.phrase[:0]
			text = b.words.line(text, func(id uint32) { b.phrase = append(b.phrase, id) })
			switch {
			case len(b.phrase) == 0:
				return fmt.Errorf("line %d: a phrase without words", b.line)
			case len(b.list) > math.MaxUint32/2 || len(b.nodes) > math.MaxInt32/nodeSize:
				return errors.New("the table is too large to index")
			}
			b.begin()
			b.list = binary.AppendUvarint(b.list, uint64(len(b.phrase)))
			for _, id := range b.phrase {
				b.list = binary.AppendUvarint(b.list, uint64(id))
			}
		}
	}
	return nil
}

// begin begins a list of the present node.
func (b *builder) begin() {
	if b.open {
		return
	}
	b.open = true
	if x := &b.nodes[b.at]; x.first == 0 {
		x.first = uint32(len(b.list))
	} else {
		binary.LittleEndian.PutUint32(b.list[x.last:], uint32(len(b.list)))
	}
}

// end ends it.
func (b *builder) end() {
	if !b.open {
		return
	}
	b.open = false
	b.list = append(b.list, 0)
	b.nodes[b.at].last = uint32(len(b.list))
	b.list = append(b.list, 0, 0, 0, 0)
}

// bytes returns the index.
func (b *builder) bytes() []byte {
	b.end()
	out := make([]byte, indexHeader, indexHeader+len(b.words.text)+len(b.nodes)*nodeSize+4*len(b.slots)+len(b.list))
	copy(out, indexMagic)
	for i, v := range []int{len(b.words.start), len(b.words.text), len(b.nodes), len(b.slots)} {
		binary.LittleEndian.PutUint64(out[len(indexMagic)+8+8*i:], uint64(v))
	}
	out = append(out, b.words.text...)
	for _, x := range b.nodes {
		out = binary.LittleEndian.AppendUint32(out, x.before)
		out = binary.LittleEndian.AppendUint32(out, x.word)
		out = binary.LittleEndian.AppendUint32(out, x.first)
	}
	for _, s := range b.slots {
		out = binary.LittleEndian.AppendUint32(out, s)
	}
	out = append(out, b.list...)
	binary.LittleEndian.PutUint64(out[len(indexMagic):], checksum(out[len(indexMagic)+8:]))
	return out
}

// words are numbered in order of first occurrence.
type words struct {
	text  []byte // each behind its length as a varint
	start []int  // where a word's letters begin
	size  []int
	hash  []uint64
	slots []uint32 // hash table of numbers plus one
	shift uint
}

func (w *words) grow() {
	n := max(1<<12, 2*len(w.slots))
	w.slots, w.shift = make([]uint32, n), shiftOf(uint64(n))
	for id, h := range w.hash {
		i := h * 0x9E3779B97F4A7C15 >> w.shift
		for w.slots[i] != 0 {
			i = (i + 1) & uint64(n-1)
		}
		w.slots[i] = uint32(id + 1)
	}
}

// line visits the words of the first line of a text and returns what is behind
// it. Words stand between the blanks of Java's StringTokenizer.
func (w *words) line(text []byte, visit func(id uint32)) []byte {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\n':
			return text[i+1:]
		case ' ', '\t', '\f':
			continue
		}
		from, h := i, uint64(14695981039346656037)
		for ; i < len(text) && text[i] != '\n' && text[i] != ' ' && text[i] != '\t' && text[i] != '\f'; i++ {
			h = (h ^ uint64(text[i])) * 1099511628211
		}
		visit(w.number(text[from:i], h))
		i--
	}
	return nil
}

func (w *words) number(s []byte, h uint64) uint32 {
	i, mask := h*0x9E3779B97F4A7C15>>w.shift, uint64(len(w.slots)-1)
	for ; w.slots[i] != 0; i = (i + 1) & mask {
		id := w.slots[i] - 1
		if w.hash[id] == h && string(w.text[w.start[id]:w.start[id]+w.size[id]]) == string(s) {
			return id
		}
	}
	id := uint32(len(w.start))
	w.text = binary.AppendUvarint(w.text, uint64(len(s)))
	w.start, w.size, w.hash = append(w.start, len(w.text)), append(w.size, len(s)), append(w.hash, h)
	w.text = append(w.text, s...)
	if w.slots[i] = id + 1; 2*len(w.start) > len(w.slots) {
		w.grow()
	}
	return id
}
