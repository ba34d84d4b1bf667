package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// keepCheckpoints is how many states are kept: the newest, and the one before
// it in case the newest is damaged.
const keepCheckpoints = 2

// A checkpointRecord lists the files of a saved state.
type checkpointRecord struct {
	Format int         `json:"format"`
	Step   int64       `json:"step"`
	Files  []FileEntry `json:"files"`
}

const checkpointFile = "checkpoint.json"

func (s *Store) checkpointDir(key Key) string {
	return filepath.Join(s.dir, "work", "checkpoints", string(key))
}

func stepName(step int64) string { return fmt.Sprintf("step-%019d", step) }

// SaveCheckpoint keeps a state under a step. Save fills a fresh folder, which
// is then digested, made durable and renamed into place; all but the newest
// two states are removed.
func (s *Store) SaveCheckpoint(key Key, step int64, save func(dir string) error) error {
	if step < 0 {
		return fmt.Errorf("store: checkpoint: step %d", step)
	}
	tmp, err := s.tempDir()
	if err != nil {
		return err
	}
	defer s.dropTemp(tmp)
	if err := save(tmp); err != nil {
		return err
	}
	rec := checkpointRecord{Format: ManifestFormat, Step: step}
	if rec.Files, err = syncTree(tmp); err != nil {
		return err
	}
	text, err := seal(&rec, len(rec.Files))
	if err != nil {
		return err
	}
	if err := writePrivate(filepath.Join(tmp, checkpointFile), text); err != nil {
		return err
	}
	if err := syncDir(tmp); err != nil {
		return writeErr("sync", tmp, err)
	}
	parent := s.checkpointDir(key)
	if err := mkdir(parent); err != nil {
		return err
	}
	to := filepath.Join(parent, stepName(step))
	for try := 0; ; try++ {
		err := os.Rename(tmp, to)
		if err == nil {
			break
		}
		switch {
		case try == 10:
			return writeErr("rename", to, err)
		case errors.Is(err, fs.ErrNotExist):
			// Another runner of the same stage published, and dropped the states.
			if err := mkdir(parent); err != nil {
				return err
			}
		case !errors.Is(err, fs.ErrExist) && !errors.Is(err, syscall.ENOTEMPTY):
			return writeErr("rename", to, err)
		case checkCheckpoint(to) == nil:
			return nil // another runner saved this step: its bytes are the same
		default:
			if err := s.trash(to); err != nil {
				return err
			}
		}
	}
	if err := syncDir(parent); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return writeErr("sync", parent, err)
	}
	steps, err := s.checkpoints(key)
	if err != nil {
		return err
	}
	for len(steps) > keepCheckpoints {
		os.RemoveAll(filepath.Join(parent, stepName(steps[0])))
		steps = steps[1:]
	}
	return nil
}

// LatestCheckpoint returns the newest whole state. A damaged one is set aside
// and the one before it taken; why says so.
func (s *Store) LatestCheckpoint(key Key) (step int64, dir string, ok bool, why string, err error) {
	steps, err := s.checkpoints(key)
	if err != nil {
		return 0, "", false, "", err
	}
	for _, step := range slices.Backward(steps) {
		dir := filepath.Join(s.checkpointDir(key), stepName(step))
		err := checkCheckpoint(dir)
		if err == nil {
			return step, dir, true, why, nil
		}
		why = err.Error()
		if err := s.trash(dir); err != nil {
			return 0, "", false, why, err
		}
	}
	return 0, "", false, why, nil
}

// HasCheckpoint returns the step of the newest state without looking into it.
func (s *Store) HasCheckpoint(key Key) (step int64, ok bool) {
	steps, err := s.checkpoints(key)
	if err != nil || len(steps) == 0 {
		return 0, false
	}
	return steps[len(steps)-1], true
}

// DropCheckpoints removes the states of an output that is published.
func (s *Store) DropCheckpoints(key Key) { os.RemoveAll(s.checkpointDir(key)) }

// checkpoints returns the steps of the states there are, ascending.
func (s *Store) checkpoints(key Key) ([]int64, error) {
	names, err := readNames(s.checkpointDir(key))
	if err != nil {
		return nil, err
	}
	var steps []int64
	for _, name := range names {
		if digits, ok := strings.CutPrefix(name, "step-"); ok {
			if step, err := strconv.ParseInt(digits, 10, 64); err == nil {
				steps = append(steps, step)
			}
		}
	}
	slices.Sort(steps)
	return steps, nil
}

// syncTree makes all files below dir durable and returns their entries.
func syncTree(dir string) ([]FileEntry, error) {
	var files []FileEntry
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return writeErr("sync", path, syncDir(path))
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := f.Sync(); err != nil {
			return writeErr("sync", path, err)
		}
		h := sha256.New()
		n, err := io.Copy(h, f)
		if err != nil {
			return err
		}
		files = append(files, FileEntry{Name: filepath.ToSlash(rel), Bytes: n, SHA256: hex.EncodeToString(h.Sum(nil))})
		return nil
	})
	return files, err
}

// checkCheckpoint compares a state with its record, reading all of it.
func checkCheckpoint(dir string) error {
	var rec checkpointRecord
	if err := readSealed(filepath.Join(dir, checkpointFile), &rec); err != nil {
		return err
	}
	for _, e := range rec.Files {
		f, err := os.Open(filepath.Join(dir, filepath.FromSlash(e.Name)))
		if err != nil {
			return err
		}
		sum, err := hashFile(context.Background(), f, e.Bytes)
		f.Close()
		if err != nil {
			return err
		}
		if sum != e.digest() {
			return fmt.Errorf("%w: checkpoint file %s", ErrDamaged, filepath.Join(dir, e.Name))
		}
	}
	return nil
}
