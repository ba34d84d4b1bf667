package meteor

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/gzip"
)

// An index is METEOR's table of paraphrases in a form that is quick to read,
// in a file that is named by the table's content:
//
//	magic, then little-endian numbers of 32 bits: words, bytes of their text,
//	pairs, a checksum of all that follows; the words, each behind its length
//	in a byte; the pairs, each two lists of words behind their lengths in a
//	byte, a word as a varint. Words have numbers in order of first occurrence.
//
// The probability that the table gives for a pair is not there: no score looks
// at it.
const indexMagic = "espalier meteor 1\n"

const indexHeader = len(indexMagic) + 16

var errIndex = errors.New("not an index of paraphrases, or cut short")

// most bounds the words of a phrase and the bytes of a word.
const most = 255

// indexPath names the index of a table below a cache folder.
func indexPath(cache, table string) (string, error) {
	f, err := os.Open(table)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return filepath.Join(cache, "meteor", hex.EncodeToString(h.Sum(nil)[:16])), nil
}

// A pairs visits the pairs of a table.
type pairs func(ctx context.Context, visit func(first, second []byte) error) error

// readTable visits the pairs of METEOR's file: lines by threes, a probability
// and two phrases.
func readTable(path string) pairs {
	return func(ctx context.Context, visit func(first, second []byte) error) error {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		z, err := gzip.NewReader(bufio.NewReaderSize(f, 1<<18))
		if err != nil {
			return err
		}
		l := newLines(z)
		var first []byte
		for l.sc.Scan() {
			l.n++
			switch l.n % 3 {
			case 2:
				first = append(first[:0], l.sc.Bytes()...)
			case 0:
				if err := visit(first, l.sc.Bytes()); err != nil {
					return err
				}
			}
			if l.n&(1<<18-1) == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
		}
		return l.sc.Err()
	}
}

// writeIndex makes the index of a table. The file appears whole or not at all.
func writeIndex(ctx context.Context, path string, table pairs) error {
	numbers := make(map[string]uint32)
	var words, list []byte
	n := uint32(0)
	phrase := func(p []byte) bool {
		at := len(list)
		list = append(list, 0)
		for w := range bytes.FieldsSeq(p) {
			id, ok := numbers[string(w)]
			if !ok {
				if len(w) > most {
					return false
				}
				id = uint32(len(numbers))
				numbers[string(w)] = id
				words = append(append(words, byte(len(w))), w...)
			}
			list = binary.AppendUvarint(list, uint64(id))
			if list[at]++; list[at] == 0 {
				return false
			}
		}
		return true
	}
	err := table(ctx, func(first, second []byte) error {
		if !phrase(first) || !phrase(second) {
			return errors.New("a phrase or a word is too long to index")
		}
		n++
		return nil
	})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".index-*")
	if err != nil {
		return err
	}
	head := []byte(indexMagic)
	for _, v := range []uint32{uint32(len(numbers)), uint32(len(words)), n, checksum(words, list)} {
		head = binary.LittleEndian.AppendUint32(head, v)
	}
	for _, b := range [][]byte{head, words, list} {
		if _, err = f.Write(b); err != nil {
			break
		}
	}
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

// checksum folds bytes, eight at a time.
func checksum(parts ...[]byte) uint32 {
	h := uint64(14695981039346656037)
	for _, b := range parts {
		for ; len(b) >= 8; b = b[8:] {
			h = (h ^ binary.LittleEndian.Uint64(b)) * 1099511628211
			h ^= h >> 29
		}
		for _, c := range b {
			h = (h ^ uint64(c)) * 1099511628211
		}
	}
	return uint32(h ^ h>>32)
}

// readIndex keeps the pairs whose words are all known.
func (t *Paraphrases) readIndex(ctx context.Context, path string, known func(word []byte) bool) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if len(b) < indexHeader || string(b[:len(indexMagic)]) != indexMagic {
		return errIndex
	}
	head := b[len(indexMagic):indexHeader]
	count, size, n := binary.LittleEndian.Uint32(head), binary.LittleEndian.Uint32(head[4:]), binary.LittleEndian.Uint32(head[8:])
	b = b[indexHeader:]
	if uint64(len(b)) < uint64(size) || checksum(b[:size], b[size:]) != binary.LittleEndian.Uint32(head[12:]) {
		return errIndex
	}
	text, list := b[:size], b[size:]
	words := make([]string, count) // "" for words that are not known
	for i := range words {
		if len(text) == 0 || len(text) < 1+int(text[0]) {
			return errIndex
		}
		if w := text[1 : 1+text[0]]; known(w) {
			words[i] = string(w)
		}
		text = text[1+int(text[0]):]
	}
	var ids [2][]uint32
	for i := range n {
		if i&(1<<18-1) == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		all := true
		for k := range ids {
			if len(list) == 0 {
				return errIndex
			}
			length := int(list[0])
			list = list[1:]
			ids[k] = ids[k][:0]
			for range length {
				id, used := uint64(0), 0
				if len(list) > 0 && list[0] < 0x80 {
					id, used = uint64(list[0]), 1
				} else if id, used = binary.Uvarint(list); used <= 0 {
					return errIndex
				}
				if id >= uint64(len(words)) {
					return errIndex
				}
				list = list[used:]
				ids[k] = append(ids[k], uint32(id))
				all = all && words[id] != ""
			}
		}
		if all {
			t.add(phraseOf(words, ids[0]), phraseOf(words, ids[1]))
		}
	}
	return nil
}

func phraseOf(words []string, ids []uint32) []string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = words[id]
	}
	return out
}
