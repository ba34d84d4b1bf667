package meteor

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"iter"
	"os"
	"path/filepath"

	"espalier/pipeline"
	"espalier/pipeline/store"
)

// Paraphrases are METEOR's table of pairs of phrases, in the form of a file that
// is named by the table's content:
//
//	magic
//	little-endian numbers of 64 bits: a checksum of all that follows, words,
//	  bytes of their text, nodes, slots
//	the words, each behind its length as a varint
//	the nodes, three numbers of 32 bits each: the node before, a word, a place
//	the slots, a number of 32 bits each
//	lists
//
// A node is the phrase of the node before it and a word; node 0 is the empty
// phrase. Slots are a hash table with open addressing of the nodes, 0 if empty.
// A node's place, unless 0, is where a list of paraphrases begins: each the
// number of its words and the words' numbers as varints; then 0 and, in 32
// bits, the place of the node's next list or 0. Words have numbers in order of
// first occurrence. The probability that the table gives for a pair is not
// there: no score looks at it.
//
// Paraphrases are read-only.
type Paraphrases struct {
	size, nodes uint32 // words, nodes
	shift       uint   // for slots
	text        []byte
	node, slots []byte
	list        []byte
}

const (
	indexMagic  = "espalier meteor 2\n"
	indexHeader = len(indexMagic) + 5*8
	nodeSize    = 12
)

var errIndex = errors.New("not an index of paraphrases, or cut short")

// Paraphrases reads the table; nil if there is none. The first reading leaves an
// index of it in the user's cache folder, which later readings take; where it
// cannot be written, all goes as the first time.
func (d *Data) Paraphrases(ctx context.Context) (*Paraphrases, error) {
	if d.paraphrase == "" {
		return nil, nil
	}
	p, err := readParaphrases(ctx, d.paraphrase, store.CacheDir())
	if err != nil && ctx.Err() == nil {
		return nil, &pipeline.RefusedError{File: d.paraphrase, Offset: -1, Reason: err.Error()}
	}
	return p, err
}

func readParaphrases(ctx context.Context, table, cache string) (*Paraphrases, error) {
	index := ""
	if cache != "" {
		var err error
		if index, err = indexPath(cache, table); err != nil {
			return nil, err
		}
		if b, err := os.ReadFile(index); err == nil {
			if p, err := openIndex(b); err == nil {
				return p, nil
			}
		}
	}
	b, err := buildIndex(ctx, table)
	if err != nil {
		return nil, err
	}
	if index != "" {
		_ = writeIndex(index, b) // the next reading takes longer
	}
	return openIndex(b)
}

// indexPath names the index of a table below a cache folder.
func indexPath(cache, table string) (string, error) {
	f, err := os.Open(table)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.CopyBuffer(h, struct{ io.Reader }{f}, make([]byte, 1<<18)); err != nil {
		return "", err
	}
	return filepath.Join(cache, "meteor", hex.EncodeToString(h.Sum(nil)[:16])), nil
}

// writeIndex makes the file. It appears whole or not at all.
func writeIndex(path string, b []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".index-*")
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// openIndex takes an index, which must not change from then on.
func openIndex(b []byte) (*Paraphrases, error) {
	if len(b) < indexHeader || string(b[:len(indexMagic)]) != indexMagic {
		return nil, errIndex
	}
	var head [5]uint64
	for i := range head {
		head[i] = binary.LittleEndian.Uint64(b[len(indexMagic)+8*i:])
	}
	size, text, nodes, slots := head[1], head[2], head[3], head[4]
	if checksum(b[len(indexMagic)+8:]) != head[0] {
		return nil, errIndex
	}
	b = b[indexHeader:]
	if rest := uint64(len(b)); size > rest || text > rest || nodes < 1 || nodes > rest || slots > rest || text+nodes*nodeSize+slots*4 > rest || slots < 2 || slots&(slots-1) != 0 {
		return nil, errIndex
	}
	cut := func(n uint64) []byte {
		part := b[:n:n]
		b = b[n:]
		return part
	}
	p := &Paraphrases{size: uint32(size), nodes: uint32(nodes), shift: shiftOf(slots)}
	p.text, p.node, p.slots = cut(text), cut(nodes*nodeSize), cut(slots*4)
	p.list = b
	return p, nil
}

func shiftOf(slots uint64) uint {
	shift := uint(64)
	for ; slots > 1; slots >>= 1 {
		shift--
	}
	return shift
}

// checksum folds bytes, in four lanes of eight.
func checksum(b []byte) uint64 {
	const prime = 0x9E3779B97F4A7C15
	var h [4]uint64
	for i := range h {
		h[i] = uint64(len(b)) + uint64(i)
	}
	mix := func(h, v uint64) uint64 {
		h = (h ^ v) * prime
		return h ^ h>>29
	}
	h0, h1, h2, h3 := h[0], h[1], h[2], h[3]
	for ; len(b) >= 32; b = b[32:] {
		h0 = mix(h0, binary.LittleEndian.Uint64(b))
		h1 = mix(h1, binary.LittleEndian.Uint64(b[8:]))
		h2 = mix(h2, binary.LittleEndian.Uint64(b[16:]))
		h3 = mix(h3, binary.LittleEndian.Uint64(b[24:]))
	}
	for _, c := range b {
		h0 = mix(h0, uint64(c))
	}
	return mix(mix(mix(h0, h1), h2), h3)
}

// slotOf is where the search for a node begins.
func slotOf(before, word uint32, shift uint) uint32 {
	return uint32((uint64(before)<<32 | uint64(word)) * 0x9E3779B97F4A7C15 >> shift)
}

// child returns the node behind a node and a word, 0 if there is none.
func (p *Paraphrases) child(before, word uint32) uint32 {
	for i, mask := slotOf(before, word, p.shift), uint32(len(p.slots)/4-1); ; i = (i + 1) & mask {
		n := binary.LittleEndian.Uint32(p.slots[4*i:])
		if n == 0 {
			return 0
		}
		if b := p.node[nodeSize*int(n):]; binary.LittleEndian.Uint32(b) == before && binary.LittleEndian.Uint32(b[4:]) == word {
			return n
		}
	}
}

// vocabulary visits the words by their numbers.
func (p *Paraphrases) vocabulary(yield func(w []byte) bool) {
	for b := p.text; len(b) > 0; {
		n, used := binary.Uvarint(b)
		b = b[used:]
		if !yield(b[:n]) {
			return
		}
		b = b[n:]
	}
}

// phrases visits a node's paraphrases in the order of the table: each is the
// numbers of its words. One that is not read to its end is passed over.
func (p *Paraphrases) phrases(node uint32) iter.Seq[iter.Seq[uint32]] {
	return func(yield func(iter.Seq[uint32]) bool) {
		place := binary.LittleEndian.Uint32(p.node[nodeSize*int(node)+8:])
		for place != 0 {
			b := p.list[place:]
			for b[0] != 0 {
				n, used := binary.Uvarint(b)
				b = b[used:]
				phrase := func(yield func(uint32) bool) {
					for ; n > 0; n-- {
						id, used := binary.Uvarint(b)
						b = b[used:]
						if !yield(uint32(id)) {
							n--
							return
						}
					}
				}
				if !yield(phrase) {
					return
				}
				for range phrase { // what is left of it
				}
			}
			place = binary.LittleEndian.Uint32(b[1:])
		}
	}
}
