package jobs

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

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
