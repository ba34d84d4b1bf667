package features

import (
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"espalier/pipeline"
	"espalier/pipeline/store"
	"espalier/trainer/cpu"
	"espalier/trainer/op"
)

// counted runs the stage over a folder, and counts the products that it took.
func counted(t *testing.T, s *store.Store, dir string, e *Extract) (*pipeline.NodeResult, int64) {
	t.Helper()
	var products atomic.Int64
	res, err := stageOn(t, s, dir, e.On(func(env pipeline.Env) (op.Device, error) {
		return &remote{cpu.New(env.Threads), &products, "remote-1"}, nil
	}), "remote-1")
	if err != nil {
		t.Fatal(err)
	}
	return res.Node("grids"), products.Load()
}

// An image that stands in another corpus under another name is not computed
// again, and has the bits that it would have.
func TestFeaturesOfAnotherCorpusAreFound(t *testing.T) {
	dir, other := photos(t, 25), t.TempDir()
	for i, name := range good {
		link(t, name, filepath.Join(other, "val", string(rune('a'+i))+"-"+name))
	}
	link(t, "jpg_corrupt_scan.jpg", filepath.Join(other, "val", "damaged.jpg"))
	fresh, all := counted(t, newStore(t), other, tiny())
	if all == 0 {
		t.Fatal("nothing was computed")
	}
	s := newStore(t)
	counted(t, s, dir, tiny())
	n, products := counted(t, s, other, tiny())
	if products != 0 {
		t.Errorf("%d products for images whose features are known", products)
	}
	if n.Manifest.Digest != fresh.Manifest.Digest || n.Manifest.Dead != 1 {
		t.Errorf("digest %.8s with %d dead, want %.8s with 1", n.Manifest.Digest, n.Manifest.Dead, fresh.Manifest.Digest)
	}
	// Another transform or network is other work.
	e := tiny()
	e.Transform = "clip"
	if _, products := counted(t, s, other, e); products == 0 {
		t.Error("features of another transform were taken")
	}
	e = tiny()
	e.Network.Seed++
	if _, products := counted(t, s, other, e); products == 0 {
		t.Error("features of another network were taken")
	}
}

// A memory that is damaged or gone costs work and changes nothing.
func TestDamagedMemory(t *testing.T) {
	dir, other := photos(t, 25), t.TempDir()
	for i, name := range good {
		link(t, name, filepath.Join(other, string(rune('a'+i))+name))
	}
	fresh, _ := counted(t, newStore(t), other, tiny())
	for what, spoil := range map[string]func(path string) error{
		"gone": os.Remove,
		"damaged": func(path string) error {
			b, err := os.ReadFile(path)
			if err != nil || len(b) == 0 {
				return err
			}
			b[len(b)/2] ^= 1
			if err := os.Chmod(path, 0o644); err != nil {
				return err
			}
			return os.WriteFile(path, b, 0o644)
		},
	} {
		s := newStore(t)
		counted(t, s, dir, tiny())
		for _, folder := range []string{"objects", "parts"} {
			files, err := filepath.Glob(filepath.Join(s.Dir(), folder, "*", "*"))
			if err != nil || len(files) == 0 {
				t.Fatal(err, len(files))
			}
			for _, f := range files {
				if err := spoil(f); err != nil {
					t.Fatal(err)
				}
			}
		}
		again, err := store.Open(s.Dir())
		if err != nil {
			t.Fatal(err)
		}
		if n, products := counted(t, again, other, tiny()); n.Manifest.Digest != fresh.Manifest.Digest || products == 0 {
			t.Errorf("%s: digest %.8s, want %.8s; %d products", what, n.Manifest.Digest, fresh.Manifest.Digest, products)
		}
	}
}
