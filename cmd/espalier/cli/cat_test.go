package cli

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// TestTablesOfSavedDatasets lists the files of folders of save_to_disk in the
// order in which state.json and dataset_dict.json have them.
func TestTablesOfSavedDatasets(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("set/dataset_dict.json", `{"splits": ["test", "dev"]}`)
	write("set/test/state.json", `{"_data_files": [{"filename": "b.arrow"}, {"filename": "a.arrow"}]}`)
	write("set/dev/state.json", `{"_data_files": [{"filename": "c.arrow"}]}`)
	write("set/dev/other.arrow", "")
	write("out/state.json", `{"_data_files": [{"filename": "../x.arrow"}]}`)
	got, err := tables(filepath.Join(dir, "set"))
	want := []string{filepath.Join(dir, "set/test/b.arrow"), filepath.Join(dir, "set/test/a.arrow"), filepath.Join(dir, "set/dev/c.arrow")}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := tables(filepath.Join(dir, "out")); err == nil {
		t.Error("a file outside the folder")
	}
}
