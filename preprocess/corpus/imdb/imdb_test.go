package imdb

import (
	"os"
	"path"
	"path/filepath"
	"testing"

	"espalier/internal/shared"
	"espalier/preprocess/corpus"
	"espalier/preprocess/corpus/corpustest"
)

// folderSource is the source of a folder on disk.
func folderSource(t testing.TB, dir, name string) *corpus.Source {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	src := &corpus.Source{Name: name}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		src.Files = append(src.Files, corpus.File{Name: e.Name(), Size: info.Size(), SHA256: e.Name()})
	}
	src.Open = func(file string) (*corpus.Source, func() error, error) {
		f, err := os.Open(filepath.Join(dir, file))
		if err != nil {
			return nil, nil, err
		}
		info, err := f.Stat()
		if err != nil {
			return nil, f.Close, err
		}
		return &corpus.Source{ReaderAt: f, Size: info.Size(), Name: path.Join(name, file)}, f.Close, nil
	}
	return src
}

func TestGoldens(t *testing.T) {
	n := corpustest.CheckFolders(t, func(g corpustest.Golden) (corpustest.Reader, *corpus.Source) {
		if g.Reader != "imdb" {
			return nil, nil
		}
		return corpustest.With(IMDB()), folderSource(t, shared.Dir(t, "data", g.File), g.File)
	})
	if n != 4 {
		t.Errorf("%d folders, want 4", n)
	}
}

func TestReviews(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"10_8.txt": "ten", "9_7.txt": "nine <br />", "9_8.txt": "again", "11_10.txt": "caf\xe9", "12_9.txt": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	rows, dead, err := corpustest.With(IMDB())(t, folderSource(t, dir, "test/pos"), 1)
	if err != nil || len(rows) != 3 || len(dead) != 2 {
		t.Fatalf("%d rows, %d dead letters, %v", len(rows), len(dead), err)
	}
	for i, want := range []string{"imdb/imdb/test/pos_9", "imdb/imdb/test/pos_10", "imdb/imdb/test/pos_12"} {
		if rows[i]["id"] != want || rows[i]["label"] != "positive" {
			t.Errorf("row %d: %v", i, rows[i])
		}
	}
	for i, want := range [][4]string{{"9_8.txt", "id", "duplicate key", "again"}, {"11_10.txt", "text", "invalid UTF-8", "caf\xe9"}} {
		if d := dead[i]; d.File != "test/pos" || d.Where != want[0] || d.Field != want[1] || d.Reason != want[2] || string(d.Raw) != want[3] {
			t.Errorf("dead letter %d: %+v", i, d)
		}
	}
}
