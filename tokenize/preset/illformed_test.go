package preset

import (
	"slices"
	"testing"

	"espalier/tokenize/bytebpe"
	"espalier/tokenize/wordpiece"
)

// TestIllFormed: bytes that begin no well-formed sequence are U+FFFD each to all
// classes but those of bytes, which encode them as they are. To the slow T5 they
// are unknown, while U+FFFD itself is a blank, as in SentencePiece.
func TestIllFormed(t *testing.T) {
	const ill, well = "a\xff b\xe4\xbd \xed\xa0\x80c\xf0\x9f\x98", "a\ufffd b\ufffd\ufffd \ufffd\ufffd\ufffdc\ufffd\ufffd\ufffd"
	for name, c := range map[string]*Class{
		"t5 fast": t5Class(t, Options{Kind: Fast}), "t5 v5": t5Class(t, Options{Kind: V5}),
		"llama": llamaClass(t, Options{}), "llama fast": llamaClass(t, Options{Kind: Fast}),
		"bert": bertClass(t, bertFiles["bert_uncased"], wordpiece.Options{Lower: true}), "bert slow": bertClass(t, bertFiles["bert_cased"], wordpiece.Options{Slow: true}),
		"clip": clipClass(t, CLIPOptions{}), "clip fast": clipClass(t, CLIPOptions{Style: CLIPFast}),
	} {
		e := c.NewEncoder()
		if got, want := e.Append(nil, ill), e.Append(nil, well); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
		at := int32(0)
		for _, x := range e.AppendTokens(nil, ill) {
			if x.Start < 0 || x.End < x.Start || int(x.End) > len(ill) {
				t.Errorf("%s: token %+v behind %d", name, x, at)
			}
			at = x.End
		}
	}
	if got, want := t5Class(t, Options{}).NewEncoder().Append(nil, ill), []int32{3, 9, 2, 3, 115, 2, 3, 2, 75, 2, 1}; !slices.Equal(got, want) {
		t.Errorf("t5: %v, want %v", got, want)
	}
	gpt2, err := GPT2(gpt2Model(t, bytebpe.GPT2), ByteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var bytes []byte
	for _, x := range gpt2.NewEncoder().AppendTokens(nil, ill) {
		bytes = append(bytes, ill[x.Start:x.End]...)
	}
	if string(bytes) != ill {
		t.Errorf("gpt2: the tokens cover %q, not %q", bytes, ill)
	}
}
