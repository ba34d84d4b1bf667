package t5

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"espalier/trainer/cpu"
	"espalier/trainer/grad"
)

// A checkpoint is the same model in each format of PyTorch, and its loss is that
// of the reference.
func TestPyTorchFiles(t *testing.T) {
	var want struct {
		Loss float64 `json:"loss"`
	}
	text, err := os.ReadFile(filepath.Join("testdata", "formats", "expected.json"))
	if err == nil {
		err = json.Unmarshal(text, &want)
	}
	if err != nil {
		t.Fatal(err)
	}
	batch := &Batch{Source: [][]int32{{5, 7, 3, 1}, {2, 9, 1}}, Target: [][]int32{{4, 6, 1}, {8, 1}}}
	digest := ""
	for _, format := range []string{"zip", "legacy", "sharded"} {
		dev := cpu.New(1)
		defer dev.Close()
		b, err := Open(dev, filepath.Join("testdata", "formats", format), OpenOptions{})
		if err != nil {
			t.Errorf("%s: %v", format, err)
			continue
		}
		m, err := New(b, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !b.Config.OwnHead || b.Mapped() != 0 {
			t.Errorf("%s: the head is the token table's: %v, %d tensors are mapped", format, !b.Config.OwnHead, b.Mapped())
		}
		if digest == "" {
			digest = b.Digest
		}
		if b.Digest != digest {
			t.Errorf("%s: weights %.12s, want those of the other formats, %.12s", format, b.Digest, digest)
		}
		tape := grad.New(dev)
		tape.Begin(grad.Step{})
		loss, _, err := m.Loss(tape, batch, LossOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var got [1]float32
		if tape.Read(got[:], loss); math.Abs(float64(got[0])-want.Loss) > 1e-5 {
			t.Errorf("%s: loss %g, want %g", format, got[0], want.Loss)
		}
		m.Free()
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Files that are not those of the model are refused, each fault with the names
// that it concerns.
func TestPyTorchFaults(t *testing.T) {
	part := "pytorch_model-00002-of-00002.bin"
	for _, c := range []struct {
		name, format string
		change       func(dir string) error
		want         []string
	}{
		{"a part is missing", "sharded", func(dir string) error { return os.Remove(filepath.Join(dir, part)) }, []string{part}},
		{"a part is another", "sharded", func(dir string) error {
			return os.Rename(filepath.Join(dir, "pytorch_model-00001-of-00002.bin"), filepath.Join(dir, part))
		}, []string{"pytorch_model-0000"}},
		{"a file is cut", "zip", func(dir string) error { return os.Truncate(filepath.Join(dir, "pytorch_model.bin"), 3000) }, []string{"pytorch_model.bin"}},
		{"a legacy file is cut", "legacy", func(dir string) error { return os.Truncate(filepath.Join(dir, "pytorch_model.bin"), 3000) }, []string{"pytorch_model.bin"}},
		{"another size", "zip", func(dir string) error {
			name := filepath.Join(dir, "config.json")
			text, err := os.ReadFile(name)
			if err == nil {
				err = os.WriteFile(name, []byte(strings.Replace(string(text), `"d_ff": 12`, `"d_ff": 13`, 1)), 0o666)
			}
			return err
		}, []string{"wi_0.weight has shape [12 8], want [13 8]"}},
	} {
		dir := t.TempDir()
		err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "formats", c.format)))
		if err == nil {
			err = c.change(dir)
		}
		if err != nil {
			t.Fatal(err)
		}
		dev := cpu.New(1)
		b, err := Open(dev, dir, OpenOptions{})
		if err == nil {
			t.Errorf("%s: opened", c.name)
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		} else {
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%s: error %v, want one that names %s", c.name, err, w)
				}
			}
		}
		dev.Close()
	}
}
