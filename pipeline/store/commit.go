package store

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// ManifestFormat is the format of manifests, parts' manifests and plans.
const ManifestFormat = 1

// A PlanManifest is the committed plan of a Splitter's output.
type PlanManifest struct {
	Format int         `json:"format"`
	Key    Key         `json:"key"` // of the output
	Parts  []PlanEntry `json:"parts"`
	// Own is what Plan itself left: side files, notes, counts.
	Own PartManifest `json:"own"`
}

// A PlanEntry is one part of a plan.
type PlanEntry struct {
	Key   Key             `json:"key"` // of the part
	ID    string          `json:"id"`
	Slice json.RawMessage `json:"slice,omitempty"`
}

// Commit publishes the output. The caller has filled in what the stage and
// the engine know; Commit adds the files, their rows and digest, and the
// writer's notes. If another runner was first, its manifest is returned and
// this writer's files are dropped. An error that wraps ErrMissing says that
// a part's files went away meanwhile.
func (w *Writer) Commit(m Manifest) (*Manifest, error) {
	st := w.w
	defer w.Discard()
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.done || st.mode == plan || st.mode == part {
		return nil, fmt.Errorf("store: commit %s: not a writer of an output", m.Key.Short())
	}
	if err := st.settle(); err != nil {
		return nil, err
	}
	entries, private, err := st.layout()
	if err != nil {
		return nil, err
	}
	m.Files = entries
	m.Notes = mergeNotes(m.Notes, st.notes)
	if err := st.store.publish(private...); err != nil {
		return nil, err
	}
	return st.store.commit(&m, st.dir)
}

// CommitExternal publishes a manifest whose files lie outside the store.
func (s *Store) CommitExternal(m Manifest) (*Manifest, error) {
	dir, err := s.tempDir()
	if err != nil {
		return nil, err
	}
	defer s.dropTemp(dir)
	m.External = true
	return s.commit(&m, dir)
}

// commit gives the objects their logical names and creates the manifest if
// there is none.
func (s *Store) commit(m *Manifest, private string) (*Manifest, error) {
	m.complete()
	dir := s.OutputDir(m.Key)
	if err := mkdir(dir); err != nil {
		return nil, err
	}
	if err := s.linkFiles(m); err != nil {
		return nil, err
	}
	text, err := seal(m, len(m.Files))
	if err != nil {
		return nil, err
	}
	var winner Manifest
	won, err := s.create(s.manifestPath(m.Key), private, text, func() error {
		w, err := s.Manifest(m.Key)
		if err == nil {
			winner = *w
		}
		return err
	})
	if err != nil || won {
		return m, err
	}
	return &winner, s.linkFiles(&winner)
}

// create makes text the content of path if nothing is there. What is there is
// read by adopt; if that finds it damaged, it is set aside first.
func (s *Store) create(path, private string, text []byte, adopt func() error) (won bool, err error) {
	tmp := filepath.Join(private, "record-"+randomHex(4))
	if err := writePrivate(tmp, text); err != nil {
		return false, err
	}
	for range 10 {
		err := linkIfAbsent(tmp, path)
		if err == nil {
			return true, writeErr("sync", path, syncDir(filepath.Dir(path)))
		}
		if !errors.Is(err, fs.ErrExist) {
			return false, err
		}
		switch err := adopt(); {
		case err == nil:
			return false, nil
		case errors.Is(err, ErrDamaged):
			if err := s.trash(path); err != nil {
				return false, err
			}
		case !errors.Is(err, ErrMissing):
			return false, err
		}
	}
	return false, fmt.Errorf("store: %s: keeps changing", path)
}

// linkFiles gives the objects of an output their logical names.
func (s *Store) linkFiles(m *Manifest) error {
	if m.External {
		return nil
	}
	dirs := map[string]bool{s.OutputDir(m.Key): true}
	for _, e := range m.Files {
		to := filepath.Join(s.OutputDir(m.Key), filepath.FromSlash(e.Name))
		if dir := filepath.Dir(to); !dirs[dir] {
			if err := mkdir(dir); err != nil {
				return err
			}
			dirs[dir] = true
		}
		if err := s.linkObject(e.SHA256, to); err != nil {
			return err
		}
	}
	for dir := range dirs {
		if err := syncDir(dir); err != nil {
			return writeErr("sync", dir, err)
		}
	}
	return nil
}

