package store

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Manifest returns the manifest of a committed output. The error wraps
// ErrMissing if there is none, ErrDamaged if it cannot be believed.
func (s *Store) Manifest(key Key) (*Manifest, error) {
	if !key.valid() {
		return nil, fmt.Errorf("%w: %q is no key", ErrMissing, string(key))
	}
	m, err := readManifest(s.manifestPath(key))
	if err != nil {
		return nil, missing(err, key)
	}
	if m.Key != key {
		return nil, fmt.Errorf("%w: %s is of another output", ErrDamaged, s.manifestPath(key))
	}
	return m, nil
}

// missing turns an absent record into ErrMissing.
func missing(err error, key Key) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w %s", ErrMissing, key.Short())
	}
	return err
}

// ReadManifest reads the manifest of an output's folder, in a store or
// exported from one.
func ReadManifest(dir string) (*Manifest, error) {
	return readManifest(filepath.Join(dir, manifestFile))
}

func readManifest(path string) (*Manifest, error) {
	var m Manifest
	if err := readSealed(path, &m); err != nil {
		return nil, err
	}
	if m.Format > ManifestFormat {
		return nil, fmt.Errorf("%w: %s has format %d, this program knows up to %d", ErrFormat, path, m.Format, ManifestFormat)
	}
	m.Params = compact(m.Params)
	return &m, nil
}

// compact undoes the indenting of a record that a record holds.
func compact(text json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, text) != nil {
		return text
	}
	return b.Bytes()
}

// Part returns the committed result of a part, if its files are whole. The
// error wraps ErrMissing if there is none; a damaged one is set aside first,
// and why says so.
func (s *Store) Part(ctx context.Context, key Key) (p *PartManifest, why string, err error) {
	p, err = s.readPart(key)
	if errors.Is(err, ErrDamaged) {
		why = err.Error()
	} else if err != nil {
		return nil, "", err
	} else if d := s.checkEntries(ctx, p.Files, p.Side); len(d) > 0 {
		why = "part " + key.Short() + ": " + d[0].String()
	}
	if err := ctx.Err(); err != nil {
		return nil, "", err
	}
	if why == "" {
		return p, "", nil
	}
	if err := s.trash(s.partPath(key)); err != nil {
		return nil, why, err
	}
	return nil, why, fmt.Errorf("%w %s", ErrMissing, key.Short())
}

// HasPart reports whether a part is committed, without looking at its files.
func (s *Store) HasPart(key Key) bool {
	_, err := os.Stat(s.partPath(key))
	return err == nil
}

func (s *Store) readPart(key Key) (*PartManifest, error) {
	var p PartManifest
	if err := readSealed(s.partPath(key), &p); err != nil {
		return nil, missing(err, key)
	}
	if p.Key != key {
		return nil, fmt.Errorf("%w: %s is of another part", ErrDamaged, s.partPath(key))
	}
	return &p, nil
}

// Plan returns the committed plan of an output. A damaged one is set aside.
func (s *Store) Plan(ctx context.Context, key Key) (*PlanManifest, error) {
	p, err := s.readPlan(key)
	if err == nil {
		if d := s.checkEntries(ctx, p.Own.Side); len(d) > 0 {
			err = ErrDamaged
		}
	}
	if errors.Is(err, ErrDamaged) && ctx.Err() == nil {
		if err := s.trash(s.planPath(key)); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("%w %s", ErrMissing, key.Short())
	}
	return p, err
}

// ReadPlan returns the committed plan of an output without looking at its
// files.
func (s *Store) ReadPlan(key Key) (*PlanManifest, error) { return s.readPlan(key) }

func (s *Store) readPlan(key Key) (*PlanManifest, error) {
	var p PlanManifest
	if err := readSealed(s.planPath(key), &p); err != nil {
		return nil, missing(err, key)
	}
	if p.Key != key {
		return nil, fmt.Errorf("%w: %s is of another output", ErrDamaged, s.planPath(key))
	}
	for i := range p.Parts {
		if len(p.Parts[i].Slice) > 0 {
			p.Parts[i].Slice = compact(p.Parts[i].Slice)
		}
	}
	return &p, nil
}

