package jobs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"espalier/pipeline"
	"espalier/pipeline/store"
)

// partialSuffix is added to the name of an output for the folder in which work
// on it lies.
const partialSuffix = ".partial"

// A Direct makes the output of one stage in a folder of its own, without a job:
// the same stage, the same bytes. What is done lies in the folder Out.partial,
// a store, from which a killed call goes on.
type Direct struct {
	Graph   pipeline.Graph
	Stage   string // of the graph, whose output is wanted
	Out     string
	Replace bool // an output of the same kind that stands at Out may go
}

// Run makes the output, unless Out holds it already, and returns its manifest
// and whether it was there.
func (d *Direct) Run(ctx context.Context, o pipeline.Options) (m *store.Manifest, cached bool, err error) {
	out := filepath.Clean(d.Out)
	partial := out + partialSuffix
	release, err := hold(ctx, partial, o.Log)
	if err != nil {
		return nil, false, err
	}
	defer release()
	if err := restore(out); err != nil {
		return nil, false, err
	}
	if o.Store, err = store.Open(partial); err != nil {
		return nil, false, err
	}
	o.Stage = d.Stage
	old, err := d.standing(out)
	if err != nil {
		return nil, false, err
	}
	if old != nil {
		key, err := d.key(ctx, o)
		if err != nil {
			return nil, false, err
		}
		if old.Key == key {
			return old, true, discard(partial, out)
		}
		if !d.Replace && !o.SkipRefused { // which files are skipped, a run finds out
			return nil, false, d.another()
		}
	}
	res, err := pipeline.Run(ctx, d.Graph, o)
	if err != nil {
		return nil, false, err
	}
	n := res.Node(d.Stage)
	switch {
	case n == nil || n.Manifest == nil:
		return nil, false, fmt.Errorf("%s: no output", d.Stage)
	case old != nil && old.Key == n.Manifest.Key:
		return old, true, discard(partial, out)
	case old != nil && !d.Replace:
		return nil, false, d.another()
	}
	if err := publish(ctx, o.Store, n.Manifest.Key, out, old != nil); err != nil {
		return nil, false, err
	}
	return n.Manifest, false, nil
}

func (d *Direct) another() error {
	return &pipeline.UsageError{Msg: fmt.Sprintf("%s holds another output; --replace puts the new one in its place", d.Out)}
}

// standing returns the manifest of what is at out, nil if that is nothing.
func (d *Direct) standing(out string) (*store.Manifest, error) {
	entries, err := os.ReadDir(out)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, &pipeline.UsageError{Msg: fmt.Sprintf("%s: %v", d.Out, err)}
	case len(entries) == 0:
		return nil, os.Remove(out)
	}
	m, err := store.ReadManifest(out)
	if err != nil {
		return nil, &pipeline.UsageError{Msg: fmt.Sprintf("%s is not empty and holds no output: %v", d.Out, err)}
	}
	for _, n := range d.Graph.Nodes {
		if n.Name == d.Stage && n.Stage.Kind() != m.Kind {
			return nil, &pipeline.UsageError{Msg: fmt.Sprintf("%s holds an output of %s, not of %s", d.Out, m.Kind, n.Stage.Kind())}
		}
	}
	return m, nil
}

func (d *Direct) key(ctx context.Context, o pipeline.Options) (store.Key, error) {
	planned, err := pipeline.Status(ctx, d.Graph, o)
	for _, p := range planned {
		if p.Stage == d.Stage {
			return p.Key, err
		}
	}
	return "", err
}

// Names beside an output, of folders that a killed call may leave behind.
const (
	freshSuffix = ".new" + partialSuffix  // the output before it has its name
	goneSuffix  = ".old" + partialSuffix  // what it replaces
	doneSuffix  = ".done" + partialSuffix // what is being removed
)

// Folders returns the folder of an output and those beside it in which work on
// it may lie.
func Folders(out string) []string {
	out = filepath.Clean(out)
	return []string{out, out + partialSuffix, out + freshSuffix, out + goneSuffix, out + doneSuffix}
}

// restore gives an output that was to be replaced its name back, if a kill left
// it without one, and removes what is of no more use.
func restore(out string) error {
	if _, err := os.Lstat(out); errors.Is(err, fs.ErrNotExist) {
		if err := os.Rename(out+goneSuffix, out); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return os.RemoveAll(out + doneSuffix)
}

// publish moves an output of the partial store to out and removes the store.
// A kill leaves either what was at out, or nothing there and the store.
func publish(ctx context.Context, s *store.Store, key store.Key, out string, replace bool) error {
	fresh, gone := out+freshSuffix, out+goneSuffix
	halves, err := store.HalfExports(fresh)
	if err != nil {
		return err
	}
	for _, dir := range append(halves, fresh) {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	if err := discard(gone, out); err != nil {
		return err
	}
	// The store goes: its files need no copies.
	if err := s.Export(ctx, key, fresh, true); err != nil {
		return err
	}
	if err := writable(fresh); err != nil {
		return err
	}
	if replace {
		if err := os.Rename(out, gone); err != nil {
			return err
		}
	}
	if err := os.Rename(fresh, out); err != nil {
		return err
	}
	return errors.Join(discard(gone, out), discard(out+partialSuffix, out))
}

// discard removes a folder beside out, if it is there. It is renamed first: the
// half that a kill leaves must not be taken for an output or a store.
func discard(dir, out string) error {
	done := out + doneSuffix
	if err := os.RemoveAll(done); err != nil {
		return err
	}
	if err := os.Rename(dir, done); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.RemoveAll(done)
}

// writable gives the files below an exported folder the mode of its manifest:
// a store's files are for reading only.
func writable(dir string) error {
	like, err := os.Stat(filepath.Join(dir, "manifest.json"))
	if err != nil {
		return err
	}
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		return os.Chmod(path, like.Mode().Perm())
	})
}