// linkObject makes path a name of an object. Linking changes a file's ctime:
// the digest cache is told.
func (s *Store) linkObject(sha, path string) error {
	object := s.objectPath(sha)
	before, err := statPath(object)
	if err == nil {
		err = replaceLink(object, path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: object %s", ErrMissing, sha)
	}
	if err != nil {
		return err
	}
	if after, err := statPath(object); err == nil {
		s.digests.moved(before, after)
	}
	return nil
}

// complete fills in what follows from the list of files.
func (m *Manifest) complete() {
	m.Format = ManifestFormat
	m.Rows = 0
	for _, e := range m.Files {
		if e.Name != DeadLetters {
			m.Rows += e.Rows
		}
	}
	if m.Files == nil {
		m.Files = []FileEntry{}
	}
	m.Digest = DigestFiles(m.Files)
}

// DigestFiles returns the digest of an output: the SHA-256 of a line "name
// NUL rows NUL sha256" for each file in the order of their names.
func DigestFiles(files []FileEntry) string {
	sorted := slices.SortedFunc(slices.Values(files), func(a, b FileEntry) int { return strings.Compare(a.Name, b.Name) })
	h := sha256.New()
	for _, e := range sorted {
		fmt.Fprintf(h, "%s\x00%d\x00%s\n", e.Name, e.Rows, e.SHA256)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// layout returns the entries of the output in manifest order, and the private
// files among them. Shards are numbered; a part's file in a folder keeps its
// name.
func (st *writerState) layout() ([]FileEntry, []written, error) {
	type shard struct {
		entry FileEntry
		part  int
	}
	splits := make(map[string][]shard)
	private := slices.Clone(st.files)
	for i, p := range st.parts {
		for _, e := range p.Files {
			at := partFile{i, e.Name}
			if st.dropped[at] {
				continue
			}
			if f, ok := st.replaced[at]; ok {
				private = append(private, *f)
				e = f.FileEntry
			}
			splits[e.Name] = append(splits[e.Name], shard{e, i})
		}
	}
	var entries []FileEntry
	for _, name := range slices.Sorted(maps.Keys(splits)) {
		ext := path.Ext(name)
		stem := strings.TrimSuffix(name, ext)
		for i, sh := range splits[name] {
			e := sh.entry
			if !strings.Contains(name, "/") {
				e.Name = ShardName(stem, i, len(splits[name]), ext)
			}
			e.Part = sh.part
			entries = append(entries, e)
		}
	}
	own := make([]FileEntry, 0, len(st.files))
	for _, f := range st.files {
		if st.mode == finish {
			f.Part = -1
		}
		own = append(own, f.FileEntry)
	}
	slices.SortFunc(own, func(a, b FileEntry) int { return cmp.Compare(a.Name, b.Name) })
	entries = append(entries, own...)
	taken := make(map[string]bool, len(entries))
	for _, e := range entries {
		if taken[e.Name] {
			return nil, nil, fmt.Errorf("store: two files of the output are named %s", e.Name)
		}
		taken[e.Name] = true
	}
	return entries, private, nil
}

// CommitPart publishes a part under p.Key. If another runner was first, its
// result is returned.
func (w *Writer) CommitPart(p PartManifest) (*PartManifest, error) {
	st := w.w
	defer w.Discard()
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.done || st.mode != part {
		return nil, fmt.Errorf("store: commit part %s: not a writer of a part", p.Key.Short())
	}
	if err := st.fill(&p); err != nil {
		return nil, err
	}
	text, err := seal(&p, len(p.Files)+len(p.Side))
	if err != nil {
		return nil, err
	}
	to := st.store.partPath(p.Key)
	if err := mkdir(filepath.Dir(to)); err != nil {
		return nil, err
	}
	winner := &p
	_, err = st.store.create(to, st.dir, text, func() error {
		q, err := st.store.readPart(p.Key)
		if err == nil {
			winner = q
		}
		return err
	})
	return winner, err
}

// CommitPlan publishes a plan under p.Key. If another runner was first, its
// plan is returned.
func (w *Writer) CommitPlan(p PlanManifest) (*PlanManifest, error) {
	st := w.w
	defer w.Discard()
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.done || st.mode != plan {
		return nil, fmt.Errorf("store: commit plan %s: not a writer of a plan", p.Key.Short())
	}
	p.Format = ManifestFormat
	p.Own.Key = p.Key
	if err := st.fill(&p.Own); err != nil {
		return nil, err
	}
	text, err := seal(&p, len(p.Parts))
	if err != nil {
		return nil, err
	}
	to := st.store.planPath(p.Key)
	if err := mkdir(filepath.Dir(to)); err != nil {
		return nil, err
	}
	winner := &p
	_, err = st.store.create(to, st.dir, text, func() error {
		q, err := st.store.readPlan(p.Key)
		if err == nil {
			winner = q
		}
		return err
	})
	return winner, err
}

// fill adds the writer's files and notes to a part's manifest and publishes
// the files.
func (st *writerState) fill(p *PartManifest) error {
	if err := st.settle(); err != nil {
		return err
	}
	p.Format = ManifestFormat
	p.Files = sortedEntries(st.files)
	p.Side = sortedEntries(st.sides)
	p.Notes = mergeNotes(p.Notes, st.notes)
	return st.store.publish(slices.Concat(st.files, st.sides)...)
}

// sortedEntries returns the entries by name.
func sortedEntries(files []written) []FileEntry {
	entries := make([]FileEntry, 0, len(files))
	for _, f := range files {
		entries = append(entries, f.FileEntry)
	}
	slices.SortFunc(entries, func(a, b FileEntry) int { return cmp.Compare(a.Name, b.Name) })
	return entries
}

func mergeNotes(maps ...map[string]string) map[string]string {
	var all map[string]string
	for _, m := range maps {
		for k, v := range m {
			if all == nil {
				all = make(map[string]string)
			}
			all[k] = v
		}
	}
	return all
}
