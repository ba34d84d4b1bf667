package ngram

// A Matcher counts the n-grams of a hypothesis, and how many of them its
// references hold: each n-gram counts at most as often as in the reference
// where it is most frequent. The zero Matcher is ready; it may not be used by
// two goroutines at once.
type Matcher struct {
	order  int
	orders []matches
}

// matches are the n-grams of one length.
type matches struct {
	grams Table
	hyp   []int32 // count in the hypothesis
	best  []int32 // largest count in one reference
	cur   []int32 // count in the present reference
	seen  []uint32
	total int64
}

// Hypothesis begins anew with the n-grams of hyp up to a length.
func (m *Matcher) Hypothesis(hyp []uint32, order int) {
	m.order = order
	for len(m.orders) < order {
		m.orders = append(m.orders, matches{})
	}
	for k := range order {
		o := &m.orders[k]
		o.grams.Reset()
		o.hyp, o.best, o.cur = o.hyp[:0], o.best[:0], o.cur[:0]
		o.total = int64(max(0, len(hyp)-k))
	}
	for i := range hyp {
		prefix := uint32(0)
		for k := 0; k < order && i+k < len(hyp); k++ {
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

// Reference adds one reference of the hypothesis.
func (m *Matcher) Reference(ref []uint32) {
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

// Forget drops the references and keeps the hypothesis.
func (m *Matcher) Forget() {
	for k := range m.order {
		clear(m.orders[k].best)
	}
}

// Total returns the number of n-grams of length k+1 of the hypothesis.
func (m *Matcher) Total(k int) int64 { return m.orders[k].total }

// Correct returns how many of them the references hold.
func (m *Matcher) Correct(k int) int64 {
	n := int64(0)
	o := &m.orders[k]
	for id, c := range o.hyp {
		n += int64(min(c, o.best[id]))
	}
	return n
}

// Distinct returns how many distinct n-grams of length k+1 the hypothesis has.
func (m *Matcher) Distinct(k int) int { return m.orders[k].grams.Len() }
