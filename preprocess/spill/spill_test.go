package spill

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestSorted(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var all []Record
	for range 5000 {
		all = append(all, Record{r.Int64N(100) - 50, r.Int64N(3), r.Int64(), -r.Int64()})
	}
	want := slices.SortedFunc(slices.Values(all), compare)
	for _, bytes := range []int64{0, 100 * Size, 5000 * Size, 1 << 20} {
		dir := t.TempDir()
		s := New(dir, bytes)
		for _, x := range all {
			s.Add(x)
		}
		for range 2 {
			var got []Record
			for x, err := range s.Sorted() {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, x)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%d bytes: %d records, or in another order", bytes, len(got))
			}
		}
		if s.Spilled() != (bytes <= 5000*Size) {
			t.Errorf("%d bytes: spilled %v", bytes, s.Spilled())
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%d files are left, %v", len(left), err)
		}
	}
}

func TestNoPlaceToSpill(t *testing.T) {
	s := New(filepath.Join(t.TempDir(), "gone"), 0)
	for i := range int64(40) {
		s.Add(Record{Key: i})
	}
	for _, err := range s.Sorted() {
		if err == nil {
			t.Error("no error")
		}
		return
	}
}
