package clip

import (
	"fmt"
	"math"
	"slices"

	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// bnEps is the eps of CLIP's batch norms.
const bnEps = 1e-5

// conv is a convolution with its batch norm folded in.
type conv struct {
	w, b        tensor.Tensor
	out, stride int
	pad         int
}

// bottleneck is one residual block: 1x1, 3x3, average pool if the stage
// strides, 1x1; the shortcut pools as well and has a 1x1 of its own.
type bottleneck struct {
	conv1, conv2, conv3 conv
	stride              int
	down                *conv
}

// resNet is CLIP's ModifiedResNet.
type resNet struct {
	dev    *workspace
	load   *loader
	stem   [3]conv
	layers [4][]bottleneck
	pool   *attentionPool // nil if the weights have none
	size   int
	grid   int // cells a side
	dim    int // channels of the grid

	trace func(name string, x tensor.Tensor) // for tests
}

func newResNet(l *loader, o Options) (*resNet, error) {
	r := &resNet{dev: l.work, load: l, trace: func(string, tensor.Tensor) {}}
	s1, s3 := l.shape("visual.conv1.weight"), l.shape("visual.conv3.weight")
	if len(s1) != 4 || len(s3) != 4 {
		return nil, fmt.Errorf("%w: visual.conv1.weight of shape %v, visual.conv3.weight of shape %v", ErrWeights, s1, s3)
	}
	half, width := s1[0], s3[0]
	r.stem[0] = l.conv("visual.conv1", "visual.bn1", half, 3, 3, 2)
	r.stem[1] = l.conv("visual.conv2", "visual.bn2", half, half, 3, 1)
	r.stem[2] = l.conv("visual.conv3", "visual.bn3", width, half, 3, 1)
	in := width
	for s := range r.layers {
		planes := width << s
		for b := 0; ; b++ {
			name := fmt.Sprintf("visual.layer%d.%d", s+1, b)
			if !l.has(name + ".conv1.weight") {
				break
			}
			blk := bottleneck{stride: 1}
			if s > 0 && b == 0 {
				blk.stride = 2
			}
			blk.conv1 = l.conv(name+".conv1", name+".bn1", planes, in, 1, 1)
			blk.conv2 = l.conv(name+".conv2", name+".bn2", planes, planes, 3, 1)
			blk.conv3 = l.conv(name+".conv3", name+".bn3", 4*planes, planes, 1, 1)
			if l.has(name + ".downsample.0.weight") {
				d := l.conv(name+".downsample.0", name+".downsample.1", 4*planes, in, 1, 1)
				blk.down = &d
			} else if blk.stride > 1 || in != 4*planes {
				l.err = cmpErr(l.err, fmt.Errorf("%w: %s has no downsample", ErrWeights, name))
			}
			r.layers[s] = append(r.layers[s], blk)
			in = 4 * planes
		}
		if len(r.layers[s]) == 0 {
			l.err = cmpErr(l.err, fmt.Errorf("%w: no visual.layer%d", ErrWeights, s+1))
		}
	}
	r.dim = in
	r.grid, r.size = 7, 224
	if pe := l.shape("visual.attnpool.positional_embedding"); len(pe) == 2 {
		r.grid = sideOf(pe[0] - 1)
		r.size = 32 * r.grid
		if r.grid*r.grid+1 != pe[0] {
			l.err = cmpErr(l.err, fmt.Errorf("%w: attention pool over %d positions", ErrWeights, pe[0]))
		}
		if l.err == nil {
			r.pool, l.err = newAttentionPool(l, pe[0], in, o.VisionHeads)
		}
	}
	if o.Size > 0 && o.Size != r.size {
		if o.Size%32 != 0 {
			l.err = cmpErr(l.err, fmt.Errorf("clip: input of %d pixels, want a multiple of 32", o.Size))
		}
		r.size, r.grid, r.pool = o.Size, o.Size/32, nil // the pool's positions fit one size only
	}
	return r, l.finish()
}

func cmpErr(err, other error) error {
	if err != nil {
		return err
	}
	return other
}

// conv reads a convolution [out, in, k, k] and folds its batch norm in:
// w*gain/sqrt(var+eps), shift - mean*gain/sqrt(var+eps).
func (l *loader) conv(name, bn string, out, in, k, stride int) conv {
	w := l.floats(name+".weight", out, in, k, k)
	gain, shift := l.floats(bn+".weight", out), l.floats(bn+".bias", out)
	mean, variance := l.floats(bn+".running_mean", out), l.floats(bn+".running_var", out)
	folded := make([]float32, len(w)) // [k, k, in, out]
	bias := make([]float32, out)
	for o := range out {
		s := float64(gain[o]) / math.Sqrt(float64(variance[o])+bnEps)
		bias[o] = float32(float64(shift[o]) - float64(float64(mean[o])*s))
		for i := range in {
			for p := range k * k {
				folded[(p*in+i)*out+o] = float32(float64(w[(o*in+i)*k*k+p]) * s)
			}
		}
	}
	return conv{w: l.filters(folded, k, k, in, out), b: l.keep(bias, out), out: out, stride: stride, pad: k / 2}
}

// into computes act(conv(x) + bias + residual) for x [n, h, w, c], in numbers of
// the given type.
func (c conv) into(dev op.Device, dt tensor.DType, x tensor.Tensor, act op.Act, residual tensor.Tensor) tensor.Tensor {
	n, h, w := x.Shape[0], x.Shape[1], x.Shape[2]
	y := dev.Alloc(dt, n, (h-1)/c.stride+1, (w-1)/c.stride+1, c.out)
	dev.Conv(y, x, c.w, op.Conv{Stride: c.stride, Pad: c.pad, Epilogue: op.Epilogue{Bias: c.b, Act: act, Residual: residual, ActLast: true}})
	return y
}

func pooled(dev op.Device, x tensor.Tensor, by int) tensor.Tensor {
	y := dev.Alloc(x.DType, x.Shape[0], x.Shape[1]/by, x.Shape[2]/by, x.Shape[3])
	dev.AvgPool(y, x, by)
	return y
}

// apply computes a block in numbers of type out, ReLU after the sum, and gives x
// back.
func (b *bottleneck) apply(dev *workspace, out tensor.DType, x tensor.Tensor) tensor.Tensor {
	y := b.conv1.into(dev, dev.mid, x, op.ReLU, tensor.Tensor{})
	z := b.conv2.into(dev, dev.mid, y, op.ReLU, tensor.Tensor{})
	dev.done(y)
	if b.stride > 1 {
		y = pooled(dev, z, b.stride)
		dev.done(z)
		z = y
	}
	short := x
	if b.down != nil {
		if b.stride > 1 {
			y = pooled(dev, x, b.stride)
			dev.done(x)
			x = y
		}
		short = b.down.into(dev, dev.mid, x, op.None, tensor.Tensor{})
	}
	y = b.conv3.into(dev, out, z, op.ReLU, short)
	dev.done(x, z, short)
	return y
}

// trunk computes the grid [n, h, w, c].
func (r *resNet) trunk(x tensor.Tensor) tensor.Tensor {
	for i := range r.stem {
		y := r.stem[i].into(r.dev, r.dev.mid, x, op.ReLU, tensor.Tensor{})
		r.dev.done(x)
		x = y
		r.trace(fmt.Sprintf("stem%d", i+1), x)
	}
	y := pooled(r.dev, x, 2)
	r.dev.done(x)
	x = y
	r.trace("stem_pool", x)
	for s := range r.layers {
		for b := range r.layers[s] {
			dt := r.dev.mid
			if s == len(r.layers)-1 && b == len(r.layers[s])-1 {
				dt = tensor.Float32
			}
			x = r.layers[s][b].apply(r.dev, dt, x)
		}
		r.trace(fmt.Sprintf("layer%d", s+1), x)
	}
	return x
}

func (r *resNet) Size() int { return r.size }

func (r *resNet) Shape(t Tap) (h, w, c int, err error) {
	if err := t.Check(); err != nil {
		return 0, 0, 0, err
	}
	switch {
	case t == Grid:
		return r.grid, r.grid, r.dim, nil
	case t == Penultimate, t == ClassTokens:
		return 0, 0, 0, fmt.Errorf("clip: a ModifiedResNet has no %s tokens", t)
	case r.pool == nil:
		return 0, 0, 0, fmt.Errorf("clip: the weights have no attention pool for inputs of %d pixels, which %s needs", r.size, t)
	case t == GridProjected:
		return r.grid, r.grid, r.pool.proj.out, nil
	}
	return 1, 1, r.pool.proj.out, nil
}

func (r *resNet) Forward(x tensor.Tensor, t Tap) tensor.Tensor {
	if _, _, _, err := r.Shape(t); err != nil {
		panic("clip: Forward of a tap that the tower does not have")
	}
	r.dev.reclaim()
	g := r.trunk(x)
	n, hw := g.Shape[0], g.Shape[1]*g.Shape[2]
	switch t {
	case Grid:
		return g.View(n, hw, r.dim)
	case Embedding:
		return r.pool.apply(r.dev, g, false)
	}
	return dropFirst(r.dev, r.pool.apply(r.dev, g, true))
}

// dropFirst copies all tokens but the first of each image.
func dropFirst(dev op.Device, x tensor.Tensor) tensor.Tensor {
	n, t, c := x.Shape[0], x.Shape[1], x.Shape[2]
	y := dev.Alloc(tensor.Float32, n, t-1, c)
	for i := range n {
		dev.Copy(y.Slice(i, i+1).View(t-1, c), x.Slice(i, i+1).View(t, c).Slice(1, t))
	}
	return y
}

func (r *resNet) Close() { r.load.free() }

// attentionPool is CLIP's AttentionPool2d: the mean of the cells and the cells,
// with positions, through one attention layer.
type attentionPool struct {
	pos        tensor.Tensor
	q, k, v    linear
	proj       linear
	heads, dim int
}

func newAttentionPool(l *loader, positions, dim, heads int) (*attentionPool, error) {
	heads, err := headsOf(dim, heads)
	if err != nil {
		return nil, err
	}
	s := l.shape("visual.attnpool.c_proj.weight")
	if len(s) != 2 {
		return nil, fmt.Errorf("%w: visual.attnpool.c_proj.weight of shape %v", ErrWeights, s)
	}
	p := &attentionPool{heads: heads, dim: dim}
	p.pos = l.vector("visual.attnpool.positional_embedding", positions, dim)
	p.q = l.linear("visual.attnpool.q_proj", dim, dim)
	p.k = l.linear("visual.attnpool.k_proj", dim, dim)
	p.v = l.linear("visual.attnpool.v_proj", dim, dim)
	p.proj = l.linear("visual.attnpool.c_proj", s[0], dim)
	return p, l.err
}

// tokens returns [n, 1+h*w, c]: the mean of the cells, then the cells, with
// positions added.
func (p *attentionPool) tokens(dev op.Device, g tensor.Tensor) tensor.Tensor {
	n, h, w, c := g.Shape[0], g.Shape[1], g.Shape[2], g.Shape[3]
	mean := dev.Alloc(tensor.Float32, n, 1, 1, c)
	dev.AvgPool(mean, g, h)
	x := dev.Alloc(tensor.Float32, n, 1+h*w, c)
	for i := range n {
		row := x.Slice(i, i+1).View(1+h*w, c)
		dev.Copy(row.Slice(0, 1), mean.Slice(i, i+1).View(1, c))
		dev.Copy(row.Slice(1, 1+h*w), g.Slice(i, i+1).View(h*w, c))
	}
	dev.Add(x, x, p.pos)
	return x
}

// apply returns [n, 1+h*w, out], or only the mean token's row if all is not
// set.
func (p *attentionPool) apply(dev op.Device, g tensor.Tensor, all bool) tensor.Tensor {
	x := p.tokens(dev, g)
	query := x
	if !all {
		query = firstTokens(dev, x)
	}
	none := tensor.Tensor{}
	q := p.q.apply(dev, query, op.None, none)
	k := p.k.apply(dev, x, op.None, none)
	v := p.v.apply(dev, x, op.None, none)
	y := dev.Alloc(tensor.Float32, slices.Clone(q.Shape)...)
	dev.Attend(y, none, q, k, v, op.Attention{Heads: p.heads, Scale: invSqrt(p.dim / p.heads)})
	return p.proj.apply(dev, y, op.None, none)
}

// firstTokens copies the first token of each image, [n, 1, c].
func firstTokens(dev op.Device, x tensor.Tensor) tensor.Tensor {
	n, t, c := x.Shape[0], x.Shape[1], x.Shape[2]
	y := dev.Alloc(tensor.Float32, n, 1, c)
	for i := range n {
		dev.Copy(y.Slice(i, i+1).View(1, c), x.Slice(i, i+1).View(t, c).Slice(0, 1))
	}
	return y
}
