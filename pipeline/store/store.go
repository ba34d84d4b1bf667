// Package store keeps finished outputs under the hash of what made them.
//
// A [Key] is the hash of everything that can change an output. The manifest is
// the only commit point: shards are written privately, fsynced, read back,
// digested and renamed to their content's name; the manifest is then created if
// absent, and who loses the race adopts the winner's. Processes and machines may
// share a store: no correctness rests on a lock.
//
// A [Store] and a [Writer] are safe for concurrent use, an [OutFile] is not.
// Manifests that a Store returns belong to the caller, who shares them with
// whoever was given them and changes none.
package store

import (
	"encoding/hex"
	"encoding/json"
	"io"
	"strings"
)

// A Key names an output: a SHA-256 in lower-case hex.
type Key string

// Short returns the eight digits that tables show.
func (k Key) Short() string {
	if len(k) < 8 {
		return string(k)
	}
	return string(k[:8])
}

// valid reports whether the key is a SHA-256: what a user types may be no name
// for a folder.
func (k Key) valid() bool {
	b, err := hex.DecodeString(string(k))
	return err == nil && len(b) == 32 && strings.ToLower(string(k)) == string(k)
}

// A Manifest describes one finished output.
type Manifest struct {
	Format   int               `json:"format"`
	Kind     string            `json:"kind"`
	Version  int               `json:"version"`
	Numerics string            `json:"numerics,omitempty"`
	Key      Key               `json:"key"`
	Params   json.RawMessage   `json:"params"` // the stage's fields, canonical JSON
	Inputs   []InputRef        `json:"inputs,omitempty"`
	Files    []FileEntry       `json:"files"`
	Rows     int64             `json:"rows"`      // rows of all data files
	RowsSeen int64             `json:"rows_seen"` // rows of input, the base of the dead-letter rate
	Dead     int64             `json:"dead"`      // rows of deadletter.parquet
	Digest   string            `json:"digest"`    // hash over Files: name, rows, sha256
	Notes    map[string]string `json:"notes,omitempty"`
	ByFile   []FileCount       `json:"by_file,omitempty"`  // raw files whose rows were counted
	External bool              `json:"external,omitempty"` // the files are raw files outside the store
}

// A FileCount counts the rows of one raw file.
type FileCount struct {
	File string `json:"file"`
	Rows int64  `json:"rows"`
	Dead int64  `json:"dead"`
}

// A PartManifest describes one finished part of a Splitter's work.
type PartManifest struct {
	Format   int               `json:"format"`
	Kind     string            `json:"kind"`
	Version  int               `json:"version"`
	Key      Key               `json:"key"`
	ID       string            `json:"id"`
	Files    []FileEntry       `json:"files"`          // named after their splits
	Side     []FileEntry       `json:"side,omitempty"` // kept beside the part, not in the output
	RowsSeen int64             `json:"rows_seen"`
	Dead     int64             `json:"dead"`
	Notes    map[string]string `json:"notes,omitempty"`
	ByFile   []FileCount       `json:"by_file,omitempty"`
}

// File returns the entry of a file or side file of the part.
func (p *PartManifest) File(name string) (FileEntry, bool) {
	for _, list := range [][]FileEntry{p.Files, p.Side} {
		for _, e := range list {
			if e.Name == name {
				return e, true
			}
		}
	}
	return FileEntry{}, false
}

// An InputRef says which output an input was.
type InputRef struct {
	Name   string `json:"name"`
	Key    Key    `json:"key"`
	Digest string `json:"digest"`
}

// A FileEntry is one file of an output.
type FileEntry struct {
	Name   string `json:"name"` // such as "train-00000-of-00012.parquet"
	Rows   int64  `json:"rows"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
	Schema string `json:"schema,omitempty"` // such as "example/1"
	Part   int    `json:"part"`             // the part that made it; -1 if Finish did
}

// A File is an open file of an output. It is safe for concurrent reads.
type File struct {
	io.ReaderAt
	io.Closer
	Entry FileEntry
	Path  string // local path, for readers that map files

	id identity // when it was opened
}

// Size returns the file's length in bytes.
func (f *File) Size() int64 { return f.Entry.Bytes }

// A Writer takes the files of one output or part. Files become visible when
// the engine commits it, never before.
type Writer struct {
	w *writerState
}

// Create starts a file. Name is its final name ("vocab.json") or, in a part of
// a Splitter, the split's name with an extension ("train.parquet"): the engine
// then numbers the shards of a split in part order. A part's file in a folder
// ("train2014/1.jpg") is no shard and keeps its name. Names are relative, with
// forward slashes. Schema is a schema id such as "example/1", or "".
func (w *Writer) Create(name, schema string) (*OutFile, error) { return w.w.create(name, schema) }

// Side starts a file that is kept beside a part and is not part of the output,
// such as the digests of the part's keys. Only Plan and the parts of a
// Splitter have side files.
func (w *Writer) Side(name string) (*OutFile, error) { return w.w.side(name) }

// Replace starts a file that takes the place of a part's file in the output,
// under the same name and schema. The part itself stays as it is, so that
// another output can use it. Only Finish may replace.
func (w *Writer) Replace(part int, name string) (*OutFile, error) { return w.w.replace(part, name) }

// Drop leaves a part's file out of the output. Only Finish may drop.
func (w *Writer) Drop(part int, name string) error { return w.w.drop(part, name) }

// Note stores a short fact in the manifest, such as the vocabulary's size.
func (w *Writer) Note(key, value string) { w.w.note(key, value) }

// An OutFile is a file being written.
type OutFile struct {
	f *outState
}

// Write appends to the file.
func (f *OutFile) Write(p []byte) (int, error) { return f.f.write(p) }

// Close finishes the file with its number of rows (0 for files without rows).
// A file that was not closed is discarded.
func (f *OutFile) Close(rows int64) error { return f.f.close(rows) }
