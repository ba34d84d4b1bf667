// Package corpus is what the readers of raw corpora have in common. Each family
// of corpora has a package below this one.
//
// A reader turns one raw file into records in the order of the file. What
// cannot become a row comes out as a dead letter in its place; a file that
// cannot be used at all ends the sequence with a [*pipeline.RefusedError].
//
// Readers whose files fall into parts have three functions: one cuts a file
// into slices by a fast scan, one reads a slice, and one reads the whole file
// by way of the other two, so that rows never depend on how a file is cut.
package corpus

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"path"
	"runtime"
	"strings"
	"sync"

	"espalier/pipeline"
	"espalier/preprocess/rawjson"
)

// A Record is a row, or what became of something that could not be one.
type Record[R any] struct {
	Row  *R                   // nil for a dead letter
	Dead *pipeline.DeadLetter // nil for a row
}

// A None is the fields or meta of a corpus that has none. It is always empty:
// a map, because a Parquet group must have a column.
type None map[string]string

// Refused turns an error of a scan into one that names the file.
func Refused(file string, err error) error {
	var d *rawjson.DocumentError
	if errors.As(err, &d) {
		offset := d.Offset
		if offset == 0 && d.Field != "" { // missing from the whole document
			offset = -1
		}
		return &pipeline.RefusedError{File: file, Line: d.Line, Offset: offset, Field: d.Field, Reason: d.Reason}
	}
	return err
}

// Stem returns a file name without its last extension, as image ids are
// formed: a name that begins with its only dot is kept.
func Stem(name string) string {
	dir, base := path.Split(name)
	if i := strings.LastIndexByte(base, '.'); i > 0 && strings.Trim(base[:i], ".") != "" {
		return dir + base[:i]
	}
	return name
}

// ID returns the stable id of an example.
func ID(corpus, task, split, key string) string {
	return corpus + "/" + task + "/" + split + "/" + key
}

// A Digest names a slice of a raw file by all that decides its rows.
type Digest struct {
	h    hash.Hash
	buf  []byte
	work chan<- hashing // nil if it is hashed at once
	free <-chan []byte
}

// A Beside hashes for digests while their caller goes on: each digest in its
// order, several side by side.
type Beside struct {
	work []chan hashing
	free chan []byte
	next int
}

type hashing struct {
	h   hash.Hash
	buf []byte
}

const (
	hashed   = 128 << 10                   // bytes that are hashed at once
	besides  = 4                           // hashers at most
	hashings = sliceBytes/hashed + 8       // that may wait for a hasher: a slice's, so that the next one's hasher has work
	spared   = besides*hashings - hashings // buffers that are kept
)

// NewBeside returns a Beside and a function that waits until all is hashed that it
// was given. The digests may not be asked before that, nor given more after it.
func NewBeside() (*Beside, func()) {
	b := &Beside{free: make(chan []byte, spared)}
	var done sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), besides) {
		work := make(chan hashing, hashings)
		b.work = append(b.work, work)
		done.Go(func() {
			for w := range work {
				w.h.Write(w.buf)
				select {
				case b.free <- w.buf[:0]:
				default:
				}
			}
		})
	}
	return b, func() {
		for _, work := range b.work {
			close(work)
		}
		done.Wait()
	}
}

// Digest starts the digest of a slice of the named file.
func (b *Beside) Digest(file string) *Digest {
	d := &Digest{h: sha256.New(), work: b.work[b.next], free: b.free}
	b.next = (b.next + 1) % len(b.work)
	d.Add(int64(len(file)), []byte(file))
	return d
}

// NewDigest starts the digest of a slice of the named file.
func NewDigest(file string) *Digest {
	d := &Digest{h: sha256.New()}
	d.Add(int64(len(file)), []byte(file))
	return d
}

// Add takes bytes that lie at an offset.
func (d *Digest) Add(offset int64, b []byte) {
	d.buf = binary.LittleEndian.AppendUint64(d.buf, uint64(offset))
	d.buf = binary.LittleEndian.AppendUint64(d.buf, uint64(len(b)))
	if d.work != nil {
		if d.buf = append(d.buf, b...); len(d.buf) >= hashed {
			d.End()
		}
		return
	}
	d.h.Write(d.buf)
	d.buf = d.buf[:0]
	d.h.Write(b)
}

// End hands over what is left to be hashed beside; more may follow.
func (d *Digest) End() {
	if d.work == nil || len(d.buf) == 0 {
		return
	}
	d.work <- hashing{d.h, d.buf}
	select {
	case d.buf = <-d.free:
	default:
		d.buf = make([]byte, 0, hashed+16<<10)
	}
}

// AddAll takes all bytes of a file.
func (d *Digest) AddAll(ctx context.Context, src *Source) error {
	buf := make([]byte, min(1<<20, max(src.Size, 1)))
	for at := int64(0); at < src.Size; {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(int64(len(buf)), src.Size-at)
		if _, err := src.ReadAt(buf[:n], at); err != nil && at+n < src.Size {
			return fmt.Errorf("read %s: %w", src.Name, err)
		}
		d.Add(at, buf[:n])
		at += n
	}
	return nil
}

// String returns the digest in hex.
func (d *Digest) String() string { return hex.EncodeToString(d.h.Sum(nil)) }

// A Cutter sets the borders of slices by content: whether a slice ends before a
// row depends on that row's key and on the slice's length, so that a row added
// or removed moves the borders near it and no others.
type Cutter struct {
	Mean int // rows of a slice; slices have half of it at least, twice it at most
	// Least is how many bytes a slice has at least, however many rows that takes:
	// each costs files of its own.
	Least int64
	n     int
	bytes int64
	long  int // rows after which Least was reached
}

// NewCutter returns a Cutter for rows of which so many are asked for. Slices of
// the usual number of rows are never short of bytes.
func NewCutter(mean int) Cutter {
	c := Cutter{Mean: mean}
	if mean >= SliceRows {
		c.Least = sliceBytes
	}
	return c
}

// Cut reports whether a new slice begins with the row of this key, which takes
// so many bytes.
func (c *Cutter) Cut(key []byte, bytes int) bool {
	c.n++
	if c.n == 1 {
		c.bytes = int64(bytes)
		return false // the first row of all
	}
	if c.bytes < c.Least {
		c.long = c.n - 1
	}
	half := max(c.Mean/2, 1)
	enough := c.n > half && c.bytes >= c.Least
	if !enough || Hash(key)%uint64(half) != 0 && c.n <= max(2*c.Mean, c.long+c.Mean) {
		c.bytes += int64(bytes)
		return false
	}
	c.n, c.long, c.bytes = 1, 0, int64(bytes)
	return true
}

// Hash is FNV-1a with its bits mixed once more, the same on every machine.
func Hash(b []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range b {
		h = (h ^ uint64(c)) * 1099511628211
	}
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
