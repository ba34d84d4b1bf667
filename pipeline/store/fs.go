package store

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// A WriteError says that the store could not be written.
type WriteError struct {
	Op   string // such as "create"
	Path string
	Err  error
}

func (e *WriteError) Error() string {
	return fmt.Sprintf("store: %s %s: %v", e.Op, e.Path, e.Err)
}

func (e *WriteError) Unwrap() error { return e.Err }

// writeErr wraps err, keeping the path once. What is a WriteError stays as it is.
func writeErr(op, path string, err error) error {
	if err == nil || errors.As(err, new(*WriteError)) {
		return err
	}
	var (
		pe *fs.PathError
		le *os.LinkError
	)
	if errors.As(err, &pe) {
		err = pe.Err
	} else if errors.As(err, &le) {
		err = le.Err
	}
	return &WriteError{Op: op, Path: path, Err: err}
}

// IsTemporary reports whether err says that the same call may succeed later:
// the disk is full or read-only, a quota or a resource ran out, or the store
// may not be written by this user now.
func IsTemporary(err error) bool {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return false
	}
	switch errno {
	case syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EFBIG, syscall.EMFILE, syscall.ENFILE,
		syscall.ENOMEM, syscall.EAGAIN, syscall.EBUSY, syscall.ESTALE, syscall.EIO, syscall.ETXTBSY:
		return true
	case syscall.EACCES, syscall.EPERM:
		return errors.As(err, new(*WriteError))
	}
	return false
}

// identity tells a file's content apart without reading it. Equal identities
// mean equal content unless someone sets the clock of the file system back.
type identity struct {
	dev, ino     uint64
	size         int64
	mtime, ctime int64 // nanoseconds
}

func identityOf(st *unix.Stat_t) identity {
	return identity{
		dev: uint64(st.Dev), ino: st.Ino, size: st.Size,
		mtime: st.Mtim.Nano(), ctime: st.Ctim.Nano(),
	}
}

// statPath follows symbolic links.
func statPath(path string) (identity, error) {
	var st unix.Stat_t
	for {
		err := unix.Stat(path, &st)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return identity{}, &fs.PathError{Op: "stat", Path: path, Err: err}
		}
		return identityOf(&st), nil
	}
}

func statFile(f *os.File) (identity, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return identity{}, &fs.PathError{Op: "stat", Path: f.Name(), Err: err}
	}
	return identityOf(&st), nil
}

// sameInode reports whether a and b name the same file on disk.
func (a identity) sameInode(b identity) bool { return a.dev == b.dev && a.ino == b.ino }

// syncDir makes the names in dir durable. File systems that cannot do so for
// folders say EINVAL or ENOTSUP; their names are as durable as they get.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return err
	}
	return nil
}

// mkdir creates dir and its parents and makes new names durable. It tries
// again if gc removes an empty parent meanwhile.
func mkdir(dir string) error {
	up := filepath.Dir(dir)
	for try := 0; ; try++ {
		if st, err := os.Stat(dir); err == nil && st.IsDir() {
			return nil
		}
		if up != dir {
			if err := mkdir(up); err != nil {
				return err
			}
		}
		err := os.Mkdir(dir, 0o777)
		if err == nil || errors.Is(err, fs.ErrExist) {
			if err := syncDir(up); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return writeErr("sync", up, err)
			}
			return nil
		}
		if !errors.Is(err, fs.ErrNotExist) || try == 10 {
			return writeErr("create", dir, err)
		}
	}
}

// InDir calls do when dir and its parents are there. It makes them and tries
// again if somebody who tidies empty folders removes one meanwhile.
func InDir(dir string, perm fs.FileMode, do func() error) error {
	for try := 0; ; try++ {
		err := os.MkdirAll(dir, perm)
		// A folder that goes just after its mkdir has failed is fs.ErrExist
		// to MkdirAll.
		gone := errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist)
		if err == nil {
			err = do()
			gone = errors.Is(err, fs.ErrNotExist)
		}
		if !gone || try == 100 {
			return err
		}
	}
}

// writePrivate writes and syncs a new file that nobody else knows of.
func writePrivate(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return writeErr("create", path, err)
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		os.Remove(path)
		return writeErr("write", path, err)
	}
	return nil
}

// linkIfAbsent gives the file old the name path if nothing has it: it is the
// store's one conditional operation. Fs.ErrExist says that the name is taken.
func linkIfAbsent(old, path string) error {
	err := os.Link(old, path)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrExist):
		// A network file system may repeat a request whose answer was lost.
		a, aerr := statPath(old)
		b, berr := statPath(path)
		if aerr == nil && berr == nil && a.sameInode(b) {
			return nil
		}
		return fs.ErrExist
	case errors.Is(err, syscall.EPERM), errors.Is(err, syscall.ENOTSUP), errors.Is(err, syscall.ENOSYS):
		// No hard links here: rename without replacing is as good.
		if err := renameNoReplace(old, path); errors.Is(err, fs.ErrExist) {
			return fs.ErrExist
		} else if err == nil {
			return nil
		}
	}
	return writeErr("link", path, err)
}

// replaceLink makes path a hard link to old, whatever had the name.
func replaceLink(old, path string) error {
	err := os.Link(old, path)
	if err == nil {
		return nil
	}
	if errors.Is(err, fs.ErrExist) {
		a, aerr := statPath(old)
		b, berr := statPath(path)
		if aerr == nil && berr == nil && a.sameInode(b) {
			return nil
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// The name is taken, or the file has too many links, or there are none.
	tmp := path + "." + randomHex(6) + ".tmp"
	if err := os.Link(old, tmp); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := copyFile(old, tmp); err != nil {
			return err
		}
	}
	if err := os.Rename(tmp, path); err != nil {
		os.Remove(tmp)
		return writeErr("rename", path, err)
	}
	return nil
}

// copyFile copies src to the new file dst and syncs it.
func copyFile(src, dst string) error {
	in, err := os.Open(src)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(dst, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return writeErr("create", dst, err)
	}
	_, err = io.Copy(out, in)
	if err == nil {
		err = out.Sync()
	}
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		os.Remove(dst)
		return writeErr("write", dst, err)
	}
	return nil
}

// randomHex names private things; it never reaches an output.
func randomHex(n int) string {
	b := make([]byte, n)
	rand.Read(b)
	return hex.EncodeToString(b)
}

// treeSize returns the number of bytes in files below path.
func treeSize(path string) int64 {
	var n int64
	filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			n += info.Size()
		}
		return nil
	})
	return n
}
