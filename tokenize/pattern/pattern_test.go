package pattern

import (
	"slices"
	"strings"
	"testing"
)

// all returns the texts of all matches.
func all(p *Pattern, text string) []string {
	var out []string
	last := -1
	for at := 0; at <= len(text); {
		i, j, ok := p.Find(text, at)
		if !ok {
			break
		}
		if i == j && i == last {
			if at == len(text) {
				break
			}
			at += runeLen(text, at)
			continue
		}
		out = append(out, text[i:j])
		at, last = j, j
	}
	return out
}

// TestFind has what Split(Regex(...)) of tokenizers 0.22.2 finds.
func TestFind(t *testing.T) {
	const llama = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	for _, x := range []struct{ pattern, text, want string }{
		{llama, "Hello  world, it'S 12345 \n\n x", "Hello| | world|,| it|'S| |123|45| \n\n| x"},
		{llama, "你好!! \t\n", "你好|!!| \t\n"},
		{`a|ab`, "abab", "a|a"},
		{`ab?+b`, "abb", "abb"},
		{`a++a`, "aaa", ""},
		{`a+?b?`, "aab", "a|ab"},
		{`[a-c&&[^b]]+`, "abca", "a|ca"},
		{`(?<=x)y|(?<!x)z`, "xyzxz", "y|z"},
		{`x$`, "x\nxx", "x|x"},
		{`^x`, "xx\nx", "x|x"},
		{`(?>a|ab)c`, "abcac", "ac"},
		{`\bfoo\b`, "foo food foo", "foo|foo"},
		{`(?i:[sdmt]|ll)`, "Sx\u017fLl", "S|\u017f|Ll"},
		{`.`, "a\nb", "a|b"},
		{`\x{4e00}|\u4f60|\x41`, "一你A", "一|你|A"},
		{`\p{Han}+`, "a你好b", "你好"},
		{`(ab)?+b`, "abbb", "abb|b"},
		{`a{2}|b{2,}|c{,2}`, "aaabbbccc", "aa|bbb|cc|c"},
	} {
		p, err := Compile(x.pattern)
		if err != nil {
			t.Error(err)
			continue
		}
		if got := strings.Join(all(p, x.text), "|"); got != x.want {
			t.Errorf("%s in %q: %q, want %q", x.pattern, x.text, got, x.want)
		}
	}
	if got := all(Literal("a.b"), "a.ba.b axb"); !slices.Equal(got, []string{"a.b", "a.b"}) {
		t.Errorf("%q", got)
	}
}

func TestRefused(t *testing.T) {
	for _, x := range []struct{ pattern, want string }{
		{`(a+)+`, "repetition of a group"},
		{`a**`, "repetition of a repetition"},
		{`(`, "( without )"},
		{`a)`, "unexpected )"},
		{`[a`, "[ without ]"},
		{`[]`, "empty class"},
		{`\p{Klingon}`, "not known"},
		{`\1`, "not read"},
		{`(?<n>a)`, "not read"},
		{`(?i:st)`, "without regard to case"},
		{`(?i:é)`, "beyond ASCII"},
		{`(?i:[^a])`, "all but a class"},
		{`a{2000}`, "repetition that is not read"},
		{`a{3,1}`, "repetition that is not read"},
		{`*`, "nothing to repeat"},
		{`(?<=ab)c`, "more than a character"},
		{`\`, "backslash"},
		{"[\xff]", "UTF-8"},
		{strings.Repeat("(", 200), "nested"},
		{strings.Repeat("[", 200), "nested"},
		{strings.Repeat("a*", 20), "without bound"},
		{strings.Repeat("a", 1<<16+1), "bytes"},
	} {
		if _, err := Compile(x.pattern); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %q", x.pattern, err, x.want)
		}
	}
}

// TestLong goes through a long text in time that is linear in its length.
func TestLong(t *testing.T) {
	p, err := Compile(`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|\p{N}{1,3}|\s*[\r\n]+|\s+(?!\S)|\s+|\p{Lu}+`)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"a", "A", " ", "你", "1", "\n"} {
		n := 0
		for _, x := range all(p, strings.Repeat(s, 1<<20)+"x") {
			n += len(x)
		}
		if n != len(s)<<20+1 {
			t.Errorf("%q: %d bytes", s, n)
		}
	}
}

// TestLongRun looks for what ends a long run, and is not there, in linear time.
func TestLongRun(t *testing.T) {
	for _, pattern := range []string{`\s+$`, `\s*[\r]`, `\s++$`} {
		p, err := Compile(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, end := range []string{"x", "x  ", ""} {
			text := strings.Repeat(" ", 1<<20) + end
			i, j, ok := p.Find(text, 0)
			want := end != "x" && pattern != `\s*[\r]`
			if ok != want || ok && (j != len(text) || end != "" && i != len(text)-2) {
				t.Errorf("%s before %q: %d, %d, %v", pattern, end, i, j, ok)
			}
		}
	}
}

func FuzzCompile(f *testing.F) {
	for _, s := range []string{`(?i:'s|'t)|[^\r\n\p{L}]?\p{L}+`, `[a-c&&[^b]]+`, `(?>a|b)?+c`, `(?<=x)y$`, `a{1,3}?b`} {
		f.Add(s, "ab's x\ny")
	}
	f.Fuzz(func(t *testing.T, source, text string) {
		p, err := Compile(source)
		if err != nil || len(text) > 200 || len(source) > 60 {
			return
		}
		at := 0
		for _, x := range all(p, text) {
			k := strings.Index(text[at:], x)
			if k < 0 {
				t.Fatalf("%s in %q: %q is not behind %d", source, text, x, at)
			}
			at += k + len(x)
		}
	})
}
