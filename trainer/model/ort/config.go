package ort

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"espalier/trainer/nn"
)

// A Config says what a model is made of. The zero value of a field means its
// default.
type Config struct {
	Width    int `yaml:"width" json:"width"`       // d; by default 512
	Hidden   int `yaml:"hidden" json:"hidden"`     // inner width of feed-forward; by default 4*Width
	Heads    int `yaml:"heads" json:"heads"`       // by default 8
	Features int `yaml:"features" json:"features"` // length of a visual feature; by default 2048

	// Layers is how many layers, all independent, a stack without a map has; by
	// default 6.
	Layers int `yaml:"layers" json:"layers,omitempty"`
	// A map lists, for each layer position, the index of its independent layer:
	// [0, 0, 0, 1, 1, 1] is six positions of two layers (spec/acort.md 4.1).
	EncoderMap []int `yaml:"encoder_map" json:"encoder_map"`
	DecoderMap []int `yaml:"decoder_map" json:"decoder_map"`
	// Sharing of projections within every attention of a stack.
	EncoderShare nn.Share `yaml:"encoder_share" json:"encoder_share,omitempty"`
	DecoderShare nn.Share `yaml:"decoder_share" json:"decoder_share,omitempty"`

	Vocab  int   `yaml:"vocab" json:"vocab"`     // rows of the token table
	PAD    int32 `yaml:"pad" json:"pad"`         // by default 0
	BOS    int32 `yaml:"bos" json:"bos"`         //
	EOS    int32 `yaml:"eos" json:"eos"`         //
	MaxLen int   `yaml:"max_len" json:"max_len"` // longest input of the decoder, and tokens generated at most

	// RawBoxes uses the four relative box positions as they are and not their
	// 64 sines and cosines.
	RawBoxes bool `yaml:"raw_boxes" json:"raw_boxes,omitempty"`

	// Dropout after the feature embedding, by default 0.5 (SCST: 0.1), and
	// everywhere else, by default 0.1.
	DropSource *float64 `yaml:"drop_source" json:"drop_source"`
	Drop       *float64 `yaml:"drop" json:"drop"`
}

// Check fills in defaults and reports every fault at once.
func (c *Config) Check() error {
	c.Width = cmp.Or(c.Width, 512)
	c.Hidden = cmp.Or(c.Hidden, 4*c.Width)
	c.Heads = cmp.Or(c.Heads, 8)
	c.Features = cmp.Or(c.Features, 2048)
	var errs []error
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.EncoderMap == nil || c.DecoderMap == nil {
		c.Layers = cmp.Or(c.Layers, 6)
		if c.Layers < 1 || c.Layers > maxLayers {
			fault("layers: %d, want 1 to %d", c.Layers, maxLayers)
			c.Layers = 1
		}
	}
	for _, m := range []struct {
		name string
		to   *[]int
	}{{"encoder_map", &c.EncoderMap}, {"decoder_map", &c.DecoderMap}} {
		if *m.to == nil {
			for i := range c.Layers {
				*m.to = append(*m.to, i)
			}
		}
		if err := checkMap(*m.to); err != nil {
			fault("%s: %w", m.name, err)
		}
	}
	c.Layers = 0 // the maps say it
	if err := c.EncoderShare.Check(); err != nil {
		fault("encoder_share: %w", err)
	}
	if err := c.DecoderShare.Check(); err != nil {
		fault("decoder_share: %w", err)
	}
	if c.Width < 2 || c.Width%2 != 0 {
		fault("width: %d, want an even number", c.Width)
	}
	if c.Heads < 1 || c.Width%c.Heads != 0 {
		fault("heads: %d, want a divisor of width %d", c.Heads, c.Width)
	}
	if c.Hidden < 1 {
		fault("hidden: %d, want at least 1", c.Hidden)
	}
	if c.Features < 1 {
		fault("features: %d, want at least 1", c.Features)
	}
	if c.Vocab < 1 {
		fault("vocab: %d, want at least 1", c.Vocab)
	}
	if c.MaxLen < 1 {
		fault("max_len: %d, want at least 1", c.MaxLen)
	}
	for _, id := range []struct {
		name string
		v    int32
	}{{"pad", c.PAD}, {"bos", c.BOS}, {"eos", c.EOS}} {
		if id.v < 0 || int(id.v) >= max(c.Vocab, 1) {
			fault("%s: %d, want 0 to %d", id.name, id.v, c.Vocab-1)
		}
	}
	for _, p := range []struct {
		name     string
		to       **float64
		standard float64
	}{{"drop_source", &c.DropSource, 0.5}, {"drop", &c.Drop, 0.1}} {
		if *p.to == nil {
			*p.to = &p.standard
		}
		if v := **p.to; !(v >= 0 && v < 1) {
			fault("%s: %g, want 0 or more and less than 1", p.name, v)
		}
	}
	return errors.Join(errs...)
}

const maxLayers = 1000

// checkMap reports a map that is empty or leaves a layer out.
func checkMap(m []int) error {
	if len(m) == 0 || len(m) > maxLayers {
		return fmt.Errorf("%d positions, want 1 to %d", len(m), maxLayers)
	}
	for _, i := range m {
		if i < 0 || i >= len(m) {
			return fmt.Errorf("%v: index %d of at most %d layers", m, i, len(m))
		}
	}
	for i := range independent(m) {
		if !slices.Contains(m, i) {
			return fmt.Errorf("%v leaves layer %d out", m, i)
		}
	}
	return nil
}

// independent returns how many independent layers a map has.
func independent(m []int) int { return slices.Max(m) + 1 }

// geometry returns the length of a relational embedding.
func (c *Config) geometry() int {
	if c.RawBoxes {
		return 4
	}
	return 64
}

// presets are the rows of Table 1 (spec/acort.md 5.2).
var presets = []struct {
	name   string
	config Config
}{
	{"ort-base", Config{Width: 512}},
	{"ort-base-4", Config{Width: 512, Layers: 4}},
	{"ort-base-2", Config{Width: 512, Layers: 2}},
	{"ort-small", Config{Width: 256}},
	{"ort-xsmall", Config{Width: 104}},
	{"acort-base", acort(512, 0, 0, 0, 1, 1, 1)},
	{"acort-base-al", acort(512, 0, 0, 0, 0, 0, 0)},
	{"acort-small", acort(256, 0, 0, 0, 1, 1, 1)},
	{"acort-xsmall", acort(256, 0, 0)},
}

func acort(width int, layers ...int) Config {
	return Config{Width: width, EncoderMap: layers, DecoderMap: layers, EncoderShare: nn.ShareKV, DecoderShare: nn.ShareKV}
}

// Presets returns the names of the models of ACORT's Table 1.
func Presets() []string {
	var names []string
	for _, p := range presets {
		names = append(names, p.name)
	}
	return names
}

// Preset returns the sizes of a model of ACORT's Table 1, such as
// "acort-small", without its vocabulary: ORT has words (10,001 rows, PAD 0, UNK
// 1, BOS 2, EOS 3, 18 tokens at most), ACORT radix digits (v+3 rows, PAD 0, BOS
// v+1, EOS v+2, 26 tokens at most).
func Preset(name string) (Config, bool) {
	for _, p := range presets {
		if p.name == name {
			c := p.config
			c.EncoderMap, c.DecoderMap = slices.Clone(c.EncoderMap), slices.Clone(c.DecoderMap)
			return c, true
		}
	}
	return Config{}, false
}
