package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Digests remembers the SHA-256 of files by inode, size, mtime and ctime, so
// that an unchanged file is not read again. It lies in the user's cache folder
// and is only ever a saving: a lost or damaged cache costs time, and a failure
// to write it is ignored. It is safe for concurrent use and may be shared by
// processes.
type Digests struct {
	path string // "" keeps nothing on disk
	most int    // records on disk before the older half goes

	mu     sync.Mutex
	loaded bool
	known  map[identity]digest
	fresh  []byte // records not yet on disk
	stored int    // records on disk
	last   time.Time
	hashed int64 // bytes read for digests by this process
}

type digest = [sha256.Size]byte

const (
	digestMagic   = "esD1"
	digestRecord  = 4 + 5*8 + sha256.Size + 4 // magic, identity, digest, CRC
	maxDigests    = 1 << 20
	flushRecords  = 2000
	flushInterval = 5 * time.Second
)

// CacheDir returns the folder for caches of this user: ESPALIER_CACHE, else
// espalier in the user's cache folder, else "".
func CacheDir() string {
	if dir := os.Getenv("ESPALIER_CACHE"); dir != "" {
		return dir
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "espalier")
}

// OpenDigests returns the digest cache below dir, or one that lasts as long as
// the process if dir is "".
func OpenDigests(dir string) *Digests {
	d := &Digests{known: make(map[identity]digest), loaded: dir == "", most: maxDigests}
	if dir != "" {
		d.path = filepath.Join(dir, "digests", "v1")
	}
	return d
}

// Hashed returns the number of bytes read for digests so far.
func (d *Digests) Hashed() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.hashed
}

// File returns the SHA-256 and the size of the file at path, reading it only
// if it is not known. Symbolic links are followed.
func (d *Digests) File(ctx context.Context, path string) (sha string, size int64, err error) {
	id, sum, err := d.file(ctx, path)
	return hex.EncodeToString(sum[:]), id.size, err
}

// Known returns the size of the file at path and whether its SHA-256 is known.
func (d *Digests) Known(path string) (size int64, known bool, err error) {
	id, err := statPath(path)
	if err != nil {
		return 0, false, err
	}
	_, known = d.get(id)
	return id.size, known, nil
}

func (d *Digests) file(ctx context.Context, path string) (identity, digest, error) {
	id, err := statPath(path)
	if err != nil {
		return identity{}, digest{}, err
	}
	if sum, ok := d.get(id); ok {
		return id, sum, nil
	}
	return d.rehash(ctx, path)
}

// rehash reads the file whatever is known of it.
func (d *Digests) rehash(ctx context.Context, path string) (identity, digest, error) {
	f, err := os.Open(path)
	if err != nil {
		return identity{}, digest{}, err
	}
	defer f.Close()
	for try := 0; ; try++ {
		before, err := statFile(f)
		if err != nil {
			return identity{}, digest{}, err
		}
		start := time.Now()
		sum, err := hashFile(ctx, f, before.size)
		if err != nil {
			return identity{}, digest{}, err
		}
		after, err := statFile(f)
		if err != nil {
			return identity{}, digest{}, err
		}
		d.mu.Lock()
		d.hashed += before.size
		d.mu.Unlock()
		if before == after {
			d.put(after, sum, !racy(after, start))
			return after, sum, nil
		}
		if try == 2 {
			return identity{}, digest{}, &fs.PathError{Op: "digest", Path: path, Err: ErrChanging}
		}
	}
}

// ErrChanging says that a file cannot be digested because it is being written.
var ErrChanging = errors.New("the file keeps changing")

// racy reports whether the file may change again without changing its ctime,
// because its last change is as young as the clock of its file system is
// coarse. A ctime in the future, after the clock was set back, counts as young.
func racy(id identity, now time.Time) bool {
	window := 50 * time.Millisecond
	if id.ctime%int64(time.Second) == 0 {
		window = 2 * time.Second
	}
	return id.ctime > now.Add(-window).UnixNano()
}

// hashBytes are read at once: few enough to stay close to the processor.
const hashBytes = 256 << 10

