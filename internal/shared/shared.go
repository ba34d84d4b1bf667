// Package shared finds the folder of reference data that lies beside the
// repository, for tests only.
package shared

import (
	"os"
	"path/filepath"
	"testing"
)

// Dir returns the path of elem below the shared folder: the one that
// ESPALIER_SHARED names, else the sibling of the module's root. It skips the
// test if the path does not exist.
func Dir(t testing.TB, elem ...string) string {
	t.Helper()
	root := os.Getenv("ESPALIER_SHARED")
	if root == "" {
		dir, err := os.Getwd()
		if err != nil {
			t.Fatal(err)
		}
		for {
			if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
				break
			}
			up := filepath.Dir(dir)
			if up == dir {
				t.Skip("no go.mod above the test")
			}
			dir = up
		}
		root = filepath.Join(filepath.Dir(dir), "shared")
	}
	p := filepath.Join(append([]string{root}, elem...)...)
	if _, err := os.Stat(p); err != nil {
		t.Skipf("reference data not present: %s", filepath.Join(elem...))
	}
	return p
}
