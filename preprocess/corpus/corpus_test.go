package corpus

import (
	"fmt"
	"testing"
)

func TestStem(t *testing.T) {
	for in, want := range map[string]string{
		"COCO_val2014_000000000001.jpg": "COCO_val2014_000000000001",
		"a.b.jpg":                       "a.b",
		"4#5.jpg":                       "4#5",
		"noext":                         "noext",
		".jpg":                          ".jpg",
		"..jpg":                         "..jpg",
		"dir.d/x":                       "dir.d/x",
		"":                              "",
	} {
		if got := Stem(in); got != want {
			t.Errorf("Stem(%q) = %q, want %q", in, got, want)
		}
	}
}

// cuts returns the keys before which a slice begins.
func cuts(keys []string, mean int) map[string]bool {
	c := Cutter{Mean: mean}
	out := map[string]bool{}
	for _, k := range keys {
		if c.Cut([]byte(k), 0) {
			out[k] = true
		}
	}
	return out
}

func TestCutter(t *testing.T) {
	var keys []string
	for i := range 20000 {
		keys = append(keys, fmt.Sprint(9+4*i))
	}
	all := cuts(keys, 100)
	if n := len(all); n < 130 || n > 260 {
		t.Errorf("%d slices of about 100 rows in 20000", n)
	}
	last := 0
	for i, k := range keys {
		if all[k] {
			if n := i - last; n < 50 || n > 200 {
				t.Errorf("slice of %d rows", n)
			}
			last = i
		}
	}
	// One row more in the middle leaves the borders far from it alone.
	more := append(append(append([]string{}, keys[:10000]...), "new"), keys[10000:]...)
	moved := 0
	now := cuts(more, 100)
	for k := range all {
		if !now[k] {
			moved++
		}
	}
	if moved > 4 {
		t.Errorf("%d of %d borders moved", moved, len(all))
	}
}

func TestCutterBytes(t *testing.T) {
	c := NewCutter(SliceRows)
	bytes, rows, cut := 0, 0, 0
	for i := range 300_000 {
		size := 100 + i%7
		if c.Cut(fmt.Append(nil, 9+4*i), size) {
			if bytes < sliceBytes || rows > sliceBytes/100+2*SliceRows {
				t.Errorf("slice of %d rows, %d bytes", rows, bytes)
			}
			bytes, rows = 0, 0
			cut++
		}
		bytes += size
		rows++
	}
	if cut < 5 {
		t.Errorf("%d borders", cut)
	}
	c = NewCutter(10)
	for i := range 100 {
		if c.Cut(fmt.Append(nil, i), 1) {
			return
		}
	}
	t.Error("no border where few rows were asked for")
}

func TestHash(t *testing.T) {
	// Borders are part of outputs: the hash must never change.
	if got := Hash([]byte("391895")); got != 0x33497c6b2cf2ebb1 {
		t.Errorf("Hash = %#x", got)
	}
}
