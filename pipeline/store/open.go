package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// FormatVersion is the version of the store's layout that this program writes.
//
// The rule for upgrades: a program reads and writes stores of its own format.
// An older format is upgraded in place, by the first command that opens the
// store, if a step for it is listed in upgrades; a newer one is refused.
const FormatVersion = 1

// ErrMissing says that an output is not in the store.
var ErrMissing = errors.New("store: no output")

// ErrFormat says that a folder is no store, or one that this program cannot use.
var ErrFormat = errors.New("store: unusable folder")

const (
	formatFile   = "FORMAT"
	formatPrefix = "espalier-store "
	manifestFile = "manifest.json"
)

// A Store is a folder of outputs. It is safe for concurrent use, and for use
// by many processes and hosts at once.
type Store struct {
	dir     string
	digests *Digests
	now     func() time.Time
	seq     atomic.Int64

	ready sync.Mutex // guards made
	made  bool       // FORMAT and the folders exist

	beat beats
}

// upgrades[n] turns a store of format n into one of format n+1.
var upgrades = map[int]func(dir string) error{}

// Open returns the store in dir. A folder that does not exist is created when
// something is first written; one that holds anything but a store is refused.
func Open(dir string) (*Store, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	s := &Store{dir: abs, digests: OpenDigests(CacheDir()), now: time.Now}
	s.beat.init()
	version, err := readFormat(abs)
	if errors.Is(err, fs.ErrNotExist) {
		entries, lerr := os.ReadDir(abs)
		if lerr != nil && !errors.Is(lerr, fs.ErrNotExist) {
			return nil, fmt.Errorf("open store: %w", lerr)
		}
		// Looked at again: another runner may have made it a store just now.
		version, err = readFormat(abs)
		if errors.Is(err, fs.ErrNotExist) {
			for _, e := range entries {
				if !strings.HasPrefix(e.Name(), ".") {
					return nil, fmt.Errorf("%w: %s is not empty and holds no file %s", ErrFormat, abs, formatFile)
				}
			}
			return s, nil
		}
	}
	switch {
	case err != nil:
		return nil, err
	case version > FormatVersion:
		return nil, fmt.Errorf("%w: %s has format %d, this program knows up to %d", ErrFormat, abs, version, FormatVersion)
	}
	if err := upgrade(abs, version, upgrades); err != nil {
		return nil, err
	}
	return s, nil
}

// upgrade brings a store of an older format to this program's.
func upgrade(dir string, version int, steps map[int]func(dir string) error) error {
	for ; version < FormatVersion; version++ {
		step := steps[version]
		if step == nil {
			return fmt.Errorf("%w: %s has format %d, which can no longer be upgraded to %d", ErrFormat, dir, version, FormatVersion)
		}
		if err := step(dir); err != nil {
			return fmt.Errorf("upgrade store from format %d: %w", version, err)
		}
		if err := writeFormat(dir, version+1); err != nil {
			return err
		}
	}
	return nil
}

func readFormat(dir string) (int, error) {
	text, err := os.ReadFile(filepath.Join(dir, formatFile))
	if err != nil {
		return 0, err
	}
	var version int
	if _, err := fmt.Sscanf(string(text), formatPrefix+"%d\n", &version); err != nil || version < 1 {
		return 0, fmt.Errorf("%w: %s is damaged", ErrFormat, filepath.Join(dir, formatFile))
	}
	return version, nil
}

// writeFormat replaces FORMAT.
func writeFormat(dir string, version int) error {
	tmp := filepath.Join(dir, "."+formatFile+"."+randomHex(6))
	if err := writePrivate(tmp, fmt.Appendf(nil, "%s%d\n", formatPrefix, version)); err != nil {
		return err
	}
	path := filepath.Join(dir, formatFile)
	if err := os.Rename(tmp, path); err != nil {
		os.Remove(tmp)
		return writeErr("rename", path, err)
	}
	return syncDir(dir)
}

