package pipeline

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"espalier/pipeline/store"
)

func (f *fixture) listed(files *Files) []string {
	f.t.Helper()
	if err := files.Check(); err != nil {
		f.t.Fatal(err)
	}
	l, err := files.list(f.t.Context(), f.store.Digests(), 4, nil, nil, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	var names []string
	for _, e := range l.entries {
		names = append(names, e.Name)
	}
	return names
}

func TestFilesAreListedByPattern(t *testing.T) {
	f := newFixture(t)
	for _, name := range []string{"b.json", "a.json", "img/1.jpg", "img/x/2.jpg", "img/x/3.JPG", ".hidden", ".git/config", "img/.DS_Store", "read me.txt"} {
		f.write(name, name)
	}
	for _, c := range []struct {
		include, exclude []string
		want             string
	}{
		{nil, nil, "a.json b.json img/1.jpg img/x/2.jpg img/x/3.JPG read me.txt"},
		{[]string{"*.jpg"}, nil, "img/1.jpg img/x/2.jpg"},
		{[]string{"img/*"}, nil, "img/1.jpg"},
		{[]string{"img/**"}, nil, "img/1.jpg img/x/2.jpg img/x/3.JPG"},
		{[]string{"**/*.[jJ][pP][gG]"}, []string{"3.*"}, "img/1.jpg img/x/2.jpg"},
		{[]string{"**"}, []string{"img/**"}, "a.json b.json read me.txt"},
		{[]string{".*"}, nil, ".hidden img/.DS_Store"},
		{[]string{"?.json", "img/x/**/2.jpg"}, nil, "a.json b.json img/x/2.jpg"},
		{[]string{".git/**"}, nil, ".git/config"},
	} {
		got := strings.Join(f.listed(&Files{Path: f.raw, Include: c.include, Exclude: c.exclude}), " ")
		if got != c.want {
			t.Errorf("include %q exclude %q: %q, want %q", c.include, c.exclude, got, c.want)
		}
	}
	equal(t, "one file", f.listed(&Files{Path: filepath.Join(f.raw, "img/1.jpg")}), []string{"1.jpg"})
	for _, bad := range []*Files{{}, {Path: "x", Include: []string{"[", "/abs"}}, {Path: "x", Exclude: []string{""}}} {
		if err := bad.Check(); err == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
}

func TestTheKeyOfFilesIsTheirContent(t *testing.T) {
	f := newFixture(t)
	f.write("one/a.txt", "a")
	f.write("one/sub/b.txt", "b")
	f.write("two/a.txt", "a")
	f.write("two/sub/b.txt", "b")
	f.write("three/a.txt", "a")
	f.write("three/b.txt", "b") // another name
	f.write("four/a.txt", "a")
	f.write("four/sub/b.txt", "B")
	key := func(files *Files) store.Key {
		t.Helper()
		list, err := Plan(t.Context(), Graph{Nodes: []Node{{Name: "raw", Stage: files}}}, f.o)
		if err != nil {
			t.Fatal(err)
		}
		return list[0].Key
	}
	one := key(&Files{Path: f.raw + "/one"})
	if key(&Files{Path: f.raw + "/two"}) != one || key(&Files{Path: f.raw + "/two", Include: []string{"*.txt"}}) != one {
		t.Error("equal trees have different keys")
	}
	t.Chdir(f.raw)
	if key(&Files{Path: "./one/"}) != one {
		t.Error("a relative path has another key")
	}
	for _, other := range []string{"three", "four"} {
		if key(&Files{Path: other}) == one {
			t.Errorf("%s has the key of one", other)
		}
	}
}

func TestSymbolicLinksAreFollowedOnce(t *testing.T) {
	f := newFixture(t)
	f.write("data/images/1.jpg", "1")
	for link, to := range map[string]string{
		"tree/images": "../data/images", "tree/one.jpg": "../data/images/1.jpg", "tree/loop": "../tree", "tree/self": ".",
	} {
		p := filepath.Join(f.raw, link)
		if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, p); err != nil {
			t.Fatal(err)
		}
	}
	equal(t, "tree", f.listed(&Files{Path: f.raw + "/tree"}), []string{"images/1.jpg", "one.jpg"})
	if err := os.Symlink("tree", f.raw+"/root"); err != nil {
		t.Fatal(err)
	}
	equal(t, "linked root", f.listed(&Files{Path: f.raw + "/root"}), []string{"images/1.jpg", "one.jpg"})
}

func TestUnusableRawFilesAreNamedAtOnce(t *testing.T) {
	f := newFixture(t)
	f.write("good", "x")
	if err := os.Symlink("nowhere", f.raw+"/dangling"); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(f.raw+"/pipe", 0o666); err != nil {
		t.Fatal(err)
	}
	f.write("bad\xffname", "x")
	_, err := (&Files{Path: f.raw}).list(t.Context(), f.store.Digests(), 2, nil, nil, nil)
	if len(refusals(err)) != 3 || ExitCode(err) != ExitBadInput {
		t.Fatalf("%v", err)
	}
	for _, want := range []string{"dangling: no such file", "pipe: not a regular file", `bad\xffname": the name is not UTF-8`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not name %q", err, want)
		}
	}
	skip := map[string]bool{}
	for _, r := range refusals(err) {
		skip[r.File] = true
	}
	l, err := (&Files{Path: f.raw}).list(t.Context(), f.store.Digests(), 2, skip, nil, nil)
	if err != nil || len(l.entries) != 1 || l.entries[0].Name != "good" {
		t.Errorf("without those refused: %+v, %v", l, err)
	}
	_, err = (&Files{Path: f.raw, Include: []string{"*.csv"}}).list(t.Context(), f.store.Digests(), 2, nil, nil, nil)
	if ExitCode(err) != ExitBadInput || !strings.Contains(err.Error(), "no file in it matches") {
		t.Errorf("nothing matches: %v", err)
	}
}

