package jobs

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"espalier/pipeline/store"
)

// hold waits until nobody else works in a folder, which it makes, and keeps
// others out until it is called off or the process ends. The lock is the folder
// itself: nothing lies about afterwards. Where folders cannot be locked, nobody
// is kept out.
func hold(ctx context.Context, dir string, log *slog.Logger) (release func(), err error) {
	for told := false; ; {
		f, err := taken(dir)
		if err != nil {
			return nil, err
		}
		if f != nil {
			return func() {
				if mine, err := same(f, dir); mine && err == nil {
					os.Remove(dir) // if there is nothing in it
				}
				f.Close()
			}, nil
		}
		if !told && log != nil {
			log.Info("another call works on this output: waiting", "folder", dir)
		}
		told = true
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// taken locks a folder. It returns nil if another process has it, or if it was
// removed meanwhile.
func taken(dir string) (*os.File, error) {
	var f *os.File
	err := store.InDir(dir, 0o777, func() (err error) {
		f, err = os.Open(dir)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
		return nil, f.Close()
	}
	mine, err := same(f, dir)
	if mine {
		return f, nil
	}
	return nil, errors.Join(err, f.Close())
}

// same reports whether an open folder still has its name: who had it may have
// removed it, and somebody else may have made another.
func same(f *os.File, dir string) (bool, error) {
	held, err := f.Stat()
	if err != nil {
		return false, err
	}
	now, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(held, now), err
}