// prepare creates what a new store needs. It is called before any write.
func (s *Store) prepare() error {
	s.ready.Lock()
	defer s.ready.Unlock()
	if s.made {
		return nil
	}
	if _, err := readFormat(s.dir); errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(s.dir, 0o777); err != nil {
			return writeErr("create", s.dir, err)
		}
		// Two first runners write the same bytes: either rename will do.
		if err := writeFormat(s.dir, FormatVersion); err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	s.made = true
	return nil
}

// Dir returns the folder of the store.
func (s *Store) Dir() string { return s.dir }

// Digests returns the digest cache that the store uses.
func (s *Store) Digests() *Digests { return s.digests }

// OutputDir returns the folder in which the output of a key lies, or would.
func (s *Store) OutputDir(key Key) string { return filepath.Join(s.dir, "outputs", string(key)) }

// RunsDir returns the folder of the run log.
func (s *Store) RunsDir() string { return filepath.Join(s.dir, "runs") }

func (s *Store) manifestPath(key Key) string { return filepath.Join(s.OutputDir(key), manifestFile) }

func (s *Store) objectPath(sha string) string {
	return filepath.Join(s.dir, "objects", fan(sha), sha)
}

func (s *Store) partPath(key Key) string {
	return filepath.Join(s.dir, "parts", fan(string(key)), string(key)+".json")
}

func (s *Store) planPath(key Key) string {
	return filepath.Join(s.dir, "plans", string(key)+".json")
}

// fan spreads many names over 256 folders.
func fan(name string) string {
	if len(name) < 2 {
		return "00"
	}
	return name[:2]
}

// tempDir creates a private folder named after this process, so that others
// can tell when nobody needs it any more.
func (s *Store) tempDir() (string, error) {
	if err := s.prepare(); err != nil {
		return "", err
	}
	parent := filepath.Join(s.dir, "work", "tmp", self().String())
	dir := filepath.Join(parent, fmt.Sprintf("%d-%s", s.seq.Add(1), randomHex(4)))
	if err := InDir(parent, 0o777, func() error { return os.Mkdir(dir, 0o777) }); err != nil {
		return "", writeErr("create", dir, err)
	}
	return dir, nil
}

// dropTemp removes a folder made by tempDir, and the process's own if it was
// the last one in it.
func (s *Store) dropTemp(dir string) {
	os.RemoveAll(dir)
	os.Remove(filepath.Dir(dir))
}

// trash moves a file or folder out of the way. It is no error if it is gone.
func (s *Store) trash(path string) error {
	if err := s.prepare(); err != nil {
		return err
	}
	dir := filepath.Join(s.dir, "trash")
	name := s.now().UTC().Format(trashTime) + "_" + randomHex(4) + "_" + filepath.Base(path)
	err := InDir(dir, 0o777, func() error {
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return os.Rename(path, filepath.Join(dir, name))
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return writeErr("set aside", path, err)
	}
	return nil
}

const trashTime = "20060102T150405.000000000Z"

// writeJSON replaces a small unsealed record: the last writer wins.
func (s *Store) writeJSON(path string, v any) error {
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err
	}
	return s.ReplaceFile(path, func(tmp string) error { return writePrivate(tmp, append(text, '\n')) })
}

// ReplaceFile gives path the content that write puts into a private file. It
// is for files of the store that are in no output.
func (s *Store) ReplaceFile(path string, write func(tmp string) error) error {
	dir, err := s.tempDir()
	if err != nil {
		return err
	}
	defer s.dropTemp(dir)
	tmp := filepath.Join(dir, "new")
	if err := write(tmp); err != nil {
		return err
	}
	for try := 0; ; try++ {
		if err := mkdir(filepath.Dir(path)); err != nil {
			return err
		}
		err := os.Rename(tmp, path)
		if err == nil || !errors.Is(err, fs.ErrNotExist) || try == 10 {
			return writeErr("rename", path, err)
		}
	}
}

// Prepare creates the store if it is not there yet.
func (s *Store) Prepare() error { return s.prepare() }

// RandomName returns a name that nobody else has, for files that are in no
// output.
func RandomName() string { return randomHex(4) }
