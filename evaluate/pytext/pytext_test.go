package pytext

import (
	"slices"
	"strings"
	"testing"
)

// The lower-case forms are those of Python 3.11.
func TestLower(t *testing.T) {
	for in, want := range map[string]string{
		"":                  "",
		"ABC ÀÉ Ж":          "abc àé ж",
		"İstanbul":          "i̇stanbul",
		"ΟΔΟΣ ΟΔΥΣΣΕΑΣ":     "οδος οδυσσεας",
		"ΣΑΣ. Σ ΑΣ'Α ΑΣ'":   "σας. σ ασ'α ας'",
		"Α\u0301Σ Α\u00adΣ": "α\u0301ς α\u00adς",
		"ẞ ǅ Ω":             "ß ǆ ω",
	} {
		if got := Lower(in); got != want {
			t.Errorf("Lower(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestWhiteSpace(t *testing.T) {
	if got := Fields("\x1c a\u00a0b\u3000 c\u200bd "); !slices.Equal(got, []string{"a", "b", "c\u200bd"}) {
		t.Errorf("Fields = %q", got)
	}
	if got := Strip(" \u2003a b\x1f"); got != "a b" {
		t.Errorf("Strip = %q", got)
	}
	if got := StripRight(" a\n\u0085"); got != " a" {
		t.Errorf("StripRight = %q", got)
	}
}

// Fields cuts at every character that is white space, and nowhere else.
func TestFieldsCutsAtSpace(t *testing.T) {
	var all strings.Builder
	for r := range rune(0x11000) {
		all.WriteString("a" + string(r) + "b" + string(r) + string(r))
	}
	for _, s := range []string{all.String(), "", " ", "\u3000a\xe3\x80b\xc2 c\xe2\x80", "a\xff\xe1\x9a\x80b", "x"} {
		if got, want := Fields(s), strings.FieldsFunc(s, IsSpace); !slices.Equal(got, want) || got == nil {
			t.Errorf("Fields(%.20q): %d words, want %d", s, len(got), len(want))
		}
	}
}
