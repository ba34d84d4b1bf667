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
	"strings"

	"espalier/pipeline"
	"espalier/pipeline/store"
)

// A place is part of a file: a member of an archive.
type place struct {
	File string `json:"file"`
	At   int64  `json:"at"`
	Size int64  `json:"size"`
}

// IsArchive reports whether a name is one of archives of images: uncompressed tar
// files.
func IsArchive(name string) bool { return strings.ToLower(path.Ext(name)) == ".tar" }

// unpack lists the files of an input, with the images in its archives in the
// place of these: a member is called by the archive's name, a slash and its
// own, and has the digest of its bytes.
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
		found, err := membersOf(in, e.Name, members)
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
		members[id] = place{name, at, h.Size}
		found = append(found, store.FileEntry{Name: id, Bytes: h.Size, SHA256: hex.EncodeToString(sum.Sum(nil))})
	}
}
