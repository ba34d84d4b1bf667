package memo

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
)

func TestTable(t *testing.T) {
	m := New(12)
	long := strings.Repeat("x", MaxKey)
	words := []string{"a", "b", "ab", "a\x00", "abcdefgh", "abcdefghi", "abcdefgh\x00", "0123456789abcdef", "0123456789abcdefg", long, long[1:]}
	text := strings.Join(words, " ")
	at := 0
	for k, w := range words {
		ids := []int32{}
		for n := range k {
			ids = append(ids, int32(-n*k))
		}
		ref, h := m.Find(text, at, at+len(w))
		if ref != 0 {
			t.Errorf("%q is there", w)
		}
		m.Add(text, at, at+len(w), h, ids, uint64(k)<<60)
		at += len(w) + 1
	}
	for k, w := range words {
		ref, h := m.Find(w, 0, len(w)) // without bytes behind it
		if ref == 0 {
			t.Fatalf("%q is not there", w)
		}
		want := []int32{7}
		for n := range k {
			want = append(want, int32(-n*k))
		}
		if got := m.Append([]int32{7}, ref); !slices.Equal(got, want) || m.Number(ref) != uint64(k)<<60 {
			t.Errorf("%q: %v, %x, want %v", w, got, m.Number(ref), want)
		}
		m.Add(w, 0, len(w), h, []int32{1}, 0) // no effect
		if again, _ := m.Find(w, 0, len(w)); again != ref {
			t.Errorf("%q is there twice", w)
		}
	}
	for _, w := range []string{"", long + "x", "c", "abc", "abcdefg"} {
		if ref, h := m.Find(w, 0, len(w)); ref != 0 {
			t.Errorf("%q is there", w)
		} else if len(w) == 0 || len(w) > MaxKey {
			m.Add(w, 0, len(w), h, nil, 0)
			if ref, _ := m.Find(w, 0, len(w)); ref != 0 {
				t.Errorf("%q was added", w)
			}
		}
	}
}

func TestFull(t *testing.T) {
	m := New(4)
	for k := range 1000 {
		w := fmt.Sprint("word", k)
		_, h := m.Find(w, 0, len(w))
		m.Add(w, 0, len(w), h, []int32{int32(k)}, 0)
	}
	found := 0
	for k := range 1000 {
		w := fmt.Sprint("word", k)
		if ref, _ := m.Find(w, 0, len(w)); ref != 0 {
			found++
			if got := m.Append(nil, ref); !slices.Equal(got, []int32{int32(k)}) {
				t.Errorf("%s: %v", w, got)
			}
		}
	}
	if found < 8 || found > 16 {
		t.Errorf("%d words fit", found)
	}
}

// TestGrow finds words of all lengths again after the slots have become more.
func TestGrow(t *testing.T) {
	m := New(17)
	first := len(m.slots.Load().list)
	word := func(k int) string { return fmt.Sprint(k, strings.Repeat("x", k%40)) }
	for k := range 30000 {
		w := word(k)
		_, h := m.Find(w, 0, len(w))
		m.Add(w, 0, len(w), h, []int32{int32(k)}, uint64(k))
	}
	if n := len(m.slots.Load().list); n <= first {
		t.Errorf("%d slots, as in the beginning", n)
	}
	missing := 0
	for k := range 30000 {
		w := word(k)
		ref, _ := m.Find(w, 0, len(w))
		if ref == 0 {
			missing++
		} else if got := m.Append(nil, ref); m.Number(ref) != uint64(k) || !slices.Equal(got, []int32{int32(k)}) {
			t.Errorf("%s: %v, %d", w, got, m.Number(ref))
		}
	}
	if missing > 300 {
		t.Errorf("%d of 30000 words are forgotten", missing)
	}
}

func TestConcurrent(t *testing.T) {
	m := New(12)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for k := range 6000 { // more than there are slots at first
				w := fmt.Sprint(k % 3000)
				ref, h := m.Find(w, 0, len(w))
				if ref == 0 {
					m.Add(w, 0, len(w), h, []int32{int32(k % 3000), 5}, 0)
				} else if got := m.Append(nil, ref); !slices.Equal(got, []int32{int32(k % 3000), 5}) {
					t.Errorf("%s: %v", w, got)
				}
			}
		})
	}
	wg.Wait()
}

func BenchmarkFind(b *testing.B) {
	m := New(16)
	words := strings.Fields(strings.Repeat("the quick brown fox jumps over an extraordinarily lazy dog, twice. ", 20))
	text := strings.Join(words, " ")
	b.SetBytes(int64(len(text)))
	var ids []int32
	for b.Loop() {
		ids = ids[:0]
		at := 0
		for _, w := range words {
			ref, h := m.Find(text, at, at+len(w))
			if ref == 0 {
				m.Add(text, at, at+len(w), h, []int32{1}, 0)
			} else {
				ids = m.Append(ids, ref)
			}
			at += len(w) + 1
		}
	}
}

func TestIndex(t *testing.T) {
	keys := []string{"a", "b", "", "ab", "a", "abcdefgh", "abcdefghi", "a\x00"}
	x := NewIndex(keys, nil)
	for n, k := range keys {
		want := int32(n)
		if k == "a" {
			want = 4 // the last one
		}
		if got := x.Find("--"+k+"-", 2, 2+len(k)); got != want {
			t.Errorf("%q: %d, want %d", k, got, want)
		}
	}
	if got := x.Find("abc", 0, 3); got != -1 {
		t.Errorf("abc: %d", got)
	}
	x = NewIndex(keys, func(n int) bool { return n != 4 })
	if got := x.Find("a", 0, 1); got != 0 {
		t.Errorf("a: %d without the last one", got)
	}
	if got := NewIndex(nil, nil).Find("a", 0, 1); got != -1 {
		t.Errorf("a: %d in nothing", got)
	}
}

// TestFront finds the words that the table has, those of the front too.
func TestFront(t *testing.T) {
	m := New(12)
	var f Front
	word := func(k int) string { return fmt.Sprint(k*7919%5000, "abcdefghij"[:k%10]) }
	for k := range 6000 {
		w := word(k)
		ids, hash, ok := f.Append(m, []int32{9}, w, 0, len(w))
		if _, want := m.Find(w, 0, len(w)); hash != want {
			t.Fatalf("%q: hash %x, want %x", w, hash, want)
		}
		n := len(w)
		if !ok {
			if !slices.Equal(ids, []int32{9}) {
				t.Fatalf("%q: %v without ids", w, ids)
			}
			m.Add(w, 0, n, hash, []int32{int32(n), 3, 4}[:1+n%3], 0)
			continue
		}
		if want := append([]int32{9}, []int32{int32(n), 3, 4}[:1+n%3]...); !slices.Equal(ids, want) {
			t.Fatalf("%q: %v, want %v", w, ids, want)
		}
	}
	if ids, _, ok := f.Append(m, nil, "", 0, 0); ok || ids != nil {
		t.Errorf("the empty word: %v", ids)
	}
}
