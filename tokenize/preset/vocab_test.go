package preset

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"espalier/tokenize/bytebpe"
	"espalier/tokenize/tokentest"
	"espalier/tokenize/vocab"
	"espalier/tokenize/wordpiece"
)

func bertClass(t testing.TB, file string, o wordpiece.Options) *Class {
	t.Helper()
	v, err := wordpiece.ReadVocab(bytes.NewReader(tokentest.Data(t, "tok-bert-vocab/"+file)))
	if err != nil {
		t.Fatal(err)
	}
	m, err := wordpiece.New(v, o)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Bert(m)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var bertFiles = map[string]string{"bert_uncased": "google_uncased_en_vocab.txt", "bert_cased": "google_cased_en_vocab.txt", "bert_zh": "google_zh_vocab.txt"}

func TestBert(t *testing.T) {
	for name, file := range bertFiles {
		o := wordpiece.Options{Lower: name != "bert_cased"}
		check(t, bertClass(t, file, o), name+".jsonl", "", "")
		o.Slow = true
		check(t, bertClass(t, file, o), name+".jsonl", "slow", "")
	}
}

func TestBertOptions(t *testing.T) {
	yes, no := true, false
	texts := tokentest.Inputs(t)
	for name, o := range map[string]wordpiece.Options{
		"uncased_keepaccents": {Lower: true, StripAccents: &no}, "uncased_stripcase": {StripAccents: &yes},
		"uncased_nolower": {}, "uncased_nocjk": {Lower: true, NoIdeographs: true},
	} {
		fast := bertClass(t, bertFiles["bert_uncased"], o)
		o.Slow = true
		slow := bertClass(t, bertFiles["bert_uncased"], o)
		tokentest.Golden(t, "bert_options.jsonl", func(r map[string]json.RawMessage) {
			var id string
			var want, wantSlow []int32
			if json.Unmarshal(r["case"], &id) != nil || json.Unmarshal(r[name], &want) != nil {
				t.Fatal("bad line")
			}
			if s := r[name+"_slow"]; s == nil {
				wantSlow = want
			} else if json.Unmarshal(s, &wantSlow) != nil {
				t.Fatal("bad line")
			}
			if got := fast.NewEncoder().Append(nil, texts[id]); !slices.Equal(got, want) {
				t.Errorf("%s, %s: %v, want %v", name, id, got, want)
			}
			if got := slow.NewEncoder().Append(nil, texts[id]); !slices.Equal(got, wantSlow) {
				t.Errorf("%s slow, %s: %v, want %v", name, id, got, wantSlow)
			}
		})
	}
}

func gpt2Model(t testing.TB, p bytebpe.Pattern) *bytebpe.Model {
	t.Helper()
	v, err := vocab.JSON(string(tokentest.Data(t, "tok-gpt2/encoder.json")))
	if err != nil {
		t.Fatal(err)
	}
	merges, err := vocab.Merges(string(tokentest.Data(t, "tok-gpt2/vocab.bpe")))
	if err != nil {
		t.Fatal(err)
	}
	m, err := bytebpe.New(v, merges, p)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestGPT2(t *testing.T) {
	for _, x := range []struct {
		variant, on string
		pattern     bytebpe.Pattern
		o           ByteOptions
	}{
		{"", "", bytebpe.GPT2, ByteOptions{}},
		{"slow", "", bytebpe.GPT2Python, ByteOptions{Gentle: true}},
		{"prefix", "", bytebpe.GPT2, ByteOptions{Prefix: PrefixParts}},
		{"prefix_slow", "prefix", bytebpe.GPT2Python, ByteOptions{Prefix: PrefixAlways, Gentle: true}},
	} {
		c, err := GPT2(gpt2Model(t, x.pattern), x.o)
		if err != nil {
			t.Fatal(err)
		}
		check(t, c, "gpt2.jsonl", x.variant, x.on)
	}
}

func robertaModel(t testing.TB, p bytebpe.Pattern) *bytebpe.Model {
	t.Helper()
	f, err := vocab.Parse(string(tokentest.Data(t, "tok-roberta/roberta.json")))
	if err != nil {
		t.Fatal(err)
	}
	m, err := bytebpe.New(f.Vocab, f.Merges, p)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestRoberta(t *testing.T) {
	for _, x := range []struct {
		variant, on string
		pattern     bytebpe.Pattern
		o           ByteOptions
	}{
		{"", "", bytebpe.GPT2, ByteOptions{}},
		{"slow", "", bytebpe.GPT2Python, ByteOptions{Gentle: true}},
		{"v5", "", bytebpe.GPT2, ByteOptions{V5: true}},
		{"json", "", bytebpe.GPT2, ByteOptions{}},
		{"prefix", "", bytebpe.GPT2, ByteOptions{Prefix: PrefixParts}},
		{"prefix_slow", "prefix", bytebpe.GPT2Python, ByteOptions{Prefix: PrefixText, Gentle: true}},
	} {
		c, err := Roberta(robertaModel(t, x.pattern), x.o)
		if err != nil {
			t.Fatal(err)
		}
		check(t, c, "roberta.jsonl", x.variant, x.on)
	}
}