// OpenFile opens one file of a committed output. Its digest is verified
// before its first use in a process, or trusted by the digest cache; a damaged
// file is an error that wraps ErrDamaged.
func (s *Store) OpenFile(ctx context.Context, m *Manifest, name string) (*File, error) {
	e, ok := m.File(name)
	if !ok {
		return nil, fmt.Errorf("store: %s %s has no file %s", m.Kind, m.Key.Short(), name)
	}
	if m.External {
		return nil, fmt.Errorf("store: %s: raw files are opened where they lie", name)
	}
	return s.open(ctx, e, filepath.Join(s.OutputDir(m.Key), filepath.FromSlash(name)), s.objectPath(e.SHA256))
}

// OpenPart opens a file or side file of a part.
func (s *Store) OpenPart(ctx context.Context, p *PartManifest, name string) (*File, error) {
	e, ok := p.File(name)
	if !ok {
		return nil, fmt.Errorf("store: part %s has no file %s", p.Key.Short(), name)
	}
	return s.open(ctx, e, s.objectPath(e.SHA256))
}

// open opens the first of the paths that has the entry's content.
func (s *Store) open(ctx context.Context, e FileEntry, paths ...string) (*File, error) {
	var first error
	for _, path := range paths {
		f, err := s.OpenVerified(ctx, path, e)
		if err == nil {
			return f, nil
		}
		if first == nil {
			first = err
		}
		if !errors.Is(err, ErrDamaged) {
			break
		}
	}
	return nil, first
}

