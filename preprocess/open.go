package preprocess

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"espalier/pipeline"
	"espalier/pipeline/store"
	"espalier/preprocess/corpus"
	"espalier/preprocess/rawfile"
)

// A handle is an open raw file.
type handle interface {
	io.ReaderAt
	io.Closer
	Size() int64
}

// raws are raw files by name. A member of an archive is called by the names of
// both, such as "QNLI.zip/QNLI/train.tsv".
type raws struct {
	entries []store.FileEntry // as they lie on disk
	open    func(name string) (handle, error)
	scratch string
}

// An opened source and what is to be closed after use.
type opened struct {
	*corpus.Source
	stream  bool // it or a file joined to it had to be expanded
	closers []io.Closer
}

func (o *opened) close() error {
	var err error
	for _, c := range slices.Backward(o.closers) {
		err = errors.Join(err, c.Close())
	}
	return err
}

// isArchive reports whether a name is that of an archive.
func isArchive(name string) bool {
	for _, ext := range []string{".zip", ".tar", ".tar.gz", ".tgz"} {
		if strings.HasSuffix(strings.ToLower(name), ext) {
			return true
		}
	}
	return false
}

// list names the files there are, members of archives among them. If a member
// is wanted, it is the only one.
func (w *raws) list(ctx context.Context, member string) ([]store.FileEntry, error) {
	var out []store.FileEntry
	var errs []error
	for _, e := range w.entries {
		if !isArchive(e.Name) && len(w.entries) > 1 {
			out = append(out, e)
			continue
		}
		members, err := w.members(ctx, e, member)
		switch {
		case err != nil:
			errs = append(errs, err)
		case members != nil:
			out = append(out, members...)
		default:
			out = append(out, e)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if member == "" {
		return out, nil
	}
	out = slices.DeleteFunc(out, func(e store.FileEntry) bool { return !strings.HasSuffix(e.Name, "/"+member) })
	if len(out) != 1 {
		return nil, &pipeline.RefusedError{File: w.entries[0].Name, Offset: -1, Field: member, Reason: "no archive with such a member"}
	}
	return out, nil
}

// members lists the files of an archive, nil if the file is none.
func (w *raws) members(ctx context.Context, e store.FileEntry, member string) ([]store.FileEntry, error) {
	var o opened
	a, err := w.archive(ctx, &o, e.Name, isArchive(e.Name) || member != "")
	defer o.close() // of what was only read
	if err != nil || a == nil {
		return nil, err
	}
	if member != "" && !a.Has(member) {
		_, err := a.Open(ctx, member) // says what there is
		return nil, err
	}
	out := []store.FileEntry{}
	for _, m := range a.Members {
		out = append(out, store.FileEntry{Name: e.Name + "/" + m.Name, Bytes: m.Size, SHA256: e.SHA256})
	}
	return out, nil
}

// archive opens a file as an archive, nil if it is none. A gzip stream is looked
// into only if the name or the caller says so: it must be expanded for that.
func (w *raws) archive(ctx context.Context, o *opened, entry string, expand bool) (*rawfile.Archive, error) {
	f, err := w.open(entry)
	if err != nil {
		return nil, err
	}
	o.closers = append(o.closers, f)
	p := &rawfile.Plain{ReaderAt: f, Size: f.Size()}
	if expand {
		if p, err = rawfile.Open(ctx, entry, f, f.Size(), w.scratch); err != nil {
			return nil, err
		}
		o.closers = append(o.closers, p)
	}
	return rawfile.OpenArchive(ctx, entry, p, w.scratch)
}

// entryOf splits a name into that of a file on disk and that of a member.
func (w *raws) entryOf(name string) (entry, member string) {
	for _, e := range w.entries {
		if e.Name == name {
			return name, ""
		}
		if rest, ok := strings.CutPrefix(name, e.Name+"/"); ok {
			return e.Name, rest
		}
	}
	return name, ""
}

// add opens a file, or a member of an archive, expanded.
func (w *raws) add(ctx context.Context, o *opened, name string) (*corpus.Source, error) {
	entry, member := w.entryOf(name)
	var p *rawfile.Plain
	if member == "" {
		f, err := w.open(entry)
		if err != nil {
			return nil, err
		}
		o.closers = append(o.closers, f)
		if p, err = rawfile.Open(ctx, name, f, f.Size(), w.scratch); err != nil {
			return nil, err
		}
		o.stream = o.stream || p.Gzip
	} else {
		a, err := w.archive(ctx, o, entry, true)
		if err != nil {
			return nil, err
		}
		if a == nil {
			return nil, fmt.Errorf("%s: no archive any more", entry)
		}
		if p, err = a.Open(ctx, member); err != nil {
			return nil, err
		}
		o.stream = true
	}
	o.closers = append(o.closers, p)
	if err := rawfile.RefuseForeign(p, p.Size, name); err != nil {
		return nil, err
	}
	return &corpus.Source{ReaderAt: p, Size: p.Size, Name: name}, nil
}

// source opens a file and those joined to it.
func (w *raws) source(ctx context.Context, name string, joined []string, others *raws) (_ *opened, err error) {
	o := &opened{}
	defer func() {
		if err != nil {
			err = errors.Join(w.refusal(err, name), o.close())
		}
	}()
	if o.Source, err = w.add(ctx, o, name); err != nil {
		return nil, err
	}
	for _, name := range joined {
		src, err := others.add(ctx, o, name)
		if err != nil {
			return nil, err
		}
		o.Joined = append(o.Joined, src)
	}
	return o, nil
}

// folder is the source of files of one folder, which are opened one by one.
func (w *raws) folder(ctx context.Context, dir string, files []store.FileEntry) *opened {
	o := &opened{Source: &corpus.Source{Name: dir}}
	for _, f := range files {
		o.Files = append(o.Files, corpus.File{Name: path.Base(f.Name), Size: f.Bytes, SHA256: f.SHA256})
		_, member := w.entryOf(f.Name)
		o.stream = o.stream || member != ""
	}
	var archive *rawfile.Archive
	o.Open = func(name string) (*corpus.Source, func() error, error) {
		full := path.Join(dir, name)
		one := &opened{}
		entry, member := w.entryOf(full)
		if member == "" {
			src, err := w.add(ctx, one, full)
			return src, one.close, err
		}
		if archive == nil {
			var err error
			if archive, err = w.archive(ctx, o, entry, true); err != nil {
				return nil, one.close, err
			}
		}
		p, err := archive.Open(ctx, member)
		if err != nil {
			return nil, one.close, err
		}
		return &corpus.Source{ReaderAt: p, Size: p.Size, Name: full}, p.Close, nil
	}
	return o
}

// refusal names the archive as the refused file, and its member in the reason:
// what is skipped is the archive.
func (w *raws) refusal(err error, name string) error {
	var r *pipeline.RefusedError
	entry, member := w.entryOf(name)
	if member == "" || !errors.As(err, &r) || r.File != name {
		return err
	}
	c := *r
	c.File, c.Reason = entry, member+": "+r.Reason
	return &c
}
