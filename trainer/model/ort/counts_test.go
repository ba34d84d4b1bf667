package ort

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"espalier/internal/shared"
	"espalier/trainer/ckpt"
	"espalier/trainer/nn"
)

func TestParameterCounts(t *testing.T) {
	word := Config{Vocab: 10001, BOS: 2, EOS: 3, MaxLen: 18}
	radix := func(v int) Config {
		return Config{Vocab: v + 3, BOS: int32(v + 1), EOS: int32(v + 2), MaxLen: 26}
	}
	tokens := func(c, with Config) Config {
		c.Vocab, c.BOS, c.EOS, c.MaxLen = with.Vocab, with.BOS, with.EOS, with.MaxLen
		return c
	}
	base, _ := Preset("ort-base")
	with := func(f func(*Config)) Config { c := base; f(&c); return c }
	maps := func(at ...int) Config { return with(func(c *Config) { c.EncoderMap, c.DecoderMap = at, at }) }
	for name, c := range map[string]struct {
		config Config
		want   int
	}{
		"ort-base":      {tokens(base, word), 55_443_777},
		"radix 256":     {tokens(base, radix(256)), 45_458_227},
		"radix 512":     {tokens(base, radix(512)), 45_720_627},
		"radix 768":     {tokens(base, radix(768)), 45_983_027},
		"radix 1024":    {tokens(base, radix(1024)), 46_245_427},
		"map of 1":      {tokens(maps(0, 0, 0, 0, 0, 0), word), 18_659_097},
		"map of 2":      {tokens(maps(0, 0, 0, 1, 1, 1), word), 26_016_033},
		"map of 3":      {tokens(maps(0, 0, 1, 1, 2, 2), word), 33_372_969},
		"map of 4":      {tokens(maps(0, 1, 2, 3, 3, 3), word), 40_729_905},
		"map of 5":      {tokens(maps(0, 1, 2, 3, 4, 4), word), 48_086_841},
		"kv":            {tokens(with(func(c *Config) { c.EncoderShare, c.DecoderShare = nn.ShareKV, nn.ShareKV }), word), 50_715_969},
		"qk":            {tokens(with(func(c *Config) { c.EncoderShare, c.DecoderShare = nn.ShareQK, nn.ShareQK }), word), 50_715_969},
		"kv in encoder": {tokens(with(func(c *Config) { c.EncoderShare = nn.ShareKV }), word), 53_867_841},
		"kv in decoder": {tokens(with(func(c *Config) { c.DecoderShare = nn.ShareKV }), word), 52_291_905},
	} {
		if got := count(t, c.config); got != c.want {
			t.Errorf("%s: %d parameters, want %d", name, got, c.want)
		}
	}
	for name, want := range map[string]int{
		"ort-base": 55_443_777, "ort-base-4": 40_729_905, "ort-base-2": 26_016_033, "ort-small": 16_718_401, "ort-xsmall": 4_143_897,
		"acort-base": 14_979_347, "acort-base-al": 8_410_379, "acort-small": 4_213_779, "acort-xsmall": 2_567_435,
	} {
		c, ok := Preset(name)
		if !ok || !slices.Contains(Presets(), name) {
			t.Errorf("no preset %s", name)
		}
		if strings.HasPrefix(name, "acort") {
			c = tokens(c, radix(768))
		} else {
			c = tokens(c, word)
		}
		if got := count(t, c); got != want {
			t.Errorf("%s: %d parameters, want %d", name, got, want)
		}
	}
	if len(Presets()) != 9 {
		t.Errorf("%d presets", len(Presets()))
	}
}

func count(t *testing.T, c Config) int {
	t.Helper()
	m, err := declare(nil, c, 1)
	if err != nil {
		t.Fatal(err)
	}
	return m.params.Count()
}

