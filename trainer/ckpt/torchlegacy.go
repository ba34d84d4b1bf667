package ckpt

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/big"
)

// legacyMagic is the first pickle of files of PyTorch before 1.6.
var legacyMagic, _ = new(big.Int).SetString("1950a86a20f9469cfc6c", 16)

const legacyProtocol = 1001

// legacy reads the form before zip archives: pickles of a magic number, a
// protocol number, facts about the system, the object tree and the keys of
// the storages, then for each key its number of elements and the elements.
func (t *Torch) legacy(r io.ReaderAt, size int64) (any, error) {
	u := newUnpickler(io.NewSectionReader(r, 0, size), size, false)
	magic, err := u.read()
	if err != nil {
		return nil, err
	}
	if m, ok := magic.(*big.Int); !ok || m.Cmp(legacyMagic) != 0 {
		return nil, errors.New("a pickle, but not one of PyTorch: the magic number is missing")
	}
	protocol, err := u.read()
	if err != nil {
		return nil, err
	}
	if protocol != int64(legacyProtocol) {
		return nil, fmt.Errorf("protocol %v, want %d", protocol, legacyProtocol)
	}
	system, err := u.read()
	if err != nil {
		return nil, err
	}
	if d, ok := system.(*pyDict); ok && d.get("little_endian") == false {
		return nil, errors.New("big-endian file is not read")
	}
	root, err := u.read()
	if err != nil {
		return nil, err
	}
	keys, err := u.read()
	if err != nil {
		return nil, err
	}
	list, ok := keys.(*pyList)
	if !ok {
		return nil, fmt.Errorf("%w: the keys of the storages are a %T", errPickle, keys)
	}
	widths := map[string]int64{}
	if err := eachStorage(root, func(s *pyStorage) error {
		widths[s.key] = s.dtype.bytes()
		return nil
	}); err != nil {
		return nil, err
	}
	type place struct{ at, count int64 }
	places := map[string]place{}
	at := u.at
	for _, k := range list.items {
		key, ok := k.(string)
		if !ok {
			return nil, fmt.Errorf("%w: a storage's key is a %T", errPickle, k)
		}
		w := widths[key]
		if w == 0 {
			return nil, fmt.Errorf("storage %q belongs to no tensor", key)
		}
		var b [8]byte
		if _, err := r.ReadAt(b[:], at); err != nil {
			return nil, fmt.Errorf("file is cut before storage %q", key)
		}
		n := int64(binary.LittleEndian.Uint64(b[:]))
		at += 8
		if n < 0 || n > (size-at)/w {
			return nil, fmt.Errorf("file is cut in storage %q: %d elements of %d bytes, %d bytes left", key, n, w, size-at)
		}
		places[key] = place{at, n}
		at += n * w
	}
	t.open = func(s *pyStorage) (io.ReadCloser, error) {
		p := places[s.key]
		w := s.dtype.bytes()
		return io.NopCloser(io.NewSectionReader(r, p.at+s.first*w, s.count*w)), nil
	}
	return root, eachStorage(root, func(s *pyStorage) error {
		p, ok := places[s.key]
		if !ok {
			return fmt.Errorf("storage %q, which a tensor needs, is missing", s.key)
		}
		if s.first > p.count || s.count > p.count-s.first {
			return fmt.Errorf("storage %q has %d elements, a tensor's %d", s.key, p.count, s.count)
		}
		return nil
	})
}
