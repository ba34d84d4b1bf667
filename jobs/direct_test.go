package jobs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"espalier/pipeline"
)

// echo writes its text to a file, or fails.
type echo struct {
	Text string `yaml:"text" json:"text"`
}

func (e *echo) Kind() string { return "test/echo" }
func (e *echo) Version() int { return 1 }

func (e *echo) Run(ctx context.Context, t *pipeline.Task, _ pipeline.Part) error {
	if e.Text == "fail" {
		return errors.New("failed as asked")
	}
	f, err := t.Out.Create("text.txt", "text/1")
	if err != nil {
		return err
	}
	if _, err := f.Write([]byte(e.Text)); err != nil {
		return err
	}
	return f.Close(0)
}

func direct(out, text string) *Direct {
	return &Direct{
		Graph: pipeline.Graph{Nodes: []pipeline.Node{{Name: "echo", Stage: &echo{Text: text}}}},
		Stage: "echo", Out: out,
	}
}

func TestDirect(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	content := func() string {
		b, err := os.ReadFile(filepath.Join(out, "text.txt"))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	alone := func() {
		t.Helper()
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		if len(entries) != 1 || entries[0].Name() != "out" {
			t.Errorf("beside the output lie %v", entries)
		}
	}

	m, cached, err := direct(out, "one").Run(t.Context(), pipeline.Options{})
	if err != nil || cached || content() != "one" {
		t.Fatalf("first call: %q, cached %v, %v", content(), cached, err)
	}
	info, err := os.Stat(filepath.Join(out, "text.txt"))
	if err != nil || info.Mode().Perm()&0o200 == 0 {
		t.Errorf("its owner may not write to it: %v, %v", info.Mode(), err)
	}
	alone()
	again, cached, err := direct(out, "one").Run(t.Context(), pipeline.Options{})
	if err != nil || !cached || again.Digest != m.Digest {
		t.Errorf("second call: cached %v, %v", cached, err)
	}
	alone()

	var usage *pipeline.UsageError
	if _, _, err := direct(out, "two").Run(t.Context(), pipeline.Options{}); !errors.As(err, &usage) || content() != "one" {
		t.Errorf("another output in its place: %v, content %q", err, content())
	}
	d := direct(out, "two")
	d.Replace = true
	if _, cached, err := d.Run(t.Context(), pipeline.Options{}); err != nil || cached || content() != "two" {
		t.Errorf("replaced: %q, cached %v, %v", content(), cached, err)
	}
	alone()

	// What fails leaves the old output as it is.
	d = direct(out, "fail")
	d.Replace = true
	if _, _, err := d.Run(t.Context(), pipeline.Options{}); err == nil || content() != "two" {
		t.Errorf("a failed call gives %v and leaves %q", err, content())
	}
}

// TestDirectAfterKill puts beside an output what calls killed at each step leave.
func TestDirectAfterKill(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	made := filepath.Join(t.TempDir(), "made")
	if _, _, err := direct(made, "old").Run(t.Context(), pipeline.Options{}); err != nil {
		t.Fatal(err)
	}
	half := func(t *testing.T, dir string) { // of a store, being removed
		if err := errors.Join(os.MkdirAll(filepath.Join(dir, "objects", "ab"), 0o777), os.WriteFile(filepath.Join(dir, "objects", "ab", "cd"), nil, 0o444)); err != nil {
			t.Fatal(err)
		}
	}
	move := func(t *testing.T, from, to string) {
		if err := os.CopyFS(to, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	for name, left := range map[string]func(t *testing.T, out string){
		"while the store was removed": func(t *testing.T, out string) {
			move(t, made, out)
			half(t, out+doneSuffix)
		},
		"while the replaced output was removed": func(t *testing.T, out string) {
			move(t, made, out)
			half(t, out+doneSuffix)
			half(t, out+freshSuffix)
		},
		"between two names": func(t *testing.T, out string) {
			move(t, made, out+goneSuffix)
			move(t, made, out+freshSuffix)
		},
		"while the output was copied": func(t *testing.T, out string) {
			half(t, filepath.Join(filepath.Dir(out), ".out"+freshSuffix+".0123456789ab.tmp"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			out := filepath.Join(dir, "out")
			left(t, out)
			d := direct(out, "new")
			d.Replace = true
			if _, _, err := d.Run(t.Context(), pipeline.Options{}); err != nil {
				t.Fatal(err)
			}
			if b, err := os.ReadFile(filepath.Join(out, "text.txt")); err != nil || string(b) != "new" {
				t.Errorf("%q, %v", b, err)
			}
			if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
				t.Errorf("beside the output lie %v, %v", entries, err)
			}
		})
	}

	// The replaced output is back if the new one fails.
	out := filepath.Join(t.TempDir(), "out")
	move(t, made, out+goneSuffix)
	d := direct(out, "fail")
	d.Replace = true
	if _, _, err := d.Run(t.Context(), pipeline.Options{}); err == nil {
		t.Error("it did not fail")
	}
	if b, err := os.ReadFile(filepath.Join(out, "text.txt")); err != nil || string(b) != "old" {
		t.Errorf("%q, %v", b, err)
	}
}

// TestDirectRemovesAtOnce looks at the store of an output all the time: it is
// whole or not there.
func TestDirectRemovesAtOnce(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	out := filepath.Join(t.TempDir(), "out")
	partial := out + partialSuffix
	var ended atomic.Bool
	looked := make(chan string)
	go func() {
		defer close(looked)
		for !ended.Load() {
			// A folder as small as this is read at once. What has another name by
			// then is being removed.
			f, err := os.Open(partial)
			if err != nil {
				continue
			}
			entries, err := f.ReadDir(-1)
			read, err2 := f.Stat()
			now, err3 := os.Stat(partial)
			f.Close()
			if errors.Join(err, err2, err3) != nil || !os.SameFile(read, now) {
				continue
			}
			visible := slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return e.Name()[0] == '.' })
			if len(visible) > 0 && !slices.ContainsFunc(visible, func(e fs.DirEntry) bool { return e.Name() == "FORMAT" }) {
				looked <- fmt.Sprintf("no FORMAT beside %v", visible)
				return
			}
		}
	}()
	for i := range 30 {
		d := direct(out, strconv.Itoa(i))
		d.Replace = true
		if _, _, err := d.Run(t.Context(), pipeline.Options{}); err != nil {
			t.Error(err)
			break
		}
	}
	ended.Store(true)
	for s := range looked {
		t.Error(s)
	}
}

func TestDirectRefusesFolders(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	out := t.TempDir()
	if err := os.WriteFile(filepath.Join(out, "thesis.txt"), []byte("x"), 0o666); err != nil {
		t.Fatal(err)
	}
	d := direct(out, "one")
	d.Replace = true
	var usage *pipeline.UsageError
	if _, _, err := d.Run(t.Context(), pipeline.Options{}); !errors.As(err, &usage) {
		t.Errorf("a folder with other files: %v", err)
	}
	if _, err := os.Stat(filepath.Join(out, "thesis.txt")); err != nil {
		t.Error(err)
	}
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.Mkdir(empty, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, _, err := direct(empty, "one").Run(t.Context(), pipeline.Options{}); err != nil {
		t.Errorf("an empty folder: %v", err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, _, err := direct(file, "one").Run(t.Context(), pipeline.Options{}); !errors.As(err, &usage) {
		t.Errorf("a file: %v", err)
	}
}

func TestDirectSideBySide(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	var wg sync.WaitGroup
	var made atomic.Int32
	for range 8 {
		wg.Go(func() {
			m, cached, err := direct(out, "text").Run(t.Context(), pipeline.Options{})
			if err != nil || m == nil {
				t.Errorf("%v, %v", m, err)
			}
			if !cached {
				made.Add(1)
			}
		})
	}
	wg.Wait()
	if n := made.Load(); n != 1 {
		t.Errorf("made %d times", n)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("beside the output lie %v, %v", entries, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	release, err := hold(ctx, out+partialSuffix, nil)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, _, err := direct(out, "text").Run(ctx, pipeline.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a call that waits and is cancelled: %v", err)
	}
	release()
	if _, err := os.Stat(out + partialSuffix); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the empty folder stays: %v", err)
	}
}

// Who is done removes no folder that the next one has made and holds by then.
func TestHoldLeavesTheNextOnesFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out.partial")
	first, err := hold(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(dir, dir+".gone"); err != nil { // as what is done is removed
		t.Fatal(err)
	}
	second, err := hold(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	first()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := hold(ctx, dir, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("two hold one folder: %v", err)
	}
	second()
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the empty folder stays: %v", err)
	}
}