// All 25 configurations that the public classes were instantiated with, by
// groups of tensors, and the names and shapes of two.
func TestParameterCountsByGroup(t *testing.T) {
	f, err := os.Open(shared.Dir(t, "goldens", "papers", "acort", "parameter_counts.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<20)
	lines := 0
	for ; sc.Scan(); lines++ {
		var line struct {
			refJSON
			Name    string
			Total   int
			Groups  map[string]int
			Unique  int              `json:"unique_tensors"`
			Tensors map[string][]int `json:"tensors"`
		}
		if err := json.Unmarshal(sc.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		m, err := declare(nil, line.config(), 1)
		if err != nil {
			t.Fatalf("%s: %v", line.Name, err)
		}
		if got := m.params.Count(); got != line.Total {
			t.Errorf("%s: %d parameters, want %d", line.Name, got, line.Total)
		}
		groups := map[string]int{}
		for _, p := range m.params.All() {
			groups[groupOf(p.Path)] += p.Len()
		}
		for g, want := range line.Groups {
			if groups[g] != want {
				t.Errorf("%s: %d parameters in %s, want %d", line.Name, groups[g], g, want)
			}
		}
		unique := 0
		for _, p := range m.Published() {
			unique += len(p.Names)
			for _, name := range p.Names {
				want, ok := line.Tensors[name]
				if got := shapeOf(m.params.Get(p.Path).Shape, len(p.Names)); line.Tensors != nil && (!ok || !slices.Equal(got, want)) {
					t.Errorf("%s: %s has shape %v, want %v", line.Name, name, got, want)
				}
			}
		}
		if unique != line.Unique {
			t.Errorf("%s: %d published tensors, want %d", line.Name, unique, line.Unique)
		}
	}
	if lines != 25 {
		t.Errorf("%d lines, want 25", lines)
	}
}

func groupOf(path string) string {
	kind, _, _ := strings.Cut(path, ".")
	switch {
	case strings.HasPrefix(path, "feature"):
		return "feature_embedding"
	case strings.HasPrefix(path, "token"):
		return "token_embedding"
	case strings.HasPrefix(path, "output"):
		return "output_layer"
	case strings.HasPrefix(path, kind+".norm"):
		return kind + "_final_norm"
	case strings.Contains(path, "_norm."):
		return kind + "_layer_norms"
	case strings.Contains(path, "geometry"):
		return kind + "_geometry"
	case strings.Contains(path, ".ffn."):
		return kind + "_ffn"
	case strings.Contains(path, "cross_attn"):
		return kind + "_cross_attention"
	}
	return kind + "_self_attention"
}

// A state dictionary of the public code names shared tensors once for each
// position and holds the table of positions.
func TestLoadStateDictionary(t *testing.T) {
	change := func(c *Config) { c.EncoderMap, c.DecoderMap = []int{0, 1, 1}, []int{0, 0} }
	a, b := newModel(t, small(change)), newModel(t, small(change))
	for _, p := range b.Params().All() {
		b.dev.Zero(p.Value)
	}
	var tensors []ckpt.Tensor
	for _, p := range a.Published() {
		param := a.Params().Get(p.Path)
		x := make([]float32, param.Len())
		a.dev.Read(x, param.Value)
		size := len(x) / len(p.Names)
		for i, name := range p.Names {
			part := x[i*size:][:size]
			shape := shapeOf(param.Shape, len(p.Names))
			tensors = append(tensors, ckpt.Slice(name, part, shape...))
			if strings.Contains(name, "encoder.layers.1.") {
				tensors = append(tensors, ckpt.Slice(strings.Replace(name, "layers.1.", "layers.2.", 1), part, shape...))
			}
		}
	}
	tensors = append(tensors, ckpt.Slice("model.tgt_embed.1.pe", make([]float32, 8), 1, 8))
	load := func(ts []ckpt.Tensor) error {
		var buf bytes.Buffer
		if err := ckpt.Write(&buf, ts, nil); err != nil {
			t.Fatal(err)
		}
		f, err := ckpt.Open(bytes.NewReader(buf.Bytes()), int64(buf.Len()), "state")
		if err != nil {
			t.Fatal(err)
		}
		return b.Load(f)
	}
	if err := load(tensors); err != nil {
		t.Fatal(err)
	}
	for _, p := range a.Params().All() {
		x, y := make([]float32, p.Len()), make([]float32, p.Len())
		a.dev.Read(x, p.Value)
		b.dev.Read(y, b.Params().Get(p.Path).Value)
		if !slices.Equal(x, y) {
			t.Errorf("%s differs after loading", p.Path)
		}
	}
	if err := load(tensors[1:]); err == nil || !strings.Contains(err.Error(), "att_embed.0.weight is missing") {
		t.Errorf("missing tensor: %v", err)
	}
	tensors[0] = ckpt.Slice("att_embed.0.weight", make([]float32, 16), 2, 8)
	if err := load(tensors); err == nil || !strings.Contains(err.Error(), "att_embed.0.weight has shape [2 8], want [16 6]") {
		t.Errorf("other shape: %v", err)
	}
}
