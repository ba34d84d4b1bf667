package ckpt

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"espalier/trainer/cpu"
	"espalier/trainer/nn"
)

func TestParams(t *testing.T) {
	dev := cpu.New(1)
	defer dev.Close()
	set := func(seed uint64, outs int) *nn.Params {
		ps := nn.NewParams(dev, seed)
		nn.NewLinear(ps, "head", 3, outs)
		nn.NewLinear(ps, "body", 3, 3)
		ps.Alloc()
		ps.Freeze(func(path string) bool { return strings.HasPrefix(path, "body") })
		return ps
	}
	read := func(ps *nn.Params, path string) []float32 {
		x := make([]float32, ps.Get(path).Len())
		dev.Read(x, ps.Get(path).Value)
		return x
	}
	write := func(ps *nn.Params, frozen bool) *File {
		var b bytes.Buffer
		if err := Write(&b, Params(ps, frozen), nil); err != nil {
			t.Fatal(err)
		}
		f, err := open(b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	a, b := set(1, 2), set(2, 2)
	whole, part := write(a, true), write(a, false)
	if got, want := part.Names(), []string{"head.bias", "head.weight"}; !slices.Equal(got, want) {
		t.Errorf("trained tensors %v, want %v", got, want)
	}
	body := read(b, "body.weight")
	if err := Restore(part, b, false); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(read(b, "head.weight"), read(a, "head.weight")) || !slices.Equal(read(b, "body.weight"), body) {
		t.Error("restoring the trained part changed something else")
	}
	if err := Restore(part, b, true); err == nil || !strings.Contains(err.Error(), "body.weight is missing") {
		t.Errorf("frozen parameters missing: %v", err)
	}
	if err := Restore(whole, b, true); err != nil || !slices.Equal(read(b, "body.weight"), read(a, "body.weight")) {
		t.Errorf("restoring the whole: %v", err)
	}
	if err := Restore(whole, set(1, 4), true); err == nil || !strings.Contains(err.Error(), "head.weight has shape [2 3], want [4 3]") {
		t.Errorf("other shape: %v", err)
	}
}
