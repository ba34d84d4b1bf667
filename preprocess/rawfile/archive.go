package rawfile

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"espalier/pipeline"
)

// A Member is a file in an archive.
type Member struct {
	Name string // as the archive has it
	Size int64
}

// An Archive is an open zip or tar file. Only regular files are members:
// folders, links and what file managers leave behind (__MACOSX, .DS_Store) are
// passed over. It is safe for concurrent use.
type Archive struct {
	Members []Member // in the order of the archive

	name    string
	scratch string
	zip     map[string]*zip.File
	tar     map[string]int64 // where a member's bytes begin
	body    io.ReaderAt      // of the tar file
	links   map[string]bool
}

// OpenArchive returns the archive that a file's expanded content is, nil if it
// is none. An archive that is damaged, holds a member twice or a path that
// leaves it is a [*pipeline.RefusedError]. Members live until p is closed.
func OpenArchive(ctx context.Context, name string, p *Plain, scratch string) (*Archive, error) {
	a := &Archive{name: name, scratch: scratch, links: map[string]bool{}}
	var head [512]byte
	n, err := p.ReadAt(head[:min(int64(len(head)), p.Size)], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	switch {
	case bytes.HasPrefix(head[:n], []byte("PK\x03\x04")), bytes.HasPrefix(head[:n], []byte("PK\x05\x06")):
		err = a.listZip(p)
	case n == len(head) && isTar(head):
		err = a.listTar(ctx, p)
	default:
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return a, nil
}

// isTar reports whether a block is the header of a tar file, by its checksum.
func isTar(head [512]byte) bool {
	field := strings.Trim(string(head[148:156]), " \x00")
	if field == "" {
		return false
	}
	want := 0
	for _, c := range []byte(field) {
		if c < '0' || c > '7' {
			return false
		}
		want = 8*want + int(c-'0')
	}
	copy(head[148:156], "        ")
	sum := 0
	for _, c := range head {
		sum += int(c)
	}
	return sum == want
}

func (a *Archive) refuse(field, format string, args ...any) error {
	return &pipeline.RefusedError{File: a.name, Offset: -1, Field: field, Reason: fmt.Sprintf(format, args...)}
}

// add takes a member, unless it is one of those that nobody wants.
func (a *Archive) add(name string, size int64) (bool, error) {
	clean := path.Clean(name)
	switch {
	case strings.Contains(name, `\`):
		return false, a.refuse(name, "name with a backslash")
	case path.IsAbs(name) || clean == ".." || strings.HasPrefix(clean, "../"):
		return false, a.refuse(name, "path leaves the archive")
	case strings.HasPrefix(name, "__MACOSX/"), path.Base(name) == ".DS_Store", strings.HasPrefix(path.Base(name), "._"):
		return false, nil
	}
	a.Members = append(a.Members, Member{Name: name, Size: size})
	return true, nil
}

func (a *Archive) listZip(p *Plain) error {
	z, err := zip.NewReader(p, p.Size)
	if err != nil {
		return a.refuse("", "zip directory is damaged: %v", err)
	}
	a.zip = map[string]*zip.File{}
	for _, f := range z.File {
		if f.Mode().IsDir() {
			continue
		}
		if !f.Mode().IsRegular() {
			a.links[f.Name] = true
			continue
		}
		wanted, err := a.add(f.Name, int64(f.UncompressedSize64))
		if err != nil {
			return err
		}
		if !wanted {
			continue
		}
		if a.zip[f.Name] != nil {
			return a.refuse(f.Name, "member is there twice")
		}
		a.zip[f.Name] = f
	}
	return nil
}

func (a *Archive) listTar(ctx context.Context, p *Plain) error {
	a.tar, a.body = map[string]int64{}, p
	body := io.NewSectionReader(p, 0, p.Size)
	t := tar.NewReader(body)
	for i := 0; ; i++ {
		if i%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		h, err := t.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, io.ErrUnexpectedEOF):
			return a.refuse("", "tar ends early")
		case errors.Is(err, tar.ErrHeader):
			return a.refuse("", "tar is damaged")
		case err != nil && !errors.Is(err, tar.ErrInsecurePath):
			return fmt.Errorf("list %s: %w", a.name, err)
		}
		switch h.Typeflag {
		case tar.TypeReg:
		case tar.TypeDir:
			continue
		default:
			a.links[h.Name] = true
			continue
		}
		wanted, err := a.add(h.Name, h.Size)
		if err != nil {
			return err
		}
		if !wanted {
			continue
		}
		if _, twice := a.tar[h.Name]; twice {
			return a.refuse(h.Name, "member is there twice")
		}
		at, err := body.Seek(0, io.SeekCurrent)
		if err != nil {
			return err
		}
		if at+h.Size > p.Size {
			return a.refuse(h.Name, "tar ends early")
		}
		a.tar[h.Name] = at
	}
}

// Has reports whether there is a member of this name.
func (a *Archive) Has(member string) bool {
	return slices.ContainsFunc(a.Members, func(m Member) bool { return m.Name == member })
}

// Open returns the content of a member, a gzip stream expanded.
func (a *Archive) Open(ctx context.Context, member string) (*Plain, error) {
	i := slices.IndexFunc(a.Members, func(m Member) bool { return m.Name == member })
	if i < 0 {
		if a.links[member] {
			return nil, a.refuse(member, "a link, which is never followed")
		}
		return nil, a.refuse(member, "no such member; the archive holds %s", a.list())
	}
	if a.tar != nil {
		return Open(ctx, a.name+"/"+member, io.NewSectionReader(a.body, a.tar[member], a.Members[i].Size), a.Members[i].Size, a.scratch)
	}
	p, err := a.inflate(ctx, a.zip[member])
	if err != nil || !p.gzipped() {
		return p, err
	}
	inner, err := Open(ctx, a.name+"/"+member, p, p.Size, a.scratch)
	return inner, errors.Join(err, p.Close())
}

// gzipped reports whether the content is itself a gzip stream.
func (p *Plain) gzipped() bool {
	is, err := IsGzip(p)
	return is && err == nil
}

// inflate expands a member of a zip file into a scratch file.
func (a *Archive) inflate(ctx context.Context, f *zip.File) (_ *Plain, err error) {
	if f.Flags&1 != 0 {
		return nil, a.refuse(f.Name, "member is encrypted")
	}
	r, err := f.Open()
	if err != nil {
		return nil, a.refuse(f.Name, "member cannot be read: %v", err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	tmp, err := os.CreateTemp(a.scratch, "plain-*")
	if err != nil {
		return nil, err
	}
	p := &Plain{ReaderAt: tmp, Gzip: true, tmp: tmp}
	size := int64(f.UncompressedSize64)
	p.Size, err = copyContext(ctx, tmp, io.LimitReader(r, size+1))
	var corrupt flate.CorruptInputError
	switch {
	case err == nil && p.Size == size:
		return p, nil
	case errors.Is(err, zip.ErrChecksum):
		err = a.refuse(f.Name, "zip checksum is wrong")
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, zip.ErrFormat), errors.As(err, &corrupt), err == nil:
		err = a.refuse(f.Name, "zip member is damaged")
	default:
		err = fmt.Errorf("expand %s/%s: %w", a.name, f.Name, err)
	}
	return nil, errors.Join(err, p.Close())
}

// copyContext is io.Copy that heeds ctx.
func copyContext(ctx context.Context, w io.Writer, r io.Reader) (n int64, err error) {
	buf := make([]byte, 1<<20)
	for {
		if err := ctx.Err(); err != nil {
			return n, err
		}
		m, err := r.Read(buf)
		if _, werr := w.Write(buf[:m]); werr != nil {
			return n, werr
		}
		n += int64(m)
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}

// list names members for a message.
func (a *Archive) list() string {
	var names []string
	for i, m := range a.Members {
		if i == 8 {
			names = append(names, fmt.Sprintf("%d more", len(a.Members)-i))
			break
		}
		names = append(names, m.Name)
	}
	if len(names) == 0 {
		return "no files"
	}
	return strings.Join(names, ", ")
}
