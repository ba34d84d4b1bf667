package store

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"
)

// A mode says what a Writer's files are for.
type mode int

const (
	whole  mode = iota // an output of one piece
	plan               // what Plan leaves: side files and notes
	part               // a part of a Splitter
	finish             // what Finish adds to the parts
)

type writerState struct {
	store *Store
	mode  mode
	dir   string          // private
	parts []*PartManifest // of finish

	mu       sync.Mutex
	n        int // files begun
	open     int // files not closed yet
	files    []written
	sides    []written
	replaced map[partFile]*written
	dropped  map[partFile]bool
	names    map[string]bool
	notes    map[string]string
	done     bool
}

type partFile struct {
	part int
	name string
}

// A written file is complete, but still private.
type written struct {
	FileEntry // the digest is known once it is settled
	path      string
	check     uint32 // of what was written
	settled   bool   // synced, read back and digested
}

// castagnoli is the checksum of what is written. The digest, which takes longer,
// is that of what the disk gives back.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// smallFile is the size up to which files are made durable together, when they
// are committed: one by one, many small files would wait for the disk in turn.
const (
	smallFile     = 1 << 20
	settleWorkers = 8
)

// NewOutput returns a writer for an output of one piece.
func (s *Store) NewOutput() (*Writer, error) { return s.newWriter(whole, nil) }

// NewPlan returns a writer for what a Splitter's Plan leaves.
func (s *Store) NewPlan() (*Writer, error) { return s.newWriter(plan, nil) }

// NewPart returns a writer for one part of a Splitter.
func (s *Store) NewPart() (*Writer, error) { return s.newWriter(part, nil) }

// NewFinish returns a writer for the output that is made of the given parts.
func (s *Store) NewFinish(parts []*PartManifest) (*Writer, error) { return s.newWriter(finish, parts) }

func (s *Store) newWriter(m mode, parts []*PartManifest) (*Writer, error) {
	dir, err := s.tempDir()
	if err != nil {
		return nil, err
	}
	return &Writer{&writerState{
		store: s, mode: m, dir: dir, parts: parts,
		names:    make(map[string]bool),
		notes:    make(map[string]string),
		replaced: make(map[partFile]*written),
		dropped:  make(map[partFile]bool),
	}}, nil
}

// Discard removes everything that was not committed. It may be called after a
// commit, and more than once.
func (w *Writer) Discard() {
	w.w.mu.Lock()
	defer w.w.mu.Unlock()
	if !w.w.done {
		w.w.done = true
		w.w.store.dropTemp(w.w.dir)
	}
}

func (w *writerState) create(name, schema string) (*OutFile, error) {
	if w.mode == plan {
		return nil, fmt.Errorf("store: create %s: a plan has no files of the output", name)
	}
	return w.begin(name, schema, func(f written) { w.files = append(w.files, f) })
}

func (w *writerState) side(name string) (*OutFile, error) {
	if w.mode != plan && w.mode != part {
		return nil, fmt.Errorf("store: create side file %s: only Plan and parts have side files", name)
	}
	return w.begin(name, "", func(f written) { w.sides = append(w.sides, f) })
}

func (w *writerState) replace(p int, name string) (*OutFile, error) {
	old, err := w.partEntry(p, name)
	if err != nil {
		return nil, fmt.Errorf("store: replace: %w", err)
	}
	at := partFile{p, name}
	return w.begin(fmt.Sprintf("part %d/%s", p, name), old.Schema, func(f written) {
		f.Name = name
		w.replaced[at] = &f
	})
}

