package clip

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"espalier/internal/shared"
	"espalier/trainer/ckpt"
	"espalier/trainer/cpu"
	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// folder is the vision goldens' clip folder.
func folder(t *testing.T) string { return shared.Dir(t, "goldens", "vision", "clip") }

func open(t *testing.T, name string) ckpt.Weights {
	t.Helper()
	w, err := ckpt.OpenWeights(filepath.Join(folder(t), name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

func device(t testing.TB) op.Device {
	d := cpu.New(2)
	t.Cleanup(func() { d.Close() })
	return d
}

func read(dev op.Device, x tensor.Tensor) []float32 {
	out := make([]float32, x.Len())
	dev.Read(out, x)
	return out
}

// near compares within tol times the largest value wanted.
func near(t *testing.T, what string, got, want []float32, tol float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d values, want %d", what, len(got), len(want))
		return
	}
	largest, worst, at := 0.0, 0.0, 0
	for i, w := range want {
		largest = math.Max(largest, math.Abs(float64(w)))
		if d := math.Abs(float64(got[i]) - float64(w)); d > worst || d != d {
			worst, at = d, i
		}
	}
	if !(worst <= tol*largest) {
		t.Errorf("%s: value %d is %g, want %g (off by %.2g of the largest, limit %.0g)", what, at, got[at], want[at], worst/largest, tol)
	}
}

func floats(t *testing.T, w ckpt.Weights, name string) []float32 {
	t.Helper()
	x, err := ckpt.AsFloats(w, name)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// nhwc reorders [n, c, h, w].
func nhwc(x []float32, n, c, h, w int) []float32 {
	y := make([]float32, len(x))
	for i := range n {
		for k := range c {
			for p := range h * w {
				y[(i*h*w+p)*c+k] = x[(i*c+k)*h*w+p]
			}
		}
	}
	return y
}

// images puts an input [n, 3, size, size] of the goldens on the device.
func images(t *testing.T, dev op.Device, w ckpt.Weights, name string) tensor.Tensor {
	t.Helper()
	in, _ := w.Info(name)
	s := in.Shape
	x := dev.Alloc(tensor.Float32, s[0], s[2], s[3], s[1])
	dev.Write(x, nhwc(floats(t, w, name), s[0], s[1], s[2], s[3]))
	return x
}

// TestResNetStages holds every stage of a small network against the goldens.
func TestResNetStages(t *testing.T) {
	dev, want := device(t), open(t, "rn_a.outputs.safetensors")
	tower, err := OpenTower(dev, open(t, "rn_a.weights.safetensors"), Options{VisionHeads: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer tower.Close()
	r := tower.(*resNet)
	if r.Size() != 64 {
		t.Errorf("size %d, want 64", r.Size())
	}
	stages := 0
	r.trace = func(name string, x tensor.Tensor) {
		in, ok := want.Info("rn_a." + name)
		if !ok {
			t.Fatalf("no golden for %s", name)
		}
		s := in.Shape
		near(t, name, read(dev, x), nhwc(floats(t, want, "rn_a."+name), s[0], s[1], s[2], s[3]), 1e-5)
		stages++
	}
	x := images(t, dev, want, "rn_a.input")
	near(t, "grid", read(dev, tower.Forward(x, Grid)), floats(t, want, "rn_a.grid"), 1e-5)
	if stages != 8 {
		t.Errorf("%d stages compared, want 8", stages)
	}
	r.trace = func(string, tensor.Tensor) {}
	near(t, "embedding", read(dev, tower.Forward(x, Embedding)), floats(t, want, "rn_a.embedding"), 1e-4)
	g := r.trunk(x)
	near(t, "attnpool_tokens", read(dev, r.pool.tokens(dev, g)), floats(t, want, "rn_a.attnpool_tokens"), 1e-5)
	all := floats(t, want, "rn_a.attnpool_all")
	near(t, "attnpool_all", read(dev, r.pool.apply(dev, g, true)), all, 1e-4)
	in, _ := want.Info("rn_a.attnpool_all")
	tokens, dim := in.Shape[1], in.Shape[2]
	var cells []float32
	for i := range in.Shape[0] {
		cells = append(cells, all[(i*tokens+1)*dim:(i+1)*tokens*dim]...)
	}
	near(t, "grid-projected", read(dev, tower.Forward(x, GridProjected)), cells, 1e-4)
	if err := dev.Err(); err != nil {
		t.Fatal(err)
	}
}

// TestFeaturesOfFiles starts from the stored crops; package features starts
// from the files.
func TestFeaturesOfCrops(t *testing.T) {
	var cfg struct {
		RNB struct{ Inputs []string } `json:"rn_b"`
	}
	text, err := os.ReadFile(filepath.Join(folder(t), "clip.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &cfg); err != nil {
		t.Fatal(err)
	}
	crops, err := ckpt.OpenWeights(shared.Dir(t, "goldens", "vision", "raster", "clip_transform.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	defer crops.Close()
	dev, want := device(t), open(t, "rn_b.outputs.safetensors")
	for _, file := range []string{"rn_b.weights.safetensors", "rn_b.jit.pt"} {
		w := open(t, file)
		tower, err := OpenTower(dev, w, Options{VisionHeads: 2})
		if err != nil {
			t.Fatal(err)
		}
		defer tower.Close()
		lut := floats(t, crops, "lut")
		n := len(cfg.RNB.Inputs)
		var pix []float32
		for _, id := range cfg.RNB.Inputs {
			raw, err := crops.Raw(id)
			if err != nil {
				t.Fatal(err)
			}
			for i, b := range raw {
				pix = append(pix, lut[i%3*256+int(b)])
			}
		}
		x := dev.Alloc(tensor.Float32, n, 224, 224, 3)
		dev.Write(x, pix)
		spots := 0
		tower.(*resNet).trace = func(name string, x tensor.Tensor) {
			near(t, file+" spot of "+name, spot(read(dev, x), x.Shape), floats(t, want, "rn_b."+name+".spot"), 1e-5)
			spots++
		}
		grid := read(dev, tower.Forward(x, Grid))
		if spots != 8 {
			t.Errorf("%d stages compared, want 8", spots)
		}
		tower.(*resNet).trace = func(string, tensor.Tensor) {}
		near(t, file+" grid", grid, floats(t, want, "rn_b.grid"), 1e-5)
		near(t, file+" grid in float64", grid[:3*49*128], floats(t, want, "rn_b.grid.f64"), 1e-5)
		near(t, file+" pooled grid", pool6(grid[:3*49*128], 3, 128), floats(t, want, "rn_b.grid_adaptive_max_6x6"), 1e-5)
		emb := read(dev, tower.Forward(x, Embedding))
		near(t, file+" embedding", emb, floats(t, want, "rn_b.embedding"), 1e-4)

		txt, err := OpenText(dev, w, Options{TextHeads: 4})
		if err != nil {
			t.Fatal(err)
		}
		defer txt.Close()
		tf := textFeatures(t, dev, txt, want)
		half := open(t, "rn_b.half_outputs.safetensors")
		near(t, "images of a half network", emb, floats(t, half, "image_features"), 2e-2)
		near(t, "texts of a half network", tf, floats(t, half, "text_features"), 2e-2)
		Unit(emb, 20)
		Unit(tf, 20)
		near(t, "unit images", emb, floats(t, want, "image_features_normalised"), 1e-4)
		near(t, "unit texts", tf, floats(t, want, "text_features_normalised"), 1e-5)
		scale := floats(t, w, "logit_scale")[0]
		near(t, "logits", Logits(emb, tf, 20, scale), floats(t, want, "logits_per_image"), 1e-4)
		near(t, "logits of texts", Logits(tf, emb, 20, scale), floats(t, want, "logits_per_text"), 1e-4)

		// One image alone gives the bits that it gives in a batch.
		one := dev.Alloc(tensor.Float32, 1, 224, 224, 3)
		dev.Write(one, pix[3*224*224:2*3*224*224])
		alone := read(dev, tower.Forward(one, Grid))
		for i, v := range alone {
			if v != grid[len(alone)+i] {
				t.Fatalf("%s: value %d of the second image is %g alone, %g in a batch", file, i, v, grid[len(alone)+i])
			}
		}
		dev.Reset()
	}
}

// spot is the middle row of each channel, every seventh column, of x [n, h, w,
// c], as [n, c, columns].
func spot(x []float32, shape []int) []float32 {
	n, h, w, c := shape[0], shape[1], shape[2], shape[3]
	var out []float32
	for i := range n {
		for k := range c {
			for col := 0; col < w; col += 7 {
				out = append(out, x[((i*h+h/2)*w+col)*c+k])
			}
		}
	}
	return out
}

// pool6 is the adaptive maximum of grids of 7 by 7 over 6 by 6 windows, which
// overlap.
func pool6(x []float32, n, c int) []float32 {
	out := make([]float32, 0, n*36*c)
	for i := range n {
		for cell := range 36 {
			y, z := cell/6*7/6, cell%6*7/6
			for k := range c {
				top := float32(0) // behind a ReLU nothing is smaller
				for _, at := range []int{y*7 + z, y*7 + z + 1, (y+1)*7 + z, (y+1)*7 + z + 1} {
					top = max(top, x[(i*49+at)*c+k])
				}
				out = append(out, top)
			}
		}
	}
	return out
}

func textFeatures(t *testing.T, dev op.Device, txt *Text, want ckpt.Weights) []float32 {
	t.Helper()
	ids, err := ckpt.AsInts(want, "text.ids")
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]int32
	for i, v := range ids {
		if i%13 == 0 {
			rows = append(rows, nil)
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], int32(v))
	}
	txt.trace = func(name string, x tensor.Tensor) {
		near(t, "text "+name, read(dev, x), floats(t, want, "text."+name), 1e-5)
	}
	out, err := txt.Forward(rows)
	if err != nil {
		t.Fatal(err)
	}
	f := read(dev, out)
	near(t, "text features", f, floats(t, want, "text.features"), 1e-5)
	return f
}

func TestVisionTransformer(t *testing.T) {
	dev, want := device(t), open(t, "vit.outputs.safetensors")
	for _, file := range []string{"vit.openai.weights.safetensors", "vit.hf.weights.safetensors"} {
		tower, err := OpenTower(dev, open(t, file), Options{VisionHeads: 4})
		if err != nil {
			t.Fatal(err)
		}
		defer tower.Close()
		v := tower.(*vit)
		if v.Size() != 70 {
			t.Errorf("size %d, want 70", v.Size())
		}
		seen := 0
		v.trace = func(name string, x tensor.Tensor) {
			if strings.HasPrefix(name, "ln_post") {
				name += "_all"
			}
			near(t, name, read(dev, x), floats(t, want, name), 1e-5)
			seen++
		}
		x := images(t, dev, want, "input")
		projected := floats(t, want, "projected_all")
		var cells []float32
		for i := range 3 {
			cells = append(cells, projected[(i*26+1)*20:(i+1)*26*20]...)
		}
		near(t, "grid-projected", read(dev, tower.Forward(x, GridProjected)), cells, 1e-5)
		if seen != 9 {
			t.Errorf("%d stages compared, want 9", seen)
		}
		v.trace = func(string, tensor.Tensor) {}
		near(t, "penultimate", read(dev, tower.Forward(x, Penultimate)), floats(t, want, "block3"), 1e-5)
		near(t, "embedding", read(dev, tower.Forward(x, Embedding)), floats(t, want, "embedding"), 1e-5)
		near(t, "class-tokens", read(dev, tower.Forward(x, ClassTokens)), floats(t, want, "class_tokens_projected"), 1e-5)
	}
}
