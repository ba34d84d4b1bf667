package t5

import (
	"fmt"
	"slices"

	"espalier/trainer/grad"
	"espalier/trainer/op"
	"espalier/trainer/peft"
	"espalier/trainer/tensor"
)

// A Stepper advances rows of generated tokens of one batch, keeping the keys
// and values of what came before. Sources are encoded once; what methods
// generate is generated once.
type Stepper struct {
	m      *Model
	tape   *grad.Tape
	cache  *peft.Cache
	task   int
	images Images
	all    int // examples of the batch
	limit  int // steps

	live    []int32 // examples that are left
	group   []int32 // place in live of each row of the last step
	source  line    // mask of the sources that are left
	memory  []keyValue
	pools   []pool
	past    past
	front   [][]float32 // vectors before the decoder's tokens, fed before the first
	step    int
	scores  []float32
	scratch []int32
}

// keyValue is kept keys and values.
type keyValue struct{ k, v tensor.Tensor }

// A pool holds keys and values of a self-attention, [slots, inner]: first those
// of its prefixes, then those of tokens, which are written once. The rows of a
// batch name the slots that they see.
type pool struct {
	keyValue
	prefix []region
}

// A region is the slots of a prefix.
type region struct {
	at, n int
	each  bool // one run of n for each example
}

// size is the number of slots.
func (r region) size(examples int) int {
	if r.each {
		return r.n * examples
	}
	return r.n
}

// past says which tokens' slots the rows of the batch see, so that reordering
// the rows moves no keys.
type past struct {
	used int // slots, not counting those of prefixes
	keys int // tokens that each row sees
	seen []int32
	next []int32
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

func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/2)
	}
	return s[:n]
}

