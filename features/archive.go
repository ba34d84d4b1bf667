package features

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"espalier/pipeline"
	"espalier/pipeline/shard"
	"espalier/pipeline/store"
)

// A place is part of a file: a member of an archive, or a row of a table.
type place struct {
	File string `json:"file"`
	At   int64  `json:"at"`
	Size int64  `json:"size"`
	Row  bool   `json:"row,omitempty"`  // At is the number of a row
	None bool   `json:"none,omitempty"` // the row has no bytes
}

// IsArchive reports whether a name is one of archives of images: uncompressed tar
// files, and Parquet files with a column of images.
func IsArchive(name string) bool { return isTar(name) || isTable(name) }

func isTar(name string) bool   { return strings.ToLower(path.Ext(name)) == ".tar" }
func isTable(name string) bool { return strings.ToLower(path.Ext(name)) == ".parquet" }

// unpack lists the files of an input, with the images in its archives in the
// place of these: a member is called by the archive's name, a slash and its
// own, and has the digest of its bytes. A row of a table is called by its path,
// or by its number if it has none.
func unpack(ctx context.Context, in *pipeline.Input) (files []store.FileEntry, members map[string]place, err error) {
	members = map[string]place{}
	for _, e := range in.Manifest.Files {
		if !IsArchive(e.Name) {
			files = append(files, e)
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		list := membersOf
		if isTable(e.Name) {
			list = tableRows
		}
		found, err := list(in, e.Name, members)
		if err != nil {
			return nil, nil, err
		}
		files = append(files, found...)
	}
	return files, members, nil
}

func membersOf(in *pipeline.Input, name string, members map[string]place) (found []store.FileEntry, err error) {
	f, err := in.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	r := io.NewSectionReader(f, 0, f.Size())
	for t := tar.NewReader(r); ; {
		h, err := t.Next()
		if err == io.EOF {
			return found, nil
		}
		if err != nil {
			return nil, &pipeline.RefusedError{File: name, Offset: -1, Reason: fmt.Sprintf("not a tar archive, or cut: %v", err)}
		}
		if h.Typeflag != tar.TypeReg || !isImageName(h.Name) {
			continue
		}
		at, err := r.Seek(0, io.SeekCurrent) // the header is read, the data are not
		if err != nil {
			return nil, err
		}
		sum := sha256.New()
		if _, err := io.Copy(sum, t); err != nil {
			return nil, &pipeline.RefusedError{File: name, Offset: at, Reason: fmt.Sprintf("member %s is cut: %v", h.Name, err)}
		}
		id := name + "/" + path.Clean(h.Name)
		if _, ok := members[id]; ok {
			return nil, &pipeline.RefusedError{File: name, Offset: at, Reason: fmt.Sprintf("two members called %s", h.Name)}
		}
		members[id] = place{File: name, At: at, Size: h.Size}
		found = append(found, store.FileEntry{Name: id, Bytes: h.Size, SHA256: hex.EncodeToString(sum.Sum(nil))})
	}
}

// tableRows lists the images of a Parquet file. A row whose image stands in an
// earlier one, path and bytes, adds nothing: tables of questions repeat them.
func tableRows(in *pipeline.Input, name string, members map[string]place) (found []store.FileEntry, err error) {
	f, err := in.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	refused := func(err error) error {
		return &pipeline.RefusedError{File: name, Offset: -1, Reason: err.Error()}
	}
	b, err := shard.OpenBlobs(f, f.Size())
	if err != nil {
		return nil, refused(err)
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	sums := map[string]string{}
	for i := range b.Rows() {
		p, err := b.Path(i)
		if err != nil {
			return nil, refused(err)
		}
		data, err := b.Read(i)
		if err != nil {
			return nil, refused(err)
		}
		id := name + "/" + strconv.FormatInt(i, 10)
		if p != "" {
			id = name + path.Clean("/"+filepath.ToSlash(p))
		}
		sum := sha256.Sum256(data)
		text := hex.EncodeToString(sum[:])
		switch old, ok := sums[id]; {
		case ok && old != text:
			return nil, refused(fmt.Errorf("two images called %s, the second in row %d", p, i))
		case ok:
			continue
		}
		sums[id] = text
		members[id] = place{File: name, At: i, Size: int64(len(data)), Row: true, None: data == nil}
		found = append(found, store.FileEntry{Name: id, Bytes: int64(len(data)), SHA256: text})
	}
	return found, nil
}
