package utf

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

// pieces are what texts of the tests are made of: whole runes, the least and
// the greatest of their lengths, and what is none.
var pieces = []string{
	"a", "\x00", "\x7f", "word", "twelve bytes", "\u0080", "é", "\u07ff", "\u0800", "中", "文字", "，", "\ud7ff", "\ue000", "\uffff", "\U00010000", "😀", "\U0010ffff",
	"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2\x41", "\xe0\x80\x80", "\xe0\x9f\xbf", "\xe0\xa0", "\xe4\xb8", "\xe4\xb8\x41", "\xe4\x41\xad", "\xed\xa0\x80", "\xed\xbf\xbf", "\xf0\x80\x80\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5", "\xff",
}

const whole = 18 // of the pieces

func TestValid(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	good := 0
	for range 200_000 {
		var b strings.Builder
		for range r.IntN(12) {
			b.WriteString(pieces[r.IntN(whole)])
		}
		if r.IntN(2) == 0 {
			b.WriteString(pieces[r.IntN(len(pieces))])
			b.WriteString(pieces[r.IntN(whole)])
		}
		s := b.String()
		want := utf8.ValidString(s)
		if want {
			good++
		}
		if Valid([]byte(s)) != want || ValidString(s) != want {
			t.Fatalf("%q: not %v", s, want)
		}
	}
	if good < 100_000 || good > 190_000 {
		t.Errorf("%d texts are UTF-8: the others are hardly looked at", good)
	}
}

func TestRunes(t *testing.T) {
	for _, p := range pieces {
		for _, q := range pieces {
			for _, end := range []string{"", "a", "中文中文", "aaaaaaaaaa"} {
				b := []byte(p + q + end)
				want := 0
				for want < len(b) && b[want] >= utf8.RuneSelf {
					_, n := utf8.DecodeRune(b[want:])
					if n == 1 {
						break
					}
					want += n
				}
				if got := Runes(b, 0); got != want {
					t.Errorf("%q: %d, want %d", b, got, want)
				}
			}
		}
	}
}

func TestNoCopies(t *testing.T) {
	s := strings.Repeat("中文 and more ", 100)
	if n := testing.AllocsPerRun(10, func() { ValidString(s) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzValid(f *testing.F) {
	for _, p := range pieces {
		f.Add([]byte(p + "中文"))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if Valid(b) != utf8.Valid(b) {
			t.Errorf("%q: %v", b, Valid(b))
		}
	})
}

func BenchmarkValid(b *testing.B) {
	for name, s := range map[string]string{"Chinese": strings.Repeat("中文字，", 100), "ASCII": strings.Repeat("English ", 100), "mixed": strings.Repeat("a中bc é ", 100)} {
		for what, valid := range map[string]func(string) bool{"utf": ValidString, "unicode": utf8.ValidString} {
			b.Run(name+"/"+what, func(b *testing.B) {
				b.SetBytes(int64(len(s)))
				for b.Loop() {
					valid(s)
				}
			})
		}
	}
}
