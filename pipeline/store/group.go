package store

import (
	"os"
	"path/filepath"
)

// A group is parts in which a stage may find what it would make again, such as
// features of images that stand in several corpora. It is an aid: a part that a
// group does not name, or names though it is gone, costs work and nothing else.

func (s *Store) groupDir(group string) string { return filepath.Join(s.dir, "groups", group) }

// Remember adds a committed part to a group. The group's name is one of a file.
func (s *Store) Remember(group string, key Key) error {
	dir := s.groupDir(group)
	if err := mkdir(dir); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(dir, string(key)), os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return writeErr("create", dir, err)
	}
	return f.Close()
}

// Group lists the parts of a group, sorted by key.
func (s *Store) Group(group string) ([]Key, error) {
	names, err := readNames(s.groupDir(group))
	keys := make([]Key, len(names))
	for i, n := range names {
		keys[i] = Key(n)
	}
	return keys, err
}

// findGroups finds what groups say of parts that are not kept.
func (g *collector) findGroups() error {
	return g.store.eachFanned("groups", func(name, path string) error {
		if !g.parts[Key(name)] {
			g.add(path, "its part is gone")
		}
		return nil
	})
}
