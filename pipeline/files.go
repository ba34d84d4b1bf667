package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"espalier/pipeline/progress"
	"espalier/pipeline/store"
)

// Files is the built-in stage "pipeline/files": raw files enter a graph
// through it and through nothing else. Its key is the files' content: their
// names relative to the root and their digests. The path itself is not part of
// it, nor are times, so moving or touching a tree re-runs nothing.
//
// A downstream stage reads them with Input.Open by relative name; the names
// stand in the input's manifest, sorted. A single file is named by its last
// name.
type Files struct {
	// Path is a file, or a folder that is read with all folders below it,
	// symbolic links followed. Relative paths are relative to the working
	// directory; job files make them absolute.
	Path string `yaml:"path" json:"-"`
	// Include has patterns of names below Path, separated by slashes: "*",
	// "?" and "[a-z]" stay within a name, "**" crosses folders, and a pattern
	// without a slash is compared with the last name only. Empty means
	// all files. Names that begin with a dot need a pattern that does.
	Include []string `yaml:"include" json:"-"`
	// Exclude has patterns of names to leave out.
	Exclude []string `yaml:"exclude" json:"-"`
	// Names are the files that are wanted, below the folder Path; nothing is
	// searched then, and the patterns do not count. Every one must exist.
	Names []string `yaml:"names" json:"-"`
}

// FilesKind is the kind of the Files stage.
const FilesKind = "pipeline/files"

// Kind is FilesKind.
func (*Files) Kind() string { return FilesKind }

// Version is raised when equal files would get another key.
func (*Files) Version() int { return 1 }

// Run does nothing: the engine reads the files while it computes keys.
func (*Files) Run(ctx context.Context, t *Task, p Part) error { return nil }

// Check reports a missing path and patterns that cannot be read.
func (f *Files) Check() error {
	var errs []error
	if f.Path == "" {
		errs = append(errs, errors.New("path: required"))
	}
	for name, patterns := range map[string][]string{"exclude": f.Exclude, "include": f.Include} {
		for _, p := range patterns {
			if _, err := path.Match(p, ""); err != nil || p == "" || strings.HasPrefix(p, "/") {
				errs = append(errs, fmt.Errorf("%s: %q is not a pattern of relative names", name, p))
			}
		}
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(errs...)
}

// A listing is what the files of a Files stage are now.
type listing struct {
	root    string // absolute
	entries []store.FileEntry
}

// Find returns the names of the files, sorted, without reading them. Those that
// cannot be used are reported at once, as RefusedErrors.
func (f *Files) Find(ctx context.Context) ([]string, error) {
	_, names, err := f.find(ctx, nil)
	return names, err
}

// find returns the folder and the names of the files, leaving out those of skip.
func (f *Files) find(ctx context.Context, skip map[string]bool) (root string, names []string, _ error) {
	root, err := filepath.Abs(f.Path)
	if err != nil {
		return "", nil, err
	}
	st, err := os.Stat(root)
	if err != nil {
		return "", nil, refuseFile(f.Path, err)
	}
	w := walker{f: f, skip: skip}
	switch {
	case len(f.Names) > 0:
		w.named(ctx, root)
	case st.IsDir():
		w.folder(ctx, root, "", nil)
	default:
		w.found(filepath.Base(root), st.Mode().IsRegular())
		root = filepath.Dir(root)
	}
	if err := ctx.Err(); err != nil {
		return "", nil, err
	}
	if len(w.errs) > 0 {
		return "", nil, errors.Join(w.errs...)
	}
	slices.Sort(w.names)
	return root, w.names, nil
}

// list finds and digests the files, leaving out those of skip. What cannot be
// used is reported at once, as RefusedErrors. Found, unless it is nil, is told of
// the files before they are digested.
func (f *Files) list(ctx context.Context, d *store.Digests, workers int, skip map[string]bool, meter *progress.Meter, found func(root string, names []string)) (*listing, error) {
	root, names, err := f.find(ctx, skip)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		reason := "no file in it matches"
		if len(skip) > 0 {
			reason = "every file in it was refused"
		}
		return nil, &RefusedError{File: f.Path, Offset: -1, Reason: reason}
	}
	if found != nil {
		found(root, names)
	}
	l := &listing{root: root}
	l.entries, err = digestAll(ctx, d, root, names, workers, meter)
	return l, err
}

func refuseFile(name string, err error) *RefusedError {
	reason := err.Error()
	var pe *fs.PathError
	if errors.As(err, &pe) {
		reason = pe.Err.Error()
	}
	return &RefusedError{File: name, Offset: -1, Reason: reason}
}

// A walker collects the names of files below a root.
type walker struct {
	f     *Files
	skip  map[string]bool
	names []string
	errs  []error
}

// named takes the files that are named.
func (w *walker) named(ctx context.Context, root string) {
	names := slices.Clone(w.f.Names)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if ctx.Err() != nil {
			return
		}
		if !fs.ValidPath(name) {
			w.refuse(&RefusedError{File: name, Offset: -1, Reason: "no name below a folder"})
			continue
		}
		info, err := os.Stat(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			w.refuse(refuseFile(name, err))
			continue
		}
		w.found(name, info.Mode().IsRegular())
	}
}

