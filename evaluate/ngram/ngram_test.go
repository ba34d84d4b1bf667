package ngram

import (
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
