package store

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// DeadLetters is the name of an output's table of dead letters.
const DeadLetters = "deadletter.parquet"

// ShardName returns the name of shard i of n of a split, such as
// "train-00000-of-00012.parquet". Ext begins with a dot or is empty.
func ShardName(split string, i, n int, ext string) string {
	return fmt.Sprintf("%s-%05d-of-%05d%s", split, i, n, ext)
}

// ParseShardName is the inverse of ShardName.
func ParseShardName(name string) (split string, i, n int, ext string, ok bool) {
	ext = path.Ext(name)
	stem := strings.TrimSuffix(name, ext)
	stem, count, found := cutLast(stem, "-of-")
	if !found {
		return "", 0, 0, "", false
	}
	split, index, found := cutLast(stem, "-")
	if !found || len(index) < 5 || len(count) < 5 {
		return "", 0, 0, "", false
	}
	i, err := strconv.Atoi(index)
	if err != nil {
		return "", 0, 0, "", false
	}
	n, err = strconv.Atoi(count)
	if err != nil || i < 0 || i >= n {
		return "", 0, 0, "", false
	}
	return split, i, n, ext, true
}

func cutLast(s, sep string) (before, after string, ok bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// Shards returns the data files of a split in order: its numbered shards, or
// the one file named after it.
func (m *Manifest) Shards(split string) []FileEntry {
	var found []FileEntry
	for _, e := range m.Files {
		if e.Name == DeadLetters {
			continue
		}
		if s, _, _, _, ok := ParseShardName(e.Name); ok && s == split {
			found = append(found, e)
		} else if !ok && strings.TrimSuffix(e.Name, path.Ext(e.Name)) == split {
			found = append(found, e)
		}
	}
	return found
}

// Splits returns the names of the splits that have numbered shards, sorted.
func (m *Manifest) Splits() []string {
	var names []string
	for _, e := range m.Files {
		if s, _, _, _, ok := ParseShardName(e.Name); ok && !slices.Contains(names, s) {
			names = append(names, s)
		}
	}
	slices.Sort(names)
	return names
}

// File returns the entry of the named file.
func (m *Manifest) File(name string) (FileEntry, bool) {
	for _, e := range m.Files {
		if e.Name == name {
			return e, true
		}
	}
	return FileEntry{}, false
}

// Bytes returns the total size of the files.
func (m *Manifest) Bytes() int64 {
	var n int64
	for _, e := range m.Files {
		n += e.Bytes
	}
	return n
}
