package utf

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"espalier/trainer/kernel/cpuinfo"
)

// pieces are what texts of the tests are made of: whole runes, the least and
// the greatest of their lengths, and what is none.
var pieces = []string{
	"a", "\x00", "\x7f", "word", "twelve bytes", "\u0080", "é", "\u07ff", "\u0800", "中", "文字", "，", "\ud7ff", "\ue000", "\uffff", "\U00010000", "😀", "\U0010ffff",
	"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2\x41", "\xe0\x80\x80", "\xe0\x9f\xbf", "\xe0\xa0", "\xe4\xb8", "\xe4\xb8\x41", "\xe4\x41\xad", "\xed\xa0\x80", "\xed\xbf\xbf", "\xf0\x80\x80\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5", "\xff",
}

const whole = 18 // of the pieces

// eachLevel runs a test for each set of instructions.
func eachLevel(t *testing.T, f func(t *testing.T)) {
	for _, l := range cpuinfo.Levels() {
		t.Run(l.String(), func(t *testing.T) {
			defer cpuinfo.Limit(l)()
			f(t)
		})
	}
}

func TestValid(t *testing.T) { eachLevel(t, testValid) }

func testValid(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	good := 0
	for range 200_000 {
		var b strings.Builder
		for range r.IntN([]int{12, 60}[r.IntN(2)]) {
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
	if good < 90_000 || good > 190_000 {
		t.Errorf("%d texts are UTF-8: the others are hardly looked at", good)
	}
}

// TestTwoBytes has every two bytes behind texts of every length up to that of
// two blocks, and before others.
func TestTwoBytes(t *testing.T) { eachLevel(t, testTwoBytes) }

func testTwoBytes(t *testing.T) {
	before, behind := strings.Repeat("a", 70), strings.Repeat("b", 40)
	for _, at := range []int{0, 1, 29, 30, 31, 32, 33, 62, 63, 64} {
		for first := range 256 {
			for second := range 256 {
				for _, more := range []string{"", "\x80", "\xbf\x80", "\x80\x80\x80"} {
					s := before[:at] + string([]byte{byte(first), byte(second)}) + more + behind
					if got, want := ValidString(s), utf8.ValidString(s); got != want {
						t.Fatalf("%q: %v", s, got)
					}
				}
			}
		}
	}
}

// TestShort has short texts in the middle of others, and at the end of a page.
func TestShort(t *testing.T) { eachLevel(t, testShort) }

func testShort(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	memory := make([]byte, 3*4096)
	for try := range 200_000 {
		for i := range memory[:120] {
			memory[i] = pieces[r.IntN(len(pieces))][0]
		}
		at := 4096 - r.IntN(40)
		if try%2 == 0 {
			at = r.IntN(64)
		}
		var text []byte
		for k, n := 0, r.IntN(12); k < n; k++ {
			text = append(text, pieces[r.IntN(whole)]...)
		}
		if r.IntN(2) == 0 {
			text = append(text, pieces[whole+r.IntN(len(pieces)-whole)]...)
		}
		n := copy(memory[at:], text)
		memory[at+n] = 0x80 + byte(r.IntN(64)) // what follows must not count
		if got, want := Valid(memory[at:at+n]), utf8.Valid(text); got != want {
			t.Fatalf("%q at %d: %v", text, at, got)
		}
	}
}

// TestPlainEnds has what is not plain at every place of a block: a text is plain
// up to it.
func TestPlainEnds(t *testing.T) { eachLevel(t, testPlainEnds) }

func testPlainEnds(t *testing.T) {
	for _, fill := range []string{"a", "é", "中", "😀"} {
		for n := range 100 {
			for _, end := range []string{"\"", "\\", "\n", "\x80", "\xe4\xb8\""} {
				text := []byte(strings.Repeat("b", n%4) + strings.Repeat(fill, n))
				want := len(text)
				text = append(text, end...)
				behind := strings.Repeat("中\"\x80", 30)
				got := Plain(append(text, behind...))
				if got > want || !utf8.Valid(text[:got]) {
					t.Fatalf("%q: %d, want at most %d", text, got, want)
				}
				if cpuinfo.Best() > cpuinfo.Portable && end[0] < 0x80 && got != want {
					t.Fatalf("%q: %d, want %d", text, got, want)
				}
			}
		}
	}
}

// TestPlain holds Plain against the first byte that is not plain.
func TestPlain(t *testing.T) { eachLevel(t, testPlain) }

func testPlain(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	far := 0
	for range 100_000 {
		var b []byte
		for range r.IntN(60) {
			b = append(b, pieces[2+r.IntN(whole-2)]...)
		}
		if r.IntN(2) == 0 {
			b = append(b, []string{"\"", "\\", "\x00", "\x1f", "\n", "\x80", "\xed\xa0\x80"}[r.IntN(7)]...)
			b = append(b, strings.Repeat("中", r.IntN(20))...)
		}
		end := 0
		for end < len(b) {
			c, n := utf8.DecodeRune(b[end:])
			if c == utf8.RuneError && n == 1 || c == '"' || c == '\\' || c < ' ' {
				break
			}
			end += n
		}
		got := Plain(b)
		if got > end || !utf8.Valid(b[:got]) || got < len(b) && !utf8.RuneStart(b[got]) && got < end {
			t.Fatalf("%q: %d of %d", b, got, end)
		}
		if got >= 32 {
			far++
		}
	}
	if cpuinfo.Best() > cpuinfo.Portable && far < 40_000 {
		t.Errorf("%d texts go far", far)
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
