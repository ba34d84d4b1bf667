package store

import "context"

// A Store is a folder of outputs. It is safe for concurrent use, and for use
// by many processes and hosts at once.
type Store struct {
	dir string
}

// Open returns the store in dir. A folder that does not exist is created when
// something is first written; one that holds anything but a store is refused.
func Open(dir string) (*Store, error) { panic("store: unfinished") }

// Dir returns the folder of the store.
func (s *Store) Dir() string { return s.dir }

// OutputDir returns the folder in which the output of a key lies, or would.
func (s *Store) OutputDir(key Key) string { panic("store: unfinished") }

// Manifest returns the manifest of a committed output, or an error that wraps
// ErrMissing.
func (s *Store) Manifest(key Key) (*Manifest, error) { panic("store: unfinished") }

// OpenFile opens one file of a committed output. Its digest is verified
// before its first use in a process, or trusted by the digest cache.
func (s *Store) OpenFile(ctx context.Context, m *Manifest, name string) (*File, error) {
	panic("store: unfinished")
}

// ReadManifest reads the manifest of an output's folder, in a store or
// exported from one.
func ReadManifest(dir string) (*Manifest, error) { panic("store: unfinished") }

// Export makes dir a copy of an output: its files under their names and
// manifest.json, hard links where the file system allows. Dir must not exist.
func (s *Store) Export(ctx context.Context, key Key, dir string) error { panic("store: unfinished") }

// IsTemporary reports whether err says that the same call may succeed later:
// the disk is full or read-only, or a resource ran out.
func IsTemporary(err error) bool { panic("store: unfinished") }
