package ngram

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

func words(v *Words, ids []uint32) []string {
	var out []string
	for _, id := range ids {
		out = append(out, v.Word(id))
	}
	return out
}

func TestFieldsSplitsAsPython(t *testing.T) {
	for _, c := range []struct {
		in   string
		want []string
	}{
		{"", nil},
		{"  ", nil},
		{"a  dog\truns\n", []string{"a", "dog", "runs"}},
		{"1\u00a01/2\u3000cups", []string{"1", "1/2", "cups"}},
		{"a\x1cb\x1fc\u0085d\u2028e\u200af", []string{"a", "b", "c", "d", "e", "f"}},
		{"zero\u200bwidth a\ufeffb", []string{"zero\u200bwidth", "a\ufeffb"}},
		{"你好 世界", []string{"你好", "世界"}},
	} {
		var v Words
		if got := words(&v, v.Fields(nil, c.in)); !slices.Equal(got, c.want) {
			t.Errorf("Fields(%q) = %q, want %q", c.in, got, c.want)
		}
		if got := Split(c.in); !slices.Equal(got, c.want) {
			t.Errorf("Split(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

func TestCutKeepsEmptyPieces(t *testing.T) {
	for _, c := range []struct {
		in   string
		want []string
	}{
		{"", []string{""}},
		{"a  b ", []string{"a", "", "b", ""}},
		{"1\u00a01/2 cups", []string{"1\u00a01/2", "cups"}},
	} {
		var v Words
		if got := words(&v, v.Cut(nil, c.in)); !slices.Equal(got, c.want) {
			t.Errorf("Cut(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

func TestTableNumbersInOrderOfFirstOccurrence(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var table Table
	for range 3 {
		want := map[uint64]uint32{}
		var order []uint64
		for range 5000 {
			k := Key(uint32(r.IntN(50)), uint32(r.IntN(50)))
			if _, ok := want[k]; !ok {
				if _, ok := table.Find(k); ok {
					t.Fatalf("Find(%d) finds a key that was not added", k)
				}
				want[k] = uint32(len(want))
				order = append(order, k)
			}
			if got := table.Number(k); got != want[k] {
				t.Fatalf("Number(%d) = %d, want %d", k, got, want[k])
			}
		}
		for i, k := range order {
			if got, ok := table.Find(k); !ok || got != uint32(i) || table.At(i) != k {
				t.Fatalf("Find(%d) = %d, %v; At(%d) = %d", k, got, ok, i, table.At(i))
			}
		}
		if table.Len() != len(order) {
			t.Fatalf("Len = %d, want %d", table.Len(), len(order))
		}
		table.Reset()
	}
}

// Texts that are short enough for places and for tables give the same counts
// both ways, and what one counts by hand.
func TestMatcherCountsClippedNGrams(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 7))
	text := func(n, vocabulary int) []uint32 {
		out := make([]uint32, n)
		for i := range out {
			out[i] = uint32(r.IntN(vocabulary))
		}
		return out
	}
	grams := func(text []uint32, n int) map[string]int64 {
		out := map[string]int64{}
		for i := 0; i+n <= len(text); i++ {
			out[fmt.Sprint(text[i:i+n])]++
		}
		return out
	}
	var short, long Matcher
	for range 400 {
		vocabulary, order := 1+r.IntN(12), 1+r.IntN(6)
		hyp := text(r.IntN(MaxPlaces+8), vocabulary)
		short.Hypothesis(hyp, order)
		long.Hypothesis(hyp, order)
		long.short = false
		long.long(hyp)
		var refs [][]uint32
		for range r.IntN(4) {
			refs = append(refs, text(r.IntN(90), vocabulary))
		}
		if r.IntN(3) == 0 {
			for _, m := range []*Matcher{&short, &long} {
				m.Reference(text(5, vocabulary))
				m.Forget()
			}
		}
		for _, ref := range refs {
			short.Reference(ref)
			long.Reference(ref)
		}
		for k := range order {
			want := int64(0)
			mine := grams(hyp, k+1)
			for g, n := range mine {
				best := int64(0)
				for _, ref := range refs {
					best = max(best, grams(ref, k+1)[g])
				}
				want += min(n, best)
			}
			for _, m := range []*Matcher{&short, &long} {
				if m.Correct(k) != want || m.Total(k) != int64(max(0, len(hyp)-k)) || m.Distinct(k) != len(mine) {
					t.Fatalf("%v, %v: order %d: %d of %d, %d distinct (short %t), want %d of %d, %d", hyp, refs, k+1, m.Correct(k), m.Total(k), m.Distinct(k), m.short, want, max(0, len(hyp)-k), len(mine))
				}
			}
		}
	}
}
