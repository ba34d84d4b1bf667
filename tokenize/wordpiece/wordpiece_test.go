package wordpiece

import (
	"slices"
	"strings"
	"testing"
)

var pieces = strings.Fields("[PAD] [UNK] [CLS] [SEP] [MASK] a b ##b ##c ab ##bc e ##e é 你 好 ! ' i ##̇")

func small(t testing.TB, o Options) *Model {
	t.Helper()
	m, err := New(pieces, o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func names(m *Model, ids []int32) string {
	var s []string
	for _, id := range ids {
		s = append(s, m.Piece(id))
	}
	return strings.Join(s, " ")
}

// TestSmall has what BertTokenizerFast (transformers 4.57.3) and, behind the bar,
// BertTokenizer give with the vocabulary above.
func TestSmall(t *testing.T) {
	no := false
	for _, x := range []struct {
		o          Options
		text, want string
	}{
		{Options{Lower: true}, "ABC abb!", "ab ##c ab ##b !"},
		{Options{Lower: true}, "é e\u0301 É", "e e e"},
		{Options{Lower: true, StripAccents: &no}, "é e\u0301 É", "é [UNK] é"},
		{Options{Lower: true, StripAccents: &no, Slow: true}, "é e\u0301 É", "é é é"},
		{Options{}, "aB é", "[UNK] é"},
		{Options{Lower: true}, "a你b好", "a 你 b 好"},
		{Options{Lower: true, NoIdeographs: true}, "a你b 好", "[UNK] 好"},
		{Options{Lower: true}, "a\u200bb\x00\ufffdb \u3000\u2028b\xff", "ab ##b b"},
		{Options{Lower: true}, "ax " + strings.Repeat("b", 100) + " " + strings.Repeat("b", 101), "[UNK] b" + strings.Repeat(" ##b", 99) + " [UNK]"},
		{Options{Lower: true}, "\U0001fabf", "[UNK]"},
		{Options{Lower: true, Slow: true}, "\U0001fabf", ""},
		{Options{Lower: true}, "İ", "i"},
		{Options{Lower: true, StripAccents: &no}, "İ", "i ##̇"},
		{Options{Lower: true}, "", ""},
	} {
		m := small(t, x.o)
		e := m.NewEncoder()
		for range 2 { // the second time from memory
			if got := names(m, e.Append(nil, x.text)); got != x.want {
				t.Errorf("%+v, %q: %s, want %s", x.o, x.text, got, x.want)
			}
		}
	}
}

func TestTokens(t *testing.T) {
	m := small(t, Options{Lower: true})
	text := "e\u0301 ab你!bc"
	var got []string
	for _, k := range m.NewEncoder().AppendTokens(nil, text) {
		got = append(got, text[k.Start:k.End]+"="+k.Piece)
	}
	if want := []string{"e=e", "ab=ab", "你=你", "!=!", "b=b", "c=##c"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestDecode(t *testing.T) {
	m := small(t, Options{Lower: true})
	ids := m.NewEncoder().Append(nil, "abc ! a'b")
	got, err := m.Decode(nil, ids)
	if err != nil || string(got) != "abc! a ' b" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := m.Decode(nil, []int32{0, int32(m.Size())}); err == nil {
		t.Error("an id out of range is decoded")
	}
}

func TestReadVocab(t *testing.T) {
	v, err := ReadVocab(strings.NewReader("a\r\n\nb\u2028c\nd"))
	if want := []string{"a", "", "b\u2028c", "d"}; err != nil || !slices.Equal(v, want) {
		t.Errorf("%q, %v, want %q", v, err, want)
	}
	if _, err := ReadVocab(strings.NewReader("a\n" + strings.Repeat("x", 3*MaxPiece))); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("a long line: %v", err)
	}
	for _, bad := range [][]string{nil, {"a"}, {"[UNK]", "\xff"}} {
		if _, err := New(bad, Options{}); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
	// of equal pieces the last one's id, empty ones never
	m, err := New([]string{"[UNK]", "a", "", "a", "", "##"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := m.NewEncoder().Append(nil, "a aa ##"); !slices.Equal(got, []int32{3, 0, 0, 0}) {
		t.Errorf("%v", got)
	}
}

func TestLongText(t *testing.T) {
	m := small(t, Options{Lower: true})
	e := m.NewEncoder()
	for _, text := range []string{strings.Repeat("a", 1<<20), strings.Repeat("ab!", 1<<19), strings.Repeat("\u0301", 1<<19), strings.Repeat("你", 1<<19)} {
		ids := e.Append(nil, text)
		if toks := e.AppendTokens(nil, text); len(toks) != len(ids) {
			t.Errorf("%.8q...: %d ids, %d tokens", text, len(ids), len(toks))
		}
	}
}

func TestNoAllocations(t *testing.T) {
	e := small(t, Options{Lower: true}).NewEncoder()
	text := strings.Repeat("ABC abb! é 你好 xyz ", 20)
	ids := e.Append(nil, text)
	if n := testing.AllocsPerRun(20, func() { ids = e.Append(ids[:0], text) }); n > 0 {
		t.Errorf("%g allocations", n)
	}
}

func FuzzEncode(f *testing.F) {
	for _, s := range []string{"ABC abb!", "é e\u0301\u200b你", "\xff\x00 İ"} {
		f.Add(s)
	}
	models := []*Model{small(f, Options{Lower: true}), small(f, Options{}), small(f, Options{Lower: true, Slow: true}), small(f, Options{Slow: true})}
	f.Fuzz(func(t *testing.T, text string) {
		for _, m := range models {
			e := m.NewEncoder()
			ids := e.Append(nil, text)
			toks := e.AppendTokens(nil, text)
			if len(ids) != len(toks) {
				t.Fatalf("%q: %v, %v", text, ids, toks)
			}
			at := int32(0)
			for i, k := range toks {
				if k.ID != ids[i] || k.Start < at || k.End < k.Start || int(k.End) > len(text) {
					t.Fatalf("%q: %v, %+v", text, ids, toks)
				}
				at = k.Start
			}
			if _, err := m.Decode(nil, ids); err != nil {
				t.Fatal(err)
			}
		}
	})
}
