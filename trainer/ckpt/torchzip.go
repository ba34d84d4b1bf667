package ckpt

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
)

// archive reads the zip form: one top folder with data.pkl and a record
// data/KEY for each storage. A record constants.pkl beside it, or code, marks
// TorchScript, whose classes are then known as inert objects; their code is
// not looked at.
func (t *Torch) archive(r io.ReaderAt, size int64) (any, error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, fmt.Errorf("zip archive is damaged or cut: %w", err)
	}
	records := map[string]*zip.File{}
	top := ""
	for _, f := range z.File {
		if _, ok := records[f.Name]; ok {
			return nil, fmt.Errorf("record %q stands twice in the archive", f.Name)
		}
		records[f.Name] = f
		if path.Base(f.Name) == "data.pkl" && (top == "" || len(path.Dir(f.Name)) < len(top)) {
			top = path.Dir(f.Name)
		}
	}
	if top == "" {
		return nil, errors.New("zip archive without data.pkl: not written by torch.save")
	}
	if f := records[top+"/byteorder"]; f != nil {
		b, err := readRecord(f, size)
		if err != nil {
			return nil, err
		}
		if s := string(bytes.TrimSpace(b)); s != "little" {
			return nil, fmt.Errorf("byte order %.20q is not read, only little", s)
		}
	}
	pkl, err := readRecord(records[top+"/data.pkl"], size)
	if err != nil {
		return nil, err
	}
	script := records[top+"/constants.pkl"] != nil
	for name := range records {
		script = script || strings.HasPrefix(name, top+"/code/")
	}
	root, err := newUnpickler(bytes.NewReader(pkl), int64(len(pkl)), script).read()
	if err != nil {
		return nil, fmt.Errorf("data.pkl: %w", err)
	}
	t.open = func(s *pyStorage) (io.ReadCloser, error) { return records[top+"/data/"+s.key].Open() }
	return root, eachStorage(root, func(s *pyStorage) error {
		f := records[top+"/data/"+s.key]
		if f == nil {
			return fmt.Errorf("record data/%s, which a tensor needs, is missing", s.key)
		}
		if w := s.dtype.bytes(); f.UncompressedSize64 > 1<<62 || int64(f.UncompressedSize64)%w != 0 || int64(f.UncompressedSize64)/w != s.count || s.first != 0 {
			return fmt.Errorf("record data/%s has %d bytes, its tensor's storage %d elements of %s", s.key, f.UncompressedSize64, s.count, s.dtype)
		}
		return plausible(f, size)
	})
}

// plausible refuses a record that claims more than its bytes can hold.
func plausible(f *zip.File, size int64) error {
	most := uint64(size)
	if f.Method != zip.Store {
		most = 1040 * (f.CompressedSize64 + 16)
	}
	if f.CompressedSize64 > uint64(size) || f.UncompressedSize64 > most {
		return fmt.Errorf("record %q claims %d bytes", f.Name, f.UncompressedSize64)
	}
	return nil
}

// readRecord reads a small record whole.
func readRecord(f *zip.File, size int64) ([]byte, error) {
	if err := plausible(f, size); err != nil {
		return nil, err
	}
	if f.UncompressedSize64 > 1<<30 {
		return nil, fmt.Errorf("record %q has %d bytes", f.Name, f.UncompressedSize64)
	}
	r, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("record %q: %w", f.Name, err)
	}
	defer r.Close()
	b := make([]byte, f.UncompressedSize64)
	if _, err = io.ReadFull(r, b); err == nil {
		_, err = io.Copy(io.Discard, r)
	}
	if err != nil {
		return nil, fmt.Errorf("record %q: %w", f.Name, err)
	}
	return b, nil
}

// eachStorage calls f for every storage that a tensor of the tree uses.
func eachStorage(v any, f func(*pyStorage) error) error {
	seen, objects := map[any]bool{}, 0
	var walk func(v any, depth int) error
	walk = func(v any, depth int) error {
		if objects++; depth > 64 || objects > maxObjects {
			return errTree
		}
		var items []any
		switch x := v.(type) {
		case *pyTensor:
			return f(x.storage)
		case *pyDict:
			items = x.vals
		case *pyList:
			items = x.items
		case *pyObject:
			items = x.state.vals
		case pyTuple:
			for _, e := range x {
				if err := walk(e, depth+1); err != nil {
					return err
				}
			}
			return nil
		default:
			return nil
		}
		if seen[v] {
			return nil
		}
		seen[v] = true
		for _, e := range items {
			if err := walk(e, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	return walk(v, 0)
}
