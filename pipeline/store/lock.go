package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// A lock is advisory: it saves two runners from doing the same work, and no
// correctness rests on it. Its file holds who has it and a counter that the
// holder raises every few seconds. A holder on this host is gone when its
// process is; one elsewhere is gone when the counter has stood still for
// staleAfter of the observer's own monotonic clock, or when the file is far
// older than another file written now to the same folder. The clocks of two
// hosts are never compared.
const (
	beatEvery  = 2 * time.Second
	staleAfter = 2 * time.Minute
	lockSize   = 1024 // of a lock's file, so that a beat is one write in place
)

// A Holder says who holds a lock.
type Holder struct {
	owner
	Token    string    `json:"token"` // of this one taking of the lock
	Since    time.Time `json:"since"` // by the holder's clock
	What     string    `json:"what"`  // such as the node's name
	Progress string    `json:"progress,omitempty"`
	Beat     int64     `json:"beat"`
}

// String is short, such as "host:1234".
func (h *Holder) String() string { return fmt.Sprintf("%s:%d", h.Host, h.PID) }

// A Lock is held until Unlock or the end of the process.
type Lock struct {
	store *Store
	path  string
	file  *os.File

	mu       sync.Mutex
	rec      Holder
	progress func() string
	gone     bool
}

// beats are the heartbeats of one process in one store.
type beats struct {
	mu    sync.Mutex
	every time.Duration
	clock func() time.Time // monotonic
	held  map[beater]bool
	stop  chan struct{}          // closes the running goroutine
	done  chan struct{}          // it has ended
	seen  map[string]observation // counters of foreign locks, by token
}

// A beater wants to be called every few seconds.
type beater interface{ beat() }

type observation struct {
	beat int64
	at   time.Time // monotonic
}

func (b *beats) init() {
	b.every, b.clock = beatEvery, time.Now
	b.held = make(map[beater]bool)
	b.seen = make(map[string]observation)
}

// add starts the heartbeat of x; the goroutine runs while anything beats.
func (b *beats) add(x beater) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held[x] = true
	if len(b.held) > 1 {
		return
	}
	stop, done := make(chan struct{}), make(chan struct{})
	b.stop, b.done = stop, done
	go func() {
		defer close(done)
		tick := time.NewTicker(b.every)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				b.mu.Lock()
				all := make([]beater, 0, len(b.held))
				for x := range b.held {
					all = append(all, x)
				}
				b.mu.Unlock()
				for _, x := range all {
					x.beat()
				}
			}
		}
	}()
}

// remove ends the heartbeat of x, and waits for the goroutine if it was the
// last.
func (b *beats) remove(x beater) {
	b.mu.Lock()
	delete(b.held, x)
	last := len(b.held) == 0 && b.stop != nil
	var done chan struct{}
	if last {
		close(b.stop)
		done, b.stop = b.done, nil
	}
	b.mu.Unlock()
	if last {
		<-done
	}
}

func (s *Store) lockPath(key Key) string {
	return filepath.Join(s.dir, "locks", string(key)+".lock")
}

// TryLock takes the lock of an output or part. If somebody living holds it,
// lock is nil and holder says who. Progress, which may be nil, is asked for a
// short remark at each heartbeat.
func (s *Store) TryLock(key Key, what string, progress func() string) (lock *Lock, holder *Holder, err error) {
	if err := s.prepare(); err != nil {
		return nil, nil, err
	}
	path := s.lockPath(key)
	for range 10 {
		var l *Lock
		err := InDir(filepath.Dir(path), 0o777, func() (err error) {
			l, err = s.newLock(path, what, progress)
			return err
		})
		switch {
		case err == nil:
			s.beat.add(l)
			return l, nil, nil
		case !errors.Is(err, fs.ErrExist):
			return nil, nil, writeErr("lock", path, err)
		}
		h, err := s.Holder(key)
		if err != nil {
			return nil, nil, err
		}
		if h != nil {
			return nil, h, nil
		}
		// Stale or just released. Taking it away is a rename, so only one
		// of several observers does it; a fresh lock caught by mistake is
		// put back.
		s.takeAway(path)
	}
	return nil, nil, fmt.Errorf("store: lock %s: keeps changing hands", path)
}

