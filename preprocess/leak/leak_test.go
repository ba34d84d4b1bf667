package leak

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

func find(rows []Row) (out []string) {
	var f Finder
	for _, r := range rows {
		f.First(r)
	}
	f.Turn()
	for _, r := range rows {
		f.Second(r)
	}
	_ = f.Leaks(func(l Leak) error {
		out = append(out, fmt.Sprint(l.Kind, " ", l.Split, " ", l.ID, " ", l.Against, " ", l.Twin, " ", l.Twins))
		return nil
	})
	return out
}

func TestLeaks(t *testing.T) {
	rows := []Row{
		{ID: "a", Split: "train", Text: "A dog.\x1fruns", Image: "1"},
		{ID: "b", Split: "train", Text: "a DOG!\x1fruns", Image: "2"},
		{ID: "c", Split: "train", Text: "alone", Image: "3"},
		{ID: "d", Split: "train", Text: "alone", Image: "4"}, // a twin in its own split is none
		{ID: "e", Split: "test", Text: "A dog.\x1fruns", Image: "5"},
		{ID: "f", Split: "test", Text: "a dog\x1f runs", Image: "2"},
		{ID: "g", Split: "validation", Text: "a dogruns", Image: "2"}, // other borders: no twin
		{ID: "h", Split: "test", Text: "...", Image: ""},              // nothing left to compare
		{ID: "i", Split: "train", Text: "!", Image: ""},
	}
	want := []string{
		"exact train a test e 1", "normalised train b test e 2",
		"image train b test f 1", "image train b validation g 1",
		"exact test e train a 1",
		"normalised test f train a 2", "image test f train b 1", "image test f validation g 1",
		"image validation g test f 1", "image validation g train b 1",
	}
	if got := find(rows); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestLeaksOfAll compares with all pairs of random rows.
func TestLeaksOfAll(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var rows []Row
	for i := range 300 {
		rows = append(rows, Row{ID: fmt.Sprintf("%03d", i), Split: []string{"train", "dev", "test"}[r.IntN(3)], Text: fmt.Sprint([]string{"A", "a", "a!"}[r.IntN(3)], r.IntN(120)), Image: fmt.Sprint(r.IntN(200))})
	}
	var want []string
	for _, x := range rows {
		for kind, same := range []func(a, b Row) bool{
			func(a, b Row) bool { return a.Text == b.Text },
			func(a, b Row) bool { return Normal(a.Text) == Normal(b.Text) },
			func(a, b Row) bool { return a.Image == b.Image },
		} {
			for _, other := range []string{"dev", "test", "train"} {
				n, twin, exact := 0, "", false
				for _, y := range rows {
					if y.Split == other && x.Split != other {
						exact = exact || x.Text == y.Text
						if same(x, y) {
							if n++; n == 1 {
								twin = y.ID
							}
						}
					}
				}
				if n > 0 && (kind != 1 || !exact) {
					want = append(want, fmt.Sprint(Kinds[kind], " ", x.Split, " ", x.ID, " ", other, " ", twin, " ", n))
				}
			}
		}
	}
	if got := find(rows); !slices.Equal(got, want) {
		t.Errorf("%d leaks, want %d", len(got), len(want))
	}
}

func TestNormal(t *testing.T) {
	for in, want := range map[string]string{
		"  A dog's-tail, 3 x!": "a dog s tail 3 x", "": "", "\u4f60\u597d\uff0c\u4e16\u754c": "\u4f60\u597d \u4e16\u754c", "...": "", "\u00c9TE\u0301": "\u00e9te\u0301", "a.\x1f.b": "a\x1fb",
	} {
		if got := Normal(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
