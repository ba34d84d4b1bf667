package bytebpe

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"espalier/tokenize/merge"
	"espalier/tokenize/model"
	"espalier/tokenize/tokentest"
	"espalier/tokenize/vocab"
)

var merges = [][2]string{{"a", "b"}, {"ab", "c"}, {"\u0120", "a"}, {"\u0120a", "b"}, {"b", "c"}, {"c", "c"}, {"\u00c3", "\u00a9"}, {"a", "a"}}

func small(t testing.TB, p Pattern) *Model {
	t.Helper()
	v := slices.Clone(order[:])
	for _, x := range merges {
		v = append(v, x[0]+x[1])
	}
	m, err := New(v, merges, p)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func smallCLIP(t testing.TB) *Model {
	t.Helper()
	m, err := NewCLIP([][2]string{{"a", "b</w>"}, {"a", "b"}, {"ab", "c</w>"}}, CLIP, "<start>", "<end>")
	if err == nil {
		err = m.Name("<start>", "<end>")
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func split(m *Model, text string) []string {
	s := m.splitter()
	limit := 0
	var words []string
	for at := 0; at < len(text); {
		i, j, _ := m.next(&s, text, at, &limit)
		if i == j {
			break
		}
		words = append(words, text[i:j])
		at = j
	}
	return words
}

// TestSplit has what GPT-2's and CLIP's patterns give (regex.findall).
func TestSplit(t *testing.T) {
	gpt2, clip := small(t, GPT2), smallCLIP(t)
	for _, x := range []struct{ text, gpt2, clip string }{
		{"Hello  world", "Hello| | world", "Hello|world"},
		{"it's I'M we'll 'tis", "it|'s| I|'|M| we|'ll| '|tis", "it|'s|I|'M|we|'ll|'t|is"},
		{"a1 22!! \n", "a|1| 22|!!| \n", "a|1|2|2|!!"},
		{" \n\n x", " \n\n| x", "x"},
		{"\t\tx \u00a0y", "\t|\t|x| |\u00a0|y", "x|y"},
		{"日本1", "日本|1", "日本|1"},
		{"x<start>y <END>", "x|<|start|>|y| <|END|>", "x|<start>|y|<END>"},
		{"!<start>", "!<|start|>", "!<|start|>"},
		{"'", "'", "'"},
		{"", "", ""},
	} {
		if got := strings.Join(split(gpt2, x.text), "|"); got != x.gpt2 {
			t.Errorf("%q: %q, want %q", x.text, got, x.gpt2)
		}
		if got := strings.Join(split(clip, x.text), "|"); got != x.clip {
			t.Errorf("CLIP, %q: %q, want %q", x.text, got, x.clip)
		}
	}
}

func names(m *Model, ids []int32) string {
	var s []string
	for _, id := range ids {
		s = append(s, m.Piece(id))
	}
	return strings.Join(s, " ")
}

func TestSmall(t *testing.T) {
	for _, x := range []struct {
		m          *Model
		text, want string
	}{
		{small(t, GPT2), "abc ab  aab", "abc \u0120 ab \u0120 \u0120a ab"},
		{small(t, GPT2), "bcc é\xff", "bc c \u0120 \u00c3\u00a9 \u00ff"},
		{small(t, GPT2), "aaa", "aa a"},
		{smallCLIP(t), "ab abc a <end>b", "ab</w> abc</w> a</w> <end> b</w>"},
		{smallCLIP(t), "<END>", "< E N D ></w>"},
	} {
		e := x.m.NewEncoder()
		for range 2 {
			if got := names(x.m, e.Append(nil, x.text)); got != x.want {
				t.Errorf("%q: %s, want %s", x.text, got, x.want)
			}
		}
	}
}

// slow merges as the definition says.
func slow(m *Model, word string) []int32 {
	var ids []int32
	for k := range len(word) {
		ids = append(ids, m.single[word[k]])
	}
	ids[len(ids)-1] = m.last[word[len(word)-1]]
	for {
		best, at := uint32(merge.None), -1
		for k := 0; k+1 < len(ids); k++ {
			if rank := m.merges.Find(ids[k], ids[k+1]); rank < best {
				best, at = rank, k
			}
		}
		if at < 0 {
			return ids
		}
		ids[at] = m.merges.To(best)
		ids = slices.Delete(ids, at+1, at+2)
	}
}

func TestLongWords(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, m := range []*Model{small(t, GPT2), smallCLIP(t)} {
		e := &encoder{m: m}
		for range 500 {
			b := make([]byte, 1+r.IntN(90))
			for k := range b {
				b[k] = "abc "[r.IntN(4)]
			}
			word := string(b)
			if got, want := e.word(nil, word, 0, len(word)), slow(m, word); !slices.Equal(got, want) {
				t.Fatalf("%q: %v, want %v", word, got, want)
			}
		}
	}
}

func TestDecode(t *testing.T) {
	m := small(t, GPT2)
	for text, want := range map[string]string{
		"abc é": "abc é", "\xe4\xbdx": "\uFFFDx", "\xe4\xbd": "\uFFFD", "\xf0\x9f\x98\xf0": "\uFFFD\uFFFD", "\xe0\x80": "\uFFFD\uFFFD", "\xff\xc3\xa9": "\uFFFDé", "</w>": "</w>",
	} {
		ids := m.NewEncoder().Append(nil, text)
		if got, err := m.Decode(nil, ids); err != nil || string(got) != want {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
	clip := smallCLIP(t)
	ids := clip.NewEncoder().Append(nil, "ab <start> a</w>b")
	if got, err := clip.Decode(nil, ids); err != nil || string(got) != "ab <start>a </ w > b " {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := m.Decode(nil, []int32{-1}); err == nil {
		t.Error("an id out of range is decoded")
	}
}

func TestBadVocabularies(t *testing.T) {
	full := slices.Clone(order[:])
	for _, x := range []struct {
		vocab  []string
		merges [][2]string
		p      Pattern
		want   string
	}{
		{full[1:], nil, GPT2, "no piece \"!\""},
		{full, [][2]string{{"a", "b"}}, GPT2, `merge 1: "a" and "b"`},
		{append(slices.Clone(full), "ab"), [][2]string{{"a", "b"}, {"ab", "日"}}, GPT2, "merge 2"},
		{append(slices.Clone(full), "a"), [][2]string{{"a", ""}}, GPT2, "merge 1: empty piece"},
		{full, nil, CLIP, "at the end of a word"},
		{append(slices.Clone(full), strings.Repeat("a", MaxPiece+1)), nil, GPT2, "4097 bytes"},
	} {
		if _, err := New(x.vocab, x.merges, x.p); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%v, want %q", err, x.want)
		}
	}
}

func TestLongText(t *testing.T) {
	m := small(t, GPT2)
	e := m.NewEncoder()
	text := strings.Repeat("a", 1<<20)
	if ids := e.Append(nil, text); len(ids) != 1<<19 {
		t.Errorf("%d ids", len(ids))
	}
}

func TestNoAllocations(t *testing.T) {
	e := small(t, GPT2).NewEncoder()
	text := strings.Repeat("abc ab it's é 你好 "+strings.Repeat("xyz", 30), 20)
	ids := e.Append(nil, text)
	if n := testing.AllocsPerRun(20, func() { ids = e.Append(ids[:0], text) }); n > 0 {
		t.Errorf("%g allocations", n)
	}
}

func FuzzEncode(f *testing.F) {
	for _, s := range []string{"abc ab", "it's \xff\xe4 é", "<start>a<END>", "  \n\u0345x"} {
		f.Add(s)
	}
	models := []*Model{small(f, GPT2), small(f, GPT2Python), smallCLIP(f)}
	f.Fuzz(func(t *testing.T, text string) {
		for n, m := range models {
			e := m.NewEncoder()
			ids := e.Append(nil, text)
			toks := e.AppendTokens(nil, text)
			if len(ids) != len(toks) {
				t.Fatalf("%q: %v, %v", text, ids, toks)
			}
			at := int32(0)
			for i, k := range toks {
				if k.ID != ids[i] || k.Start < at || k.End <= k.Start || int(k.End) > len(text) {
					t.Fatalf("%q: %v, %+v", text, ids, toks)
				}
				at = k.Start
			}
			var bytes strings.Builder
			for _, id := range ids {
				bytes.WriteString(m.bytes[id])
			}
			if n < 2 && bytes.String() != text {
				t.Fatalf("%q: pieces make %q", text, bytes.String())
			}
			d := m.NewDecoder()
			var got []byte
			for _, id := range ids {
				got, _ = d.Push(got, id)
			}
			if want, err := m.Decode(nil, ids); err != nil || string(d.Flush(got)) != string(want) {
				t.Fatalf("%v: %q, %v", ids, want, err)
			}
		}
	})
}

func load(b *testing.B) (vocabulary []string, list [][2]string) {
	b.Helper()
	v, err := vocab.JSON(string(tokentest.Data(b, "tok-gpt2/encoder.json")))
	if err != nil {
		b.Fatal(err)
	}
	l, err := vocab.Merges(string(tokentest.Data(b, "tok-gpt2/vocab.bpe")))
	if err != nil {
		b.Fatal(err)
	}
	return v, l
}

func BenchmarkGPT2(b *testing.B) {
	v, list := load(b)
	fresh := func() model.Encoder {
		m, err := New(v, list, GPT2)
		if err != nil {
			b.Fatal(err)
		}
		return m.NewEncoder()
	}
	b.Run("warm", func(b *testing.B) { tokentest.Bench(b, false, fresh) })
	b.Run("fresh", func(b *testing.B) { tokentest.Bench(b, true, fresh) })
}

func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		v, list := load(b)
		if _, err := New(v, list, GPT2); err != nil {
			b.Fatal(err)
		}
	}
}
