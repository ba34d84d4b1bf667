package clip

import (
	"fmt"
	"slices"

	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// lnEps is the eps of CLIP's layer norms.
const lnEps = 1e-5

// norm is a layer norm.
type norm struct{ gain, shift tensor.Tensor }

func (l *loader) norm(name string, width int) norm {
	return norm{l.vector(name+".weight", width), l.vector(name+".bias", width)}
}

func (m norm) apply(dev op.Device, x tensor.Tensor) tensor.Tensor {
	y := dev.Alloc(tensor.Float32, slices.Clone(x.Shape)...)
	dev.Norm(y, tensor.Tensor{}, x, m.gain, m.shift, op.Norm{Kind: op.LayerNorm, Eps: lnEps})
	return y
}

// block is a pre-norm transformer block: x += attention(ln_1 x), x += mlp(ln_2
// x).
type block struct {
	ln1, ln2     norm
	q, k, v, out linear
	fc, proj     linear
}

// blocks reads all blocks under a name such as "visual.transformer".
func (l *loader) blocks(name string, width int) []block {
	var bs []block
	for i := 0; ; i++ {
		p := fmt.Sprintf("%s.resblocks.%d", name, i)
		hidden := l.shape(p + ".mlp.c_fc.weight")
		if len(hidden) != 2 {
			return bs
		}
		var b block
		b.ln1, b.ln2 = l.norm(p+".ln_1", width), l.norm(p+".ln_2", width)
		w, bias := l.floats(p+".attn.in_proj_weight", 3*width, width), l.floats(p+".attn.in_proj_bias", 3*width)
		for j, m := range []*linear{&b.q, &b.k, &b.v} {
			part := w[j*width*width : (j+1)*width*width]
			*m = linear{l.rows(part, width, width), l.keep(bias[j*width:(j+1)*width], width), width}
		}
		b.out = l.linear(p+".attn.out_proj", width, width)
		b.fc = l.linear(p+".mlp.c_fc", hidden[0], width)
		b.proj = l.linear(p+".mlp.c_proj", width, hidden[0])
		bs = append(bs, b)
	}
}

// apply computes a block and gives x back.
func (b *block) apply(dev *workspace, x tensor.Tensor, heads int, causal bool) tensor.Tensor {
	none := tensor.Tensor{}
	y := b.ln1.apply(dev, x)
	q := b.q.apply(dev, y, op.None, none)
	k := b.k.apply(dev, y, op.None, none)
	v := b.v.apply(dev, y, op.None, none)
	dev.done(y)
	a := dev.Alloc(tensor.Float32, slices.Clone(q.Shape)...)
	dev.Attend(a, none, q, k, v, op.Attention{Heads: heads, Scale: invSqrt(x.Dim(-1) / heads), Causal: causal})
	dev.done(q, k, v)
	z := b.out.apply(dev, a, op.None, x)
	dev.done(a, x)
	n := b.ln2.apply(dev, z)
	y = b.fc.apply(dev, n, op.QuickGELU, none)
	dev.done(n)
	x = b.proj.apply(dev, y, op.None, z)
	dev.done(y, z)
	return x
}

// vit is CLIP's vision transformer.
type vit struct {
	dev         *workspace
	load        *loader
	patch       int
	conv        tensor.Tensor
	class, pos  tensor.Tensor
	pre, post   norm
	blocks      []block
	proj        tensor.Tensor
	width, out  int
	grid, heads int

	trace func(name string, x tensor.Tensor) // for tests
}

func newViT(l *loader, o Options) (*vit, error) {
	v := &vit{dev: l.work, load: l, trace: func(string, tensor.Tensor) {}}
	cs, ps, pr := l.shape("visual.conv1.weight"), l.shape("visual.positional_embedding"), l.shape("visual.proj")
	if len(cs) != 4 || len(ps) != 2 || len(pr) != 2 {
		return nil, fmt.Errorf("%w: visual.conv1.weight %v, visual.positional_embedding %v, visual.proj %v", ErrWeights, cs, ps, pr)
	}
	v.width, v.patch, v.out = cs[0], cs[2], pr[1]
	v.grid = sideOf(ps[0] - 1)
	if v.grid*v.grid+1 != ps[0] {
		return nil, fmt.Errorf("%w: %d positions are no square and a class", ErrWeights, ps[0])
	}
	var err error
	if v.heads, err = headsOf(v.width, o.VisionHeads); err != nil {
		return nil, err
	}
	w := l.floats("visual.conv1.weight", v.width, 3, v.patch, v.patch)
	pp := v.patch * v.patch
	hwio := make([]float32, len(w))
	for c := range v.width {
		for i := range 3 {
			for p := range pp {
				hwio[(p*3+i)*v.width+c] = w[(c*3+i)*pp+p]
			}
		}
	}
	v.conv = l.filters(hwio, v.patch, v.patch, 3, v.width)
	v.class = l.vector("visual.class_embedding", v.width)
	v.pos = l.vector("visual.positional_embedding", ps[0], v.width)
	v.pre, v.post = l.norm("visual.ln_pre", v.width), l.norm("visual.ln_post", v.width)
	v.blocks = l.blocks("visual.transformer", v.width)
	v.proj = l.matrix(l.floats("visual.proj", v.width, v.out), v.width, v.out)
	if len(v.blocks) == 0 {
		l.err = cmpErr(l.err, fmt.Errorf("%w: no visual.transformer blocks", ErrWeights))
	}
	if o.Size > 0 && o.Size != v.Size() {
		l.err = cmpErr(l.err, fmt.Errorf("clip: input of %d pixels, the weights are for %d", o.Size, v.Size()))
	}
	return v, l.finish()
}

func (v *vit) Size() int { return v.grid * v.patch }

func (v *vit) Shape(t Tap) (h, w, c int, err error) {
	switch t {
	case Grid:
		return v.grid, v.grid, v.width, nil
	case GridProjected:
		return v.grid, v.grid, v.out, nil
	case Penultimate:
		return 1, 1 + v.grid*v.grid, v.width, nil
	case ClassTokens:
		return 1, len(v.blocks), v.out, nil
	case Embedding:
		return 1, 1, v.out, nil
	}
	return 0, 0, 0, t.Check()
}

// embed returns the tokens that enter the first block, [n, 1+g*g, width].
func (v *vit) embed(x tensor.Tensor) tensor.Tensor {
	n, gg := x.Shape[0], v.grid*v.grid
	p := v.dev.Alloc(tensor.Float32, n, v.grid, v.grid, v.width)
	v.dev.Conv(p, x, v.conv, op.Conv{Stride: v.patch})
	v.trace("patches", p)
	y := v.dev.Alloc(tensor.Float32, n, 1+gg, v.width)
	for i := range n {
		row := y.Slice(i, i+1).View(1+gg, v.width)
		v.dev.Copy(row.Slice(0, 1), v.class.View(1, v.width))
		v.dev.Copy(row.Slice(1, 1+gg), p.Slice(i, i+1).View(gg, v.width))
	}
	v.dev.done(p)
	v.dev.Add(y, y, v.pos)
	v.trace("embedded", y)
	z := v.pre.apply(v.dev, y)
	v.dev.done(y)
	v.trace("ln_pre", z)
	return z
}

// project puts tokens through ln_post and proj.
func (v *vit) project(x tensor.Tensor) tensor.Tensor {
	x = v.post.apply(v.dev, x)
	v.trace("ln_post", x)
	y := v.dev.Alloc(tensor.Float32, x.Shape[0], x.Shape[1], v.out)
	v.dev.Gemm(y.View(y.Rows(), v.out), x.View(x.Rows(), v.width), v.proj, op.Gemm{})
	return y
}

func (v *vit) Forward(x tensor.Tensor, t Tap) tensor.Tensor {
	if t.Check() != nil {
		panic("clip: Forward of a tap that the tower does not have")
	}
	v.dev.reclaim()
	y := v.embed(x)
	var scales tensor.Tensor
	if t == ClassTokens {
		scales = v.dev.Alloc(tensor.Float32, x.Shape[0], len(v.blocks), v.out)
	}
	for i := range v.blocks {
		if t == Penultimate && i == len(v.blocks)-1 {
			return y
		}
		y = v.blocks[i].apply(v.dev, y, v.heads, false)
		v.trace(fmt.Sprintf("block%d", i), y)
		if t == ClassTokens {
			c := firstTokens(v.dev, y)
			p := v.project(c)
			v.dev.Paste(scales, p, 1, i)
			v.dev.done(c, p)
		}
	}
	switch t {
	case Grid:
		return dropFirst(v.dev, y)
	case GridProjected:
		return dropFirst(v.dev, v.project(y))
	case Penultimate: // of a single block
		return y
	case ClassTokens:
		return scales
	}
	return v.project(firstTokens(v.dev, y))
}

func (v *vit) Close() { v.load.free() }
