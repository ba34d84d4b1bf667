package preset

import (
	"strings"
	"testing"
	"time"

	"espalier/tokenize/bytebpe"
	"espalier/tokenize/tokentest"
	"espalier/tokenize/wordpiece"
)

// TestLongLines encodes lines without an end in sight, and lines eight times as
// long, which must not take much more than eight times the processor time: a
// step that looks at all of the line for each of its parts would take 64 times.
func TestLongLines(t *testing.T) {
	if testing.Short() {
		t.Skip("encodes long lines")
	}
	class := func(c *Class, err error) *Class {
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	classes := map[string]*Class{
		"t5":           t5Class(t, Options{}),
		"t5 fast":      t5Class(t, Options{Kind: Fast}),
		"t5 v5":        t5Class(t, Options{Kind: V5, NoLegacy: true}),
		"llama":        llamaClass(t, Options{NoLegacy: true}),
		"llama fast":   llamaClass(t, Options{Kind: Fast}),
		"bert":         bertClass(t, bertFiles["bert_uncased"], wordpiece.Options{Lower: true}),
		"bert slow":    bertClass(t, bertFiles["bert_cased"], wordpiece.Options{Slow: true}),
		"gpt2":         class(GPT2(gpt2Model(t, bytebpe.GPT2), ByteOptions{})),
		"roberta slow": class(Roberta(robertaModel(t, bytebpe.GPT2Python), ByteOptions{Gentle: true, Prefix: PrefixText})),
		"clip":         clipClass(t, CLIPOptions{}),
		"clip slow":    clipClass(t, CLIPOptions{Style: CLIPSlow}),
		"clip fast":    clipClass(t, CLIPOptions{Style: CLIPFast}),
	}
	lines := map[string]string{
		"words":      "A man, 27, riding a wave on top of a surfboard. ",
		"no blanks":  "Amanridingawaveontopofasurfboard",
		"one letter": "a",
		"blanks":     " ",
		"marks":      "e\u0301\u0300\u0323",
		"joined":     "\u0915\u094d\u200d",
		"ideographs": "一个男人在冲浪",
		"mojibake":   "Ã¤â€™ schÃ¶n ",
		"entities":   "&amp;&lt;",
		"specials":   "<extra_id_0></s><|endoftext|>[MASK]<mask>",
		"brackets":   "<[<[",
		"ill-formed": "\xf0\x9f\x98\xff",
	}
	const short, times = 1 << 13, 8
	for kind, part := range lines {
		text := strings.Repeat(part, 1+short*times/len(part))
		for name, c := range classes {
			e := c.NewEncoder()
			check := func(what string, f func(text string)) {
				cost := func(n int) time.Duration {
					best := time.Hour
					for range 2 {
						begin := tokentest.CPUTime()
						f(text[:n])
						best = min(best, tokentest.CPUTime()-begin)
					}
					return best
				}
				// what is shorter than a tick of the clock says nothing
				if small, large := cost(short), cost(short*times); large > 3*times*max(small, 2*time.Millisecond) {
					t.Errorf("%s, %s of %s: %v for %d bytes, %v for %d", name, what, kind, small, short, large, short*times)
				}
			}
			var ids []int32
			check("ids", func(text string) { ids = e.Append(ids[:0], text) })
			check("tokens", func(text string) { e.AppendTokens(nil, text) })
			check("text", func(text string) {
				if _, err := c.DecodeWith(nil, ids[:len(ids)*len(text)/(short*times)], false, true); err != nil {
					t.Error(err)
				}
			})
		}
	}
}
