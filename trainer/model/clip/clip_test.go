package clip

import (
	"crypto/sha256"
	"fmt"
	"math"
	"strings"
	"testing"

	"espalier/trainer/ckpt"
	"espalier/trainer/cpu"
	"espalier/trainer/tensor"
)

// TestSmallVisionTransformer is the parity that needs no reference data beside
// the repository: one image of the goldens.
func TestSmallVisionTransformer(t *testing.T) {
	dev := device(t)
	w, err := ckpt.OpenWeights("testdata/vit.weights.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	want, err := ckpt.OpenWeights("testdata/vit.outputs.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	defer want.Close()
	tower, err := OpenTower(dev, w, Options{VisionHeads: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer tower.Close()
	x := images(t, dev, want, "input")
	near(t, "penultimate", read(dev, tower.Forward(x, Penultimate)), floats(t, want, "block3"), 1e-5)
	near(t, "embedding", read(dev, tower.Forward(x, Embedding)), floats(t, want, "embedding"), 1e-5)
	near(t, "grid-projected", read(dev, tower.Forward(x, GridProjected)), floats(t, want, "projected_all")[20:], 1e-5)
}

func small(seed uint64) RandomConfig {
	return RandomConfig{Layers: [4]int{1, 2, 1, 1}, Width: 4, Seed: seed}
}

// The values are part of every output that a random network made.
func TestRandomIsFixed(t *testing.T) {
	w, err := NewRandom(small(7))
	if err != nil {
		t.Fatal(err)
	}
	h := sha256.New()
	for _, name := range w.Names() {
		raw, err := w.Raw(name)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(h, "%s %d\n", name, len(raw))
		h.Write(raw)
	}
	if got, want := fmt.Sprintf("%x", h.Sum(nil)), "452823926eb3a4e11c348a4fced43a3f8521a3a8afbc02aec05ff20a4e96f349"; got != want {
		t.Errorf("digest of the weights %s, want %s", got, want)
	}
	other, err := NewRandom(small(8))
	if err != nil {
		t.Fatal(err)
	}
	a, _ := w.Floats("visual.conv1.weight")
	b, _ := other.Floats("visual.conv1.weight")
	if a[0] == b[0] && a[1] == b[1] {
		t.Error("two seeds give the same weights")
	}
}

// Each filter is a direction of the gain's length times a kernel; derivatives
// sum to zero over the places of every channel.
func TestRandomFilters(t *testing.T) {
	w, err := NewRandom(RandomConfig{Layers: [4]int{1, 1, 1, 1}, Width: 16, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]struct {
		gain     float64
		oriented int // filters
	}{
		"visual.conv1.weight": {math.Sqrt2, 4}, "visual.conv3.weight": {math.Sqrt2, 4}, "visual.layer3.0.conv2.weight": {math.Sqrt2, 32},
		"visual.layer2.0.conv3.weight": {0.6 * math.Sqrt2, 0}, "visual.layer4.0.downsample.0.weight": {math.Sqrt2, 0},
	} {
		x, err := w.Floats(name)
		if err != nil {
			t.Fatal(err)
		}
		s := w.(*random).tensors[name].shape
		kk, oriented := s[2]*s[3], 0
		directions := map[float32]bool{}
		for o := range s[0] {
			filter := x[o*s[1]*kk : (o+1)*s[1]*kk]
			length, edge := 0.0, 0.0
			for i := 0; i < len(filter); i += kk {
				total, slope := 0.0, 0.0
				for _, v := range filter[i : i+kk] {
					total += float64(v)
					slope += math.Abs(float64(v))
				}
				length += total * total
				edge += slope * slope
			}
			if length < 1e-9 {
				oriented++
				directions[filter[5]/filter[7]] = true
				if edge < 1 {
					t.Errorf("%s: derivative %d of strength %g", name, o, edge)
				}
			} else if math.Abs(math.Sqrt(length)-want.gain) > 1e-5 {
				t.Errorf("%s: filter %d of length %g, want %g", name, o, math.Sqrt(length), want.gain)
			}
		}
		if oriented != want.oriented || oriented > 0 && len(directions) < 3 {
			t.Errorf("%s: %d derivatives in %d directions, want %d", name, oriented, len(directions), want.oriented)
		}
	}
}

func TestRandomTower(t *testing.T) {
	dev := device(t)
	w, err := NewRandom(small(1))
	if err != nil {
		t.Fatal(err)
	}
	tower, err := OpenTower(dev, w, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer tower.Close()
	if h, wd, c, err := tower.Shape(Grid); h != 7 || wd != 7 || c != 128 || err != nil {
		t.Errorf("grid of %d x %d x %d, %v", h, wd, c, err)
	}
	if _, _, _, err := tower.Shape(Embedding); err == nil || !strings.Contains(err.Error(), "no attention pool") {
		t.Errorf("embedding without a pool: %v", err)
	}
	big, err := OpenTower(dev, w, Options{Size: 96})
	if err != nil {
		t.Fatal(err)
	}
	defer big.Close()
	if h, wd, _, _ := big.Shape(Grid); h != 3 || wd != 3 {
		t.Errorf("grid of %d x %d for 96 pixels, want 3 x 3", h, wd)
	}
	x := dev.Alloc(tensor.Float32, 2, 96, 96, 3)
	pix := make([]float32, x.Len())
	for i := range pix {
		pix[i] = float32(math.Sin(float64(i) / 50)) // slow, as pictures are
	}
	dev.Write(x, pix)
	y := read(dev, big.Forward(x, Grid))
	mean := 0.0
	for _, v := range y {
		if v < 0 || v != v {
			t.Fatalf("grid holds %g, want ReLU outputs", v)
		}
		mean += float64(v) / float64(len(y))
	}
	if mean < 0.05 || mean > 5 {
		t.Errorf("mean activation %g, want one of order 1", mean)
	}
}

func TestWrongWeights(t *testing.T) {
	dev := device(t)
	w, err := NewRandom(small(1))
	if err != nil {
		t.Fatal(err)
	}
	r := w.(*random)
	delete(r.tensors, "visual.layer2.0.bn2.running_var")
	if _, err := OpenTower(dev, w, Options{}); err == nil || !strings.Contains(err.Error(), "visual.layer2.0.bn2.running_var") {
		t.Errorf("missing tensor: %v", err)
	}
	r.tensors["visual.layer2.0.bn2.running_var"] = randomTensor{shape: []int{3}, value: 1}
	if _, err := OpenTower(dev, w, Options{}); err == nil || !strings.Contains(err.Error(), "shape [3], want [8]") {
		t.Errorf("wrong shape: %v", err)
	}
	if _, err := OpenText(dev, w, Options{}); err == nil || !strings.Contains(err.Error(), "no text tower") {
		t.Errorf("no text tower: %v", err)
	}
	for k := range r.tensors {
		delete(r.tensors, k)
	}
	if _, err := OpenTower(dev, w, Options{}); err == nil {
		t.Error("no error for a file without a tower")
	}
	if _, err := NewRandom(RandomConfig{Width: 3}); err == nil || strings.Count(err.Error(), "\n") != 4 {
		t.Errorf("configuration with five faults: %v", err)
	}
}

func BenchmarkRandomTower(b *testing.B) {
	dev := cpu.New(2)
	defer dev.Close()
	for _, width := range []int{16, 32} {
		b.Run(fmt.Sprintf("width=%d", width), func(b *testing.B) {
			w, err := NewRandom(RandomConfig{Layers: [4]int{1, 1, 1, 1}, Width: width, Seed: 1})
			if err != nil {
				b.Fatal(err)
			}
			tower, err := OpenTower(dev, w, Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer tower.Close()
			for b.Loop() {
				x := dev.Alloc(tensor.Float32, 8, 224, 224, 3)
				dev.Zero(x)
				y := tower.Forward(x, Grid)
				dev.Read(make([]float32, y.Len()), y)
				dev.Reset()
			}
			b.ReportMetric(8*float64(b.N)/b.Elapsed().Seconds(), "images/s")
		})
	}
}
