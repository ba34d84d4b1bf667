package trie

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestTrie(t *testing.T) {
	keys := []string{"", "a", "ab", "abc", "b", "\x00", "\x00\xff", "\xff", "日本", "日", "a", "ab\x00"}
	tr, err := New(keys)
	if err != nil {
		t.Fatal(err)
	}
	for i, k := range keys {
		want := int32(i)
		if k == "a" {
			want = 10 // the last one
		}
		if got := tr.Find(k); got != want {
			t.Errorf("Find(%q) = %d, want %d", k, got, want)
		}
	}
	for _, k := range []string{"abcd", "c", "\x01", "本", "ac", "\xff\xff", "日\x00"} {
		if got := tr.Find(k); got != -1 {
			t.Errorf("Find(%q) = %d", k, got)
		}
	}
	for _, x := range []struct {
		text  string
		size  int
		value int32
	}{{"abd", 2, 2}, {"日本語", 6, 8}, {"日月", 3, 9}, {"x", 0, -1}, {"", 0, -1}, {"ab\x00c", 3, 11}} {
		if size, value := tr.Longest(x.text); size != x.size || value != x.value {
			t.Errorf("Longest(%q) = %d, %d, want %d, %d", x.text, size, value, x.size, x.value)
		}
	}
}

func TestEmpty(t *testing.T) {
	tr, err := New(nil)
	if err != nil {
		t.Fatal(err)
	}
	for c := range 256 {
		if _, ok := tr.Step(tr.Root(), byte(c)); ok {
			t.Errorf("byte %d leads somewhere", c)
		}
	}
	if tr.Root().Value() != -1 {
		t.Error("the empty key has a value")
	}
}

// TestRandom holds a trie against a map.
func TestRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, alphabet := range []int{1, 2, 26, 256} {
		var keys []string
		want := map[string]int32{}
		for i := range 3000 {
			b := make([]byte, r.IntN(8))
			for k := range b {
				b[k] = byte(r.IntN(alphabet))
			}
			keys = append(keys, string(b))
			want[string(b)] = int32(i)
		}
		tr, err := New(keys)
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range want {
			if got := tr.Find(k); got != v {
				t.Fatalf("alphabet of %d: Find(%q) = %d, want %d", alphabet, k, got, v)
			}
			if _, ok := want[k+"\x00"]; !ok && tr.Find(k+"\x00") != -1 {
				t.Fatalf("alphabet of %d: finds %q", alphabet, k+"\x00")
			}
		}
		// every reachable node lies on the way to a key
		prefixes := map[string]bool{"": true}
		for k := range want {
			for i := range k {
				prefixes[k[:i+1]] = true
			}
			for i := range len(k) {
				prefixes[k[:i+1]] = true
			}
		}
		nodes := 0
		var walk func(n Node, key []byte)
		walk = func(n Node, key []byte) {
			nodes++
			if !prefixes[string(key)] {
				t.Fatalf("alphabet of %d: node %q", alphabet, key)
			}
			for c := range 256 {
				if next, ok := tr.Step(n, byte(c)); ok {
					walk(next, append(slices.Clone(key), byte(c)))
				}
			}
		}
		walk(tr.Root(), nil)
		if nodes != len(prefixes) {
			t.Errorf("alphabet of %d: %d nodes, want %d", alphabet, nodes, len(prefixes))
		}
	}
}
