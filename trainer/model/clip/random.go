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

// Shares and gains of a random network. A block's two branches have variances
// that add up to one; the last stage is scaled up so that the grid is of order
// one.
const (
	stemOriented  = 2 // every second filter of the first convolution
	laterOriented = 4 // every fourth of the stem's others
	blockOriented = 2 // every second of the blocks' 3x3 convolutions
	branchGain    = 0.6
	shortcutGain  = 0.8
	lastGain      = 1.25
)

// NewRandom returns the weights of a ModifiedResNet without attention pool,
// under the names of published ones. Each value is a function of the seed, the
// tensor's name and its place alone, computed exactly, so that all machines
// agree.
//
// A filter is a random direction in the space of its input channels, scaled for
// the ReLU behind it, times a spatial kernel: a smoothing one, which keeps
// colours, or a derivative in one of 16 directions, which keeps edges and where
// they lie. With independent weights at every place of a kernel, which is the
// usual initialisation, a grid of the same size tells shapes and textures apart
// less well. Batch norms are the identity.
func NewRandom(c RandomConfig) (ckpt.Weights, error) {
	if err := c.Check(); err != nil {
		return nil, fmt.Errorf("clip: random network: %w", err)
	}
	r := &random{seed: c.Seed, tensors: map[string]randomTensor{}}
	half := c.Width / 2
	r.conv("visual.conv1", "visual.bn1", half, 3, 3, stemOriented, math.Sqrt2)
	r.conv("visual.conv2", "visual.bn2", half, half, 3, laterOriented, math.Sqrt2)
	r.conv("visual.conv3", "visual.bn3", c.Width, half, 3, laterOriented, math.Sqrt2)
	in := c.Width
	for s, n := range c.Layers {
		planes := c.Width << s
		for b := range n {
			name := fmt.Sprintf("visual.layer%d.%d", s+1, b)
			gain := math.Sqrt2
			if s == len(c.Layers)-1 && b == 0 {
				gain *= lastGain
			}
			r.conv(name+".conv1", name+".bn1", planes, in, 1, 0, math.Sqrt2)
			r.conv(name+".conv2", name+".bn2", planes, planes, 3, blockOriented, math.Sqrt2)
			r.conv(name+".conv3", name+".bn3", 4*planes, planes, 1, 0, gain*branchGain)
			if b == 0 {
				r.conv(name+".downsample.0", name+".downsample.1", 4*planes, in, 1, 0, gain*shortcutGain)
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
	shape    []int
	gain     float64 // length of each filter's channel mix; 0 for constants
	oriented int     // every how many-th filter is a derivative; 0 for none
	value    float32 // of constants
}

func (r *random) conv(name, bn string, out, in, k, oriented int, gain float64) {
	r.tensors[name+".weight"] = randomTensor{shape: []int{out, in, k, k}, gain: gain, oriented: oriented}
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
	info, _ := r.Info(name)
	x := make([]float32, info.Len)
	if t.gain == 0 {
		for i := range x {
			x[i] = t.value
		}
		return x, nil
	}
	h := fnv.New64a()
	h.Write([]byte(name))
	key := mix(mix(r.seed) ^ h.Sum64())
	in, kk := t.shape[1], t.shape[2]*t.shape[3]
	channels := make([]float64, in)
	for o := range t.shape[0] {
		length := 0.0
		for i := range channels {
			// A sum of four uniform numbers is near Gaussian.
			u := mix(key + uint64(o*in+i)*0x9e3779b97f4a7c15)
			v := float64(int64(u&0xffff+u>>16&0xffff+u>>32&0xffff+u>>48) - 131070)
			if in == 3 {
				v = float64(v*jitter) + float64(corner(o/t.oriented, i)*65536)
			}
			if t.oriented == laterOriented && o%t.oriented != 0 && i == o%in {
				v += passed * math.Sqrt(float64(in))
			}
			channels[i] = v
			length += float64(v * v)
		}
		scale := t.gain / max(math.Sqrt(length), 1)
		kernel := t.kernel(o, mix(key^uint64(o)))
		for i, v := range channels {
			for p := range kk {
				x[(o*in+i)*kk+p] = float32(float64(v*scale) * kernel[p])
			}
		}
	}
	return x, nil
}

// jitter is how far the colours of the first filters are from the corners.
const jitter = 0.25

// passed is what a smoothing filter of the stem adds to the weight of one
// channel, so that what the first filters see is kept through the stem: 0.8
// times the deviation of a weight, times the root of the number of channels.
const passed = 0.8 * 37837

// corner returns coordinate i of the k-th corner of the colour cube. The
// rectified products with four of them keep a colour whole, so the first four
// are every second corner; independent directions would miss some colours.
func corner(k, i int) float64 {
	c := []int{0b111, 0b001, 0b010, 0b100, 0b000, 0b110, 0b101, 0b011}[k%8]
	return float64(2*(c>>i&1) - 1)
}

// Spatial kernels: smoothing, and derivatives along and down a row.
var (
	smoothing = [9]float64{1. / 16, 2. / 16, 1. / 16, 2. / 16, 4. / 16, 2. / 16, 1. / 16, 2. / 16, 1. / 16}
	alongX    = [9]float64{-1. / 2, 0, 1. / 2, -1, 0, 1, -1. / 2, 0, 1. / 2}
	alongY    = [9]float64{-1. / 2, -1, -1. / 2, 0, 0, 0, 1. / 2, 1, 1. / 2}
)

// sixteenths are the cosines of k/16 of a turn; the sines are those a quarter
// of a turn before.
var sixteenths = [16]float64{
	1, 0.9238795325112867, 0.7071067811865476, 0.3826834323650898, 0, -0.3826834323650898, -0.7071067811865476, -0.9238795325112867,
	-1, -0.9238795325112867, -0.7071067811865476, -0.3826834323650898, 0, 0.3826834323650898, 0.7071067811865476, 0.9238795325112867,
}

// kernel returns the spatial kernel of filter o. Directions are spread evenly
// over a layer's derivatives; bits moves one to a neighbour.
func (t *randomTensor) kernel(o int, bits uint64) [9]float64 {
	if t.shape[2] == 1 {
		return [9]float64{1}
	}
	if t.oriented == 0 || o%t.oriented != 0 {
		return smoothing
	}
	n := (t.shape[0] + t.oriented - 1) / t.oriented
	d := (o/t.oriented*16/n + int(bits&1)) % 16
	c, s := sixteenths[d], sixteenths[(d+12)%16]
	var k [9]float64
	for i := range k {
		k[i] = float64(c*alongX[i]) + float64(s*alongY[i])
	}
	return k
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
