package attend

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"espalier/trainer/kernel/cpuinfo"
)

// A queryCase is operands of a Query between guards.
type queryCase struct {
	q                   Query
	x, k, v, s, out, by []float32
	guardS, guardOut    []float32
}

func newQueryCase(r *rand.Rand, heads, dh, keys int) *queryCase {
	const guard = -12345
	c := &queryCase{q: Query{Heads: heads, DH: dh, LD: heads*dh + r.IntN(4)}}
	table := keys + 3
	random := func(n int) []float32 {
		at := r.IntN(5)
		x := make([]float32, at+n)
		for i := range x {
			x[i] = float32(r.NormFloat64())
		}
		return x[at:]
	}
	guarded := func(n int) (whole, part []float32) {
		whole = make([]float32, n+30)
		for i := range whole {
			whole[i] = guard
		}
		return whole, whole[7:][:n:n]
	}
	for range keys {
		c.q.Slots = append(c.q.Slots, int32(r.IntN(table)))
	}
	c.x, c.k, c.v, c.by = random(heads*dh), random(table*c.q.LD), random(table*c.q.LD), random(heads)
	c.guardS, c.s = guarded(heads * keys)
	c.guardOut, c.out = guarded(heads * dh)
	return c
}

// run returns all that the functions write.
func (c *queryCase) run() []float32 {
	c.q.Scores(c.s, c.x, c.k)
	c.q.Values(c.out, c.s, c.by, c.v)
	return append(append([]float32(nil), c.guardS...), c.guardOut...)
}

func (c *queryCase) reference() []float64 {
	var all []float64
	out := make([]float64, len(c.out))
	for h := range c.q.Heads {
		for _, slot := range c.q.Slots {
			s := 0.0
			for i := h * c.q.DH; i < (h+1)*c.q.DH; i++ {
				s += float64(c.x[i]) * float64(c.k[int(slot)*c.q.LD+i])
			}
			all = append(all, s)
			for i := h * c.q.DH; i < (h+1)*c.q.DH; i++ {
				out[i] += s * float64(c.v[int(slot)*c.q.LD+i]) * float64(c.by[h])
			}
		}
	}
	return append(all, out...)
}

func TestQuery(t *testing.T) {
	for _, dh := range []int{0, 1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 40, 63, 64, 65, 128} {
		for _, keys := range []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 33} {
			for _, heads := range []int{1, 2, 3, 4, 8} {
				name := fmt.Sprintf("heads=%d dh=%d keys=%d", heads, dh, keys)
				var first []float32
				for _, l := range cpuinfo.Levels() {
					restore := cpuinfo.Limit(l)
					c := newQueryCase(rand.New(rand.NewPCG(uint64(dh), uint64(keys))), heads, dh, keys)
					got := c.run()
					restore()
					if keys > 0 && dh > 0 {
						for i, w := range c.reference() {
							g := c.s
							if i >= len(c.s) {
								g, i = c.out, i-len(c.s)
							}
							if math.Abs(float64(g[i])-w) > 1e-4*(1+math.Abs(w)) {
								t.Fatalf("%v: %s: number %d is %g, want %g", l, name, i, g[i], w)
							}
						}
					}
					for i := range c.guardS {
						if (i < 7 || i >= 7+len(c.s)) && c.guardS[i] != -12345 {
							t.Fatalf("%v: %s: wrote score %d", l, name, i-7)
						}
					}
					for i := range c.guardOut {
						if (i < 7 || i >= 7+len(c.out)) && c.guardOut[i] != -12345 {
							t.Fatalf("%v: %s: wrote output %d", l, name, i-7)
						}
					}
					if l == cpuinfo.Portable {
						continue
					}
					if first == nil {
						first = got
					}
					for i := range got {
						if math.Float32bits(got[i]) != math.Float32bits(first[i]) {
							t.Fatalf("%v: %s: number %d is %x, with AVX2 %x", l, name, i, got[i], first[i])
						}
					}
				}
			}
		}
	}
}

func TestQuerySpecials(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, l := range cpuinfo.Levels() {
		t.Run(l.String(), func(t *testing.T) {
			defer cpuinfo.Limit(l)()
			c := newQueryCase(rand.New(rand.NewPCG(1, 2)), 2, 33, 5)
			for i := range c.q.Slots {
				c.q.Slots[i] = int32(i)
			}
			c.k[2*c.q.LD+32], c.k[3*c.q.LD+33] = nan, inf
			c.x[33] = 1
			c.v[1*c.q.LD] = -inf
			c.run()
			if !(c.s[2] != c.s[2]) || c.s[5+3] != inf || c.s[1] != c.s[1] {
				t.Errorf("%v: scores %v", l, c.s)
			}
			for i, y := range c.out { // the first head saw a NaN, the second an infinity
				if i < 33 && y == y || i >= 33 && !math.IsInf(float64(y), 0) {
					t.Errorf("%v: output %d is %g", l, i, y)
				}
			}
		})
	}
}

func BenchmarkQuery(b *testing.B) {
	for _, l := range cpuinfo.Levels() {
		for _, dh := range []int{32, 64} {
			b.Run(fmt.Sprintf("%v/heads=8/dh=%d/keys=36", l, dh), func(b *testing.B) {
				defer cpuinfo.Limit(l)()
				c := newQueryCase(rand.New(rand.NewPCG(1, 2)), 8, dh, 36)
				for b.Loop() {
					c.q.Scores(c.s, c.x, c.k)
					c.q.Values(c.out, c.s, c.by, c.v)
				}
			})
		}
	}
}
