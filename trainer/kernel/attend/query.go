package attend

// A Query is one query, of all heads, with keys and values that lie in rows of
// a table: key j in row Slots[j].
type Query struct {
	Slots     []int32
	Heads, DH int // columns h*DH to (h+1)*DH are head h's
	LD        int // from a row of the table to the next
}

// Scores fills s [Heads, len(Slots)] with the products of x and the keys in k.
// A product is a sum as those of package norm.
func (q *Query) Scores(s, x, k []float32) {
	if q.check(k) {
		_, _ = s[q.Heads*len(q.Slots)-1], x[q.Heads*q.DH-1]
		q.scores(s, x, k)
	}
}

// Values fills out with the sums of the values in v by s, as Scores lays it
// out, each head's multiplied by its own of by. An element is one chain of
// fused multiply-adds over ascending keys.
func (q *Query) Values(out, s, by, v []float32) {
	if q.check(v) {
		_, _, _ = s[q.Heads*len(q.Slots)-1], out[q.Heads*q.DH-1], by[q.Heads-1]
		q.values(out, s, by, v)
	}
}

// check panics where a slot lies outside the table, and reports whether there
// is anything to do.
func (q *Query) check(table []float32) bool {
	if q.Heads == 0 || q.DH == 0 || len(q.Slots) == 0 {
		return false
	}
	top := uint32(0)
	for _, s := range q.Slots {
		top = max(top, uint32(s))
	}
	_ = table[int(top)*q.LD+q.Heads*q.DH-1]
	return true
}

// The plain twins.

func (q *Query) scoresGeneric(s, x, k []float32) {
	for h := range q.Heads {
		for j, slot := range q.Slots {
			row := k[int(slot)*q.LD+h*q.DH:][:q.DH]
			var sum lanes
			for i, v := range row {
				sum[i%width] += float32(x[h*q.DH+i] * v)
			}
			s[h*len(q.Slots)+j] = sum.total()
		}
	}
}

func (q *Query) valuesGeneric(out, s, by, v []float32) {
	for h := range q.Heads {
		y := out[h*q.DH:][:q.DH]
		clear(y)
		for j, slot := range q.Slots {
			p := s[h*len(q.Slots)+j]
			for i, x := range v[int(slot)*q.LD+h*q.DH:][:q.DH] {
				y[i] += float32(p * x)
			}
		}
		for i := range y {
			y[i] *= by[h]
		}
	}
}
