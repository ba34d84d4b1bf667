// Package features holds the stages that turn images into vectors.
//
// [Extract] decodes images as Pillow does, runs them through a CLIP image tower
// and writes one grid (or other tap) an image to vector shards. [Import] reads
// region features that others made. A [Spec] says what made a grid: it stands
// in the metadata of every shard, travels into checkpoints trained on them, and
// an [Extractor] made of it gives one image the same features. The libraries
// are in the sub-packages raster, vectors and bottomup.
package features

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"espalier/features/raster"
	"espalier/trainer/model/clip"
)

// MetadataKey is the key of a vector shard's metadata that holds its Spec.
const MetadataKey = "espalier.features"

// Element types of stored features.
const (
	Float16 = "float16"
	Float32 = "float32"
)

// BFloat16 is the precision in which a network multiplies bfloat16 numbers and
// adds up in float32; the other is Float32.
const BFloat16 = "bfloat16"

// A Spec says how features are made of an image. It is everything but the
// numbers of published weights, whose digest it holds.
type Spec struct {
	Tap       clip.Tap         `yaml:"tap" json:"tap" doc:"what is taken: grid (default), grid-projected, penultimate, class-tokens or embedding"`
	Transform raster.Transform `yaml:"transform" json:"transform" doc:"clip (default), clip-rgb-first, stretch, hf-pil or hf-default"`
	Size      int              `yaml:"size" json:"size" doc:"side of the network's input in pixels; default what the weights are for, else 224"`
	DType     string           `yaml:"dtype" json:"dtype" doc:"type of stored values: float16 (default) or float32"`
	Precision string           `yaml:"precision" json:"precision" doc:"of the network's products: float32 (default), or bfloat16, which is faster and within 0.9999 of it by cosine"`
	// Pillow13 takes Pillow 13's order of the resize passes instead of the one
	// of all versions before.
	Pillow13 bool `yaml:"pillow13" json:"pillow13" doc:"resize in the pass order of Pillow 13, not of those before"`
	Heads    int  `yaml:"heads" json:"heads" doc:"heads of the attention; default channels / 64, as published networks have"`
	// Network is used where there are no weights.
	Network clip.RandomConfig `yaml:"network" json:"network" doc:"layers, width and seed of the random network that stands in where no weights are given"`
	// Weights is the digest of the weights, as WeightsDigest gives it; "" means
	// the random Network.
	Weights string `yaml:"-" json:"weights,omitempty"`
}

// Check fills in defaults and reports every fault.
func (s *Spec) Check() error {
	s.Tap = cmp.Or(s.Tap, clip.Grid)
	s.Transform = cmp.Or(s.Transform, raster.CLIP)
	s.DType = cmp.Or(s.DType, Float16)
	s.Precision = cmp.Or(s.Precision, Float32)
	s.Network.Width = cmp.Or(s.Network.Width, 32)
	s.Network.Seed = cmp.Or(s.Network.Seed, 7)
	if s.Network.Layers == [4]int{} {
		s.Network.Layers = [4]int{1, 1, 1, 1}
	}
	var errs []error
	field := func(name string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
	}
	field("tap", s.Tap.Check())
	if s.Transform == raster.None {
		errs = append(errs, errors.New("transform: none gives pictures of any size, want clip, clip-rgb-first, stretch, hf-pil or hf-default"))
	} else {
		field("transform", s.Transform.Check())
	}
	if s.Size < 0 || s.Size > 4096 {
		errs = append(errs, fmt.Errorf("size: %d, want 1 to 4096, or 0 for what the weights are for", s.Size))
	}
	if s.Precision != Float32 && s.Precision != BFloat16 {
		errs = append(errs, fmt.Errorf("precision: %q, want float32 or bfloat16", s.Precision))
	}
	if s.DType != Float16 && s.DType != Float32 {
		errs = append(errs, fmt.Errorf("dtype: %q, want float16 or float32", s.DType))
	}
	if s.Heads < 0 {
		errs = append(errs, fmt.Errorf("heads: %d, want at least 0", s.Heads))
	}
	field("network", s.Network.Check())
	return errors.Join(errs...)
}

// String says in words what makes the features.
func (s *Spec) String() string {
	net := fmt.Sprintf("random ModifiedResNet, layers %v, width %d, seed %d", s.Network.Layers, s.Network.Width, s.Network.Seed)
	if s.Weights != "" {
		net = "weights " + s.Weights
	}
	return fmt.Sprintf("%s; tap %s, transform %s, %d pixels", net, s.Tap, s.Transform, s.Size)
}

// Metadata returns the Spec as a vector shard keeps it. The random network is
// left out where there are weights.
func (s Spec) Metadata() (map[string]string, error) {
	if s.Weights != "" {
		s.Network = clip.RandomConfig{}
	}
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	return map[string]string{MetadataKey: string(text)}, nil
}

// ErrNoSpec says that features were not made by Extract.
var ErrNoSpec = errors.New("features: no description of how they were made")

// ParseSpec reads the Spec of a vector shard's metadata.
func ParseSpec(metadata map[string]string) (Spec, error) {
	var s Spec
	text, ok := metadata[MetadataKey]
	if !ok {
		return s, ErrNoSpec
	}
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return s, fmt.Errorf("features: %s: %w", MetadataKey, err)
	}
	if err := s.Check(); err != nil {
		return s, fmt.Errorf("features: %s: %w", MetadataKey, err)
	}
	return s, nil
}