// OpenVerified opens the file at path if it has the size and digest of the
// entry; if not, the error wraps ErrDamaged.
func (s *Store) OpenVerified(ctx context.Context, path string, e FileEntry) (*File, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s: the file is missing", ErrDamaged, path)
	}
	if err != nil {
		return nil, err
	}
	id, err := statFile(f)
	if err == nil {
		if sum, ok := s.digests.get(id); ok {
			err = differs(path, e, id.size, sum)
		} else {
			id, err = s.verifyOpen(ctx, f, e, id)
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &File{ReaderAt: f, Closer: f, Entry: e, Path: path, id: id}, nil
}

// OpenRaw opens a raw file below root by its entry. If it is no longer what
// the entry says, the error wraps ErrDamaged.
func (s *Store) OpenRaw(ctx context.Context, root string, e FileEntry) (*File, error) {
	return s.OpenVerified(ctx, filepath.Join(root, filepath.FromSlash(e.Name)), e)
}

// OpenUnknown opens a raw file below root whose digest is not known yet; its entry
// lacks it. [Store.Digested] tells what it was.
func (s *Store) OpenUnknown(root, name string) (*File, error) {
	path := filepath.Join(root, filepath.FromSlash(name))
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	id, err := statFile(f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &File{ReaderAt: f, Closer: f, Entry: FileEntry{Name: name, Bytes: id.size}, Path: path, id: id}, nil
}

// Same reports whether an open file has not been written to, or touched, since it
// was opened.
func (f *File) Same() bool {
	file, ok := f.ReaderAt.(*os.File)
	if !ok {
		return false
	}
	id, err := statFile(file)
	return err == nil && id == f.id
}

// Digested reports whether the digest of a file, as it was when it was opened, has
// been taken meanwhile and is that of an entry.
func (s *Store) Digested(f *File, e FileEntry) bool {
	sum, ok := s.digests.get(f.id)
	return ok && f.id.size == e.Bytes && sum == e.digest()
}

// Changed reports whether the open file is no longer what it was when it was
// opened. It is asked just before the file is closed.
func (f *File) Changed(ctx context.Context) bool {
	file, ok := f.ReaderAt.(*os.File)
	if !ok {
		return false
	}
	id, err := statFile(file)
	if err != nil || id == f.id {
		return err != nil
	}
	// A touch changes the times and nothing else.
	sum, err := hashFile(ctx, file, id.size)
	return ctx.Err() == nil && (err != nil || sum != f.Entry.digest())
}

// verifyOpen digests an open file and remembers the result.
func (s *Store) verifyOpen(ctx context.Context, f *os.File, e FileEntry, id identity) (identity, error) {
	if id.size != e.Bytes {
		return id, differs(f.Name(), e, id.size, digest{})
	}
	id, sum, err := s.digests.rehash(ctx, f.Name())
	if err != nil {
		return id, err
	}
	if now, err := statFile(f); err != nil || now != id {
		return id, fmt.Errorf("%w: %s: the file was replaced while it was read", ErrDamaged, f.Name())
	}
	return id, differs(f.Name(), e, id.size, sum)
}

// differs says how a file differs from its entry.
func differs(path string, e FileEntry, size int64, sum digest) error {
	switch {
	case size != e.Bytes:
		return fmt.Errorf("%w: %s: %d bytes, want %d", ErrDamaged, path, size, e.Bytes)
	case sum != e.digest():
		return fmt.Errorf("%w: %s: sha256 %s, want %s", ErrDamaged, path, hex.EncodeToString(sum[:]), e.SHA256)
	}
	return nil
}

// Check looks whether every file of an output is whole, trusting the digest
// cache, and returns those that are not. If mend is set, a name or an object
// whose twin is whole is restored on the way, where the store can be written.
func (s *Store) Check(ctx context.Context, m *Manifest, mend bool) []Damage {
	if m.External {
		return nil
	}
	var damaged []Damage
	for _, e := range m.Files {
		name := filepath.Join(s.OutputDir(m.Key), filepath.FromSlash(e.Name))
		object := s.objectPath(e.SHA256)
		nid, nerr := statPath(name)
		oid, oerr := statPath(object)
		if nerr == nil && oerr == nil && nid.sameInode(oid) {
			if d, ok := s.checkFile(ctx, e, object); !ok {
				damaged = append(damaged, d.in(m, name))
			}
			continue
		}
		d, ok := s.checkFile(ctx, e, object)
		if ok {
			if mend {
				s.linkObject(e.SHA256, name)
			}
			continue
		}
		if _, ok := s.checkFile(ctx, e, name); ok {
			if mend {
				s.restoreObject(name, object)
			}
			continue
		}
		damaged = append(damaged, d.in(m, name))
	}
	return damaged
}

// restoreObject makes a whole file of an output the object it once was.
func (s *Store) restoreObject(name, object string) {
	before, err := statPath(name)
	if err != nil || mkdir(filepath.Dir(object)) != nil || replaceLink(name, object) != nil {
		return
	}
	if after, err := statPath(object); err == nil {
		s.digests.moved(before, after)
	}
}

// checkEntries checks objects.
func (s *Store) checkEntries(ctx context.Context, lists ...[]FileEntry) []Damage {
	var damaged []Damage
	for _, list := range lists {
		for _, e := range list {
			if d, ok := s.checkFile(ctx, e, s.objectPath(e.SHA256)); !ok {
				damaged = append(damaged, d)
			}
		}
	}
	return damaged
}

// checkFile compares the file at path with its entry.
func (s *Store) checkFile(ctx context.Context, e FileEntry, path string) (Damage, bool) {
	d := Damage{File: e.Name, Path: path}
	id, err := statPath(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		d.Problem, d.Detail = "missing", "the file is missing"
		return d, false
	case err != nil:
		d.Problem, d.Detail = "unreadable", err.Error()
		return d, false
	case id.size != e.Bytes:
		d.Problem, d.Detail = "size", fmt.Sprintf("%d bytes, want %d", id.size, e.Bytes)
		return d, false
	}
	id, sum, err := s.digests.file(ctx, path)
	switch {
	case err != nil:
		d.Problem, d.Detail = "unreadable", err.Error()
		return d, false
	case sum != e.digest():
		d.Problem, d.Detail = "digest", fmt.Sprintf("sha256 %s, want %s", hex.EncodeToString(sum[:]), e.SHA256)
		return d, false
	}
	return d, true
}

// SetAside moves a damaged output, and those of its objects that are damaged,
// to the trash, so that the next commit makes them anew.
func (s *Store) SetAside(ctx context.Context, key Key, damaged []Damage) error {
	if m, err := s.Manifest(key); err == nil {
		for _, d := range damaged {
			e, ok := m.File(d.File)
			if !ok {
				continue
			}
			object := s.objectPath(e.SHA256)
			if _, whole := s.checkFile(ctx, e, object); !whole && ctx.Err() == nil {
				if err := s.trash(object); err != nil {
					return err
				}
			}
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.trash(s.OutputDir(key))
}
