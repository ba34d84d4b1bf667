package clip

import (
	"math"
	"testing"

	"espalier/trainer/tensor"
)

// cosine is that of two vectors, in float64.
func cosine(a, b []float32) float64 {
	var ab, aa, bb float64
	for i := range a {
		ab += float64(a[i]) * float64(b[i])
		aa += float64(a[i]) * float64(a[i])
		bb += float64(b[i]) * float64(b[i])
	}
	return ab / math.Sqrt(aa*bb)
}

// Every cell of a grid in bfloat16 points where the float32 one does, within a
// cosine of 0.9999; so do all tokens of a vision transformer.
func TestBF16(t *testing.T) {
	dev := device(t)
	deep, err := NewRandom(RandomConfig{Layers: [4]int{3, 4, 6, 3}, Width: 16, Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		o    Options
		n    int
		tap  Tap
	}{
		{"random", Options{Size: 64}, 2, Grid},
		{"rn_a", Options{VisionHeads: 4}, 3, Grid},
		{"vit", Options{VisionHeads: 4}, 3, Grid},
		{"vit", Options{VisionHeads: 4}, 3, Penultimate},
	} {
		w := deep
		switch c.name {
		case "rn_a":
			w = open(t, "rn_a.weights.safetensors")
		case "vit":
			w = open(t, "vit.openai.weights.safetensors")
		}
		var out [2][]float32
		width := 0
		for i, half := range []bool{false, true} {
			o := c.o
			o.BF16 = half
			tower, err := OpenTower(dev, w, o)
			if err != nil {
				t.Fatal(err)
			}
			x := dev.Alloc(tensor.Float32, c.n, tower.Size(), tower.Size(), 3)
			pix := make([]float32, x.Len())
			for i := range pix {
				pix[i] = float32(math.Sin(float64(i)/50) + math.Cos(float64(i%977)/7))
			}
			dev.Write(x, pix)
			out[i] = read(dev, tower.Forward(x, c.tap))
			_, _, width, _ = tower.Shape(c.tap)
			tower.Close()
			dev.Reset()
		}
		worst := 1.0
		for i := 0; i < len(out[0]); i += width {
			worst = min(worst, cosine(out[0][i:i+width], out[1][i:i+width]))
		}
		if !(worst >= 0.9999) || worst == 1 {
			t.Errorf("%s %s: cosine of the worst cell %.6f, want 0.9999 and not 1", c.name, c.tap, worst)
		}
		t.Logf("%s %s: cosine of the worst of %d cells %.6f", c.name, c.tap, len(out[0])/width, worst)
	}
}
