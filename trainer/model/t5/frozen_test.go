package t5_test

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"

	"espalier/internal/shared"
	"espalier/trainer/cpu"
	"espalier/trainer/grad"
	"espalier/trainer/model/t5"
	"espalier/trainer/op"
	"espalier/trainer/optim"
	"espalier/trainer/peft"
	"espalier/trainer/peft/lora"
	"espalier/trainer/peft/pefttest"
)

// hashes returns the digest of every parameter.
func hashes(dev op.Device, m *t5.Model) map[string][32]byte {
	out := map[string][32]byte{}
	for _, p := range m.Params().All() {
		x := make([]float32, p.Len())
		dev.Read(x, p.Value)
		var b []byte
		for _, v := range x {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
		}
		out[p.Path] = sha256.Sum256(b)
	}
	return out
}

// Steps change what is trained and nothing else, and two models of one backbone
// share what is frozen.
func TestFrozen(t *testing.T) {
	dir := shared.Dir(t, "goldens", "models", "t5-v1_0")
	dev := cpu.New(2)
	defer dev.Close()
	b, err := t5.Open(dev, dir, t5.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var two [2]*t5.Model
	for i := range two {
		if two[i], err = t5.New(b, t5.Options{Methods: []peft.Method{&lora.Method{Rank: 2, Norms: true}}, Seed: uint64(i)}); err != nil {
			t.Fatal(err)
		}
		defer two[i].Free()
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	in := pefttest.Weights(t, dir, "inputs.safetensors")
	batch := &t5.Batch{
		Source: pefttest.Texts(pefttest.Rows(t, in, "main/input_ids", "main/attention_mask")),
		Target: pefttest.Texts(pefttest.Rows(t, in, "main/labels", "")),
	}
	m := two[0]
	before := hashes(dev, m)
	opt := optim.NewAdam(m.Params(), optim.AdamConfig{Beta1: 0.9, Beta2: 0.999, Eps: 1e-8})
	defer opt.Free()
	tape := grad.New(dev)
	for n := range 3 {
		tape.Begin(grad.Step{Grad: true, Drop: true, Seed: 1, Number: uint64(n)})
		m.Params().ZeroGrads()
		loss, _, err := m.Loss(tape, batch, t5.LossOptions{})
		if err != nil {
			t.Fatal(err)
		}
		tape.Backward(loss)
		opt.Update(0.01)
	}
	after := hashes(dev, m)
	trained := []string{}
	for _, p := range m.Params().All() {
		if moved := before[p.Path] != after[p.Path]; moved == p.Frozen {
			t.Errorf("%s: frozen %v, changed %v", p.Path, p.Frozen, moved)
		}
		if p.Frozen {
			if !p.Grad.IsZero() {
				t.Errorf("%s has a gradient", p.Path)
			}
			if q := two[1].Params().Get(p.Path); q.Value.Store != p.Value.Store {
				t.Errorf("%s is not shared", p.Path)
			}
		} else {
			trained = append(trained, p.Path)
		}
	}
	lows := slices.DeleteFunc(slices.Clone(trained), func(s string) bool { return !strings.Contains(s, ".lora_") })
	if len(lows) != 24 || len(trained)-len(lows) != 12 {
		t.Errorf("%d low-rank tensors and %d norms are trained, want 24 and 12", len(lows), len(trained)-len(lows))
	}
	if err := dev.Err(); err != nil {
		t.Error(err)
	}
}
