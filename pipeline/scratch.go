package pipeline

import (
	"fmt"
	"os"
	"path/filepath"

	"espalier/pipeline/store"
)

// scratch makes a private folder, below one that is named after this process
// so that a later run removes it if this one is killed.
func (e *engine) scratch() (dir string, err error) {
	parent := filepath.Join(e.scratchRoot(), store.ProcessName())
	err = store.InDir(parent, 0o700, func() error {
		dir, err = os.MkdirTemp(parent, "")
		return err
	})
	return dir, err
}

func (e *engine) scratchRoot() string {
	root := e.o.Scratch
	if root == "" {
		root = os.TempDir()
	}
	return filepath.Join(root, fmt.Sprintf("espalier-scratch-%d", os.Getuid()))
}

func (e *engine) dropScratch(dir string) {
	os.RemoveAll(dir)
	os.Remove(filepath.Dir(dir))
}

// sweepScratch removes the scratch folders of processes that are gone.
func (e *engine) sweepScratch() {
	root := e.scratchRoot()
	entries, err := os.ReadDir(root)
	if err != nil {
		return
	}
	for _, d := range entries {
		if store.ProcessGone(d.Name()) {
			os.RemoveAll(filepath.Join(root, d.Name()))
		}
	}
	os.Remove(root)
}
