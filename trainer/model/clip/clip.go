// Package clip is CLIP's networks, forward only: the ModifiedResNet and vision
// transformer image towers, the text tower and their similarity, on any
// [op.Device].
//
// The network is read from the weights: depths, widths and sizes follow from
// the shapes of the tensors (OpenAI's names, or Hugging Face's). Batch norms
// are folded into the convolutions. What a tower gives is named by a [Tap].
// [NewRandom] makes weights of a ModifiedResNet from a seed.
//
// Shapes: n images, h by w cells, c channels, t tokens. Images are [n, size,
// size, 3] float32, channels last, normalised as raster.Transform does. A tower
// keeps memory for its layers and results: results are valid until its next
// Forward or its Close. It is used from one goroutine at a time, as its device
// is.
//
// Source: openai/CLIP (model.py), Radford et al. 2021 (arXiv 2103.00020).
package clip

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"espalier/trainer/ckpt"
	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// A Tap names what is taken out of an image tower.
type Tap string

// Taps. The grid of a ModifiedResNet is layer4 after its last ReLU, before the
// attention pool; that of a vision transformer is the last block's patch
// tokens, before ln_post. GridProjected is every cell through what makes the
// embedding (the attention pool with every cell as a query; ln_post and proj).
// Penultimate is all tokens behind the last block but one, class token first,
// of a vision transformer. ClassTokens is the class token behind each of its
// blocks through ln_post and proj, the scales of which LLaMA-Adapter V2 makes
// its global features. Embedding is the image's one vector in the joint space.
const (
	Grid          Tap = "grid"
	GridProjected Tap = "grid-projected"
	Penultimate   Tap = "penultimate"
	ClassTokens   Tap = "class-tokens"
	Embedding     Tap = "embedding"
)

// Check reports a tap that does not exist.
func (t Tap) Check() error {
	switch t {
	case Grid, GridProjected, Penultimate, ClassTokens, Embedding:
		return nil
	}
	return fmt.Errorf("tap %q, want grid, grid-projected, penultimate, class-tokens or embedding", string(t))
}

// Tower is an image tower.
type Tower interface {
	// Size is the side of the input in pixels.
	Size() int
	// Shape returns height, width and channels of a tap: 1 and 1 for the
	// embedding, 1 and the number of tokens for Penultimate, or of blocks for
	// ClassTokens.
	Shape(t Tap) (h, w, c int, err error)
	// Forward returns a tap, [n, h*w, c], of images x [n, size, size, 3].
	Forward(x tensor.Tensor, t Tap) tensor.Tensor
	// Close frees the weights.
	Close()
}

// Options say what the shapes of the weights do not.
type Options struct {
	VisionHeads int // of the image tower's attention; 0 means channels / 64
	TextHeads   int // of the text tower's; 0 means width / 64
	// Size is the side of the input in pixels, which a ModifiedResNet's grid may
	// have freely; 0 means what the weights were made for, or 224.
	Size int
	// BF16 rounds matrices and filters, and what they are multiplied with, to
	// bfloat16, some filters and images behind a transform. Sums, norms, biases,
	// embeddings and attention stay float32; between the convolutions of a
	// ModifiedResNet, residuals too, images are bfloat16.
	BF16 bool
}

// ErrWeights says that a file holds no CLIP network.
var ErrWeights = errors.New("clip: no CLIP weights")

// OpenTower makes the image tower of w on dev.
func OpenTower(dev op.Device, w ckpt.Weights, o Options) (Tower, error) {
	l := newLoader(dev, w)
	if o.BF16 {
		l.frozen, l.work.mid = tensor.BFloat16, tensor.BFloat16
	}
	switch {
	case l.has("visual.layer1.0.conv1.weight"):
		return newResNet(l, o)
	case l.has("visual.class_embedding"):
		return newViT(l, o)
	}
	return nil, fmt.Errorf("%w: neither visual.layer1.0.conv1.weight nor visual.class_embedding among %d tensors", ErrWeights, len(w.Names()))
}

