package vl

import (
	"strings"
	"testing"

	"espalier/internal/shared"

	"espalier/trainer/cpu"
	"espalier/trainer/model/t5"
	"espalier/trainer/peft"
	"espalier/trainer/peft/adapter"
	"espalier/trainer/peft/hyper"
	"espalier/trainer/peft/pefttest"
)

// path gives the parameter that the goldens call by a short name.
func path(name string) string {
	if p := pefttest.PaperPath(name); p != "" && !strings.Contains(name, ".all.") {
		return p
	}
	for short, long := range map[string]string{
		"visual.feat.": "visual.features.", "visual.box.": "visual.boxes.", "visual.": "visual.projection.",
	} {
		part, ok := strings.CutPrefix(name, short)
		if ok {
			if p := map[string]string{"w": "weight", "c": "bias", "gain": "norm.weight"}[part]; p != "" {
				return long + p
			}
		}
	}
	if name == "visual.image_order" {
		return name
	}
	if site, part, ok := strings.Cut(name, ".all."); ok {
		layer := pefttest.PaperPath(strings.Replace(strings.Replace(strings.Replace(site, ".self", ".norm_self", 1), ".cross", ".norm_cross", 1), ".ffn", ".norm_ffn", 1))
		return strings.TrimSuffix(layer, ".layer_norm.weight") + ".adapter." + strings.NewReplacer(".w", ".weight", ".c", ".bias").Replace(part)
	}
	return pefttest.HyperPath(name)
}

// orders are the images of the goldens' vectors.
func orders(z pefttest.Sizes) []int32 {
	if z.Rows == 9 {
		return []int32{0, 0, 0, 0, 0, 0, 0, 1, 1}
	}
	return []int32{0, 0, 1, 1}
}

func TestPaper(t *testing.T) {
	t.Run("tokens", func(t *testing.T) {
		pefttest.Paper{File: "clip_t5", Rename: path, Images: true, Boxes: true}.RunBoth(t, func(z pefttest.Sizes) []peft.Method {
			// The golden trains the new tensors and the gains alone.
			return []peft.Method{&Tokens{Embedding: Embedding{order: orders(z)}, Train: []string{"**.layer_norm.weight", "**.final_layer_norm.weight"}}}
		})
	})
	t.Run("adapter", func(t *testing.T) {
		pefttest.Paper{File: "vl_adapter", Rename: path, Images: true, Boxes: true}.RunBoth(t, func(z pefttest.Sizes) []peft.Method {
			return []peft.Method{&Adapter{Embed: Embedding{order: orders(z)}, Adapter: adapter.Method{Bottleneck: z.Bottleneck}}}
		})
	})
	t.Run("hyperpelt", func(t *testing.T) {
		pefttest.Paper{File: "vl_hyperpelt", Rename: path, Images: true}.RunBoth(t, func(z pefttest.Sizes) []peft.Method {
			return []peft.Method{&HyperPELT{Settings: hyper.Settings{Rows: z.Rows, Hidden: z.Mid, Width: z.Embedding, Bottleneck: z.Bottleneck}}}
		})
	})
}

// Both kinds of T5, of which one has a stack with more layers than the other.
func TestLayers(t *testing.T) {
	for _, base := range []string{"t5-v1_0", "t5-v1_1"} {
		t.Run(base, func(t *testing.T) {
			folder := "papers/" + base + "/vl_hyperpelt"
			const cells, dim = 5, 7
			features := pefttest.Floats(t, pefttest.Weights(t, shared.Dir(t, "goldens", "models"), folder, "outputs64.safetensors"), "image_features")
			pefttest.Golden{
				Base: base, Folder: folder, Rename: pefttest.LayersPath, Task: 1,
				Given:  peft.Given{Tasks: pefttest.Tasks, Visual: dim, Cells: cells},
				Images: t5.Images{Cells: cells, Dim: dim, Features: features},
			}.Run(t, &HyperPELT{Settings: hyper.Settings{Rows: cells, Hidden: 8, Width: 6, Bottleneck: 4}})
		})
	}
}

// The published sizes, and those of spec/hyperpelt.md 7.8, 7.9, 8.6 and 8.7.
func TestCounts(t *testing.T) {
	const norms = 47616
	given := peft.Given{Tasks: make([]string, 4), Visual: 2048, Cells: 49}
	no, yes := false, true
	for _, c := range []struct {
		name   string
		method peft.Method
		want   int
	}{
		{"CLIP-T5", &Tokens{}, 222903552 + 1581312},
		{"VL-Adapter's code", &Adapter{}, 8899200 + 1581312 + norms},
		{"VL-Adapter of 7.16 %", &Adapter{
			Embed:   Embedding{Plain: true},
			Adapter: adapter.Method{Sites: adapter.Sites{Sites: []string{"self", "feed_forward"}}, Reduction: 16, PerTask: true, PostNorm: &yes, Norms: &no},
		}, 15959808},
		{"VL-HyperPELT", &HyperPELT{}, 12860944 + norms},
		{"VL-HyperPELT, own tables", &HyperPELT{VisualTables: "own"}, 13500688 + norms},
	} {
		trained, base, err := t5.Count(pefttest.BaseConfig(), t5.Options{Methods: []peft.Method{c.method}, Given: given})
		if err != nil {
			t.Fatal(err)
		}
		if trained != c.want || base != 222903552 {
			t.Errorf("%s: %d of %d, want %d", c.name, trained, base, c.want)
		}
	}
}

func TestRefuses(t *testing.T) {
	dev := cpu.New(1)
	defer dev.Close()
	b := pefttest.PaperBackbone(t, dev)
	defer b.Close()
	for _, c := range []struct {
		method peft.Method
		given  peft.Given
		want   string
	}{
		{&Tokens{}, peft.Given{Tasks: pefttest.Tasks}, "visual tokens: want an input of image features"},
		{&Adapter{}, peft.Given{Tasks: pefttest.Tasks}, "vl-adapter: want an input of image features"},
		{&HyperPELT{}, peft.Given{Tasks: pefttest.Tasks}, "vl-hyperpelt: want an input of image features"},
		{&HyperPELT{}, peft.Given{Tasks: pefttest.Tasks, Visual: 11, Cells: 9}, "vl-hyperpelt: rows: 49, an image has 9 cells; they must be as many"},
		{&Tokens{}, peft.Given{Tasks: pefttest.Tasks, Visual: 11, Cells: 50}, "visual tokens: 50 vectors of an image, the token table has 41 rows"},
		{&Tokens{Embedding: Embedding{Plain: true, Orders: 1}}, peft.Given{Tasks: pefttest.Tasks}, "visual tokens: orders: 1, want at least 1, and none if plain"},
		{&HyperPELT{VisualTables: "x"}, peft.Given{Tasks: pefttest.Tasks}, `vl-hyperpelt: visual_tables: "x", want shared or own`},
	} {
		m, err := t5.New(b, t5.Options{Methods: []peft.Method{c.method}, Given: c.given})
		if err == nil {
			m.Free()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%T: %v, want %s", c.method, err, c.want)
		}
	}
}
