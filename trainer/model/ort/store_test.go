package ort

import (
	"slices"
	"strings"
	"testing"

	"espalier/trainer/ckpt"
	"espalier/trainer/nn"
)

// A model comes back from its checkpoint with the same configuration and the
// same weights, and so gives the same memory.
func TestCheckpoint(t *testing.T) {
	m := newModel(t, small(func(c *Config) {
		c.EncoderShare, c.DecoderMap, c.RawBoxes, c.Drop = nn.ShareQK, []int{0, 1, 0}, true, nil
	}))
	c, err := m.Checkpoint()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := ckpt.Save(dir, c, ckpt.Params(m.Params(), true)); err != nil {
		t.Fatal(err)
	}
	c, f, err := ckpt.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	back, err := FromCheckpoint(m.dev, c, f)
	if err != nil {
		t.Fatal(err)
	}
	a, b := m.Config(), back.Config()
	if !slices.Equal(a.DecoderMap, b.DecoderMap) || a.EncoderShare != b.EncoderShare || a.RawBoxes != b.RawBoxes || *a.Drop != *b.Drop || *b.DropSource != 0 || a.MaxLen != b.MaxLen {
		t.Errorf("configuration %+v, want %+v", b, a)
	}
	s := noise(3)
	im := regions(&s).Images
	if !slices.Equal(m.memory(t, &im), back.memory(t, &im)) {
		t.Error("the model from the checkpoint gives another memory")
	}
	c.Model = "t5"
	if _, err := FromCheckpoint(m.dev, c, f); err == nil || !strings.Contains(err.Error(), `model "t5"`) {
		t.Errorf("checkpoint of another model: %v", err)
	}
}
