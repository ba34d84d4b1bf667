package store

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// A Root is a job file that used the store: what it named when it last ran
// with these overrides is kept by GC for as long as the file exists.
type Root struct {
	Job     string              `json:"job"` // absolute path of the job file
	Host    string              `json:"host"`
	Set     []string            `json:"set,omitempty"` // overrides
	Updated time.Time           `json:"updated"`
	Nodes   map[string]RootNode `json:"nodes"`
}

// A RootNode is what one node of a job stood for.
type RootNode struct {
	Kind string `json:"kind"`
	Key  Key    `json:"key"`            // when the job last ran
	Made Key    `json:"made,omitempty"` // of its last output, which may be older
}

func (s *Store) rootPath(job string, set []string) string {
	sum := sha256.Sum256([]byte(job + "\x00" + strings.Join(set, "\x00")))
	return filepath.Join(s.dir, "roots", "jobs", hex.EncodeToString(sum[:8])+".json")
}

// SaveRoot replaces the root of a job and its overrides.
func (s *Store) SaveRoot(r Root) error {
	r.Host = self().Host
	r.Updated = s.now().UTC()
	return s.writeJSON(s.rootPath(r.Job, r.Set), &r)
}

// Root returns the root of a job and its overrides, or an error that wraps
// ErrMissing.
func (s *Store) Root(job string, set []string) (*Root, error) {
	r, err := readRoot(s.rootPath(job, set))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: job %s has not used this store", ErrMissing, job)
	}
	return r, err
}

// roots returns all roots and where they stand.
func (s *Store) roots() (roots []Root, paths []string, err error) {
	dir := filepath.Join(s.dir, "roots", "jobs")
	names, err := readNames(dir)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range names {
		if strings.HasPrefix(name, ".") {
			continue
		}
		r, err := readRoot(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		roots = append(roots, *r)
		paths = append(paths, filepath.Join(dir, name))
	}
	return roots, paths, nil
}

func readRoot(path string) (*Root, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var r Root
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return &r, nil
}

// abandoned reports whether the job file is gone, which only a process on the
// host that ran it can tell.
func (r *Root) abandoned() bool {
	if r.Host != self().Host {
		return false
	}
	_, err := os.Stat(r.Job)
	return errors.Is(err, fs.ErrNotExist)
}

// A pin is a named root.
type pin struct {
	Name string `json:"name"`
	Key  Key    `json:"key"`
}

func (s *Store) pinPath(name string) (string, error) {
	if err := checkName(name); err != nil || strings.ContainsAny(name, "/\\") || strings.HasPrefix(name, ".") {
		return "", fmt.Errorf("store: %q is not a name for a pin", name)
	}
	return filepath.Join(s.dir, "roots", "pins", name+".json"), nil
}

// Pin makes a committed output a root under a name, which moves from another
// output if it has one.
func (s *Store) Pin(name string, key Key) error {
	path, err := s.pinPath(name)
	if err != nil {
		return err
	}
	if _, err := s.Manifest(key); err != nil {
		return err
	}
	return s.writeJSON(path, &pin{Name: name, Key: key})
}

// Unpin removes a name; it is no error if there is none.
func (s *Store) Unpin(name string) error {
	path, err := s.pinPath(name)
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return writeErr("remove", path, err)
	}
	return nil
}

// Pins returns the pinned outputs by name.
func (s *Store) Pins() (map[string]Key, error) {
	dir := filepath.Join(s.dir, "roots", "pins")
	names, err := readNames(dir)
	if err != nil {
		return nil, err
	}
	pins := make(map[string]Key)
	for _, name := range names {
		if strings.HasPrefix(name, ".") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		var p pin
		if err := json.Unmarshal(text, &p); err != nil {
			return nil, fmt.Errorf("read %s: %w", filepath.Join(dir, name), err)
		}
		pins[p.Name] = p.Key
	}
	return pins, nil
}

// A Lease keeps GC away from outputs that a process reads or makes, until it
// is released or the process ends. Its heartbeat is the modification time of
// its file, set by the file system, which GC compares with another time set by
// the same file system.
type Lease struct {
	store *Store
	path  string
	file  *os.File
	mu    sync.Mutex
	gone  bool
}

// leaseStale is how old the heartbeat of a process on another host may be.
const leaseStale = 10 * time.Minute

type leaseRecord struct {
	owner
	Since time.Time `json:"since"`
	Keys  []Key     `json:"keys"`
}

// Lease takes a lease on outputs, which need not exist yet.
func (s *Store) Lease(keys []Key) (*Lease, error) {
	if err := s.prepare(); err != nil {
		return nil, err
	}
	dir := filepath.Join(s.dir, "leases")
	text, err := json.Marshal(&leaseRecord{owner: self(), Since: s.now().UTC(), Keys: keys})
	if err != nil {
		return nil, err
	}
	l := &Lease{store: s, path: filepath.Join(dir, self().String()+"_"+randomHex(4)+".json")}
	err = s.ReplaceFile(l.path, func(tmp string) error { return writePrivate(tmp, append(text, '\n')) })
	if err != nil {
		return nil, err
	}
	if l.file, err = os.OpenFile(l.path, os.O_WRONLY, 0); err != nil {
		os.Remove(l.path)
		return nil, writeErr("open", l.path, err)
	}
	s.beat.add(l)
	return l, nil
}

func (l *Lease) beat() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.gone {
		l.file.WriteAt([]byte{'{'}, 0)
	}
}

// Release ends the lease.
func (l *Lease) Release() {
	if l == nil {
		return
	}
	l.store.beat.remove(l)
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.gone {
		l.gone = true
		l.file.Close()
		os.Remove(l.path)
	}
}

// liveLeases returns the leases of living processes and the paths of the rest.
func (s *Store) liveLeases() (live []leaseRecord, stale []string, err error) {
	dir := filepath.Join(s.dir, "leases")
	names, err := readNames(dir)
	if err != nil || len(names) == 0 {
		return nil, nil, err
	}
	now, err := s.fsNow()
	if err != nil {
		return nil, nil, err
	}
	for _, name := range names {
		path := filepath.Join(dir, name)
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		var rec leaseRecord
		if json.Unmarshal(text, &rec) != nil {
			stale = append(stale, path) // leases appear whole
			continue
		}
		id, err := statPath(path)
		if err != nil {
			continue
		}
		if v := rec.vitality(); v == alive || v == unknown && now-id.mtime < int64(leaseStale) {
			live = append(live, rec)
		} else {
			stale = append(stale, path)
		}
	}
	return live, stale, nil
}

// fsNow returns the time by the file system's own clock.
func (s *Store) fsNow() (int64, error) {
	dir, err := s.tempDir()
	if err != nil {
		return 0, err
	}
	defer s.dropTemp(dir)
	probe := filepath.Join(dir, "now")
	if err := writePrivate(probe, []byte{'\n'}); err != nil {
		return 0, err
	}
	id, err := statPath(probe)
	return id.mtime, err
}
