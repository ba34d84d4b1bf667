package chop

import (
	"slices"
	"strings"
	"testing"

	"espalier/tokenize/spm"
	"espalier/tokenize/tokentest"
)

// small has the pieces that the tests look for.
func small(t testing.TB, kind int, bytes bool) *Model {
	t.Helper()
	s := tokentest.SPM{Type: kind, ByteFallback: bytes, Pieces: []tokentest.Piece{{Text: "<unk>", Kind: 2}, {Text: "<s>", Kind: 3}, {Text: "</s>", Kind: 3}}}
	if bytes {
		s.Pieces = append(s.Pieces, tokentest.SmallBPE().Pieces[3:259]...)
	}
	for i, p := range []string{"\u2581", "a", "b", "\u2581a", "\u2581ab", "\u00e9", "ab"} {
		s.Pieces = append(s.Pieces, tokentest.Piece{Text: p, Score: -float32(i)})
	}
	s.Pieces = append(s.Pieces, tokentest.Piece{Text: "[X]", Kind: 4}, tokentest.Piece{Text: "\u2581<s>", Kind: 3})
	m, err := spm.Parse(s.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(m)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The ids and pieces are SentencePiece 0.2.3's.
func TestEncode(t *testing.T) {
	const word, char = spm.Word, spm.Char
	for _, c := range []struct {
		kind   int
		bytes  bool
		text   string
		ids    []int32
		pieces string
	}{
		{word, false, "ab a  abc x y a", []int32{7, 6, 0, 6}, "\u2581ab|\u2581a|\u2581abc\u2581x\u2581y|\u2581a"},
		{word, false, "<s> [X] a", []int32{0, 6}, "\u2581<s>\u2581[X]|\u2581a"},
		{word, false, "", nil, ""},
		{word, true, "a \u00e9", []int32{262, 229, 153, 132, 198, 172}, "\u2581a|<0xE2>|<0x96>|<0x81>|<0xC3>|<0xA9>"},
		{char, false, "ab \u00e9\xffzz[X]", []int32{3, 4, 5, 3, 8, 0, 10}, "\u2581|a|b|\u2581|\u00e9|\ufffdzz|[X]"},
		{char, true, "az", []int32{259, 260, 125}, "\u2581|a|<0x7A>"},
	} {
		m := small(t, c.kind, c.bytes)
		e := m.NewEncoder()
		if got := e.Append(nil, c.text); !slices.Equal(got, c.ids) {
			t.Errorf("type %d, %q: ids %v, want %v", c.kind, c.text, got, c.ids)
		}
		var ids []int32
		var pieces []string
		at := int32(0)
		for _, x := range e.AppendTokens(nil, c.text) {
			ids, pieces = append(ids, x.ID), append(pieces, x.Piece)
			if x.Start < at || x.End < x.Start || int(x.End) > len(c.text) {
				t.Errorf("type %d, %q: %+v", c.kind, c.text, x)
			}
			at = x.Start
		}
		if got := strings.Join(pieces, "|"); got != c.pieces || !slices.Equal(ids, c.ids) {
			t.Errorf("type %d, %q: pieces %q, ids %v, want %q", c.kind, c.text, got, ids, c.pieces)
		}
	}
}

func TestDecode(t *testing.T) {
	got, err := small(t, spm.Word, true).Decode(nil, []int32{262, 198, 172, 264, 0})
	if want := "a\u00e9\u00e9 \u2047 "; err != nil || string(got) != want {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}

func TestNewRefuses(t *testing.T) {
	m, err := spm.Parse(tokentest.Small().Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(m); err == nil {
		t.Error("a unigram model is accepted")
	}
}

func BenchmarkAppend(b *testing.B) {
	tokentest.Bench(b, false, small(b, spm.Word, false).NewEncoder)
}
