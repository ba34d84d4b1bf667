package t5

import (
	"math"
	"slices"

	"espalier/trainer/grad"
	"espalier/trainer/nn"
	"espalier/trainer/peft"
	"espalier/trainer/tensor"
)

// nowhere is the place of a token without relative bias.
const nowhere = math.MinInt32

// sequence returns n numbers from first on.
func sequence(first int32, n int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = first + int32(i)
	}
	return out
}

func root(n int) float64 { return math.Sqrt(float64(n)) }

// spread is normal with variance 1/n.
func spread(n int) nn.Init { return nn.Normal(1 / root(n)) }

// bucket returns the row of the table of relative biases for the distance of a
// key from a query, key - query. Half of the rows of a direction are distances
// of their own, the others grow with the logarithm up to the largest distance.
// The logarithm is taken in float32, as the reference does.
func bucket(distance int32, buckets, largest int, both bool) int32 {
	n, base := int32(buckets), int32(0)
	if both {
		n /= 2
		if distance > 0 {
			base = n
		} else {
			distance = -distance
		}
	} else {
		distance = -min(distance, 0)
	}
	exact := n / 2
	if distance < exact {
		return base + distance
	}
	x := float32(math.Log(float64(float32(distance) / float32(exact))))
	x = x / float32(math.Log(float64(largest)/float64(exact))) * float32(n-exact)
	return base + min(exact+int32(x), n-1)
}

// listPrefixes collects the distinct lists of prefixes by their lengths and
// places: lists that agree in them share masks and biases, not keys.
func (m *Model) listPrefixes() {
	m.prefix = [][]peft.Prefix{nil}
	for _, st := range []*stack{&m.encoder, &m.decoder} {
		for i := range st.layers {
			for _, a := range []*attention{st.layers[i].self, st.layers[i].cross} {
				if a == nil {
					continue
				}
				list := m.edits.Prefixes(a.sub)
				a.prefix = slices.IndexFunc(m.prefix, func(l []peft.Prefix) bool {
					return slices.EqualFunc(l, list, func(x, y peft.Prefix) bool { return x.Len == y.Len && x.Place == y.Place })
				})
				if a.prefix < 0 {
					a.prefix = len(m.prefix)
					m.prefix = append(m.prefix, list)
				}
			}
		}
	}
}

// prefixLen returns the keys of a list of prefixes.
func (m *Model) prefixLen(list int) int {
	n := 0
	for _, f := range m.prefix[list] {
		n += f.Len
	}
	return n
}

// places returns the places of a list's keys, in the order in which they lie,
// and how far the keys of tokens move.
func (m *Model) places(list int) (at []int32, move int32) {
	for _, f := range m.prefix[list] {
		var own []int32
		switch f.Place {
		case peft.Nowhere:
			own = make([]int32, f.Len)
			for i := range own {
				own[i] = nowhere
			}
		case peft.Before:
			own = sequence(-int32(f.Len), f.Len)
		case peft.Inside:
			own = sequence(move, f.Len)
			move += int32(f.Len)
		}
		at = append(at, own...)
	}
	return at, move
}

// buckets returns the rows of the table for queries and keys at places.
func (m *Model) buckets(dst []int32, st *stack, queries, keys []int32) []int32 {
	c := &m.config
	both := st.kind == peft.Encoder
	for _, q := range queries {
		for _, k := range keys {
			if q == nowhere || k == nowhere {
				dst = append(dst, -1)
			} else {
				dst = append(dst, bucket(k-q, c.Buckets, c.MaxDistance, both))
			}
		}
	}
	return dst
}

// bias returns the relative bias of queries and keys at places, behind a list
// of prefixes: [1, heads, queries, keys].
func (m *Model) bias(t *grad.Tape, st *stack, queries, keys []int32, list int) grad.Var {
	at, move := m.places(list)
	for _, k := range keys {
		if k != nowhere {
			k += move
		}
		at = append(at, k)
	}
	m.scratch.rows = m.buckets(m.scratch.rows[:0], st, queries, at)
	n, h := len(queries)*len(at), m.config.Heads
	x := t.Gather(st.bias.Var(t), t.Ints(m.scratch.rows, n), 1)
	return t.View(t.Permute(x, 1, 0), 1, h, len(queries), len(at))
}

// biasOf is the bias of a line, made once a pass.
func (m *Model) biasOf(p *peft.Pass, st *stack, l *line, list int) grad.Var {
	if l.bias == nil {
		l.bias = make([]grad.Var, len(m.prefix))
	}
	if l.bias[list] == 0 {
		l.bias[list] = m.bias(p.Tape, st, l.at, l.at, list)
		p.Tape.Pin(l.bias[list])
	}
	return l.bias[list]
}

// maskOf is the mask of a line's keys behind a list of prefixes, made once a
// pass; zero if all keys are real.
func (m *Model) maskOf(p *peft.Pass, l *line, list int) tensor.Tensor {
	if l.mask == nil {
		return tensor.Tensor{}
	}
	if l.masks == nil {
		l.masks = make([]tensor.Tensor, len(m.prefix))
	}
	if l.masks[list].IsZero() {
		l.masks[list] = p.Tape.Value(p.Tape.Floats(m.wideMask(l, list), l.rows, m.prefixLen(list)+l.n))
	}
	return l.masks[list]
}

// wideMask is a line's mask with ones for a list of prefixes.
func (m *Model) wideMask(l *line, list int) []float32 {
	n := m.prefixLen(list)
	out := m.scratch.mask[:0]
	for r := range l.rows {
		for range n {
			out = append(out, 1)
		}
		out = append(out, l.mask[r*l.n:][:l.n]...)
	}
	m.scratch.mask = out
	return out
}
