package unigram

import (
	"slices"
	"strings"
	"testing"

	"espalier/tokenize/spm"
	"espalier/tokenize/tokentest"
)

func small(t testing.TB) *Model {
	t.Helper()
	s, err := spm.Parse(tokentest.Small().Bytes())
	if err != nil {
		t.Fatal(err)
	}
	m, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestSmall has what SentencePiece 0.2.1 gives with the hand-made model.
func TestSmall(t *testing.T) {
	m := small(t)
	e := m.NewEncoder()
	for _, x := range []struct {
		text    string
		ids     []int32
		pieces  string
		decoded string
	}{
		{"ab", []int32{3, 6}, "▁ ab", "ab"},
		{" a  b\t[X]a", []int32{7, 3, 5, 3, 10, 4}, "▁a ▁ b ▁ [X] a", "a b [X]a"},
		{"Ａb\u200b\u3000é e\u0301", []int32{3, 6, 3, 9, 3, 9}, "▁ ab ▁ é ▁ é", "ab é é"},
		{"xyz a", []int32{3, 2, 7}, "▁ xyz ▁a", " \u2047  a"},
		{"abab[X]bb", []int32{3, 6, 6, 10, 5, 5}, "▁ ab ab [X] b b", "abab[X]bb"},
		{"", nil, "", ""},
		{"  ", nil, "", ""},
		{"▁a", []int32{3, 7}, "▁ ▁a", "a"},
		{"aba aba", []int32{3, 6, 4, 3, 6, 4}, "▁ ab a ▁ ab a", "aba aba"},
	} {
		for range 2 { // the second time from memory
			ids := e.Append(nil, x.text)
			if !slices.Equal(ids, x.ids) {
				t.Errorf("%q: %v, want %v", x.text, ids, x.ids)
			}
		}
		var pieces []string
		for _, k := range e.AppendTokens(nil, x.text) {
			pieces = append(pieces, k.Piece)
		}
		if got := strings.Join(pieces, " "); got != x.pieces {
			t.Errorf("%q: %q, want %q", x.text, got, x.pieces)
		}
		if got, err := m.Decode(nil, x.ids); err != nil || string(got) != x.decoded {
			t.Errorf("%v: %q, %v, want %q", x.ids, got, err, x.decoded)
		}
	}
	toks := e.AppendTokens(nil, "é\uff21 \tx")
	want := [][2]int32{{0, 0}, {0, 2}, {2, 5}, {5, 7}, {7, 8}}
	for i, k := range toks {
		if i >= len(want) || [2]int32{k.Start, k.End} != want[i] {
			t.Errorf("spans %+v, want %v", toks, want)
			break
		}
	}
}

func TestIDRange(t *testing.T) {
	m := small(t)
	for _, id := range []int32{-1, int32(m.Size())} {
		if _, err := m.Decode(nil, []int32{3, id}); err == nil {
			t.Errorf("id %d is decoded", id)
		}
		if p := m.Piece(id); p != "" {
			t.Errorf("id %d is %q", id, p)
		}
	}
	if id, ok := m.ID("ab"); !ok || id != 6 {
		t.Errorf("ab is %d, %v", id, ok)
	}
}

// FuzzEncode holds the ways to encode a text against each other: a word at a
// time, the whole text, with tokens.
func FuzzEncode(f *testing.F) {
	m := small(f)
	for _, s := range []string{"ab aba", " \xff\xe4a [X]", "aaaaaaaaaa bbbbbbbbbb", "▁ ▁a▁", "e\u0301\u200b \u3000Ａ"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e := m.NewEncoder().(*Encoder)
		ids := e.Append(nil, text)
		toks := e.AppendTokens(nil, text)
		e.buf = e.norm.Append(e.buf[:0], text)
		e.search(str(e.buf), 0)
		if plain := e.collect(nil, str(e.buf)); !slices.Equal(ids, plain) || len(toks) != len(ids) {
			t.Fatalf("%q: %v, whole %v, tokens %v", text, ids, plain, toks)
		}
		at := int32(0)
		for i, k := range toks {
			if k.ID != ids[i] || k.Start < at || k.End < k.Start || int(k.End) > len(text) {
				t.Fatalf("%q: %+v", text, toks)
			}
			at = k.Start
		}
		want, err := m.Decode(nil, ids)
		if err != nil {
			t.Fatal(err)
		}
		d := m.NewDecoder()
		var got []byte
		for _, id := range ids {
			if got, err = d.Push(got, id); err != nil {
				t.Fatal(err)
			}
		}
		if got = d.Flush(got); string(got) != string(want) {
			t.Fatalf("%v: %q by id, %q", ids, got, want)
		}
	})
}
