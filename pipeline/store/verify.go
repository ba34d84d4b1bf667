package store

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Damage is one file that is not what its manifest says.
type Damage struct {
	Key     Key    `json:"key"`
	Kind    string `json:"kind"`
	Part    bool   `json:"part"` // the manifest is of a part
	File    string `json:"file"` // its name in the manifest; "" if the manifest itself is damaged
	Path    string `json:"path"`
	Problem string `json:"problem"` // "missing", "size", "digest", "unreadable", "manifest"
	Detail  string `json:"detail"`
}

// String is one line about the damage.
func (d Damage) String() string {
	if d.File == "" {
		return fmt.Sprintf("%s: %s", d.Path, d.Detail)
	}
	return fmt.Sprintf("%s: %s (%s)", d.File, d.Detail, d.Path)
}

// in says which output the damage is of.
func (d Damage) in(m *Manifest, path string) Damage {
	d.Key, d.Kind, d.Path = m.Key, m.Kind, path
	return d
}

// Verify re-digests the files of the given outputs, or of all outputs and
// parts if none are given, whatever the digest cache says, and returns all
// that is damaged or missing. The next run rebuilds it. An output that is not
// in the store is no damage.
func (s *Store) Verify(ctx context.Context, keys ...Key) ([]Damage, error) {
	v := verifier{store: s, seen: make(map[identity]digest)}
	all := len(keys) == 0
	if all {
		names, err := readNames(filepath.Join(s.dir, "outputs"))
		if err != nil {
			return nil, err
		}
		for _, n := range names {
			keys = append(keys, Key(n))
		}
	}
	for _, key := range keys {
		m, err := s.Manifest(key)
		switch {
		case errors.Is(err, ErrMissing):
			continue
		case errors.Is(err, ErrDamaged):
			v.found = append(v.found, Damage{Key: key, Path: s.manifestPath(key), Problem: "manifest", Detail: err.Error()})
			continue
		case err != nil:
			return v.found, err
		case m.External:
			continue
		}
		for _, e := range m.Files {
			object := s.objectPath(e.SHA256)
			name := filepath.Join(s.OutputDir(key), filepath.FromSlash(e.Name))
			for _, path := range []string{name, object} {
				if err := v.file(ctx, path, e, Damage{Key: key, Kind: m.Kind}); err != nil {
					return v.found, err
				}
			}
		}
	}
	if all {
		err := s.eachPart(func(key Key, path string) error { return v.part(ctx, key) })
		return v.found, err
	}
	for _, key := range keys {
		p, err := s.readPlan(key)
		if err != nil {
			continue // a damaged plan is made again
		}
		for _, e := range p.Parts {
			if err := v.part(ctx, e.Key); err != nil {
				return v.found, err
			}
		}
	}
	return v.found, nil
}

type verifier struct {
	store *Store
	seen  map[identity]digest
	found []Damage
}

// part checks the files of a part, if it is committed.
func (v *verifier) part(ctx context.Context, key Key) error {
	p, err := v.store.readPart(key)
	switch {
	case errors.Is(err, ErrMissing):
		return nil
	case errors.Is(err, ErrDamaged):
		v.found = append(v.found, Damage{Key: key, Part: true, Path: v.store.partPath(key), Problem: "manifest", Detail: err.Error()})
		return nil
	case err != nil:
		return err
	}
	for _, e := range slices.Concat(p.Files, p.Side) {
		if err := v.file(ctx, v.store.objectPath(e.SHA256), e, Damage{Key: key, Kind: p.Kind, Part: true}); err != nil {
			return err
		}
	}
	return nil
}

// file reads one file, unless it did so under another name.
func (v *verifier) file(ctx context.Context, path string, e FileEntry, d Damage) error {
	d.File, d.Path = e.Name, path
	id, err := statPath(path)
	if errors.Is(err, fs.ErrNotExist) {
		d.Problem, d.Detail = "missing", "the file is missing"
		v.found = append(v.found, d)
		return nil
	}
	if err != nil {
		return err
	}
	sum, ok := v.seen[id]
	if !ok {
		if id, sum, err = v.store.digests.rehash(ctx, path); err != nil {
			if ctx.Err() != nil {
				return err
			}
			d.Problem, d.Detail = "unreadable", err.Error()
			v.found = append(v.found, d)
			return nil
		}
		v.seen[id] = sum
	}
	switch {
	case id.size != e.Bytes:
		d.Problem, d.Detail = "size", fmt.Sprintf("%d bytes, want %d", id.size, e.Bytes)
	case sum != e.digest():
		d.Problem, d.Detail = "digest", fmt.Sprintf("sha256 %s, want %s", hex.EncodeToString(sum[:]), e.SHA256)
	default:
		return nil
	}
	v.found = append(v.found, d)
	return nil
}

// VerifyFile re-digests one raw file and reports how it differs from its entry.
func (s *Store) VerifyFile(ctx context.Context, path string, e FileEntry) (d Damage, ok bool, err error) {
	v := verifier{store: s, seen: make(map[identity]digest)}
	if err := v.file(ctx, path, e, Damage{}); err != nil {
		return Damage{}, false, err
	}
	if len(v.found) > 0 {
		return v.found[0], false, nil
	}
	return Damage{}, true, nil
}

// eachPart calls f for each committed part, in the order of keys.
func (s *Store) eachPart(f func(key Key, path string) error) error {
	return s.eachFanned("parts", func(name, path string) error {
		if key, ok := strings.CutSuffix(name, ".json"); ok {
			return f(Key(key), path)
		}
		return nil
	})
}

// eachFanned calls f for each file in the 256 folders below a folder.
func (s *Store) eachFanned(folder string, f func(name, path string) error) error {
	fans, err := readNames(filepath.Join(s.dir, folder))
	if err != nil {
		return err
	}
	for _, fan := range fans {
		dir := filepath.Join(s.dir, folder, fan)
		names, err := readNames(dir)
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := f(name, filepath.Join(dir, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// readNames returns the sorted names in a folder; none if there is no folder.
func readNames(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, nil
}
