package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
)

func newStore(t testing.TB) *Store {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("ESPALIER_CACHE", filepath.Join(dir, "cache"))
	s, err := Open(filepath.Join(dir, "a store"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// key makes a key of a short name.
func key(name string) Key { return Key(fmt.Sprintf("%064x", name)) }

// put commits an output of one piece.
func put(t testing.TB, s *Store, k Key, files map[string]string) *Manifest {
	t.Helper()
	w, err := s.NewOutput()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Discard()
	for name, text := range files {
		write(t, w.Create, name, text)
	}
	m, err := w.Commit(Manifest{Kind: "test/put", Version: 1, Key: k, Params: []byte("{}")})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func write(t testing.TB, create func(name, schema string) (*OutFile, error), name, text string) {
	t.Helper()
	f, err := create(name, "text/1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(f, text); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(int64(strings.Count(text, "\n"))); err != nil {
		t.Fatal(err)
	}
}

// side adapts Writer.Side to write.
func side(w *Writer) func(name, schema string) (*OutFile, error) {
	return func(name, _ string) (*OutFile, error) { return w.Side(name) }
}

func putPart(t testing.TB, s *Store, k Key, files, sides map[string]string) *PartManifest {
	t.Helper()
	w, err := s.NewPart()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Discard()
	for name, text := range files {
		write(t, w.Create, name, text)
	}
	for name, text := range sides {
		write(t, side(w), name, text)
	}
	p, err := w.CommitPart(PartManifest{Kind: "test/part", Version: 1, Key: k, ID: string(k)})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func read(t testing.TB, s *Store, m *Manifest, name string) string {
	t.Helper()
	f, err := s.OpenFile(t.Context(), m, name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.NewSectionReader(f, 0, f.Size()))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// tree lists the files of the store, without object names.
func tree(t testing.TB, s *Store) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(s.dir, path)
		if strings.HasPrefix(rel, "objects/") {
			rel = "objects/..."
		}
		names = append(names, rel)
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	slices.Sort(names)
	return names
}

func equal[T comparable](t testing.TB, what string, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got %v\nwant %v", what, got, want)
	}
}

func TestCommitPublishesAllOrNothing(t *testing.T) {
	s := newStore(t)
	k := key("a")
	w, err := s.NewOutput()
	if err != nil {
		t.Fatal(err)
	}
	write(t, w.Create, "sub/vocab.txt", "a\nb\n")
	f, err := w.Create("unfinished", "")
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(f, "not closed")
	w.Note("size", "2")
	if _, err := s.Manifest(k); !errors.Is(err, ErrMissing) {
		t.Errorf("before the commit: %v", err)
	}
	m, err := w.Commit(Manifest{Kind: "test/put", Version: 3, Key: k, Params: []byte(`{"x":1}`)})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "store", tree(t, s), []string{
		"FORMAT", "objects/...", "outputs/" + string(k) + "/manifest.json", "outputs/" + string(k) + "/sub/vocab.txt",
	})
	const sha = "911169ddaaf146aff539f58c26c489af3b892dff0fe283c1c264c65ae5aa59a2" // of sha256sum
	if len(m.Files) != 1 || m.Rows != 2 || m.Notes["size"] != "2" || m.Files[0].Bytes != 4 || m.Files[0].SHA256 != sha {
		t.Errorf("manifest %+v", m)
	}
	back, err := s.Manifest(k)
	if err != nil || back.Digest != m.Digest || string(back.Params) != `{"x":1}` {
		t.Errorf("read back %+v, %v", back, err)
	}
	if got := read(t, s, back, "sub/vocab.txt"); got != "a\nb\n" {
		t.Errorf("file reads %q", got)
	}
	st, err := os.Stat(filepath.Join(s.OutputDir(k), "sub/vocab.txt"))
	if err != nil || st.Mode().Perm() != 0o444 {
		t.Errorf("a committed file can be written: %v, %v", st.Mode(), err)
	}
}

func TestDiscardLeavesNothing(t *testing.T) {
	s := newStore(t)
	w, err := s.NewOutput()
	if err != nil {
		t.Fatal(err)
	}
	write(t, w.Create, "x", "text")
	w.Discard()
	w.Discard()
	equal(t, "store", tree(t, s), []string{"FORMAT"})
	if _, err := w.Create("y", ""); err == nil {
		t.Error("a discarded writer takes files")
	}
	if _, err := w.Commit(Manifest{Key: key("a")}); err == nil {
		t.Error("a discarded writer commits")
	}
}

func TestTheLoserAdoptsTheWinner(t *testing.T) {
	s := newStore(t)
	k := key("a")
	var wg sync.WaitGroup
	got := make([]*Manifest, 8)
	for i := range got {
		w, err := s.NewOutput()
		if err != nil {
			t.Fatal(err)
		}
		write(t, w.Create, "x", fmt.Sprintf("by %d\n", i)) // a stage that is not as it should be
		wg.Go(func() { got[i], _ = w.Commit(Manifest{Kind: "test/put", Key: k, Params: []byte("{}")}) })
	}
	wg.Wait()
	for i, m := range got {
		if m == nil || m.Digest != got[0].Digest {
			t.Fatalf("writer %d has %+v, writer 0 %+v", i, m, got[0])
		}
	}
	if d := s.Check(t.Context(), got[0], true); len(d) > 0 {
		t.Errorf("damage %v", d)
	}
	text, err := os.ReadFile(filepath.Join(s.OutputDir(k), "x"))
	if err != nil || string(text) != read(t, s, got[0], "x") {
		t.Errorf("the folder holds %q, %v", text, err)
	}
}

func TestNamesThatLeaveTheFolderAreRefused(t *testing.T) {
	s := newStore(t)
	w, err := s.NewOutput()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Discard()
	for _, name := range []string{"", "/etc/x", "../x", "a/../../x", "a//b", ".", "manifest.json", "x.tmp", "a\x00b", "a\xff"} {
		if _, err := w.Create(name, ""); err == nil {
			t.Errorf("%q was taken", name)
		}
	}
	write(t, w.Create, "x", "")
	if _, err := w.Create("x", ""); err == nil {
		t.Error("one name was taken twice")
	}
	if _, err := w.Side("y"); err == nil {
		t.Error("an output took a side file")
	}
	if _, err := w.Replace(0, "x"); err == nil {
		t.Error("an output replaced a part's file")
	}
}

func TestFinishNumbersReplacesAndDrops(t *testing.T) {
	s := newStore(t)
	parts := []*PartManifest{
		putPart(t, s, key("p0"), map[string]string{"train.txt": "a\nb\n", "test.txt": "t\n"}, map[string]string{"keys": "x"}),
		putPart(t, s, key("p1"), map[string]string{"train.txt": "c\n"}, nil),
		putPart(t, s, key("p2"), nil, nil),
		putPart(t, s, key("p3"), map[string]string{"train.txt": "d\ne\n", "test.txt": "u\n"}, nil),
	}
	w, err := s.NewFinish(parts)
	if err != nil {
		t.Fatal(err)
	}
	write(t, w.Create, "totals.json", "{}")
	write(t, func(string, string) (*OutFile, error) { return w.Replace(3, "train.txt") }, "", "e\n")
	if err := w.Drop(0, "test.txt"); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []error{w.Drop(4, "train.txt"), w.Drop(1, "test.txt"), w.Drop(-1, "x")} {
		if bad == nil {
			t.Error("dropped what is not there")
		}
	}
	m, err := w.Commit(Manifest{Kind: "test/split", Key: key("out"), Params: []byte("{}")})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range m.Files {
		got = append(got, fmt.Sprintf("%s %d %d %s", e.Name, e.Rows, e.Part, e.Schema))
	}
	equal(t, "files", got, []string{
		"test-00000-of-00001.txt 1 3 text/1",
		"train-00000-of-00003.txt 2 0 text/1", "train-00001-of-00003.txt 1 1 text/1", "train-00002-of-00003.txt 1 3 text/1",
		"totals.json 0 -1 text/1",
	})
	if got := read(t, s, m, "train-00002-of-00003.txt"); got != "e\n" || m.Rows != 5 {
		t.Errorf("%q, %d rows", got, m.Rows)
	}
	p, _, err := s.Part(t.Context(), key("p3"))
	if err != nil || p.Files[1].Rows != 2 {
		t.Errorf("the part itself changed: %+v, %v", p, err)
	}
	// Shards are hard links to the parts' objects.
	a, aerr := statPath(filepath.Join(s.OutputDir(m.Key), "train-00000-of-00003.txt"))
	b, berr := statPath(s.objectPath(parts[0].Files[1].SHA256))
	if aerr != nil || berr != nil || !a.sameInode(b) {
		t.Errorf("%+v and %+v are two files", a, b)
	}
}

func TestExportCopiesAWholeOutput(t *testing.T) {
	s := newStore(t)
	put(t, s, key("a"), map[string]string{"x/y.txt": "text\n", "z": "text\n"})
	for _, share := range []bool{false, true} {
		out := filepath.Join(t.TempDir(), "deep", "out")
		if err := s.Export(t.Context(), key("a"), out, share); err != nil {
			t.Fatal(err)
		}
		m, err := ReadManifest(out)
		text, rerr := os.ReadFile(filepath.Join(out, "x/y.txt"))
		if err != nil || rerr != nil || m.Key != key("a") || string(text) != "text\n" {
			t.Errorf("share %v: %+v %v, %q %v", share, m, err, text, rerr)
		}
		y, yerr := statPath(filepath.Join(out, "x/y.txt"))
		z, zerr := statPath(filepath.Join(out, "z"))
		if yerr != nil || zerr != nil || y.sameInode(z) {
			t.Errorf("share %v: %+v and %+v are one file", share, y, z)
		}
		if err := s.Export(t.Context(), key("a"), out, share); !errors.Is(err, fs.ErrExist) {
			t.Errorf("over another folder: %v", err)
		}
		if left, _ := filepath.Glob(filepath.Join(filepath.Dir(out), ".*")); len(left) > 0 {
			t.Errorf("left %v", left)
		}
	}
	if err := s.Export(t.Context(), key("b"), filepath.Join(t.TempDir(), "o"), true); !errors.Is(err, ErrMissing) {
		t.Errorf("no output: %v", err)
	}
}

func TestCheckpointsKeepTheLastTwo(t *testing.T) {
	s := newStore(t)
	k := key("train")
	save := func(step int64, text string) error {
		return s.SaveCheckpoint(k, step, func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "w"), []byte(text), 0o666)
		})
	}
	for step := int64(10); step <= 40; step += 10 {
		if err := save(step, fmt.Sprint(step)); err != nil {
			t.Fatal(err)
		}
	}
	if steps, err := s.checkpoints(k); err != nil || !slices.Equal(steps, []int64{30, 40}) {
		t.Errorf("steps %v, %v", steps, err)
	}
	if err := save(40, "40"); err != nil { // another runner of the same stage
		t.Error(err)
	}
	boom := errors.New("boom")
	if err := s.SaveCheckpoint(k, 50, func(string) error { return boom }); !errors.Is(err, boom) {
		t.Error(err)
	}
	step, dir, ok, why, err := s.LatestCheckpoint(k)
	if step != 40 || !ok || why != "" || err != nil {
		t.Errorf("latest %d %v %q %v", step, ok, why, err)
	}
	// Cut short, then altered, then gone.
	if err := os.Truncate(filepath.Join(dir, "w"), 1); err != nil {
		t.Fatal(err)
	}
	if err := save(40, "40"); err != nil { // takes the damaged one's place
		t.Error(err)
	}
	if text, _ := os.ReadFile(filepath.Join(dir, "w")); string(text) != "40" {
		t.Errorf("state is %q", text)
	}
	os.Remove(filepath.Join(dir, "w"))
	if step, dir, ok, why, err = s.LatestCheckpoint(k); step != 30 || !ok || why == "" || err != nil {
		t.Errorf("after damage: %d %v %q %v", step, ok, why, err)
	}
	os.Remove(filepath.Join(dir, checkpointFile))
	if _, _, ok, _, err = s.LatestCheckpoint(k); ok || err != nil {
		t.Errorf("all damaged: %v %v", ok, err)
	}
	s.DropCheckpoints(k)
	if _, ok := s.HasCheckpoint(k); ok {
		t.Error("dropped states are there")
	}
}

