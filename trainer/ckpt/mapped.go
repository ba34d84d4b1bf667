package ckpt

import (
	"errors"
	"os"
)

// A Mapper lends tensors in the memory of a mapped file, which processes on one
// host share. The memory is read-only and good until Close; the file must not
// be shortened meanwhile.
type Mapper interface {
	// Lend returns the elements of the tensor called name; ok is false where
	// they cannot be lent.
	Lend(name string) (elements []byte, ok bool)
}

// Lend maps the file when first called; see Mapper. It only works for files
// that OpenFile opened.
func (f *File) Lend(name string) ([]byte, bool) {
	in, ok := f.info[name]
	if !ok {
		return nil, false
	}
	f.mapping.Do(func() {
		if file, ok := f.close.(*os.File); ok {
			f.memory, _ = mapFile(file) // without a map the tensors are read
		}
	})
	n := int64(in.Len) * in.DType.bytes()
	if in.begin+n > int64(len(f.memory)) {
		return nil, false
	}
	return f.memory[in.begin : in.begin+n : in.begin+n], true
}

// Lend lends a tensor of one of the shards.
func (s *sharded) Lend(name string) ([]byte, bool) {
	if m, ok := s.of[name].(Mapper); ok {
		return m.Lend(name)
	}
	return nil, false
}

// unmap gives the mapped memory back.
func (f *File) unmap() error {
	f.mapping.Do(func() {})
	m := f.memory
	f.memory = nil
	if m == nil {
		return nil
	}
	return unmapFile(m)
}

var errNoMap = errors.New("ckpt: files are not mapped on this system")
