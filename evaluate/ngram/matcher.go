package ngram

import "math/bits"

// A Matcher counts the n-grams of a hypothesis, and how many of them its
// references hold: each n-gram counts at most as often as in the reference
// where it is most frequent. Texts of up to [MaxPlaces] words are matched by the
// places of their words, others by tables of n-grams. The zero Matcher is ready;
// it may not be used by two goroutines at once.
type Matcher struct {
	order  int
	length int
	short  bool
	places Places
	near   []placed
	orders []matches
}

// matches are the n-grams of one length.
type matches struct {
	grams Table
	hyp   []int32 // count in the hypothesis
	best  []int32 // largest count in one reference
	cur   []int32 // count in the present reference
	seen  []uint32
}

// placed are the n-grams of one length of a short hypothesis. An n-gram is known
// by the place of its last word where it first stands.
type placed struct {
	first, met uint64 // places that name an n-gram; those that the reference has
	hyp        [MaxPlaces]uint8
	best       [MaxPlaces]int32
	cur        [MaxPlaces]int32
	ends       uint64 // places where the n-grams end that end in the last word
}

// Hypothesis begins anew with the n-grams of hyp up to a length.
func (m *Matcher) Hypothesis(hyp []uint32, order int) {
	m.order, m.length = order, len(hyp)
	if m.short = len(hyp) <= MaxPlaces; m.short {
		m.hypothesis(hyp)
		return
	}
	m.long(hyp)
}

func (m *Matcher) long(hyp []uint32) {
	for len(m.orders) < m.order {
		m.orders = append(m.orders, matches{})
	}
	for k := range m.order {
		o := &m.orders[k]
		o.grams.Reset()
		o.hyp, o.best, o.cur = o.hyp[:0], o.best[:0], o.cur[:0]
	}
	for i := range hyp {
		prefix := uint32(0)
		for k := 0; k < m.order && i+k < len(hyp); k++ {
			o := &m.orders[k]
			id := o.grams.Number(Key(prefix, hyp[i+k]))
			if int(id) == len(o.hyp) {
				o.hyp, o.best, o.cur = append(o.hyp, 0), append(o.best, 0), append(o.cur, 0)
			}
			o.hyp[id]++
			prefix = id
		}
	}
}

func (m *Matcher) hypothesis(hyp []uint32) {
	for len(m.near) < m.order {
		m.near = append(m.near, placed{})
	}
	m.places.Set(hyp)
	near := m.near[:m.order]
	for k := range near {
		near[k].first, near[k].ends = 0, 0
	}
	for j, w := range hyp {
		word, before := m.places.Of(w), ^uint64(0)
		for k := range near {
			o := &near[k]
			ends := before & word
			before, o.ends = o.ends<<1, ends
			if ends == 0 {
				continue
			}
			if bits.TrailingZeros64(ends) == j {
				o.first |= 1 << j
				o.hyp[j], o.best[j] = uint8(bits.OnesCount64(ends)), 0
			}
		}
	}
}

// Reference adds one reference of the hypothesis.
func (m *Matcher) Reference(ref []uint32) {
	if m.short {
		m.reference(ref)
		return
	}
	for i := range ref {
		prefix := uint32(0)
		for k := 0; k < m.order && i+k < len(ref); k++ {
			o := &m.orders[k]
			id, ok := o.grams.Find(Key(prefix, ref[i+k]))
			if !ok {
				break
			}
			if o.cur[id] == 0 {
				o.seen = append(o.seen, id)
			}
			o.cur[id]++
			prefix = id
		}
	}
	for k := range m.order {
		o := &m.orders[k]
		for _, id := range o.seen {
			o.best[id] = max(o.best[id], o.cur[id])
			o.cur[id] = 0
		}
		o.seen = o.seen[:0]
	}
}

func (m *Matcher) reference(ref []uint32) {
	near := m.near[:m.order]
	for k := range near {
		near[k].met, near[k].ends = 0, 0
	}
	for _, w := range ref {
		word, before := m.places.Of(w), ^uint64(0)
		for k := range near {
			o := &near[k]
			ends := before & word
			before, o.ends = o.ends<<1, ends
			if ends == 0 {
				continue // longer ones may end in the next word, so all are set
			}
			j := bits.TrailingZeros64(ends)
			if o.met>>j&1 == 0 {
				o.met |= 1 << j
				o.cur[j] = 0
			}
			o.cur[j]++
		}
	}
	for k := range near {
		o := &near[k]
		for met := o.met; met != 0; met &= met - 1 {
			j := bits.TrailingZeros64(met)
			o.best[j] = max(o.best[j], o.cur[j])
		}
	}
}

// Forget drops the references and keeps the hypothesis.
func (m *Matcher) Forget() {
	for k := range m.order {
		if m.short {
			clear(m.near[k].best[:m.length])
		} else {
			clear(m.orders[k].best)
		}
	}
}

// Total returns the number of n-grams of length k+1 of the hypothesis.
func (m *Matcher) Total(k int) int64 { return int64(max(0, m.length-k)) }

// Correct returns how many of them the references hold.
func (m *Matcher) Correct(k int) int64 {
	n := int64(0)
	if m.short {
		o := &m.near[k]
		for first := o.first; first != 0; first &= first - 1 {
			j := bits.TrailingZeros64(first)
			n += int64(min(int32(o.hyp[j]), o.best[j]))
		}
		return n
	}
	o := &m.orders[k]
	for id, c := range o.hyp {
		n += int64(min(c, o.best[id]))
	}
	return n
}

// Distinct returns how many distinct n-grams of length k+1 the hypothesis has.
func (m *Matcher) Distinct(k int) int {
	if m.short {
		return bits.OnesCount64(m.near[k].first)
	}
	return m.orders[k].grams.Len()
}