// InputSize returns the side in pixels of the images that the tower in w is
// for, 224 if w is nil or does not say.
func InputSize(w ckpt.Weights) int {
	const published = 224
	if w == nil {
		return published
	}
	l := newLoader(nil, w)
	if pe := l.shape("visual.attnpool.positional_embedding"); len(pe) == 2 {
		return 32 * sideOf(pe[0]-1)
	}
	conv, pe := l.shape("visual.conv1.weight"), l.shape("visual.positional_embedding")
	if len(conv) == 4 && len(pe) == 2 {
		return conv[2] * sideOf(pe[0]-1)
	}
	return published
}

// sideOf is the side of the largest square of at most n cells.
func sideOf(n int) int {
	side := 0
	for (side+1)*(side+1) <= n {
		side++
	}
	return side
}

// loader reads tensors by OpenAI's names and puts them on a device. Its first
// error sticks.
type loader struct {
	dev    op.Device
	work   *workspace
	w      ckpt.Weights
	hf     bool
	frozen tensor.DType // of matrices and filters
	kept   []tensor.Tensor
	err    error
}

func newLoader(dev op.Device, w ckpt.Weights) *loader {
	l := &loader{dev: dev, work: newWorkspace(dev), w: w, frozen: tensor.Float32}
	_, l.hf = w.Info("vision_model.embeddings.class_embedding")
	if _, ok := w.Info("text_model.final_layer_norm.weight"); ok {
		l.hf = true
	}
	return l
}

// shape returns a tensor's shape, nil if there is none.
func (l *loader) shape(name string) []int {
	if l.hf {
		if strings.HasSuffix(name, "attn.in_proj_weight") || strings.HasSuffix(name, "attn.in_proj_bias") {
			s := l.shape(splitHF(name, "q"))
			if s == nil {
				return nil
			}
			return append([]int{3 * s[0]}, s[1:]...)
		}
		in, ok := l.w.Info(hfName(name))
		if !ok {
			return nil
		}
		if transposedHF(name) {
			return []int{in.Shape[1], in.Shape[0]}
		}
		return in.Shape
	}
	in, ok := l.w.Info(name)
	if !ok {
		return nil
	}
	if in.Shape == nil {
		return []int{}
	}
	return in.Shape
}

func (l *loader) has(name string) bool { return l.shape(name) != nil }

// floats returns the tensor called name, which must have the given shape.
func (l *loader) floats(name string, shape ...int) []float32 {
	if l.err != nil {
		return make([]float32, tensor.Size(shape))
	}
	got := l.shape(name)
	if got == nil {
		l.err = fmt.Errorf("%w: no tensor %s", ErrWeights, name)
	} else if !sameShape(got, shape) {
		l.err = fmt.Errorf("%w: %s has shape %v, want %v", ErrWeights, name, got, shape)
	}
	var x []float32
	if l.err == nil {
		x, l.err = l.read(name)
	}
	if l.err != nil {
		return make([]float32, tensor.Size(shape))
	}
	return x
}

func (l *loader) read(name string) ([]float32, error) {
	if !l.hf {
		return ckpt.AsFloats(l.w, name)
	}
	if strings.HasSuffix(name, "attn.in_proj_weight") || strings.HasSuffix(name, "attn.in_proj_bias") {
		var all []float32
		for _, p := range []string{"q", "k", "v"} {
			x, err := l.read(splitHF(name, p))
			if err != nil {
				return nil, err
			}
			all = append(all, x...)
		}
		return all, nil
	}
	x, err := ckpt.AsFloats(l.w, hfName(name))
	if err == nil && transposedHF(name) {
		in, _ := l.w.Info(hfName(name))
		x = transpose(x, in.Shape[0], in.Shape[1])
	}
	return x, err
}

