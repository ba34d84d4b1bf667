package ort

import (
	"fmt"
	"slices"

	"espalier/trainer/decode"
	"espalier/trainer/grad"
	"espalier/trainer/nn"
	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

var _ decode.Stepper = (*Stepper)(nil)

// A Stepper decodes a batch of images one token at a time. Self-attention
// keeps the keys and values of what was decoded, for each layer position; those
// of the images are computed once for each independent layer. It holds memory
// of the device until Close. Each Step resets the device's arena.
//
// PAD is not hidden, so that a PAD in mid-sequence stays visible (spec/acort.md
// 3.8).
type Stepper struct {
	m      *Model
	tape   *grad.Tape
	images int // left
	memory []keyValue
	mask   []float32 // of the images left; nil if all cells are real
	cells  int
	caches []cache // one for each layer position, or for each layer if legacy
	legacy bool
	group  []int32 // image of each row of the last step
	t      int
	logp   []float32
}

// keyValue is kept keys and values; v is k where they are shared.
type keyValue struct{ k, v tensor.Tensor }

// A cache holds keys and values in pools [slots, d]: what is decoded is written
// once, and the rows of the batch name the slots that they see.
type cache struct {
	keyValue
	past *past
	uses int // in a step
}

// A past says which slots the rows of the batch see, so that reordering the
// rows moves no keys. The caches of all layer positions share one, or, if
// legacy, each layer has its own.
type past struct {
	used int     // slots
	keys int     // slots that each row sees
	seen []int32 // [rows, keys], oldest first
	next []int32 // memory for the next seen
}

// reorder makes the rows continue those that source names.
func (p *past) reorder(source []int32) {
	p.next = grow(p.next, len(source)*p.keys)
	for r, src := range source {
		copy(p.next[r*p.keys:][:p.keys], p.seen[int(src)*p.keys:])
	}
	p.seen, p.next = p.next, p.seen
}

// advance gives each of n rows a slot of its own; it returns the first.
func (p *past) advance(n int) int {
	p.next = grow(p.next, n*(p.keys+1))
	for r := range n {
		row := p.next[r*(p.keys+1):][:p.keys+1]
		copy(row, p.seen[r*p.keys:][:p.keys])
		row[p.keys] = int32(p.used + r)
	}
	p.seen, p.next = p.next, p.seen
	p.keys++
	p.used += n
	return p.used - n
}

// Stepper returns a stepper over images with at most so many rows each.
//
// legacy reproduces the public code's cache, which is one for each independent
// layer (spec/acort.md 4.4): a layer sees the keys of all positions that share
// it, which is not the model that was trained. Without sharing there is no
// difference.
func (m *Model) Stepper(im *Images, rows int, legacy bool) (*Stepper, error) {
	if rows < 1 {
		return nil, fmt.Errorf("ort: %d rows for an image, want at least 1", rows)
	}
	s := &Stepper{m: m, tape: grad.New(m.dev), images: im.N, cells: im.Cells, legacy: legacy}
	t := s.tape
	t.Begin(grad.Step{})
	mem, err := m.Encode(t, im)
	if err != nil {
		return nil, err
	}
	s.mask = slices.Clone(mem.mask)
	for i := range m.decoder.layers {
		k, v := m.decoder.layers[i].cross.Keys(t, mem.Value)
		var kept keyValue
		kept.k = s.keep(t.Value(k))
		kept.v = kept.k
		if v != k {
			kept.v = s.keep(t.Value(v))
		}
		s.memory = append(s.memory, kept)
	}
	common := &past{}
	uses := make([]int, len(m.decoder.at)) // of each cache in a step
	for i, at := range m.decoder.at {
		if !legacy {
			at = i
		}
		uses[at]++
	}
	for _, n := range uses {
		if n == 0 {
			break
		}
		slots := im.N * rows * m.config.MaxLen * n
		c := cache{past: common, uses: n}
		if legacy {
			c.past = &past{}
		}
		c.k = m.dev.Keep(tensor.Float32, slots, m.config.Width)
		c.v = c.k
		if l := &m.decoder.layers[0]; l.self.V != l.self.K {
			c.v = m.dev.Keep(tensor.Float32, slots, m.config.Width)
		}
		s.caches = append(s.caches, c)
	}
	for i := range im.N {
		s.group = append(s.group, int32(i))
	}
	return s, m.dev.Err()
}

// keep copies an arena tensor to kept memory.
func (s *Stepper) keep(x tensor.Tensor) tensor.Tensor {
	out := s.m.dev.Keep(tensor.Float32, x.Shape...)
	s.m.dev.Copy(out, x)
	return out
}

// Close gives the memory back.
func (s *Stepper) Close() {
	free := func(kv keyValue) {
		s.m.dev.Free(kv.k)
		if kv.v.Store != kv.k.Store {
			s.m.dev.Free(kv.v)
		}
	}
	for i := range s.caches {
		free(s.caches[i].keyValue)
	}
	for _, kv := range s.memory {
		free(kv)
	}
	s.caches, s.memory = nil, nil
}

// Step advances the rows; see decode.Stepper.
func (s *Stepper) Step(source, token []int32) ([]float32, error) {
	m, t, n := s.m, s.tape, len(token)
	if s.t >= m.config.MaxLen {
		return nil, fmt.Errorf("ort: more than %d steps", m.config.MaxLen)
	}
	for r, id := range token {
		if id < 0 || int(id) >= m.config.Vocab {
			return nil, fmt.Errorf("ort: row %d: token %d, want 0 to %d", r, id, m.config.Vocab-1)
		}
	}
	if c := &s.caches[0]; c.past.used+n*c.uses > c.k.Shape[0] {
		return nil, fmt.Errorf("ort: more rows than the stepper was made for")
	}
	t.Begin(grad.Step{})
	if err := s.reorder(source); err != nil {
		return nil, err
	}
	x := t.Gather(m.token.Var(t), t.Ints(token, n, 1), m.tokenScale())
	x = t.Add(x, t.Leaf(m.places.Slice(s.t, s.t+1), tensor.Tensor{}))
	var mask tensor.Tensor
	if s.mask != nil {
		mask = t.Value(t.Floats(s.mask, s.images, s.cells))
	}
	slot, seen := 0, tensor.Tensor{}
	for i, at := range m.decoder.at {
		l, j := &m.decoder.layers[at], i
		if s.legacy {
			j = at
		}
		c := &s.caches[j]
		if s.legacy || i == 0 {
			slot = c.past.advance(n)
			seen = t.Ints(c.past.seen, n, c.past.keys)
		}
		q, k, v := s.project(l.self, c, l.selfNorm.Apply(t, x), slot, n)
		a := m.attention(op.Dropout{})
		a.Slots = seen
		y := t.Attention(q, k, v, 0, a)
		x = m.residual(t, l.self, y, x, atDecoderSelf, i)

		a = m.attention(op.Dropout{})
		a.Mask, a.Group = mask, n/s.images
		k, v = t.Leaf(s.memory[at].k, tensor.Tensor{}), t.Leaf(s.memory[at].v, tensor.Tensor{})
		x = m.cross(t, l, x, k, v, a, i)
		x = m.feedForward(t, l, x, i)
	}
	logits := t.Value(m.output.Apply(t, m.decoder.norm.Apply(t, x), grad.Out{}))
	m.dev.LogSoftmax(logits, logits)
	s.logp = grow(s.logp, n*m.config.Vocab)
	m.dev.Read(s.logp, logits)
	s.t++
	return s.logp, m.dev.Err()
}

// reorder makes the rows continue those that source names, and drops the
// images that no row has any more.
func (s *Stepper) reorder(source []int32) error {
	group := make([]int32, len(source))
	images := []int32{}
	for r, src := range source {
		if src < 0 || int(src) >= len(s.group) {
			return fmt.Errorf("ort: row %d continues row %d of %d", r, src, len(s.group))
		}
		group[r] = s.group[src]
		if r == 0 || group[r] != group[r-1] {
			images = append(images, group[r])
		}
	}
	if len(images) == 0 || len(source)%len(images) != 0 {
		return fmt.Errorf("ort: %d rows of %d images", len(source), len(images))
	}
	for r := range group {
		if group[r] != images[r*len(images)/len(group)] {
			return fmt.Errorf("ort: row %d is of another image than its neighbours", r)
		}
	}
	for i := range s.caches {
		if s.legacy || i == 0 {
			s.caches[i].past.reorder(source)
		}
	}
	if len(images) < s.images {
		s.drop(images)
		for r := range group {
			group[r] = int32(r * len(images) / len(group))
		}
	}
	s.group = group
	return nil
}

// drop keeps only the given images.
func (s *Stepper) drop(images []int32) {
	t := s.tape
	ids := t.Ints(images, len(images))
	pick := func(x tensor.Tensor) tensor.Tensor {
		rows := x.View(x.Shape[0], x.Len()/x.Shape[0])
		some := t.Value(t.Gather(t.Leaf(rows, tensor.Tensor{}), ids, 1))
		x = x.Slice(0, len(images))
		s.m.dev.Copy(x, some)
		return x
	}
	for i := range s.memory {
		kv := &s.memory[i]
		shared := kv.k.Store == kv.v.Store
		kv.k = pick(kv.k)
		if shared {
			kv.v = kv.k
		} else {
			kv.v = pick(kv.v)
		}
	}
	if s.mask != nil {
		var mask []float32
		for _, i := range images {
			mask = append(mask, s.mask[int(i)*s.cells:][:s.cells]...)
		}
		s.mask = mask
	}
	s.images = len(images)
}

// project returns the queries of x [n, 1, d], and the keys and values of a whole
// cache with those of x, which it writes from a slot on.
func (s *Stepper) project(a *nn.Attention, c *cache, x grad.Var, slot, n int) (q, k, v grad.Var) {
	t := s.tape
	whole := func(kept tensor.Tensor) grad.Var {
		return t.Leaf(kept.View(1, kept.Shape[0], kept.Shape[1]), tensor.Tensor{})
	}
	q = a.K.Apply(t, x, grad.Out{To: c.k.Slice(slot, slot+n)})
	if a.Q != a.K {
		q = a.Q.Apply(t, x, grad.Out{})
	}
	k = whole(c.k)
	if a.V == a.K {
		return q, k, k
	}
	a.V.Apply(t, x, grad.Out{To: c.v.Slice(slot, slot+n)})
	return q, k, whole(c.v)
}
