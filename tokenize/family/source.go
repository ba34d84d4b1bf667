// Package family tells what a vocabulary file is and opens it: as its family
// alone, or as one of the public classes with their variants.
package family

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unsafe"

	"github.com/klauspost/compress/gzip"

	"espalier/tokenize/recipe"
	"espalier/tokenize/spm"
	"espalier/tokenize/vocab"
	"espalier/tokenize/wordpiece"
)

// Types of vocabularies.
const (
	Unigram   = "unigram"   // a SentencePiece model
	BPE       = "bpe"       // a SentencePiece model
	WordPiece = "wordpiece" // vocab.txt, or a tokenizer.json
	ByteBPE   = "bytebpe"   // vocab.json and merges.txt, encoder.json and vocab.bpe, or a tokenizer.json
	CLIP      = "clip"      // bpe_simple_vocab_16e6.txt.gz
	Word      = "sp-word"   // a SentencePiece model
	Char      = "sp-char"   // a SentencePiece model
	JSON      = "json"      // a tokenizer.json of another kind
)

// Types lists the types of vocabularies.
var Types = []string{Unigram, BPE, WordPiece, ByteBPE, CLIP, Word, Char, JSON}

// maxFile bounds a vocabulary file, unpacked.
const maxFile = 256 << 20

// ErrUnknown says that a file is no vocabulary of a known type.
var ErrUnknown = errors.New("no vocabulary of a known type")

// A Source is a vocabulary that was read.
type Source struct {
	Type   string
	Files  []string // the names of the files it was read from
	Digest string   // SHA-256 of the files' contents, one behind another

	spm    *spm.Model
	json   *vocab.Tokenizer
	traits recipe.Traits // of it
	vocab  []string
	merges [][2]string
}

// pairs are the names that a vocabulary and its merges have in a folder.
var pairs = [...][2]string{{"vocab.json", "merges.txt"}, {"encoder.json", "vocab.bpe"}}

// singles are the names of files that stand for themselves.
var singles = [...]string{"tokenizer.json", "spiece.model", "tokenizer.model", "sentencepiece.model", "vocab.txt", "bpe_simple_vocab_16e6.txt.gz"}

// Read reads a vocabulary file, or one that lies in a folder under a usual name.
// A type other than "" must be the file's.
func Read(path, kind string) (*Source, error) {
	s, err := read(path)
	switch {
	case err != nil:
		return nil, err
	case kind != "" && s.Type != kind:
		return nil, fmt.Errorf("%s: a vocabulary of type %s, not %s", path, s.Type, kind)
	}
	return s, nil
}

func read(path string) (*Source, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	dir, name := filepath.Split(path)
	d := folder{where: dir, open: func(name string) (io.ReadCloser, error) { return os.Open(filepath.Join(dir, name)) }}
	if !info.IsDir() {
		for _, p := range pairs { // one of two files names both
			if (name == p[0] || name == p[1]) && exists(dir, p[0]) && exists(dir, p[1]) {
				return d.readPair(p[0], p[1])
			}
		}
		return d.readFile(name)
	}
	dir = path
	d.where = path + string(filepath.Separator)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if exists(dir, e.Name()) {
			d.names = append(d.names, e.Name())
		}
	}
	return d.read(path)
}

