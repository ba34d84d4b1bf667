package unigram

import (
	"encoding/hex"
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"espalier/tokenize/model"
	"espalier/tokenize/spm"
	"espalier/tokenize/tokentest"
)

// names are the goldens' unigram models.
var names = []string{"t5", "zh", "albert", "en1000", "ja8000", "seqio26"}

func load(t testing.TB, name string) *Model {
	t.Helper()
	s, err := spm.Parse(tokentest.Data(t, tokentest.SentencePiece[name]))
	if err != nil {
		t.Fatal(err)
	}
	m, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// both returns models of the older and the newer rule for ties.
func both(t testing.TB, name string) [2]*Model {
	m := [2]*Model{load(t, name), load(t, name)}
	m[1].Float32 = true
	return m
}

// fields of a golden that two versions may give differently.
type fields struct {
	IDs    []int32
	Pieces []string
	Spans  [][2]int32
}

func TestGolden(t *testing.T) {
	texts := tokentest.Inputs(t)
	for _, name := range []string{"t5", "zh"} {
		m := both(t, name)
		e := [2]model.Encoder{m[0].NewEncoder(), m[1].NewEncoder()}
		tokentest.Golden(t, "sp_"+name+".jsonl", func(r struct {
			Case string
			fields
			Decoded string
			Since   *fields `json:"since_0.2.2"`
		},
		) {
			for k := range m {
				want := r.fields
				if k == 1 && r.Since != nil {
					want = *r.Since
					if want.Pieces == nil {
						want.Pieces = r.Pieces
					}
					if want.Spans == nil {
						want.Spans = r.Spans
					}
				}
				ids := e[k].Append(nil, texts[r.Case])
				if !slices.Equal(ids, want.IDs) {
					t.Errorf("%s, %s, rule %d: %v, want %v", name, r.Case, k, ids, want.IDs)
				}
				var got fields
				for _, x := range e[k].AppendTokens(nil, texts[r.Case]) {
					got.IDs = append(got.IDs, x.ID)
					got.Pieces = append(got.Pieces, x.Piece)
					got.Spans = append(got.Spans, [2]int32{x.Start, x.End})
				}
				if !slices.Equal(got.IDs, want.IDs) || !slices.Equal(got.Pieces, want.Pieces) || !slices.Equal(got.Spans, want.Spans) {
					t.Errorf("%s, %s, rule %d: tokens %v, want %v", name, r.Case, k, got, want)
				}
				if back, err := m[k].Decode(nil, ids); k == 0 && (err != nil || string(back) != r.Decoded) {
					t.Errorf("%s, %s: decoded %q, %v, want %q", name, r.Case, back, err, r.Decoded)
				}
			}
		})
	}
}

func TestGoldenMore(t *testing.T) {
	texts := tokentest.Inputs(t)
	e := map[string][2]model.Encoder{}
	for _, name := range names[2:] {
		m := both(t, name)
		e[name] = [2]model.Encoder{m[0].NewEncoder(), m[1].NewEncoder()}
	}
	tokentest.Golden(t, "sp_more.jsonl", func(r map[string]json.RawMessage) {
		var since map[string][]int32
		var id string
		if json.Unmarshal(r["case"], &id) != nil || r["since_0.2.2"] != nil && json.Unmarshal(r["since_0.2.2"], &since) != nil {
			t.Fatal("bad line")
		}
		for _, name := range names[2:] {
			var want []int32
			if err := json.Unmarshal(r[name], &want); err != nil {
				t.Fatal(err)
			}
			for k := range 2 {
				if s, ok := since[name]; ok && k == 1 {
					want = s
				}
				if got := e[name][k].Append(nil, texts[id]); !slices.Equal(got, want) {
					t.Errorf("%s, %s, rule %d: %v, want %v", name, id, k, got, want)
				}
			}
		}
	})
}

func TestGoldenBytes(t *testing.T) {
	e := map[string]model.Encoder{}
	for _, name := range names {
		e[name] = load(t, name).NewEncoder()
	}
	tokentest.Golden(t, "sp_bytes.jsonl", func(r map[string]any) {
		b, err := hex.DecodeString(r["hex"].(string))
		if err != nil {
			t.Fatal(err)
		}
		for name := range e {
			var want []int32
			for _, id := range r[name].([]any) {
				want = append(want, int32(id.(float64)))
			}
			if got := e[name].Append(nil, string(b)); !slices.Equal(got, want) {
				t.Errorf("%s, %x: %v, want %v", name, b, got, want)
			}
		}
	})
}

// TestByWord holds the search by remembered words against the search of the
// whole text, on text made to hold near ties behind long beginnings.
func TestByWord(t *testing.T) {
	var corpus []string
	for _, text := range tokentest.Inputs(t) {
		corpus = append(corpus, strings.Fields(text)...)
	}
	slices.Sort(corpus)
	r := rand.New(rand.NewPCG(3, 4))
	for _, name := range names {
		for k, m := range both(t, name) {
			if m.words == nil {
				t.Errorf("%s: not by word", name)
				continue
			}
			e := m.NewEncoder().(*Encoder)
			for range 300 {
				var b strings.Builder
				for range r.IntN(400) {
					switch r.IntN(12) {
					case 0:
						b.WriteString(strings.Repeat(string(rune('a'+r.IntN(26))), r.IntN(9)))
					case 1:
						for range r.IntN(5) {
							b.WriteString(string(rune('0' + r.IntN(10))))
							b.WriteString(strings.Repeat(string("0,.-#"[r.IntN(5)]), r.IntN(4)))
						}
					default:
						b.WriteString(corpus[r.IntN(len(corpus))])
					}
					b.WriteString(" "[:min(1, r.IntN(8))])
				}
				text := b.String()
				got := e.Append(nil, text)
				e.buf = e.norm.Append(e.buf[:0], text)
				e.search(str(e.buf), 0)
				if want := e.collect(nil, str(e.buf)); !slices.Equal(got, want) {
					t.Fatalf("%s, rule %d: %q:\n%v, want\n%v", name, k, text, got, want)
				}
			}
		}
	}
}

func TestNoAllocations(t *testing.T) {
	e := load(t, "t5").NewEncoder()
	text := strings.Repeat("A man riding a wave on top of a surfboard. 1,000,000.50 naïve 你好 ", 20)
	ids := e.Append(nil, text)
	if n := testing.AllocsPerRun(20, func() { ids = e.Append(ids[:0], text) }); n > 0 {
		t.Errorf("%g allocations", n)
	}
}

func TestGoldenBest(t *testing.T) {
	loaded := map[string]*Model{}
	tokentest.Golden(t, "sp_nbest.jsonl", func(r struct {
		Model, Text string
		NBest       []struct {
			Score float64
			IDs   []int32
		}
	},
	) {
		if loaded[r.Model] == nil {
			loaded[r.Model] = load(t, r.Model)
		}
		got := loaded[r.Model].Best(r.Text, 8)
		if len(got) != len(r.NBest) {
			t.Fatalf("%s, %q: %d ways, want %d", r.Model, r.Text, len(got), len(r.NBest))
		}
		for k, want := range r.NBest {
			if !slices.Equal(got[k].IDs, want.IDs) || math.Abs(float64(got[k].Score)-want.Score) > 1e-4 {
				t.Errorf("%s, %q, %d: %v %g, want %v %g", r.Model, r.Text, k, got[k].IDs, got[k].Score, want.IDs, want.Score)
			}
		}
	})
}

// The marks of plain text are those that mark puts.
func TestMarkPlain(t *testing.T) {
	m := load(t, "t5")
	c, err := m.Convert(nil)
	if err != nil {
		t.Fatal(err)
	}
	e := c.NewEncoder()
	for _, text := range []string{"", " ", "  ", "a", " a", "a ", "a b", "a  b", "  a   b  ", "a, b.", "&a<b>"} {
		for k := range 8 {
			c.SplitWhite, c.First = k&1 != 0, k&2 != 0
			e.mark(text, k&4 != 0)
			want := string(e.marked)
			if e.markPlain(text, k&4 != 0); string(e.marked) != want {
				t.Errorf("%q, %d: %q, want %q", text, k, e.marked, want)
			}
		}
	}
	if !m.Norm.Plain("a b~!") || m.Norm.Plain("a\tb") || m.Norm.Plain("é") || m.Norm.Plain("\x7f") {
		t.Error("what is plain")
	}
}