func TestSpoiltReadBackIsNoticed(t *testing.T) {
	for _, size := range []int{1 << 18, smallFile + 1} { // settled at the commit, settled at once
		s := newStore(t)
		w, err := s.NewOutput()
		if err != nil {
			t.Fatal(err)
		}
		f, err := w.Create("x", "")
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(f, strings.Repeat("x", size))
		other, err := os.OpenFile(f.f.path, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		other.WriteAt([]byte("y"), 5) // as a disk that loses a write does
		other.Close()
		err = f.Close(0)
		if err == nil {
			_, err = w.Commit(Manifest{Key: key("a")})
		}
		if err == nil || !strings.Contains(err.Error(), "gave back other bytes") {
			t.Errorf("%d bytes: %v", size, err)
		}
		w.Discard()
		if _, err := s.Manifest(key("a")); !errors.Is(err, ErrMissing) {
			t.Errorf("%d bytes: committed, %v", size, err)
		}
	}
}

func TestInDirWhileOthersRemoveIt(t *testing.T) {
	parent := filepath.Join(t.TempDir(), "a", "b")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 500 {
				var dir string
				err := InDir(parent, 0o700, func() (err error) {
					dir, err = os.MkdirTemp(parent, "")
					return err
				})
				if err != nil {
					t.Error(err)
					return
				}
				os.Remove(dir)
				os.Remove(parent)
				os.Remove(filepath.Dir(parent))
			}
		})
	}
	wg.Wait()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, filepath.Join(file, "below")} {
		if err := InDir(dir, 0o700, func() error { return nil }); !errors.Is(err, syscall.ENOTDIR) {
			t.Errorf("%s: %v", dir, err)
		}
	}
}