// folder reads one folder. Above holds the folders on the way to it, so that
// a symbolic link to one of them ends.
func (w *walker) folder(ctx context.Context, root, rel string, above []fs.FileInfo) {
	dir := filepath.Join(root, filepath.FromSlash(rel))
	self, err := os.Stat(dir)
	if err != nil {
		w.refuse(refuseFile(cmp.Or(rel, dir), err))
		return
	}
	for _, a := range above {
		if os.SameFile(a, self) {
			return
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		w.refuse(refuseFile(cmp.Or(rel, dir), err))
		return
	}
	above = append(above[:len(above):len(above)], self)
	for _, e := range entries {
		if ctx.Err() != nil {
			return
		}
		name := path.Join(rel, e.Name())
		if e.IsDir() {
			if w.f.enters(name) {
				w.folder(ctx, root, name, above)
			}
			continue
		}
		if e.Type().IsRegular() {
			if w.f.matches(name) {
				w.found(name, true)
			}
			continue
		}
		info, err := os.Stat(filepath.Join(dir, e.Name()))
		switch {
		case err == nil && info.IsDir():
			if w.f.enters(name) {
				w.folder(ctx, root, name, above)
			}
		case !w.f.matches(name):
		case err != nil:
			w.refuse(refuseFile(name, err))
		default:
			w.found(name, info.Mode().IsRegular())
		}
	}
}

// refuse takes note of a file or folder that cannot be used, unless it is to be
// left out.
func (w *walker) refuse(r *RefusedError) {
	if !w.skip[r.File] {
		w.errs = append(w.errs, r)
	}
}

// found takes one file.
func (w *walker) found(name string, regular bool) {
	switch {
	case !utf8.ValidString(name):
		w.refuse(&RefusedError{File: fmt.Sprintf("%q", name), Offset: -1, Reason: "the name is not UTF-8"})
	case !regular:
		w.refuse(&RefusedError{File: name, Offset: -1, Reason: "not a regular file"})
	case !w.skip[name]:
		w.names = append(w.names, name)
	}
}

// enters reports whether a folder may hold files that are wanted: hidden ones
// only if a pattern asks for hidden names.
func (f *Files) enters(name string) bool {
	return !strings.HasPrefix(path.Base(name), ".") || f.asksHidden()
}

func (f *Files) asksHidden() bool {
	return slices.ContainsFunc(f.Include, func(p string) bool {
		return strings.HasPrefix(p, ".") || strings.Contains(p, "/.")
	})
}

func (f *Files) matches(name string) bool {
	hidden := strings.HasPrefix(name, ".") || strings.Contains(name, "/.")
	if len(f.Include) == 0 {
		if hidden {
			return false
		}
	} else if !slices.ContainsFunc(f.Include, func(p string) bool {
		return matchName(p, name) && (!hidden || strings.HasPrefix(p, ".") || strings.Contains(p, "/."))
	}) {
		return false
	}
	return !slices.ContainsFunc(f.Exclude, func(p string) bool { return matchName(p, name) })
}

// matchName compares a relative name with a pattern.
func matchName(pattern, name string) bool {
	if !strings.Contains(pattern, "/") && pattern != "**" {
		name = path.Base(name)
	}
	return matchSegments(strings.Split(pattern, "/"), strings.Split(name, "/"))
}

func matchSegments(pattern, name []string) bool {
	for len(pattern) > 0 {
		if pattern[0] == "**" {
			for i := range len(name) + 1 {
				if matchSegments(pattern[1:], name[i:]) {
					return true
				}
			}
			return false
		}
		if len(name) == 0 {
			return false
		}
		if ok, err := path.Match(pattern[0], name[0]); err != nil || !ok {
			return false
		}
		pattern, name = pattern[1:], name[1:]
	}
	return len(name) == 0
}

// digestAll digests files side by side and keeps their order.
func digestAll(ctx context.Context, d *store.Digests, root string, names []string, workers int, meter *progress.Meter) ([]store.FileEntry, error) {
	meter.Expect(int64(len(names)), "files")
	entries := make([]store.FileEntry, len(names))
	errs := make([]error, len(names))
	var wg sync.WaitGroup
	next := make(chan int)
	for range min(max(workers, 1), len(names)) {
		wg.Go(func() {
			for i := range next {
				sha, size, err := d.File(ctx, filepath.Join(root, filepath.FromSlash(names[i])))
				entries[i] = store.FileEntry{Name: names[i], Bytes: size, SHA256: sha}
				switch {
				case err == nil:
				case errors.Is(err, fs.ErrPermission):
					errs[i] = refuseFile(names[i], err)
				case errors.Is(err, fs.ErrNotExist), errors.Is(err, store.ErrChanging):
					errs[i] = &TemporaryError{err} // between the listing and now
				default:
					errs[i] = err
				}
				meter.Add(1)
			}
		})
	}
	for i := range names {
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return entries, errors.Join(errs...)
}