// Stepper returns a stepper over source texts of a task with at most so many
// rows for each and so many steps.
func (m *Model) Stepper(sources [][]int32, task int, im Images, rows, steps int) (_ *Stepper, err error) {
	if rows < 1 || steps < 1 {
		return nil, fmt.Errorf("t5: %d rows for a source text and %d steps, want at least 1", rows, steps)
	}
	s := &Stepper{m: m, tape: grad.New(m.dev), cache: peft.NewCache(m.dev), task: task, images: im, all: len(sources), limit: steps}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	t := s.tape
	t.Begin(grad.Step{})
	src, err := m.source(sources)
	if err != nil {
		return nil, err
	}
	p, err := m.begin(t, task, s.all, &im, s.cache, nil)
	if err != nil {
		return nil, err
	}
	mem := m.encode(p, src)
	s.source = line{rows: s.all, n: mem.line.n, mask: slices.Clone(mem.line.mask)}
	for i := range m.decoder.layers {
		mark := t.Mark()
		k, v := m.keys(p, m.decoder.layers[i].cross, mem.Value)
		s.memory = append(s.memory, keyValue{s.keep(t.Value(k)), s.keep(t.Value(v))})
		t.Trim(mark)
	}
	s.keepFront(p)
	steps += len(s.front)
	for i := range m.decoder.layers {
		s.pools = append(s.pools, s.pool(p, m.decoder.layers[i].self, s.all*rows*steps))
	}
	for i := range s.all {
		s.live = append(s.live, int32(i))
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

// keepFront reads the vectors before the decoder's tokens: [examples, width]
// for each place.
func (s *Stepper) keepFront(p *peft.Pass) {
	t, width := p.Tape, s.m.config.Width
	for _, e := range s.m.edits.Tokens(peft.Decoder) {
		v := e.Make(p)
		if len(t.Value(v).Shape) == 2 {
			v = t.Repeat(v, s.all)
		}
		x := make([]float32, t.Value(v).Len())
		t.Read(x, v)
		var places [][]float32
		for i := range e.Len {
			row := make([]float32, 0, s.all*width)
			for r := range s.all {
				row = append(row, x[(r*e.Len+i)*width:][:width]...)
			}
			places = append(places, row)
		}
		s.front = append(places, s.front...)
	}
}

// pool makes a layer's pool with the keys and values of its prefixes.
func (s *Stepper) pool(p *peft.Pass, a *attention, slots int) pool {
	t, dev, inner := p.Tape, s.m.dev, s.m.config.inner()
	var x pool
	var ks, vs []tensor.Tensor
	at := 0
	for _, f := range s.m.edits.Prefixes(a.sub) {
		k, v := f.Make(p)
		r := region{at, f.Len, len(t.Value(k).Shape) == 3}
		x.prefix = append(x.prefix, r)
		n := r.size(s.all)
		ks, vs = append(ks, t.Value(t.View(k, n, inner))), append(vs, t.Value(t.View(v, n, inner)))
		at += n
	}
	x.k, x.v = dev.Keep(tensor.Float32, at+slots, inner), dev.Keep(tensor.Float32, at+slots, inner)
	for i, r := range x.prefix {
		dev.Copy(x.k.Slice(r.at, r.at+r.size(s.all)), ks[i])
		dev.Copy(x.v.Slice(r.at, r.at+r.size(s.all)), vs[i])
	}
	return x
}

// Close gives the memory back.
func (s *Stepper) Close() {
	for _, kv := range s.memory {
		s.m.dev.Free(kv.k)
		s.m.dev.Free(kv.v)
	}
	for i := range s.pools {
		s.m.dev.Free(s.pools[i].k)
		s.m.dev.Free(s.pools[i].v)
	}
	s.memory, s.pools = nil, nil
	s.cache.Free()
}

// Step advances the rows; see decode.Stepper.
func (s *Stepper) Step(source, token []int32) ([]float32, error) {
	return s.advance(source, token, true)
}

// Scores is Step with scores before the softmax; see decode.Scorer.
func (s *Stepper) Scores(source, token []int32) ([]float32, error) {
	return s.advance(source, token, false)
}

func (s *Stepper) advance(source, token []int32, softmax bool) ([]float32, error) {
	m, n := s.m, len(token)
	if s.step >= s.limit {
		return nil, fmt.Errorf("t5: more than %d steps", s.limit)
	}
	if err := m.checkIDs("row", 0, token); err != nil {
		return nil, err
	}
	if s.step == 0 {
		for i := range s.front {
			all := sequence(0, s.all)
			if err := s.reorder(all); err != nil {
				return nil, err
			}
			if _, err := s.run(all, func(t *grad.Tape) grad.Var { return t.Floats(s.front[i], s.all, 1, m.config.Width) }); err != nil {
				return nil, err
			}
		}
	}
	if err := s.reorder(source); err != nil {
		return nil, err
	}
	x, err := s.run(token, func(t *grad.Tape) grad.Var { return t.Gather(m.table.Var(t), t.Ints(token, n, 1), 1) })
	if err != nil {
		return nil, err
	}
	logits := s.tape.Value(m.logits(&m.pass, x))
	if softmax {
		m.dev.LogSoftmax(logits, logits)
	}
	s.scores = grow(s.scores, n*m.config.Vocab)
	m.dev.Read(s.scores, logits)
	s.step++
	return s.scores, m.dev.Err()
}

// run computes the decoder for one embedded token of each row.
func (s *Stepper) run(token []int32, embed func(t *grad.Tape) grad.Var) (grad.Var, error) {
	m, t, n := s.m, s.tape, len(token)
	if s.past.used+n > s.pools[0].k.Shape[0] {
		return 0, fmt.Errorf("t5: more rows than the stepper was made for")
	}
	t.Begin(grad.Step{})
	im := s.images
	if len(s.live) < s.all {
		im = s.some()
	}
	p, err := m.begin(t, s.task, len(s.live), &im, s.cache, s.left())
	if err != nil {
		return 0, err
	}
	x := embed(t)
	slot := s.past.advance(n)
	seen := map[string]tensor.Tensor{}
	bias := make([]grad.Var, len(m.prefix))
	s.source.masks = nil
	for i := range m.decoder.layers {
		b := &m.decoder.layers[i]
		y := m.norm(p, &b.self.norm, x)
		k, v := m.linear(p, &b.self.k, y, grad.Out{}), m.linear(p, &b.self.v, y, grad.Out{})
		k, v = s.extend(&s.pools[i], k, v, slot, n, seen)
		list := b.self.prefix
		if bias[list] == 0 {
			bias[list] = m.bias(t, &m.decoder, []int32{int32(s.past.keys - 1)}, sequence(0, s.past.keys), list)
		}
		x = m.attend(p, b.self, x, y, k, v, bias[list], op.Attention{})

		y = m.norm(p, &b.cross.norm, x)
		k, v = t.Leaf(s.memory[i].k, tensor.Tensor{}), t.Leaf(s.memory[i].v, tensor.Tensor{})
		x = m.attend(p, b.cross, x, y, k, v, 0, op.Attention{Mask: m.maskOf(p, &s.source, b.cross.prefix), Group: n / len(s.live)})
		x = m.feedForward(p, b.ffn, x)
	}
	return m.norm(p, &m.decoder.norm, x), m.dev.Err()
}

// left is the examples that are left, nil for all.
func (s *Stepper) left() []int32 {
	if len(s.live) == s.all {
		return nil
	}
	return s.live
}

// some returns the images of the examples that are left.
func (s *Stepper) some() Images {
	im := s.images
	pick := func(x []float32, n int) []float32 {
		var out []float32
		for _, i := range s.live {
			out = append(out, x[int(i)*n:][:n]...)
		}
		return out
	}
	if im.Cells > 0 {
		im.Features = pick(im.Features, im.Cells*im.Dim)
	}
	if im.Counts != nil {
		im.Counts = make([]int, len(s.live))
		for k, i := range s.live {
			im.Counts[k] = s.images.Counts[i]
		}
	}
	if im.Boxes != nil {
		im.Boxes = pick(im.Boxes, im.Cells*5)
	}
	return im
}

// extend writes new keys and values [n, 1, inner] to a pool from a token's slot
// on and returns all that each row sees, [n, keys, inner].
func (s *Stepper) extend(x *pool, k, v grad.Var, slot, n int, made map[string]tensor.Tensor) (grad.Var, grad.Var) {
	t, dev := s.tape, s.m.dev
	base := 0
	for _, r := range x.prefix {
		base += r.size(s.all)
	}
	dev.Copy(x.k.Slice(base+slot, base+slot+n), t.Value(k))
	dev.Copy(x.v.Slice(base+slot, base+slot+n), t.Value(v))
	key := fmt.Sprint(x.prefix)
	seen, ok := made[key]
	if !ok {
		seen = s.seen(x, base, n)
		made[key] = seen
	}
	return t.Gather(t.Leaf(x.k, tensor.Tensor{}), seen, 1), t.Gather(t.Leaf(x.v, tensor.Tensor{}), seen, 1)
}

// seen returns the slots that each row sees, [n, prefixes and keys].
func (s *Stepper) seen(x *pool, base, n int) tensor.Tensor {
	out := s.scratch[:0]
	for r := range n {
		for _, f := range x.prefix {
			at := f.at
			if f.each {
				at += f.n * int(s.live[s.group[r]])
			}
			for i := range f.n {
				out = append(out, int32(at+i))
			}
		}
		for _, slot := range s.past.seen[r*s.past.keys:][:s.past.keys] {
			out = append(out, int32(base)+slot)
		}
	}
	s.scratch = out
	return s.tape.Ints(out, n, len(out)/n)
}

// reorder makes the rows continue those that source names, and drops the
// examples that no row has any more.
func (s *Stepper) reorder(source []int32) error {
	group := make([]int32, len(source))
	var left []int32 // places in live
	for r, src := range source {
		if src < 0 || int(src) >= len(s.group) {
			return fmt.Errorf("t5: row %d continues row %d of %d", r, src, len(s.group))
		}
		group[r] = s.group[src]
		if r == 0 || group[r] != group[r-1] {
			left = append(left, group[r])
		}
	}
	if len(left) == 0 || len(source)%len(left) != 0 || !slices.IsSorted(left) {
		return fmt.Errorf("t5: %d rows of %d source texts", len(source), len(left))
	}
	for r := range group {
		if group[r] != left[r*len(left)/len(group)] {
			return fmt.Errorf("t5: row %d is of another source text than its neighbours", r)
		}
	}
	s.past.reorder(source)
	if len(left) < len(s.live) {
		s.drop(left)
		for r := range group {
			group[r] = int32(r * len(left) / len(group))
		}
	}
	s.group = group
	return nil
}

// drop keeps only the examples at the given places of live.
func (s *Stepper) drop(left []int32) {
	dev := s.m.dev
	for i := range s.memory {
		for _, x := range []*tensor.Tensor{&s.memory[i].k, &s.memory[i].v} {
			for to, from := range left { // ascending, so nothing is overwritten before it is read
				if int32(to) != from {
					dev.Copy(x.Slice(to, to+1), x.Slice(int(from), int(from)+1))
				}
			}
			*x = x.Slice(0, len(left))
		}
	}
	live := make([]int32, len(left))
	for i, at := range left {
		live[i] = s.live[at]
	}
	s.live = live
	l := &s.source
	if l.mask != nil {
		var mask []float32
		for _, i := range left {
			mask = append(mask, l.mask[int(i)*l.n:][:l.n]...)
		}
		l.mask = mask
	}
	l.rows = len(left)
}
