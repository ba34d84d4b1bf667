package ckpt

import (
	"fmt"
	"slices"
	"strings"

	"espalier/trainer/nn"
	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// Params returns the parameters of ps as tensors to be written under their
// paths; frozen ones only if asked for.
func Params(ps *nn.Params, frozen bool) []Tensor {
	var out []Tensor
	for _, p := range ps.All() {
		if !p.Frozen || frozen {
			out = append(out, Of(ps.Device(), p.Path, p.Value))
		}
	}
	return out
}

// Of returns a device's tensor x as one to be written; it is read when it is
// written.
func Of(dev op.Device, name string, x tensor.Tensor) Tensor {
	return Tensor{Name: name, Shape: x.Shape, Floats: func(dst []float32) error {
		dev.Read(dst, x)
		return dev.Err()
	}}
}

// Restore gives the parameters of ps the values that f has under their paths.
// It names what is missing or of another shape; frozen parameters may be
// missing unless all is set. Tensors of other names are left alone.
func Restore(f *File, ps *nn.Params, all bool) error {
	var bad []string
	for _, p := range ps.All() {
		in, ok := f.Info(p.Path)
		switch {
		case !ok && (all || !p.Frozen):
			bad = append(bad, p.Path+" is missing")
		case ok && !slices.Equal(in.Shape, p.Shape):
			bad = append(bad, fmt.Sprintf("%s has shape %v, want %v", p.Path, in.Shape, p.Shape))
		}
	}
	if len(bad) > 0 {
		return fmt.Errorf("%s: %s", f.source, summary(bad))
	}
	for _, p := range ps.All() {
		if in, ok := f.Info(p.Path); ok && in.Len == p.Len() {
			if err := f.Into(ps.Device(), p.Value, p.Path); err != nil {
				return err
			}
		}
	}
	return nil
}

// Into reads the tensor called name into a device's tensor of as many elements.
func (f *File) Into(dev op.Device, dst tensor.Tensor, name string) error {
	x := make([]float32, dst.Len())
	if in, ok := f.Info(name); ok && in.Len != len(x) {
		return fmt.Errorf("%s: tensor %q has %d elements, want %d", f.source, name, in.Len, len(x))
	}
	if err := f.ReadFloats(name, 0, x); err != nil {
		return err
	}
	dev.Write(dst, x)
	return dev.Err()
}

// summary joins the first of many faults.
func summary(bad []string) string {
	const most = 5
	if n := len(bad); n > most {
		bad = append(slices.Clone(bad[:most]), fmt.Sprintf("and %d more", n-most))
	}
	return strings.Join(bad, "; ")
}
