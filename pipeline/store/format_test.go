package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestShardNames(t *testing.T) {
	for _, c := range []struct {
		name, split, ext string
		i, n             int
		ok               bool
	}{
		{"train-00000-of-00012.parquet", "train", ".parquet", 0, 12, true},
		{"a-b/c-of-d-00011-of-00012.arrow", "a-b/c-of-d", ".arrow", 11, 12, true},
		{"x-123456-of-200000", "x", "", 123456, 200000, true},
		{"train-00012-of-00012.parquet", "", "", 0, 0, false},
		{"train-0-of-1.parquet", "", "", 0, 0, false},
		{"vocab.json", "", "", 0, 0, false},
	} {
		split, i, n, ext, ok := ParseShardName(c.name)
		if split != c.split || i != c.i || n != c.n || ext != c.ext || ok != c.ok {
			t.Errorf("%s: %q %d %d %q %v", c.name, split, i, n, ext, ok)
		}
		if ok && ShardName(split, i, n, ext) != c.name {
			t.Errorf("%s comes back as %s", c.name, ShardName(split, i, n, ext))
		}
	}
	m := &Manifest{Files: []FileEntry{
		{Name: "test-00000-of-00001.p"}, {Name: "train-00000-of-00002.p"}, {Name: "train-00001-of-00002.p"}, {Name: "all.txt"}, {Name: DeadLetters},
	}}
	equal(t, "splits", m.Splits(), []string{"test", "train"})
	if got := m.Shards("train"); len(got) != 2 || got[1].Name != "train-00001-of-00002.p" {
		t.Errorf("shards %v", got)
	}
	if got := m.Shards("all"); len(got) != 1 || len(m.Shards("deadletter")) != 0 {
		t.Errorf("one file %v", got)
	}
}

func TestSealedRecordsAreBelievedWholeOrNotAtAll(t *testing.T) {
	for _, entries := range []int{1, 2000} {
		m := Manifest{Kind: "k", Key: key("a"), Params: []byte(`{}`), Notes: map[string]string{"a": "b \"sum\": }"}}
		m.complete()
		text, err := seal(&m, entries)
		if err != nil {
			t.Fatal(err)
		}
		var back Manifest
		if err := unseal(text, &back); err != nil || back.Digest != m.Digest {
			t.Fatalf("%v, %+v", err, back)
		}
		for i := range text {
			bad := slices.Clone(text)
			bad[i] ^= 1
			if unseal(bad, &back) == nil {
				t.Errorf("byte %d flipped, and believed", i)
			}
			if unseal(text[:i], &back) == nil {
				t.Errorf("cut at %d, and believed", i)
			}
		}
	}
}

func FuzzUnseal(f *testing.F) {
	m := Manifest{Kind: "k", Key: key("a"), Params: []byte(`{}`)}
	m.complete()
	text, err := seal(&m, 1)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add(text[:len(text)-1])
	f.Add([]byte(`{"sum":"00"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var back Manifest
		if unseal(text, &back) == nil && !strings.Contains(string(text), sealHead) {
			t.Errorf("%q was believed without a sum", text)
		}
	})
}

func TestKeysThatAreNoKeysAreMissing(t *testing.T) {
	s := newStore(t)
	for _, k := range []Key{"", "../../etc", key("a")[:63], Key(strings.ToUpper(string(key("z")))), key("a") + "/x"} {
		if _, err := s.Manifest(k); !errors.Is(err, ErrMissing) {
			t.Errorf("%q: %v", k, err)
		}
	}
}

func TestAFolderThatIsNoStoreIsRefused(t *testing.T) {
	t.Setenv("ESPALIER_CACHE", t.TempDir())
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "thesis.tex"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); !errors.Is(err, ErrFormat) {
		t.Errorf("a folder of other things: %v", err)
	}
	dir = t.TempDir()
	for _, c := range []struct {
		text string
		ok   bool
	}{{"espalier-store 1\n", true}, {"espalier-store 2\n", false}, {"espalier-store 0\n", false}, {"something\n", false}, {"", false}} {
		if err := os.WriteFile(filepath.Join(dir, formatFile), []byte(c.text), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(dir); (err == nil) != c.ok || err != nil && !errors.Is(err, ErrFormat) {
			t.Errorf("FORMAT %q: %v", c.text, err)
		}
	}
	if s, err := Open(t.TempDir()); err != nil || s.Prepare() != nil {
		t.Errorf("an empty folder: %v", err)
	}
}

func TestAnOlderFormatIsUpgradedOrRefused(t *testing.T) {
	s := newStore(t)
	if err := s.Prepare(); err != nil {
		t.Fatal(err)
	}
	// No older format exists yet: the rule is tried on what a later program
	// would find.
	for _, c := range []struct {
		steps map[int]func(string) error
		ok    bool
	}{{nil, false}, {map[int]func(string) error{0: func(dir string) error { return os.Mkdir(filepath.Join(dir, "upgraded"), 0o777) }}, true}} {
		err := upgrade(s.dir, 0, c.steps)
		if (err == nil) != c.ok || err != nil && !errors.Is(err, ErrFormat) {
			t.Errorf("%v", err)
		}
	}
	if _, err := os.Stat(filepath.Join(s.dir, "upgraded")); err != nil {
		t.Error(err)
	}
	if v, err := readFormat(s.dir); v != FormatVersion || err != nil {
		t.Errorf("format %d, %v", v, err)
	}
}

func TestNamesAreTakenOnce(t *testing.T) {
	dir := t.TempDir()
	a, b, to := filepath.Join(dir, "a"), filepath.Join(dir, "b"), filepath.Join(dir, "to")
	for _, p := range []string{a, b} {
		if err := os.WriteFile(p, []byte(p), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, give := range []func(old, path string) error{renameNoReplace, linkIfAbsent} {
		if err := give(a, to); err != nil {
			t.Fatal(err)
		}
		if err := give(b, to); !errors.Is(err, fs.ErrExist) {
			t.Errorf("taken twice: %v", err)
		}
		if text, err := os.ReadFile(to); string(text) != a || err != nil {
			t.Errorf("%q, %v", text, err)
		}
		if err := os.Rename(to, a); err != nil {
			t.Fatal(err)
		}
	}
	if err := linkIfAbsent(a, to); err != nil {
		t.Fatal(err)
	}
	if err := linkIfAbsent(a, to); err != nil { // the answer to the first request was lost
		t.Errorf("its own name: %v", err)
	}
	if err := replaceLink(b, to); err != nil {
		t.Error(err)
	}
	if text, _ := os.ReadFile(to); string(text) != b {
		t.Errorf("replaced by %q", text)
	}
	if left, _ := readNames(dir); len(left) != 3 {
		t.Errorf("left %v", left)
	}
	if err := replaceLink(filepath.Join(dir, "none"), to); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no such file: %v", err)
	}
}

func TestCacheDir(t *testing.T) {
	t.Setenv("ESPALIER_CACHE", "/x")
	if got := CacheDir(); got != "/x" {
		t.Errorf("%q", got)
	}
	t.Setenv("ESPALIER_CACHE", "")
	t.Setenv("XDG_CACHE_HOME", "/home/u/.cache")
	if got := CacheDir(); got != "/home/u/.cache/espalier" {
		t.Errorf("%q", got)
	}
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("HOME", "")
	if got := CacheDir(); got != "" {
		t.Errorf("%q", got)
	}
}
