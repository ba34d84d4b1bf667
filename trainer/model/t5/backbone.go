package t5

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"espalier/trainer/ckpt"
	"espalier/trainer/nn"
	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// A Backbone is the weights of a published model on a device. Models share it,
// also those of other goroutines, and hold it; its memory is given back when the last one has let go. Its
// tensors are those of the mapped file where the device can use them as they
// lie.
type Backbone struct {
	Config Config
	Digest string // of names, shapes and values, whatever the file's format

	dev     op.Device
	tensors map[string]tensor.Tensor // of every parameter of the plain model
	weights ckpt.Weights             // lends memory; nil if it doesn't
	holds   atomic.Int32
	// rounding are matrices packed for products with their transpose, and for
	// those of the gradient, by path.
	rounding map[string][2]tensor.Tensor
	mapped   int // tensors that lie in the file
}

// OpenOptions say how weights are kept.
type OpenOptions struct {
	// Half keeps the matrices of linear maps as bfloat16, rounding others.
	Half bool
	// Round lays those that are bfloat16 out for products that round what they
	// read to bfloat16 too, those of the head apart; only with Half.
	Round bool
}

// Open opens the folder of a published model: config.json and weights in any
// format that ckpt.OpenWeights reads.
func Open(dev op.Device, dir string, o OpenOptions) (*Backbone, error) {
	name := filepath.Join(dir, "config.json")
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	c, err := ParseConfig(text, name)
	if err != nil {
		return nil, err
	}
	w, err := ckpt.OpenWeights(dir)
	if err != nil {
		return nil, err
	}
	b, err := NewBackbone(dev, c, w, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return b, nil
}

// NewBackbone takes the weights that w has under the published names. It owns w
// from then on, also if it fails. Tensors that the model does not know are left
// alone: public files hold some that are dead.
func NewBackbone(dev op.Device, c Config, w ckpt.Weights, o OpenOptions) (*Backbone, error) {
	b := &Backbone{Config: c, dev: dev, tensors: map[string]tensor.Tensor{}, weights: w}
	b.holds.Store(1)
	if err := b.read(o); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// Random returns a backbone whose weights are drawn as those of new models
// are, from the seed and each parameter's path.
func Random(dev op.Device, c Config, seed uint64) (*Backbone, error) {
	m, err := declare(dev, c, Options{Seed: seed})
	if err != nil {
		return nil, err
	}
	b := &Backbone{Config: m.config, dev: dev, tensors: map[string]tensor.Tensor{}}
	b.holds.Store(1)
	sum := sha256.New()
	for _, p := range m.params.All() {
		x := make([]float32, p.Len())
		p.Init.Fill(x, seed, p.Path)
		t := dev.Keep(tensor.Float32, p.Shape...)
		dev.Write(t, x)
		b.tensors[p.Path] = t
	}
	text, err := json.Marshal(b.Config)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(sum, "random %d %s", seed, text)
	b.Digest = hex.EncodeToString(sum.Sum(nil))
	return b, dev.Err()
}

// aliases are names under which a tensor may be if it is not under its own.
var aliases = map[string][]string{
	tableName: {"encoder.embed_tokens.weight", "decoder.embed_tokens.weight"},
}

// find returns the name under which the weights have a parameter.
func (b *Backbone) find(path string) (string, ckpt.Info, bool) {
	for _, name := range append([]string{path}, aliases[path]...) {
		if in, ok := b.weights.Info(name); ok {
			return name, in, true
		}
	}
	return path, ckpt.Info{}, false
}

// read checks and takes all tensors.
func (b *Backbone) read(o OpenOptions) error {
	if err := b.Config.Check(); err != nil {
		return err
	}
	own, err := b.ownHead()
	if err != nil {
		return err
	}
	b.Config.OwnHead = own
	m, err := declare(b.dev, b.Config, Options{})
	if err != nil {
		return err
	}
	var bad []string
	for _, p := range m.params.All() {
		name, in, ok := b.find(p.Path)
		if !ok {
			bad = append(bad, name+" is missing")
		} else if !slices.Equal(in.Shape, p.Shape) {
			bad = append(bad, fmt.Sprintf("%s has shape %v, want %v", name, in.Shape, p.Shape))
		}
	}
	if len(bad) > 0 {
		return fmt.Errorf("t5: the weights do not fit config.json: %s", summary(bad))
	}
	sum := sha256.New()
	matrix := map[string]bool{}
	for _, l := range m.layout.Maps {
		matrix[l.Path+".weight"] = true
	}
	for _, p := range m.params.All() {
		name, in, _ := b.find(p.Path)
		if err := b.take(p, name, in, o.Half && matrix[p.Path]); err != nil {
			return err
		}
		raw, err := b.raw(name)
		if err != nil {
			return err
		}
		if t := b.tensors[p.Path]; o.Round && t.DType == tensor.BFloat16 {
			if b.rounding == nil {
				b.rounding = map[string][2]tensor.Tensor{}
			}
			b.rounding[p.Path] = [2]tensor.Tensor{b.dev.PackRounding(t, true), b.dev.PackRounding(t, false)}
		}
		fmt.Fprintf(sum, "%q %s %v %x\n", p.Path, in.DType, p.Shape, sha256.Sum256(raw))
	}
	b.Digest = hex.EncodeToString(sum.Sum(nil))
	if b.mapped == 0 && !o.Half {
		err := b.weights.Close()
		b.weights = nil
		return err
	}
	return nil
}

// ownHead reports whether the head's weights differ from the table's. Many
// files of tied models have both.
func (b *Backbone) ownHead() (bool, error) {
	in, ok := b.weights.Info(headName)
	if !ok {
		return false, nil
	}
	name, table, ok := b.find(tableName)
	if !ok || in.DType != table.DType || !slices.Equal(in.Shape, table.Shape) {
		return true, nil // the shapes are checked later
	}
	x, err := b.raw(headName)
	if err != nil {
		return false, err
	}
	y, err := b.raw(name)
	return string(x) != string(y), err
}

// raw returns a tensor's bytes, without a copy if they can be lent.
func (b *Backbone) raw(name string) ([]byte, error) {
	if m, ok := b.weights.(ckpt.Mapper); ok {
		if x, ok := m.Lend(name); ok {
			return x, nil
		}
	}
	return b.weights.Raw(name)
}

// take makes a parameter's tensor.
func (b *Backbone) take(p *nn.Param, name string, in ckpt.Info, half bool) error {
	adopter, _ := b.dev.(op.Adopter)
	mapper, _ := b.weights.(ckpt.Mapper)
	dt := tensor.Float32
	if half {
		dt = tensor.BFloat16
	}
	asIs := in.DType == ckpt.F32 && !half || in.DType == ckpt.BF16 && half
	if adopter != nil && mapper != nil && asIs {
		if mem, ok := mapper.Lend(name); ok {
			if t, ok := adopter.Adopt(dt, mem, p.Shape...); ok {
				b.tensors[p.Path] = t
				b.mapped++
				return nil
			}
		}
	}
	x, err := ckpt.AsFloats(b.weights, name)
	if err != nil {
		return err
	}
	t := b.dev.Keep(dt, p.Shape...)
	b.dev.Write(t, x)
	b.tensors[p.Path] = t
	return b.dev.Err()
}

// Tensors returns all parameters under their published names, by name.
func (b *Backbone) Tensors() []ckpt.Tensor {
	var out []ckpt.Tensor
	for _, name := range slices.Sorted(maps.Keys(b.tensors)) {
		out = append(out, ckpt.Of(b.dev, name, b.tensors[name]))
	}
	return out
}

// write gives a device's tensor the values of a parameter, those of the file
// where the backbone holds them rounded.
func (b *Backbone) write(dev op.Device, dst tensor.Tensor, path string) error {
	w := b.tensors[path]
	if w.DType == tensor.Float32 || b.weights == nil {
		dev.Copy(dst, w.View(dst.Shape...))
		return dev.Err()
	}
	name, _, _ := b.find(path)
	x, err := ckpt.AsFloats(b.weights, name)
	if err != nil {
		return err
	}
	dev.Write(dst, x)
	return dev.Err()
}

// Mapped returns how many tensors lie in the mapped file.
func (b *Backbone) Mapped() int { return b.mapped }

// Device returns the device of the weights.
func (b *Backbone) Device() op.Device { return b.dev }

// hold is one more user.
func (b *Backbone) hold() *Backbone {
	b.holds.Add(1)
	return b
}

// Close lets go of the backbone.
func (b *Backbone) Close() error {
	if b.holds.Add(-1) > 0 {
		return nil
	}
	for _, t := range b.tensors {
		b.dev.Free(t)
	}
	for _, r := range b.rounding {
		b.dev.Free(r[0])
		b.dev.Free(r[1])
	}
	b.tensors, b.rounding = nil, nil
	if b.weights == nil {
		return nil
	}
	return b.weights.Close()
}

// summary joins the first of many faults.
func summary(bad []string) string {
	const most = 5
	if n := len(bad); n > most {
		bad = append(slices.Clone(bad[:most]), fmt.Sprintf("and %d more", n-most))
	}
	return strings.Join(bad, "; ")
}