func sameShape(a, b []int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func transpose(x []float32, rows, cols int) []float32 {
	y := make([]float32, len(x))
	for i := range rows {
		for j := range cols {
			y[j*rows+i] = x[i*cols+j]
		}
	}
	return y
}

// keep puts x on the device.
func (l *loader) keep(x []float32, shape ...int) tensor.Tensor {
	t := l.dev.Keep(tensor.Float32, shape...)
	l.dev.Write(t, x)
	l.kept = append(l.kept, t)
	return t
}

// vector reads a tensor as it is.
func (l *loader) vector(name string, shape ...int) tensor.Tensor {
	return l.keep(l.floats(name, shape...), shape...)
}

// matrix packs x [k, n] for the right side of a product.
func (l *loader) matrix(x []float32, k, n int) tensor.Tensor { return l.pack(x, false, k, n) }

// rows packs x [n, k], a linear layer's weights as they are stored, for the
// right side of a product that transposes it.
func (l *loader) rows(x []float32, n, k int) tensor.Tensor { return l.pack(x, true, n, k) }

func (l *loader) pack(x []float32, trans bool, shape ...int) tensor.Tensor {
	t := l.dev.Keep(l.frozen, shape...)
	l.dev.Write(t, x)
	var p tensor.Tensor
	if l.frozen == tensor.BFloat16 {
		p = l.dev.PackRounding(t, trans)
	} else {
		p = l.dev.Pack(t, trans)
	}
	l.dev.Free(t)
	l.kept = append(l.kept, p)
	return p
}

// filters packs x [kh, kw, in, out] for convolutions.
func (l *loader) filters(x []float32, kh, kw, in, out int) tensor.Tensor {
	t := l.dev.Keep(tensor.Float32, kh, kw, in, out)
	l.dev.Write(t, x)
	var p tensor.Tensor
	if l.frozen == tensor.BFloat16 {
		p = l.dev.PackConvRounding(t)
	} else {
		p = l.dev.PackConv(t)
	}
	l.dev.Free(t)
	l.kept = append(l.kept, p)
	return p
}

// linear is y = x W' + b, w [out, in].
type linear struct {
	w, b tensor.Tensor
	out  int
}

// linear reads weight [out, in] and bias [out].
func (l *loader) linear(name string, out, in int) linear {
	return linear{l.rows(l.floats(name+".weight", out, in), out, in), l.vector(name+".bias", out), out}
}

// apply computes act(x W' + b) + residual for x [..., in].
func (m linear) apply(dev op.Device, x tensor.Tensor, act op.Act, residual tensor.Tensor) tensor.Tensor {
	rows := x.Rows()
	y := dev.Alloc(tensor.Float32, append(append([]int(nil), x.Shape[:len(x.Shape)-1]...), m.out)...)
	e := op.Epilogue{Bias: m.b, Act: act}
	if !residual.IsZero() {
		e.Residual = residual.View(rows, m.out)
	}
	dev.Gemm(y.View(rows, m.out), x.View(rows, x.Dim(-1)), m.w, op.Gemm{TransB: true, Epilogue: e})
	return y
}

// free gives back all that the loader and its tower kept.
func (l *loader) free() {
	l.work.close()
	for _, t := range l.kept {
		l.dev.Free(t)
	}
	l.kept = nil
}

// finish returns the first error of loading, and then frees the weights.
func (l *loader) finish() error {
	if l.err == nil {
		l.err = l.dev.Err()
	}
	if l.err != nil {
		l.free()
	}
	return l.err
}

func headsOf(width, given int) (int, error) {
	h := given
	if h == 0 {
		h = max(width/64, 1)
	}
	if h < 1 || width%h != 0 {
		return 0, fmt.Errorf("clip: %d heads for a width of %d", h, width)
	}
	return h, nil
}

func invSqrt(n int) float32 { return float32(1 / math.Sqrt(float64(n))) }
