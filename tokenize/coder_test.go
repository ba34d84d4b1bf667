package tokenize

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"espalier/internal/shared"
	"espalier/tokenize/radix"
	"espalier/tokenize/tokens"
	"espalier/tokenize/word"
)

func published(t testing.TB) *word.Vocab {
	t.Helper()
	f, err := os.Open(shared.Dir(t, "data", "acort-published", "ACORT-base", "tokenizer", "word.vocab"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	v, err := word.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func small(t testing.TB) *word.Vocab {
	t.Helper()
	var c word.Counter
	c.Add("a a a a man man man on on the")
	v, err := c.Vocab(100)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestWordCoder(t *testing.T) {
	c, err := NewWord(small(t), 6)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		text string
		want []int32
		n    Count
		back string
	}{
		{"a man on the", []int32{2, 4, 5, 6, 7, 3}, Count{4, 0, false}, "a man on the"},
		{"a man on the a", []int32{2, 4, 5, 6, 7, 4}, Count{5, 0, true}, "a man on the a"},
		{"", []int32{2, 3}, Count{}, ""},
		{"x y a", []int32{2, 1, 1, 4, 3}, Count{3, 2, false}, "<unk> <unk> a"},
	} {
		got, n := c.Append(nil, x.text)
		if !reflect.DeepEqual(got, x.want) || n != x.n {
			t.Errorf("%q: %v, %+v, want %v, %+v", x.text, got, n, x.want, x.n)
		}
		if back := c.Decode(got[1:]); back != x.back {
			t.Errorf("%q comes back as %q", x.text, back)
		}
	}
	c.MergeUnknown = true
	if got, n := c.Append(nil, "x y a z"); !reflect.DeepEqual(got, []int32{2, 1, 4, 1, 3}) || n.Unknown != 3 {
		t.Errorf("merged: %v, %+v", got, n)
	}
}

func TestRadixCoder(t *testing.T) {
	c, err := NewRadix(small(t), 2, 11) // 5 indices: 3 digits
	if err != nil {
		t.Fatal(err)
	}
	want := tokens.Vocab{Kind: Radix, Size: 5, Pad: 0, BOS: 3, EOS: 4, Unk: -1, Base: 2, Digits: 3, MaxLen: 11}
	if c.Vocab() != want {
		t.Errorf("%+v, want %+v", c.Vocab(), want)
	}
	got, n := c.Append(nil, "the zebra")
	if !reflect.DeepEqual(got, []int32{3, 1, 2, 2, 2, 1, 1, 4}) || n != (Count{2, 1, false}) {
		t.Errorf("%v, %+v", got, n)
	}
	if back := c.Decode(got[1:]); back != "the <unk>" {
		t.Errorf("comes back as %q", back)
	}
}

func TestLoad(t *testing.T) {
	var file bytes.Buffer
	if err := small(t).Write(&file); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{Word, Radix} {
		c, err := NewWord(small(t), 8)
		if kind == Radix {
			c, err = NewRadix(small(t), 3, 8)
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(c.Vocab())
		if err != nil {
			t.Fatal(err)
		}
		again, err := Load(bytes.NewReader(b), bytes.NewReader(file.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		want, _ := c.Append(nil, "a man x")
		if got, _ := again.Append(nil, "a man x"); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", kind, got, want)
		}
	}
	for _, bad := range []string{
		``, `{}`, `{"kind":"word","size":9,"bos":2,"eos":3,"unk":1,"max_len":8}`, `{"kind":"word","size":8,"bos":2,"eos":3,"unk":1,"max_len":1}`,
		`{"kind":"radix","size":6,"bos":4,"eos":5,"unk":-1,"base":3,"digits":1,"max_len":8}`, `{"kind":"radix","size":6,"bos":4,"eos":5,"unk":-1,"base":0,"digits":2,"max_len":8}`,
		`{"kind":"bpe","size":8,"max_len":9}`, `{"kind":"word","size":8,"bos":2,"eos":3,"unk":1,"max_len":8,"more":1}`,
	} {
		if _, err := Load(strings.NewReader(bad), bytes.NewReader(file.Bytes())); err == nil {
			t.Errorf("accepted %s", bad)
		}
	}
}

func lines[T any](t *testing.T, f func(T), elem ...string) {
	t.Helper()
	file, err := os.Open(shared.Dir(t, elem...))
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
		t.Error("no lines")
	}
}

// coder returns a coder of the published vocabulary. The public code's number of
// digits is used where it differs.
func coder(t *testing.T, v *word.Vocab, base, maxLen, digits int) *Coder {
	t.Helper()
	n := len(v.Words()) + 1
	c, err := newRadix(v, radix.Code{Base: base, Digits: digits, N: n}, max(maxLen, 2+digits))
	if err != nil {
		t.Fatal(err)
	}
	c.maxLen = maxLen
	return c
}

func TestGoldenEncode(t *testing.T) {
	v := published(t)
	lines(t, func(g struct {
		V, D, L  int
		Text     string
		IDs      []int32
		EveryUnk []int32 `json:"ids_every_unk"`
		Decoded  string
	},
	) {
		c, err := NewRadix(v, g.V, g.L)
		if err != nil {
			t.Fatal(err)
		}
		c.MergeUnknown, c.PublishedDecoding = true, true
		got, _ := c.Append(nil, g.Text)
		if c.Code().Digits != g.D || !reflect.DeepEqual(got, g.IDs) {
			t.Errorf("v=%d, L=%d, %q: %v, want %v", g.V, g.L, g.Text, got, g.IDs)
		}
		if back := c.Decode(got[1:]); back != g.Decoded {
			t.Errorf("v=%d, %q comes back as %q, want %q", g.V, g.Text, back, g.Decoded)
		}
		c.MergeUnknown = false
		want := g.IDs
		if g.EveryUnk != nil {
			want = g.EveryUnk
		}
		if got, _ := c.Append(nil, g.Text); !reflect.DeepEqual(got, want) {
			t.Errorf("v=%d, L=%d, %q, every unknown: %v, want %v", g.V, g.L, g.Text, got, want)
		}
	}, "goldens", "tokenizers", "acort", "radix_encode.jsonl")
}

func TestGoldenDecode(t *testing.T) {
	v := published(t)
	lines(t, func(g struct {
		V, D    int
		IDs     []int32
		Decoded string
		Strict  string `json:"decoded_strict"`
	},
	) {
		c := coder(t, v, g.V, 26, g.D)
		if got := c.Decode(g.IDs); got != g.Strict {
			t.Errorf("v=%d, strict %v: %q, want %q", g.V, g.IDs, got, g.Strict)
		}
		c.PublishedDecoding = true
		if got := c.Decode(g.IDs); got != g.Decoded {
			t.Errorf("v=%d, published %v: %q, want %q", g.V, g.IDs, got, g.Decoded)
		}
	}, "goldens", "tokenizers", "acort", "radix_decode.jsonl")
}

func TestPaperRadix(t *testing.T) {
	v := published(t)
	n := len(v.Words()) + 1
	kinds := map[string]int{}
	lines(t, func(g struct {
		Kind    string
		Base    int
		Digits  int `json:"tokens_per_word"`
		Rows    int
		Pad     int32
		BOS     int32
		EOS     int32
		Unk     []int32
		Codes   [][2]json.RawMessage
		MaxLen  int `json:"max_seq_length"`
		Text    string
		IDs     []int32
		Decoded string
	},
	) {
		kinds[g.Kind]++
		c := coder(t, v, g.Base, g.MaxLen, radix.PublishedDigitCount(n, g.Base))
		c.MergeUnknown, c.PublishedDecoding = true, true
		switch g.Kind {
		case "table":
			k := c.Code()
			if k.Digits != g.Digits || k.Rows() != g.Rows || g.Pad != radix.Pad || k.BOS() != g.BOS || k.EOS() != g.EOS || !reflect.DeepEqual(k.Append(nil, k.Unknown()), g.Unk) {
				t.Errorf("base %d: %+v", g.Base, k)
			}
			for _, pair := range g.Codes {
				var index int
				var want []int32
				if json.Unmarshal(pair[0], &index) != nil || json.Unmarshal(pair[1], &want) != nil {
					t.Fatal("codes are no pairs")
				}
				if got := k.Append(nil, index); !reflect.DeepEqual(got, want) {
					t.Errorf("base %d: index %d is %v, want %v", g.Base, index, got, want)
				}
			}
		case "encode":
			got, _ := c.Append(nil, g.Text)
			if !reflect.DeepEqual(got, g.IDs) {
				t.Errorf("base %d, L=%d, %q: %v, want %v", g.Base, g.MaxLen, g.Text, got, g.IDs)
			}
			if back := c.Decode(got[1:]); back != g.Decoded {
				t.Errorf("base %d, %q comes back as %q, want %q", g.Base, g.Text, back, g.Decoded)
			}
		case "decode":
			if got := c.Decode(g.IDs); got != g.Decoded {
				t.Errorf("base %d, %v: %q, want %q", g.Base, g.IDs, got, g.Decoded)
			}
		default:
			t.Errorf("kind %s", g.Kind)
		}
	}, "goldens", "papers", "acort", "radix.jsonl")
	if len(kinds) != 3 {
		t.Errorf("kinds %v", kinds)
	}
}
