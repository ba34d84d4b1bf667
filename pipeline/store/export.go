package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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
	tmp := filepath.Join(filepath.Dir(dir), "."+filepath.Base(dir)+"."+randomHex(6)+".tmp")
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
