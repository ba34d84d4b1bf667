package clip

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"slices"

	"espalier/trainer/ckpt"
)

// A RandomConfig is a ModifiedResNet whose weights come from a seed.
type RandomConfig struct {
	Layers [4]int `yaml:"layers" json:"layers"` // blocks of each stage
	Width  int    `yaml:"width" json:"width"`   // the grid has 32*Width channels
	Seed   uint64 `yaml:"seed" json:"seed"`
}

// Check reports every fault of the configuration.
func (c RandomConfig) Check() error {
	var errs []error
	for i, n := range c.Layers {
		if n < 1 || n > 64 {
			errs = append(errs, fmt.Errorf("layers: %d blocks in stage %d, want 1 to 64", n, i+1))
		}
	}
	if c.Width < 2 || c.Width%2 != 0 || c.Width > 1024 {
		errs = append(errs, fmt.Errorf("width: %d, want an even number from 2 to 1024", c.Width))
	}
	return errors.Join(errs...)
}

// NewRandom returns the weights of a ModifiedResNet without attention pool,
// under the names of published ones. Each value is a function of the seed, the
// tensor's name and its place alone, computed exactly, so that all machines
// agree.
//
// Filters are near Gaussian. Behind a ReLU, whose outputs have a positive mean,
// the weights of a filter sum to zero and are scaled by the deviation that is
// left (Brock et al. 2021, arXiv 2101.08692, equation 2 and section 4.1):
// otherwise the common mean swamps, layer by layer, what differs between
// images. The two branches of a block are scaled so that variances add up to
// one. Batch norms are the identity.
func NewRandom(c RandomConfig) (ckpt.Weights, error) {
	if err := c.Check(); err != nil {
		return nil, fmt.Errorf("clip: random network: %w", err)
	}
	r := &random{seed: c.Seed, tensors: map[string]randomTensor{}}
	half := c.Width / 2
	r.conv("visual.conv1", "visual.bn1", half, 3, 3, math.Sqrt2, false)
	// Sums of two branches have half the variance from each.
	relu := math.Sqrt(2 / (1 - 1/math.Pi))
	r.conv("visual.conv2", "visual.bn2", half, half, 3, relu, true)
	r.conv("visual.conv3", "visual.bn3", c.Width, half, 3, relu, true)
	in := c.Width
	for s, n := range c.Layers {
		planes := c.Width << s
		for b := range n {
			name := fmt.Sprintf("visual.layer%d.%d", s+1, b)
			r.conv(name+".conv1", name+".bn1", planes, in, 1, relu, true)
			r.conv(name+".conv2", name+".bn2", planes, planes, 3, relu, true)
			r.conv(name+".conv3", name+".bn3", 4*planes, planes, 1, relu*math.Sqrt2/2, true)
			if b == 0 {
				r.conv(name+".downsample.0", name+".downsample.1", 4*planes, in, 1, relu*math.Sqrt2/2, true)
			}
			in = 4 * planes
		}
	}
	return r, nil
}

// random generates tensors when they are asked for.
type random struct {
	seed    uint64
	tensors map[string]randomTensor
}

type randomTensor struct {
	shape  []int
	gain   float64 // standard deviation times the root of the fan-in; 0 for constants
	centre bool    // each filter sums to zero
	value  float32 // of constants
}

func (r *random) conv(name, bn string, out, in, k int, gain float64, centre bool) {
	r.tensors[name+".weight"] = randomTensor{shape: []int{out, in, k, k}, gain: gain, centre: centre}
	for suffix, v := range map[string]float32{".weight": 1, ".bias": 0, ".running_mean": 0, ".running_var": 1 - bnEps} {
		r.tensors[bn+suffix] = randomTensor{shape: []int{out}, value: v}
	}
}

func (r *random) Names() []string { return slices.Sorted(maps.Keys(r.tensors)) }

func (r *random) Info(name string) (ckpt.Info, bool) {
	t, ok := r.tensors[name]
	n := 1
	for _, d := range t.shape {
		n *= d
	}
	return ckpt.Info{DType: ckpt.F32, Shape: t.shape, Len: n}, ok
}

func (r *random) Floats(name string) ([]float32, error) {
	t, ok := r.tensors[name]
	if !ok {
		return nil, fmt.Errorf("%w %q in a random network", ckpt.ErrMissing, name)
	}
	in, _ := r.Info(name)
	x := make([]float32, in.Len)
	if t.gain == 0 {
		for i := range x {
			x[i] = t.value
		}
		return x, nil
	}
	h := fnv.New64a()
	h.Write([]byte(name))
	key := mix(mix(r.seed) ^ h.Sum64())
	fan := in.Len / t.shape[0]
	// A sum of four uniform numbers below 2^16 has variance 2^32/3.
	scale := t.gain * math.Sqrt(3/float64(fan)) / 65536
	for o := range t.shape[0] {
		row := x[o*fan : (o+1)*fan]
		ints := make([]int64, fan)
		total := int64(0)
		for i := range ints {
			u := mix(key + uint64(o*fan+i)*0x9e3779b97f4a7c15)
			ints[i] = int64(u&0xffff+u>>16&0xffff+u>>32&0xffff+u>>48) - 131070
			total += ints[i]
		}
		mean := 0.0
		if t.centre {
			mean = float64(total) / float64(fan)
		}
		for i, v := range ints {
			row[i] = float32((float64(v) - mean) * scale)
		}
	}
	return x, nil
}

func (r *random) Raw(name string) ([]byte, error) {
	x, err := r.Floats(name)
	b := make([]byte, 0, 4*len(x))
	for _, v := range x {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b, err
}

func (r *random) Close() error { return nil }

// mix is the finaliser of SplitMix64 (Steele, Lea and Flood 2014).
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
