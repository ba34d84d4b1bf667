package jobs

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"golang.org/x/sys/unix"
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
				os.Remove(dir) // if there is nothing in it
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
	if err := os.MkdirAll(dir, 0o777); err != nil {
		if info, gone := os.Stat(dir); errors.Is(err, fs.ErrExist) && (gone != nil || info.IsDir()) {
			return nil, nil // it was there, and is being removed
		}
		return nil, err
	}
	f, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
		return nil, f.Close()
	}
	mine, err := f.Stat()
	if err == nil {
		var now fs.FileInfo
		if now, err = os.Stat(dir); err == nil && os.SameFile(mine, now) {
			return f, nil
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // who had it is done
	}
	return nil, errors.Join(err, f.Close())
}
