package features

import (
	"archive/tar"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"espalier/pipeline"
)

// packed writes the images of a folder of photos into an archive, from and to.
func packed(t *testing.T, dir, archive string, from, to int) {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	add := func(name string, data []byte) {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(data)), Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	for i := from; i < to; i++ {
		name := fmt.Sprintf("%03d%s", i, filepath.Ext(good[i%len(good)]))
		data, err := os.ReadFile(filepath.Join(dir, "in", name))
		if err != nil {
			t.Fatal(err)
		}
		add("./"+name, data)
		add(fmt.Sprintf("%03d.json", i), []byte("{}")) // as image shards have them
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(archive, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Images in archives give the features that they give as files, and one more
// image in an archive re-does one part.
func TestExtractFromArchives(t *testing.T) {
	dir := photos(t, 40)
	want := rowsOf(t, extract(t, newStore(t), &pipeline.Files{Path: dir}, tiny(), 2))
	shards, s := t.TempDir(), newStore(t)
	packed(t, dir, filepath.Join(shards, "a.tar"), 0, 25)
	packed(t, dir, filepath.Join(shards, "b.tar"), 25, 39)
	first := extract(t, s, &pipeline.Files{Path: shards}, tiny(), 2)
	check := func(n *pipeline.NodeResult, images int) {
		rows := rowsOf(t, n)
		if len(rows) != images || n.Manifest.Dead != 0 {
			t.Errorf("%d rows, %d dead, want %d", len(rows), n.Manifest.Dead, images)
		}
		for id, r := range rows {
			_, name, _ := strings.Cut(id, ".tar/")
			if w := want["in/"+name]; w == nil || !slices.Equal(w.Values, r.Values) {
				t.Errorf("%s: other features", id)
			}
		}
	}
	check(first, 39)
	packed(t, dir, filepath.Join(shards, "b.tar"), 25, 40)
	second := extract(t, s, &pipeline.Files{Path: shards}, tiny(), 2)
	check(second, 40)
	if second.PartsRun < 1 || second.PartsRun > 1+second.Parts-first.Parts {
		t.Errorf("one image added: %d of %d parts made", second.PartsRun, second.Parts)
	}
}

func TestExtractRefusesArchives(t *testing.T) {
	dir, shards := photos(t, 4), t.TempDir()
	archive := filepath.Join(shards, "a.tar")
	packed(t, dir, archive, 0, 4)
	b, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"cut": b[:700], "no archive": []byte(strings.Repeat("x", 600))} {
		if err := os.WriteFile(archive, data, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := stageOn(t, newStore(t), shards, tiny(), ""); err == nil || !strings.Contains(err.Error(), "a.tar") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
