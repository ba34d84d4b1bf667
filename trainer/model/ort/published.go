package ort

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"espalier/trainer/ckpt"
	"espalier/trainer/nn"
)

// A Published says where a parameter lies in a checkpoint of the public code:
// in the tensors Names, one behind the other (spec/acort.md 4.5). A layer goes
// by the first position that uses it; a state dictionary repeats it under the
// others.
type Published struct {
	Path  string
	Names []string
}

// Published returns the places of all parameters in a checkpoint of the public
// code.
func (m *Model) Published() []Published {
	var out []Published
	add := func(path string, names ...string) { out = append(out, Published{path, names}) }
	linear := func(path, name string) {
		add(path+".weight", name+".weight")
		add(path+".bias", name+".bias")
	}
	norm := func(path, name string) {
		add(path+".gain", name+".a_2")
		add(path+".shift", name+".b_2")
	}
	attention := func(path, name string, share nn.Share) {
		parts := []string{"q", "k", "v", "o"}
		switch share {
		case nn.ShareKV:
			parts = []string{"q", "kv", "o"}
		case nn.ShareQK:
			parts = []string{"qk", "v", "o"}
		}
		for i, p := range parts {
			linear(path+"."+p, fmt.Sprintf("%s.linears.%d", name, i))
		}
	}
	linear("feature", "att_embed.0")
	add("token.weight", "model.tgt_embed.0.lut.weight")
	linear("output", "model.generator.proj")
	for _, s := range []struct {
		name  string
		at    []int
		share nn.Share
	}{{"encoder", m.encoder.at, m.config.EncoderShare}, {"decoder", m.decoder.at, m.config.DecoderShare}} {
		for i := range independent(s.at) {
			path := fmt.Sprintf("%s.layers.%d.", s.name, i)
			name := fmt.Sprintf("model.%s.layers.%d.", s.name, slices.Index(s.at, i))
			attention(path+"self_attn", name+"self_attn", s.share)
			norms := []string{"self_attn_norm", "ffn_norm"}
			if s.name == "encoder" {
				var weights, biases []string
				for h := range m.config.Heads {
					weights = append(weights, fmt.Sprintf("%sself_attn.WGs.%d.weight", name, h))
					biases = append(biases, fmt.Sprintf("%sself_attn.WGs.%d.bias", name, h))
				}
				add(path+"geometry.weight", weights...)
				add(path+"geometry.bias", biases...)
			} else {
				attention(path+"cross_attn", name+"src_attn", s.share)
				norms = []string{"self_attn_norm", "cross_attn_norm", "ffn_norm"}
			}
			linear(path+"ffn.in", name+"feed_forward.w_1")
			linear(path+"ffn.out", name+"feed_forward.w_2")
			for j, n := range norms {
				norm(path+n, fmt.Sprintf("%ssublayer.%d.norm", name, j))
			}
		}
		norm(s.name+".norm", "model."+s.name+".norm")
	}
	return out
}

// Load takes all parameters from f, under our paths or the names of the public
// code.
func (m *Model) Load(f *ckpt.File) error {
	if _, ok := f.Info("feature.weight"); ok {
		return ckpt.Restore(f, m.params, true)
	}
	var bad []error
	for _, p := range m.Published() {
		param := m.params.Get(p.Path)
		x := make([]float32, param.Len())
		size := len(x) / len(p.Names)
		for i, name := range p.Names {
			in, ok := f.Info(name)
			if !ok {
				bad = append(bad, fmt.Errorf("%s is missing", name))
				continue
			}
			if want := shapeOf(param.Shape, len(p.Names)); !slices.Equal(in.Shape, want) {
				bad = append(bad, fmt.Errorf("%s has shape %v, want %v", name, in.Shape, want))
				continue
			}
			if err := f.ReadFloats(name, 0, x[i*size:][:size]); err != nil {
				return err
			}
		}
		if err := m.params.Set(p.Path, x); err != nil {
			return err
		}
	}
	if len(bad) > 5 {
		bad = append(bad[:5:5], fmt.Errorf("and %d more", len(bad)-5))
	}
	if err := errors.Join(bad...); err != nil {
		return fmt.Errorf("ort: load: %s", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return m.dev.Err()
}

// shapeOf returns the shape of one of n tensors that make up one of a shape.
func shapeOf(shape []int, n int) []int {
	out := slices.Clone(shape)
	if n > 1 {
		out[0] /= n
	}
	return out
}