// newLock creates the lock's file with its content, or says fs.ErrExist.
func (s *Store) newLock(path, what string, progress func() string) (*Lock, error) {
	if what = sanitizeText(what); len(what) > 200 {
		what = what[:200]
	}
	l := &Lock{store: s, path: path, progress: progress, rec: Holder{
		owner: self(), Token: randomHex(8), Since: s.now().UTC(), What: what,
	}}
	tmp := path + "." + l.rec.Token
	f, err := os.OpenFile(tmp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, writeErr("create", path, err)
	}
	l.file = f
	if err := l.write(); err != nil {
		f.Close()
		os.Remove(tmp)
		return nil, writeErr("write", path, err)
	}
	err = linkIfAbsent(tmp, path)
	os.Remove(tmp)
	if err != nil {
		f.Close()
		return nil, err
	}
	return l, nil
}

// sanitizeText drops what would not fit on one line.
func sanitizeText(s string) string {
	return string(bytes.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, []byte(s)))
}

// write puts the record in place, padded to one size.
func (l *Lock) write() error {
	text, err := json.Marshal(&l.rec)
	if err != nil {
		return err
	}
	if len(text) >= lockSize {
		l.rec.Progress = ""
		if text, err = json.Marshal(&l.rec); err != nil {
			return err
		}
	}
	page := bytes.Repeat([]byte{' '}, max(lockSize, len(text)+1))
	copy(page, text)
	page[len(page)-1] = '\n'
	_, err = l.file.WriteAt(page, 0)
	return err
}

func (l *Lock) beat() {
	var progress string
	if l.progress != nil {
		progress = sanitizeText(l.progress())
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gone {
		return
	}
	l.rec.Beat++
	l.rec.Progress = progress[:min(len(progress), 300)]
	l.write() // a lost beat only makes the lock look older
}

// Unlock gives the lock up, unless it was taken away meanwhile.
func (l *Lock) Unlock() {
	if l == nil {
		return
	}
	l.store.beat.remove(l)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gone {
		return
	}
	l.gone = true
	if h, err := readLock(l.path); err == nil && h.Token == l.rec.Token {
		os.Remove(l.path)
	}
	l.file.Close()
}

// Holder returns who holds the lock of an output or part; nil if nobody
// living does.
func (s *Store) Holder(key Key) (*Holder, error) {
	path := s.lockPath(key)
	h, err := readLock(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if s.stale(h, path) {
		return nil, nil
	}
	return h, nil
}

// stale reports whether the holder is gone.
func (s *Store) stale(h *Holder, path string) bool {
	switch h.vitality() {
	case dead:
		return true
	case alive:
		return false
	}
	s.beat.mu.Lock()
	seen, ok := s.beat.seen[h.Token]
	if !ok || seen.beat != h.Beat {
		s.beat.seen[h.Token] = observation{h.Beat, s.beat.clock()}
	}
	still := ok && seen.beat == h.Beat && s.beat.clock().Sub(seen.at) > staleAfter
	s.beat.mu.Unlock()
	if still {
		return true
	}
	// A runner that never waits has no time to observe: it goes by the age
	// of the file, on the file system's clock.
	id, err := statPath(path)
	if err != nil {
		return false
	}
	now, err := s.fsNow()
	return err == nil && now-id.mtime > int64(leaseStale)
}

// readLock reads a lock's record. One that is being written, or damaged, reads
// as a holder elsewhere whose counter stands at zero.
func readLock(path string) (*Holder, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var h Holder
	if err := json.Unmarshal(bytes.TrimSpace(text), &h); err != nil {
		return &Holder{owner: owner{Host: "unknown"}, Token: path}, nil
	}
	return &h, nil
}

// takeAway removes a stale lock.
func (s *Store) takeAway(path string) {
	away := path + "." + randomHex(8)
	if os.Rename(path, away) != nil {
		return // somebody else was faster
	}
	if h, err := readLock(away); err == nil && !s.stale(h, away) {
		linkIfAbsent(away, path)
	}
	os.Remove(away)
}
