package t5

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"espalier/trainer/op"
)

// A Config says what a model is made of. Its JSON form is that of published
// models.
type Config struct {
	Kind          string   `json:"model_type"`
	Vocab         int      `json:"vocab_size"`
	Width         int      `json:"d_model"`
	HeadWidth     int      `json:"d_kv"`
	Hidden        int      `json:"d_ff"`
	Layers        int      `json:"num_layers"`
	DecoderLayers int      `json:"num_decoder_layers"` // by default Layers
	Heads         int      `json:"num_heads"`
	Buckets       int      `json:"relative_attention_num_buckets"`  // by default 32
	MaxDistance   int      `json:"relative_attention_max_distance"` // by default 128
	Drop          *float64 `json:"dropout_rate"`                    // by default 0.1
	Eps           float64  `json:"layer_norm_epsilon"`              // by default 1e-6
	Projection    string   `json:"feed_forward_proj"`               // by default relu
	Tied          *bool    `json:"tie_word_embeddings"`             // by default true: the head's input is scaled
	Pad           int32    `json:"pad_token_id"`
	EOS           *int32   `json:"eos_token_id"` // by default 1
	Start         int32    `json:"decoder_start_token_id"`

	// OwnHead says that the head is a matrix of its own, which the weights
	// decide.
	OwnHead bool `json:"own_head,omitempty"`
}

// ParseConfig reads a published config.json called source.
func ParseConfig(text []byte, source string) (Config, error) {
	var c Config
	if err := json.Unmarshal(text, &c); err != nil {
		return c, fmt.Errorf("%s: %w", source, err)
	}
	if err := c.Check(); err != nil {
		return c, fmt.Errorf("%s: %w", source, err)
	}
	return c, nil
}

// Check fills in defaults and reports every fault at once.
func (c *Config) Check() error {
	c.Kind = cmp.Or(c.Kind, "t5")
	c.DecoderLayers = cmp.Or(c.DecoderLayers, c.Layers)
	c.Buckets = cmp.Or(c.Buckets, 32)
	c.MaxDistance = cmp.Or(c.MaxDistance, 128)
	c.Eps = cmp.Or(c.Eps, 1e-6)
	c.Projection = cmp.Or(c.Projection, "relu")
	if c.Drop == nil {
		drop := 0.1
		c.Drop = &drop
	}
	if c.Tied == nil {
		tied := true
		c.Tied = &tied
	}
	if c.EOS == nil {
		eos := int32(1)
		c.EOS = &eos
	}
	var errs []error
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.Kind != "t5" && c.Kind != "mt5" {
		fault("model_type: %q, want t5", c.Kind)
	}
	for _, f := range []struct {
		name string
		n    int
	}{
		{"vocab_size", c.Vocab},
		{"d_model", c.Width},
		{"d_kv", c.HeadWidth},
		{"d_ff", c.Hidden},
		{"num_layers", c.Layers},
		{"num_decoder_layers", c.DecoderLayers},
		{"num_heads", c.Heads},
	} {
		if f.n < 1 {
			fault("%s: %d, want at least 1", f.name, f.n)
		}
	}
	if c.Buckets < 4 || c.Buckets%4 != 0 {
		fault("relative_attention_num_buckets: %d, want a multiple of 4", c.Buckets)
	}
	if c.MaxDistance <= c.Buckets/2 {
		fault("relative_attention_max_distance: %d, want more than half of the %d buckets", c.MaxDistance, c.Buckets)
	}
	if _, _, ok := c.feedForward(); !ok {
		fault("feed_forward_proj: %q, want relu, gelu, gelu_new or silu, or one of them behind gated-", c.Projection)
	}
	if v := *c.Drop; !(v >= 0 && v < 1) {
		fault("dropout_rate: %g, want 0 or more and less than 1", v)
	}
	for _, id := range []struct {
		name string
		v    int32
	}{{"pad_token_id", c.Pad}, {"eos_token_id", *c.EOS}, {"decoder_start_token_id", c.Start}} {
		if id.v < 0 || int(id.v) >= max(c.Vocab, 1) {
			fault("%s: %d, want 0 to %d", id.name, id.v, c.Vocab-1)
		}
	}
	return errors.Join(errs...)
}

// feedForward returns the activation and whether a second map gates it.
func (c *Config) feedForward() (act op.Act, gated, ok bool) {
	name, gated := strings.CutPrefix(c.Projection, "gated-")
	switch {
	case name == "relu":
		return op.ReLU, gated, true
	case name == "gelu" && gated, name == "gelu_new": // a gated gelu is the tanh form
		return op.GELUTanh, gated, true
	case name == "gelu":
		return op.GELUErf, gated, true
	case name == "silu":
		return op.SiLU, gated, true
	}
	return op.None, gated, false
}

// inner returns the width of all heads together.
func (c *Config) inner() int { return c.Heads * c.HeadWidth }
