package radix

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"espalier/internal/shared"
)

func code(t testing.TB, n, base int) Code {
	t.Helper()
	c, err := New(n, base)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestIndices(t *testing.T) {
	// spec/acort.md 2.9, N = 9,998.
	indices := []int{0, 1, 767, 768, 769, 9996, 9997}
	for base, want := range map[int][][]int32{
		768:  {{1, 1}, {1, 2}, {1, 768}, {2, 1}, {2, 2}, {14, 13}, {14, 14}},
		256:  {{1, 1}, {1, 2}, {3, 256}, {4, 1}, {4, 2}, {40, 13}, {40, 14}},
		512:  {{1, 1}, {1, 2}, {2, 256}, {2, 257}, {2, 258}, {20, 269}, {20, 270}},
		1024: {{1, 1}, {1, 2}, {1, 768}, {1, 769}, {1, 770}, {10, 781}, {10, 782}},
	} {
		c := code(t, 9998, base)
		for i, index := range indices {
			if got := c.Append(nil, index); !reflect.DeepEqual(got, want[i]) {
				t.Errorf("v=%d: index %d is %v, want %v", base, index, got, want[i])
			}
		}
	}
}

func TestRoundTrip(t *testing.T) {
	for _, base := range []int{2, 3, 99, 100, 256, 512, 768, 1024, 9998, 20000} {
		c := code(t, 9998, base)
		var ids []int32
		for i := range c.N {
			ids = c.Append(ids, i)
		}
		for name, words := range map[string][]int{"strict": c.Decode(nil, ids), "published": c.DecodePublished(nil, ids)} {
			if len(words) != c.N {
				t.Fatalf("v=%d, %s: %d words", base, name, len(words))
			}
			for i, w := range words {
				if w != i {
					t.Fatalf("v=%d, %s: index %d comes back as %d", base, name, i, w)
				}
			}
		}
	}
}

func TestDigitCount(t *testing.T) {
	for _, c := range []struct{ n, base, want, published int }{
		{1, 2, 1, 1}, {2, 2, 1, 2}, {3, 2, 2, 2}, {8, 2, 3, 4}, {9, 3, 2, 3}, {768, 768, 1, 2}, {769, 768, 2, 2}, {589824, 768, 2, 3}, {589825, 768, 3, 3}, {9998, 9998, 1, 2}, {9998, 9999, 1, 1}, {9998, 99, 3, 3}, {9998, 100, 2, 2},
	} {
		if got := DigitCount(c.n, c.base); got != c.want {
			t.Errorf("DigitCount(%d, %d) = %d, want %d", c.n, c.base, got, c.want)
		}
		if got := PublishedDigitCount(c.n, c.base); got != c.published {
			t.Errorf("PublishedDigitCount(%d, %d) = %d, want %d", c.n, c.base, got, c.published)
		}
	}
}

func TestSpecialIDs(t *testing.T) {
	c := code(t, 9998, 768)
	if c.BOS() != 769 || c.EOS() != 770 || c.Rows() != 771 || c.Entries(26) != 14 || c.Entries(25) != 13 {
		t.Errorf("%d %d %d %d %d", c.BOS(), c.EOS(), c.Rows(), c.Entries(26), c.Entries(25))
	}
}

func TestEncodeCuts(t *testing.T) {
	c := code(t, 9998, 768)
	for n, want := range map[int]struct {
		ids int
		cut bool
	}{0: {2, false}, 12: {26, false}, 13: {27, true}, 14: {27, true}} {
		ids, cut := c.Encode(nil, make([]int, n), 26)
		if len(ids) != want.ids || cut != want.cut || (ids[len(ids)-1] == c.EOS()) == cut {
			t.Errorf("%d words: %d ids, cut %t", n, len(ids), cut)
		}
	}
}

// decoded names the words by their published text, as far as the table of
// spec/acort.md 2.6 needs them.
func decoded(words []int) (s string) {
	for i, w := range words {
		if i > 0 {
			s += " "
		}
		switch w {
		case 0:
			s += "a"
		case 8:
			s += "man"
		case 768:
			s += "highway"
		case 9997:
			s += "<unk>"
		default:
			s += "?"
		}
	}
	return s
}

func TestDecode(t *testing.T) {
	// spec/acort.md 2.6, and what the strict decoder makes of it.
	c := code(t, 9998, 768)
	for _, x := range []struct {
		ids               []int32
		published, strict string
	}{
		{[]int32{1, 1, 1, 9, 770, 0}, "a man", "a man"},
		{[]int32{1, 1, 1, 9}, "a man", "a man"},
		{[]int32{1, 1, 1, 770}, "a a", "a"},
		{[]int32{1, 1, 0, 9, 770}, "a man", "a <unk>"},
		{[]int32{769, 5, 1, 9, 770}, "<unk> man", "<unk> man"},
		{[]int32{1, 769, 770}, "highway", "<unk>"},
		{[]int32{14, 15, 1, 1, 770}, "<unk> a", "<unk> a"},
		{[]int32{768, 768, 770}, "<unk>", "<unk>"},
		{[]int32{}, "", ""},
		{[]int32{770, 1, 1}, "", ""},
		{[]int32{-5, 1 << 30, 1, 1}, "<unk> a", "<unk> a"},
	} {
		if got := decoded(c.DecodePublished(nil, x.ids)); got != x.published {
			t.Errorf("published %v: %q, want %q", x.ids, got, x.published)
		}
		if got := decoded(c.Decode(nil, x.ids)); got != x.strict {
			t.Errorf("strict %v: %q, want %q", x.ids, got, x.strict)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for _, c := range [][2]int{{10, 1}, {10, 0}, {0, 10}, {-1, 10}, {1 << 31, 10}, {10, 1 << 31}} {
		if _, err := New(c[0], c[1]); err == nil {
			t.Errorf("New(%d, %d) is accepted", c[0], c[1])
		}
	}
}

func each[T any](t *testing.T, name string, f func(T)) {
	t.Helper()
	file, err := os.Open(shared.Dir(t, "goldens", "tokenizers", "acort", name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	n := 0
	for s := bufio.NewScanner(file); s.Scan(); n++ {
		var v T
		if err := json.Unmarshal(s.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		f(v)
	}
	if n == 0 {
		t.Errorf("%s is empty", filepath.Base(name))
	}
}

func TestGoldenIndices(t *testing.T) {
	each(t, "radix_index.jsonl", func(g struct {
		V, N, D, Index int
		Digits         []int32
	},
	) {
		c := code(t, g.N, g.V)
		if got := c.Append(nil, g.Index); c.Digits != g.D || !reflect.DeepEqual(got, g.Digits) {
			t.Errorf("v=%d: index %d is %v, want %v", g.V, g.Index, got, g.Digits)
		}
	})
	each(t, "radix_digits.jsonl", func(g struct {
		N, V, D   int
		Published int `json:"d_published_code"`
	},
	) {
		if d, p := DigitCount(g.N, g.V), PublishedDigitCount(g.N, g.V); d != g.D || p != g.Published {
			t.Errorf("n=%d, v=%d: %d and %d digits, want %d and %d", g.N, g.V, d, p, g.D, g.Published)
		}
	})
}
