package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// settle makes a file's last change so old that its digest may be kept.
func settle(t *testing.T, path string) {
	t.Helper()
	time.Sleep(60 * time.Millisecond)
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
}

func TestAnUnchangedFileIsReadOnce(t *testing.T) {
	dir := t.TempDir()
	p := filepath.Join(dir, "x")
	if err := os.WriteFile(p, []byte("hello\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	settle(t, p)
	const want = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03" // sha256sum
	check := func(d *Digests, hashed int64) {
		t.Helper()
		sha, size, err := d.File(t.Context(), p)
		if err != nil || sha != want || size != 6 {
			t.Errorf("%s %d %v", sha, size, err)
		}
		if got := d.Hashed(); got != hashed {
			t.Errorf("%d bytes read, want %d", got, hashed)
		}
	}
	cache := filepath.Join(dir, "cache")
	d := OpenDigests(cache)
	check(d, 6)
	check(d, 6)
	d.Flush()
	check(OpenDigests(cache), 0) // another process
	if err := os.Rename(p, p+"2"); err != nil {
		t.Fatal(err)
	}
	p += "2"
	// Only the ctime differs: a move is read again, and known then.
	d = OpenDigests(cache)
	check(d, 6)
	check(OpenDigests(""), 6)

	// A touch, another content of the same size with its old time.
	now := time.Now().Add(-time.Hour)
	if err := os.Chtimes(p, now, now); err != nil {
		t.Fatal(err)
	}
	check(d, 12)
	if err := os.WriteFile(p, []byte("jello\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(p, now, now); err != nil {
		t.Fatal(err)
	}
	if sha, _, err := d.File(t.Context(), p); err != nil || sha == want {
		t.Errorf("a changed file with its old time: %s %v", sha, err)
	}
}

func TestAYoungFileIsNotRemembered(t *testing.T) {
	dir := t.TempDir()
	p := filepath.Join(dir, "x")
	if err := os.WriteFile(p, []byte("hello\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	d := OpenDigests(filepath.Join(dir, "cache"))
	if _, _, err := d.File(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	d.Flush()
	fresh := OpenDigests(filepath.Join(dir, "cache"))
	if _, _, err := fresh.File(t.Context(), p); err != nil || fresh.Hashed() != 6 {
		t.Errorf("a file just written was trusted: %d bytes read, %v", fresh.Hashed(), err)
	}
	now := time.Now()
	for _, c := range []struct {
		ctime time.Time
		want  bool
	}{
		{now.Add(-time.Second + 1), false},
		{now.Add(-20 * time.Millisecond), true},
		{now.Add(time.Hour), true},                               // the clock was set back
		{now.Truncate(time.Second).Add(-time.Second), true},      // a file system that counts seconds
		{now.Truncate(time.Second).Add(-5 * time.Second), false}, //
	} {
		if got := racy(identity{ctime: c.ctime.UnixNano()}, now); got != c.want {
			t.Errorf("changed %v ago: racy %v", now.Sub(c.ctime), got)
		}
	}
}

func TestADamagedCacheCostsTimeOnly(t *testing.T) {
	dir := t.TempDir()
	cache := filepath.Join(dir, "cache")
	var paths []string
	for i := range 20 {
		p := filepath.Join(dir, fmt.Sprint(i))
		if err := os.WriteFile(p, []byte{byte(i)}, 0o666); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, p)
	}
	settle(t, paths[0])
	d := OpenDigests(cache)
	want := make(map[string]string)
	for _, p := range paths {
		sha, _, err := d.File(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		want[p] = sha
	}
	d.Flush()
	file := filepath.Join(cache, "digests", "v1")
	text, err := os.ReadFile(file)
	if err != nil || len(text) != 20*digestRecord {
		t.Fatalf("%d bytes, %v", len(text), err)
	}
	for _, damage := range []func([]byte) []byte{
		func(b []byte) []byte { return b[:len(b)-7] },                                            // cut short
		func(b []byte) []byte { b[3*digestRecord+50] ^= 1; return b },                            // a digest altered
		func(b []byte) []byte { return append(b[:5*digestRecord+11], b[5*digestRecord+20:]...) }, // bytes lost
		func(b []byte) []byte { return []byte("esD1 garbage esD1") },
		func(b []byte) []byte { return nil },
	} {
		if err := os.WriteFile(file, damage(append([]byte(nil), text...)), 0o600); err != nil {
			t.Fatal(err)
		}
		d := OpenDigests(cache)
		for _, p := range paths {
			if sha, _, err := d.File(t.Context(), p); err != nil || sha != want[p] {
				t.Errorf("%s: %s %v", p, sha, err)
			}
		}
		if d.Hashed() == 0 {
			t.Error("nothing was read again")
		}
	}
	// Nor does a cache that cannot be written.
	d = OpenDigests(filepath.Join(paths[0], "no folder"))
	if sha, _, err := d.File(t.Context(), paths[1]); err != nil || sha != want[paths[1]] {
		t.Error(err)
	}
	d.Flush()
}

func TestTheCacheKeepsItsNewerHalf(t *testing.T) {
	d := OpenDigests(t.TempDir())
	d.most = 1000
	if err := os.MkdirAll(filepath.Dir(d.path), 0o700); err != nil {
		t.Fatal(err)
	}
	var b []byte
	for i := range d.most + 10 {
		b = appendDigest(b, identity{ino: uint64(i)}, digest{1})
	}
	if err := os.WriteFile(d.path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	d.put(identity{ino: 1 << 40}, digest{2}, true)
	d.Flush()
	again := OpenDigests(filepath.Dir(filepath.Dir(d.path)))
	if sum, ok := again.get(identity{ino: 1 << 40}); !ok || sum != (digest{2}) {
		t.Error("the newest record is lost")
	}
	if _, ok := again.get(identity{ino: 3}); ok || len(again.known) != d.most/2 {
		t.Errorf("%d records", len(again.known))
	}
}

func TestHashingStopsWhenCancelled(t *testing.T) {
	p := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(p, make([]byte, 1<<20), 0o666); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := OpenDigests("").File(ctx, p); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