func TestManyFilesAreReadOnce(t *testing.T) {
	f := newFixture(t)
	const n = 1000
	for i := range n {
		f.write(fmt.Sprintf("%02d/%d.jpg", i%50, i), fmt.Sprint(i))
	}
	time.Sleep(60 * time.Millisecond) // until the last change is old enough for its digest to be kept
	stage := &counter{}
	g := Graph{Nodes: []Node{
		{Name: "raw", Stage: &Files{Path: f.raw}},
		{Name: "count", Stage: stage, Inputs: map[string]string{"images": "raw"}},
	}}
	f.run(g)
	if stage.files != n {
		t.Errorf("the stage saw %d files", stage.files)
	}
	first := f.store.Digests().Hashed()
	f.open(f.store.Dir())
	f.run(g)
	if again := f.store.Digests().Hashed(); again > first/2 {
		t.Errorf("%d bytes read again, %d at first", again, first)
	}
}

// counter opens every file of its input.
type counter struct{ files int }

func (*counter) Kind() string { return "test/counter" }
func (*counter) Version() int { return 1 }

func (c *counter) Run(ctx context.Context, t *Task, p Part) error {
	for _, e := range t.In["images"].Manifest.Files {
		f, err := t.In["images"].Open(e.Name)
		if err != nil {
			return err
		}
		b := make([]byte, f.Size())
		_, err = f.ReadAt(b, 0)
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
		if want := strings.TrimSuffix(filepath.Base(e.Name), ".jpg"); string(b) != want {
			return fmt.Errorf("%s holds %q", e.Name, b)
		}
		c.files++
	}
	if _, err := t.In["images"].Open("not there"); err == nil {
		return errors.New("opened what is not there")
	}
	return nil
}

func TestInputsThatAreNoFilesAreRefusedByFiles(t *testing.T) {
	f := newFixture(t)
	f.file("a.tsv", 1)
	g := f.graph()
	i := slices.IndexFunc(g.Nodes, func(n Node) bool { return n.Name == "raw" })
	g.Nodes[i].Inputs = map[string]string{"x": "train"}
	g.Nodes[len(g.Nodes)-1].Inputs = nil
	if _, err := Run(t.Context(), g, f.o); ExitCode(err) != ExitUsage || !strings.Contains(err.Error(), "pipeline/files has no inputs") {
		t.Errorf("%v", err)
	}
}

func TestNamedFilesAreTakenAndMissingOnesNamed(t *testing.T) {
	f := newFixture(t)
	for _, name := range []string{"a", "sub/b", "c"} {
		f.write(name, name)
	}
	equal(t, "names", f.listed(&Files{Path: f.raw, Names: []string{"sub/b", "a", "sub/b"}}), []string{"a", "sub/b"})
	_, err := (&Files{Path: f.raw, Names: []string{"a", "gone", "../x", "sub"}}).list(t.Context(), f.store.Digests(), 2, nil, nil, nil)
	if len(refusals(err)) != 3 || !strings.Contains(err.Error(), "gone: no such file") || !strings.Contains(err.Error(), "sub: not a regular file") {
		t.Errorf("%v", err)
	}
}

func TestATouchWhileAFileIsReadIsNoChange(t *testing.T) {
	f := newFixture(t)
	f.write("a", "text")
	g := Graph{Nodes: []Node{
		{Name: "raw", Stage: &Files{Path: f.raw}},
		{Name: "read", Inputs: map[string]string{"raw": "raw"}, Stage: &probe{run: func(ctx context.Context, t *Task) error {
			file, err := t.In["raw"].Open("a")
			if err != nil {
				return err
			}
			now := time.Now().Add(time.Hour)
			return errors.Join(os.Chtimes(file.Path, now, now), file.Close())
		}}},
	}}
	f.run(g)
}