// hashFile reads f from its beginning, looking at ctx once a buffer. Size is
// what it is thought to be.
func hashFile(ctx context.Context, f *os.File, size int64) (digest, error) {
	h := sha256.New()
	buf := make([]byte, min(max(size, 0)+1, hashBytes))
	for off := int64(0); ; {
		if err := ctx.Err(); err != nil {
			return digest{}, err
		}
		n, err := f.ReadAt(buf, off)
		h.Write(buf[:n])
		off += int64(n)
		if errors.Is(err, io.EOF) {
			return digest(h.Sum(nil)), nil
		}
		if err != nil {
			return digest{}, err
		}
	}
}

func (d *Digests) get(id identity) (digest, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.load()
	sum, ok := d.known[id]
	return sum, ok
}

// put remembers a digest; on disk too if keep is set, or if what was known
// there is no longer true.
func (d *Digests) put(id identity, sum digest, keep bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.load()
	old, known := d.known[id]
	if known && old == sum {
		return
	}
	d.known[id] = sum
	if !keep && !known || d.path == "" {
		return
	}
	d.fresh = appendDigest(d.fresh, id, sum)
	if len(d.fresh) >= flushRecords*digestRecord || time.Since(d.last) > flushInterval {
		d.flush()
	}
}

// moved says that the store itself changed only the ctime of a file whose
// digest was known, by linking or renaming it.
func (d *Digests) moved(before, after identity) {
	same := before
	same.ctime = after.ctime
	if same != after {
		return
	}
	if sum, ok := d.get(before); ok {
		d.put(after, sum, true)
	}
}

// Flush writes what is new to disk.
func (d *Digests) Flush() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.flush()
}

func (d *Digests) flush() {
	d.last = time.Now()
	if len(d.fresh) == 0 || d.path == "" {
		return
	}
	fresh := d.fresh
	d.fresh = nil
	if os.MkdirAll(filepath.Dir(d.path), 0o700) != nil {
		return
	}
	f, err := os.OpenFile(d.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	if _, err := f.Write(fresh); err != nil {
		return
	}
	if d.stored += len(fresh) / digestRecord; d.stored > d.most {
		d.compact()
	}
}

// compact keeps the newer half of the records on disk.
func (d *Digests) compact() {
	data, err := os.ReadFile(d.path)
	if err != nil {
		return
	}
	keep := data[len(data)-min(len(data), d.most/2*digestRecord):]
	tmp := d.path + "." + randomHex(6)
	if os.WriteFile(tmp, keep, 0o600) != nil || os.Rename(tmp, d.path) != nil {
		os.Remove(tmp)
		return
	}
	d.stored = len(keep) / digestRecord
}

// load reads the cache once. Damaged records are passed over.
func (d *Digests) load() {
	if d.loaded {
		return
	}
	d.loaded = true
	data, err := os.ReadFile(d.path)
	if err != nil {
		return
	}
	d.stored = len(data) / digestRecord
	for len(data) >= digestRecord {
		id, sum, ok := parseDigest(data[:digestRecord])
		if !ok {
			next := bytes.Index(data[1:], []byte(digestMagic))
			if next < 0 {
				return
			}
			data = data[1+next:]
			continue
		}
		data = data[digestRecord:]
		d.known[id] = sum
	}
}

func appendDigest(b []byte, id identity, sum digest) []byte {
	start := len(b)
	b = append(b, digestMagic...)
	for _, v := range [5]uint64{id.dev, id.ino, uint64(id.size), uint64(id.mtime), uint64(id.ctime)} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	b = append(b, sum[:]...)
	return binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b[start:]))
}

func parseDigest(b []byte) (id identity, sum digest, ok bool) {
	end := digestRecord - 4
	if string(b[:4]) != digestMagic || crc32.ChecksumIEEE(b[:end]) != binary.LittleEndian.Uint32(b[end:]) {
		return identity{}, digest{}, false
	}
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(b[4+8*i:]) }
	id = identity{word(0), word(1), int64(word(2)), int64(word(3)), int64(word(4))}
	return id, digest(b[44:76]), true
}
