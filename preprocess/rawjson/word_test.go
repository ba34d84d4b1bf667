package rawjson

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"espalier/trainer/kernel/cpuinfo"
)

// The plain twins of what word.go does, a byte at a time.

func plainSlow(b []byte, i int) int {
	for i < len(b) {
		switch class[b[i]] {
		case cQuote, cEscape, cControl:
			return i
		}
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return i
}

func closingSlow(b []byte, i int) int {
	for ; i < len(b); i++ {
		switch b[i] {
		case '"':
			return i
		case '\\':
			i++
		}
	}
	return -1
}

func skipNestedSlow(b []byte) (n int, whole bool) {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch class[b[i]] {
		case cQuote:
			if i = closingSlow(b, i+1); i < 0 {
				return 0, false
			}
		case cOpen:
			depth++
		case cClose:
			if depth--; depth == 0 {
				return i + 1, true
			}
		}
	}
	return 0, false
}

// scraps are what documents of the tests are made of.
var scraps = []string{
	`"`, `"`, `"word"`, `"a"`, `""`, `{`, `[`, `}`, `]`, `[`, `{`, `, `, `: `, `\`, `\"`, `\\`, `"a\"b"`, "12", "true", " ", "\n", "\x00", "\x1f", "!", "#", "[[", "]]", "{}", "中", "，文字", "é", "\xff", "\x80", "\xed\xa0\x80", "\xe4\xb8", "😀",
	"a text of more than sixteen bytes", "文字文字文字文字",
}

// eachLevel runs a test with every set of instructions that there is.
func eachLevel(t *testing.T, f func(t *testing.T)) {
	for _, l := range cpuinfo.Levels() {
		t.Run(l.String(), func(t *testing.T) {
			defer cpuinfo.Limit(l)()
			f(t)
		})
	}
}

func TestMarks(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(5, 6))
		guarded := make([]byte, 3*block)
		for range 20_000 {
			b := (*[block]byte)(guarded[r.IntN(2*block):])
			for i := range b {
				if b[i] = byte(r.IntN(256)); r.IntN(2) == 0 {
					b[i] = "\"\\[]{}"[r.IntN(6)]
				}
			}
			quote, escape, open, end := marks(b)
			if q, c, o, e := marksGeneric(b); quote != q || escape != c || open != o || end != e {
				t.Fatalf("%q: %x, %x, %x, %x, want %x, %x, %x, %x", b[:], quote, escape, open, end, q, c, o, e)
			}
		}
	})
}

func TestWordsAndBytes(t *testing.T) { eachLevel(t, testWordsAndBytes) }

func testWordsAndBytes(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	nested := 0
	for range 150_000 {
		var s strings.Builder
		s.WriteString("[{"[r.IntN(2):][:1])
		for range r.IntN(60) {
			s.WriteString(scraps[r.IntN(len(scraps))])
		}
		b := []byte(s.String())
		i := r.IntN(len(b) + 1)
		if got, want := plain(b, i), plainSlow(b, i); got != want {
			t.Fatalf("plain(%q, %d) = %d, want %d", b, i, got, want)
		}
		if got, want := closing(b, i), closingSlow(b, i); got != want {
			t.Fatalf("closing(%q, %d) = %d, want %d", b, i, got, want)
		}
		n, whole := skipNested(b)
		if want, done := skipNestedSlow(b); n != want || whole != done {
			t.Fatalf("skipNested(%q) = %d, %v, want %d, %v", b, n, whole, want, done)
		}
		if n > 100 {
			nested++
		}
	}
	if nested < 5_000 {
		t.Errorf("%d long values", nested)
	}
}

func FuzzWords(f *testing.F) {
	for _, s := range scraps {
		f.Add([]byte(`[{"x": "` + s + `"}, []]`))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, want := plain(b, 0), plainSlow(b, 0); got != want {
			t.Errorf("plain(%q) = %d, want %d", b, got, want)
		}
		n, whole := skipNested(b)
		if want, done := skipNestedSlow(b); n != want || whole != done {
			t.Errorf("skipNested(%q) = %d, %v, want %d, %v", b, n, whole, want, done)
		}
	})
}