func (w *writerState) drop(p int, name string) error {
	if _, err := w.partEntry(p, name); err != nil {
		return fmt.Errorf("store: drop: %w", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dropped[partFile{p, name}] = true
	return nil
}

func (w *writerState) partEntry(p int, name string) (FileEntry, error) {
	if w.mode != finish {
		return FileEntry{}, errors.New("only Finish changes the files of parts")
	}
	if p < 0 || p >= len(w.parts) {
		return FileEntry{}, fmt.Errorf("part %d of %d", p, len(w.parts))
	}
	for _, e := range w.parts[p].Files {
		if e.Name == name {
			return e, nil
		}
	}
	return FileEntry{}, fmt.Errorf("part %d has no file %s", p, name)
}

func (w *writerState) note(key, value string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.notes[key] = value
}

// begin starts a private file; add is called with the mutex held when it is
// complete.
func (w *writerState) begin(name, schema string, add func(written)) (*OutFile, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done {
		return nil, fmt.Errorf("store: create %s: the writer is closed", name)
	}
	if w.names[name] {
		return nil, fmt.Errorf("store: create %s: there is a file of that name", name)
	}
	w.n++
	p := filepath.Join(w.dir, fmt.Sprintf("file-%d", w.n))
	f, err := os.OpenFile(p, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, writeErr("create", p, err)
	}
	w.names[name] = true
	w.open++
	o := &outState{w: w, f: f, path: p, sum: crc32.New(castagnoli), add: add, entry: FileEntry{Name: name, Schema: schema}}
	o.buf = bufio.NewWriterSize(io.MultiWriter(f, o.sum), 128<<10)
	return &OutFile{o}, nil
}

// checkName refuses names that would leave the output's folder, clash with
// the engine's own files, or not survive JSON.
func checkName(name string) error {
	base := path.Base(name)
	switch {
	case name == "" || !utf8.ValidString(name) || strings.ContainsRune(name, 0),
		path.IsAbs(name), path.Clean(name) != name, name == ".", name == "..", strings.HasPrefix(name, "../"):
		return fmt.Errorf("store: %q is not a name for a file of an output", name)
	case name == manifestFile, strings.HasSuffix(base, ".tmp"):
		return fmt.Errorf("store: the name %q is reserved", name)
	}
	return nil
}

type outState struct {
	w     *writerState
	f     *os.File
	path  string
	buf   *bufio.Writer
	sum   hash.Hash32
	n     int64
	entry FileEntry
	add   func(written)
	err   error
	done  bool
}

func (f *outState) write(p []byte) (int, error) {
	if f.done {
		return 0, fmt.Errorf("store: write %s: the file is closed", f.entry.Name)
	}
	n, err := f.buf.Write(p)
	f.n += int64(n)
	if err != nil {
		f.err = writeErr("write", f.path, err)
		return n, f.err
	}
	return n, nil
}

// close finishes the file; a large one is made durable now, unless it is of a
// part: those are committed while others are made.
func (f *outState) close(rows int64) error {
	if f.done {
		return fmt.Errorf("store: close %s: the file is closed", f.entry.Name)
	}
	f.done = true
	defer f.f.Close()
	err := f.err
	if err == nil {
		err = writeErr("write", f.path, f.buf.Flush())
	}
	if err != nil {
		return err
	}
	f.entry.Rows = rows
	f.entry.Bytes = f.n
	done := written{FileEntry: f.entry, path: f.path, check: f.sum.Sum32()}
	if f.n > smallFile && f.w.mode != part {
		if err := done.settle(f.f); err != nil {
			return err
		}
	}
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	f.w.open--
	f.add(done)
	return nil
}

// settle makes a file durable, reads it again and digests it: what is committed
// is what the disk gave back.
func (w *written) settle(f *os.File) error {
	if err := f.Sync(); err != nil {
		return writeErr("sync", w.path, err)
	}
	back, check := sha256.New(), crc32.New(castagnoli)
	n, err := io.Copy(io.MultiWriter(back, check), io.NewSectionReader(f, 0, w.Bytes+1))
	if err != nil {
		return writeErr("read back", w.path, err)
	}
	if n != w.Bytes || check.Sum32() != w.check {
		return fmt.Errorf("store: %s: the disk gave back other bytes than were written (%s)", w.Name, w.path)
	}
	w.SHA256 = hex.EncodeToString(back.Sum(nil))
	w.settled = true
	return nil
}

// settle settles all files of a writer.
func (w *writerState) settle() error {
	all := make([]*written, 0, len(w.files)+len(w.sides)+len(w.replaced))
	for i := range w.files {
		all = append(all, &w.files[i])
	}
	for i := range w.sides {
		all = append(all, &w.sides[i])
	}
	return settleAll(slices.AppendSeq(all, maps.Values(w.replaced)))
}

// settleAll settles the files that are not yet, side by side.
func settleAll(files []*written) error {
	var (
		wg   sync.WaitGroup
		errs = make([]error, settleWorkers)
		next atomic.Int64
	)
	for k := range min(settleWorkers, len(files)) {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(files) || errs[k] != nil {
					return
				}
				if w := files[i]; !w.settled {
					errs[k] = w.settlePath()
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (w *written) settlePath() error {
	f, err := os.Open(w.path)
	if err != nil {
		return err
	}
	defer f.Close()
	return w.settle(f)
}

// publish renames settled private files to their contents' names.
func (s *Store) publish(files ...written) error {
	dirs := make(map[string]bool)
	var moved []written
	for _, f := range files {
		if s.holds(f.FileEntry) {
			continue // equal content, whoever wrote it
		}
		to := s.objectPath(f.SHA256)
		if err := mkdir(filepath.Dir(to)); err != nil {
			return err
		}
		if err := os.Chmod(f.path, 0o444); err != nil {
			return writeErr("protect", f.path, err)
		}
		if err := os.Rename(f.path, to); err != nil {
			return writeErr("rename", to, err)
		}
		dirs[filepath.Dir(to)] = true
		moved = append(moved, f)
	}
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		if err := syncDir(dir); err != nil {
			return writeErr("sync", dir, err)
		}
	}
	for _, f := range moved {
		id, err := statPath(s.objectPath(f.SHA256))
		if err == nil && id.size == f.Bytes {
			s.digests.put(id, f.digest(), true)
		}
	}
	return nil
}

// holds reports whether the object of an entry is there and known to be whole.
func (s *Store) holds(e FileEntry) bool {
	id, err := statPath(s.objectPath(e.SHA256))
	if err != nil || id.size != e.Bytes {
		return false
	}
	sum, ok := s.digests.get(id)
	return ok && sum == e.digest()
}

// digest returns the entry's SHA-256; of an entry that has none, the zero
// value, which equals no file's.
func (e FileEntry) digest() (d digest) {
	if b, err := hex.DecodeString(e.SHA256); err == nil && len(b) == len(d) {
		d = digest(b)
	}
	return d
}
