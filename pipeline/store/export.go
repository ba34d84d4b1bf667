package store

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Export makes dir a copy of an output: its files under their names and
// manifest.json. They are hard links where the file system allows and share is
// set, of equal ones the first, else copies. Dir must not exist; it appears whole or not at all.
func (s *Store) Export(ctx context.Context, key Key, dir string, share bool) error {
	m, err := s.Manifest(key)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("export %s: %w", dir, fs.ErrExist)
	}
	dir = filepath.Clean(dir)
	if err := os.MkdirAll(filepath.Dir(dir), 0o777); err != nil {
		return writeErr("create", filepath.Dir(dir), err)
	}
	tmp := filepath.Join(filepath.Dir(dir), halfPrefix(dir)+randomHex(6)+halfSuffix)
	if err := os.Mkdir(tmp, 0o777); err != nil {
		return writeErr("create", tmp, err)
	}
	defer os.RemoveAll(tmp)
	if !m.External {
		linked := make(map[string]bool)
		for _, e := range m.Files {
			if err := s.exportFile(ctx, m, e, tmp, share && !linked[e.SHA256]); err != nil {
				return err
			}
			linked[e.SHA256] = true
		}
	}
	if err := copyFile(s.manifestPath(key), filepath.Join(tmp, manifestFile)); err != nil {
		return err
	}
	if err := syncDir(tmp); err != nil {
		return writeErr("sync", tmp, err)
	}
	if err := os.Rename(tmp, dir); err != nil {
		return writeErr("rename", dir, err)
	}
	return syncDir(filepath.Dir(dir))
}

const halfSuffix = ".tmp"

func halfPrefix(dir string) string { return "." + filepath.Base(dir) + "." }

// HalfExports returns the folders that killed calls of Export to dir left.
func HalfExports(dir string) ([]string, error) {
	dir = filepath.Clean(dir)
	names, err := readNames(filepath.Dir(dir))
	if err != nil {
		return nil, err
	}
	var halves []string
	for _, name := range names {
		middle, ok := strings.CutPrefix(name, halfPrefix(dir))
		middle, tmp := strings.CutSuffix(middle, halfSuffix)
		if b, err := hex.DecodeString(middle); ok && tmp && err == nil && len(b) == 6 {
			halves = append(halves, filepath.Join(filepath.Dir(dir), name))
		}
	}
	return halves, nil
}

func (s *Store) exportFile(ctx context.Context, m *Manifest, e FileEntry, dir string, share bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f, err := s.OpenFile(ctx, m, e.Name) // verifies
	if err != nil {
		return err
	}
	f.Close()
	to := filepath.Join(dir, filepath.FromSlash(e.Name))
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return writeErr("create", filepath.Dir(to), err)
	}
	if share && os.Link(f.Path, to) == nil {
		return nil
	}
	return copyFile(f.Path, to)
}
