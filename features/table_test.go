package features

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"espalier/pipeline"
)

// A tableRow is a row of a table of images as Hugging Face's datasets write it.
type tableRow struct {
	Image struct {
		Bytes []byte  `parquet:"bytes,optional"`
		Path  *string `parquet:"path,optional"`
	} `parquet:"image,optional"`
	Question string `parquet:"question"`
}

func tabled(t *testing.T, file string, rows []tableRow) {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[tableRow](&b, parquet.Compression(&parquet.Snappy), parquet.MaxRowsPerRowGroup(7))
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// photosAsRows is the images of a folder of photos as rows, paths reversed so
// that their order is not the rows'.
func photosAsRows(t *testing.T, dir string) (rows []tableRow) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "in", "*"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	slices.Reverse(files)
	for _, f := range files {
		var r tableRow
		if r.Image.Bytes, err = os.ReadFile(f); err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(f)
		r.Image.Path = &name
		rows = append(rows, r)
	}
	return rows
}

// Images in Parquet tables give the features that they give as files.
func TestExtractFromTables(t *testing.T) {
	dir := photos(t, 40)
	want := rowsOf(t, extract(t, newStore(t), &pipeline.Files{Path: dir}, tiny(), 2))
	rows := photosAsRows(t, dir)
	rows = append(rows, rows[3], rows[5]) // two questions more
	last := *rows[len(rows)-3].Image.Path
	rows[len(rows)-3].Image.Path = nil // row 39 is called by its number
	var none tableRow
	lost := "lost.jpg"
	none.Image.Path = &lost
	rows = append(rows, none)
	shards, s := t.TempDir(), newStore(t)
	tabled(t, filepath.Join(shards, "a.parquet"), rows[:20])
	tabled(t, filepath.Join(shards, "b.parquet"), rows[20:])
	for _, list := range [][]string{nil, {"b.parquet/" + *rows[25].Image.Path, *rows[2].Image.Path, "no such.png"}} {
		e := tiny()
		e.List = list
		n := extract(t, s, &pipeline.Files{Path: shards}, e, 2)
		got := rowsOf(t, n)
		if list != nil {
			if len(got) != 2 || n.Manifest.Dead != 1 {
				t.Errorf("list: %d rows, %d dead", len(got), n.Manifest.Dead)
			}
			continue
		}
		// Rows 40 and 41 lie in the other table than those they repeat.
		if len(got) != 42 || n.Manifest.Dead != 1 {
			t.Errorf("%d rows, %d dead, want 42 and 1", len(got), n.Manifest.Dead)
		}
		for id, r := range got {
			_, name, _ := strings.Cut(id, ".parquet/")
			if name == "19" {
				name = last
			}
			if w := want["in/"+name]; w == nil || !slices.Equal(w.Values, r.Values) {
				t.Errorf("%s: other features", id)
			}
		}
	}
}

func TestExtractRefusesTables(t *testing.T) {
	dir, shards := photos(t, 6), t.TempDir()
	rows := photosAsRows(t, dir)
	file := filepath.Join(shards, "a.parquet")
	rows[1].Image.Path = rows[4].Image.Path
	tabled(t, file, rows)
	if _, err := stageOn(t, newStore(t), shards, tiny(), ""); err == nil || !strings.Contains(err.Error(), "two images called") {
		t.Errorf("two images of one path: %v", err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"cut": data[:len(data)/2], "no table": []byte(strings.Repeat("x", 600))} {
		if err := os.WriteFile(file, data, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := stageOn(t, newStore(t), shards, tiny(), ""); err == nil || !strings.Contains(err.Error(), "a.parquet") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