// ReadFiles reads a vocabulary that lies among files of those names: the only
// one, or those with a usual name. A type other than "" must be the vocabulary's.
func ReadFiles(names []string, open func(name string) (io.ReadCloser, error), kind string) (*Source, error) {
	d := folder{names: names, open: open}
	var s *Source
	var err error
	if len(names) == 1 {
		s, err = d.readFile(names[0])
	} else {
		s, err = d.read("the vocabulary")
	}
	if err == nil && kind != "" && s.Type != kind {
		err = fmt.Errorf("a vocabulary of type %s, not %s", s.Type, kind)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// A folder is where vocabulary files lie.
type folder struct {
	where string // in front of names in messages
	names []string
	open  func(name string) (io.ReadCloser, error)
}

// read reads the files with usual names.
func (d *folder) read(what string) (*Source, error) {
	for _, p := range pairs {
		if slices.Contains(d.names, p[0]) && slices.Contains(d.names, p[1]) {
			return d.readPair(p[0], p[1])
		}
	}
	for _, name := range singles {
		if slices.Contains(d.names, name) {
			return d.readFile(name)
		}
	}
	return nil, fmt.Errorf("%s: %w: the folder has none of %s, nor the pairs vocab.json, merges.txt or encoder.json, vocab.bpe", what, ErrUnknown, strings.Join(singles[:], ", "))
}

func exists(dir, name string) bool {
	info, err := os.Stat(filepath.Join(dir, name))
	return err == nil && info.Mode().IsRegular()
}

// load returns a file's bytes, unpacked if it is a gzip file.
func (d *folder) load(name string) (raw, file []byte, err error) {
	f, err := d.open(name)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	if raw, err = bounded(f); err != nil {
		return nil, nil, fmt.Errorf("%s%s: %w", d.where, name, err)
	}
	if !bytes.HasPrefix(raw, []byte{0x1F, 0x8B}) {
		return raw, raw, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(raw))
	if err == nil {
		file, err = expand(z)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s%s: %w", d.where, name, err)
	}
	return raw, file, nil
}

// expand returns what a stream holds; of a list of merges, as is known by its
// beginning, no more than CLIP uses.
func expand(r io.Reader) ([]byte, error) {
	file := make([]byte, 0, 64<<10)
	lines, list := 0, false
	for len(file) <= maxFile && !(list && lines > vocab.CLIPMerges) {
		file = slices.Grow(file, 64<<10)
		n, err := r.Read(file[len(file):cap(file)])
		lines += bytes.Count(file[len(file):len(file)+n], []byte("\n"))
		file = file[:len(file)+n]
		list = list || bytes.Contains(file[:min(len(file), 256)], []byte(version))
		if errors.Is(err, io.EOF) {
			return file, nil
		}
		if err != nil {
			return nil, err
		}
	}
	if len(file) > maxFile {
		return nil, fmt.Errorf("more than %d bytes", maxFile)
	}
	return file, nil
}

// version is what the first line of a list of merges holds.
const version = "#version:"

// bounded reads a whole file of which it may know the size.
func bounded(r io.Reader) ([]byte, error) {
	var b bytes.Buffer
	if f, ok := r.(interface{ Stat() (fs.FileInfo, error) }); ok {
		if info, err := f.Stat(); err == nil && info.Size() < maxFile {
			b.Grow(int(info.Size()) + bytes.MinRead)
		}
	}
	_, err := b.ReadFrom(io.LimitReader(r, maxFile+1))
	if err == nil && b.Len() > maxFile {
		err = fmt.Errorf("more than %d bytes", maxFile)
	}
	return b.Bytes(), err
}

// str is the string of bytes that nobody changes.
func str(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

func digest(files ...[]byte) string {
	h := sha256.New()
	for _, f := range files {
		h.Write(f)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func (d *folder) readPair(vocabFile, mergesFile string) (*Source, error) {
	rawVocab, v, err := d.load(vocabFile)
	if err != nil {
		return nil, err
	}
	rawMerges, m, err := d.load(mergesFile)
	if err != nil {
		return nil, err
	}
	s := &Source{Type: ByteBPE, Files: []string{vocabFile, mergesFile}, Digest: digest(rawVocab, rawMerges)}
	if s.vocab, err = vocab.JSON(str(v)); err != nil {
		return nil, fmt.Errorf("%s%s: %w", d.where, vocabFile, err)
	}
	if s.merges, err = vocab.Merges(str(m)); err != nil {
		return nil, fmt.Errorf("%s%s: %w", d.where, mergesFile, err)
	}
	return s, nil
}

func (d *folder) readFile(name string) (*Source, error) {
	raw, file, err := d.load(name)
	if err != nil {
		return nil, err
	}
	s := &Source{Files: []string{name}, Digest: digest(raw)}
	head := bytes.TrimLeft(file[:min(len(file), 64)], " \t\r\n\ufeff")
	switch {
	case bytes.HasPrefix(head, []byte("{")):
		err = s.tokenizerJSON(str(file))
	case !looksText(file):
		if s.spm, err = spm.Parse(file); err == nil {
			s.Type = map[int]string{spm.Unigram: Unigram, spm.BPE: BPE, spm.Word: Word, spm.Char: Char}[s.spm.Type]
		}
	case bytes.Contains(file[:min(len(file), 256)], []byte(version)):
		s.Type = CLIP
		s.merges, err = vocab.CLIP(str(file))
	default:
		s.Type = WordPiece
		s.vocab, err = wordpiece.ReadVocab(bytes.NewReader(file))
	}
	if err != nil {
		return nil, fmt.Errorf("%s%s: %w", d.where, name, err)
	}
	return s, nil
}

// looksText reports whether a file begins as text does.
func looksText(file []byte) bool {
	for _, c := range file[:min(len(file), 256)] {
		if c < ' ' && c != '\t' && c != '\n' && c != '\r' {
			return false
		}
	}
	return len(file) > 0
}

func (s *Source) tokenizerJSON(file string) error {
	t, err := vocab.Parse(file)
	if err != nil {
		return err
	}
	s.json, s.vocab, s.merges = t, t.Vocab, t.Merges
	s.traits = recipe.TraitsOf(t)
	switch {
	case t.Model == "WordPiece" || t.Model == "" && t.Prefix == "##":
		s.Type = WordPiece
	case (t.Model == "BPE" || t.Model == "") && len(t.Merges) > 0 && s.traits.ByteLevel && t.Suffix == "":
		s.Type = ByteBPE
	default:
		s.Type = JSON
	}
	return nil
}
