package family

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"espalier/internal/shared"
	"espalier/tokenize/tokentest"
)

const wordVocab = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##b\n"

// write makes files in a new folder.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func packed(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestRead(t *testing.T) {
	unigram, bpe := string(tokentest.Small().Bytes()), string(tokentest.SmallBPE().Bytes())
	dir := write(t, map[string]string{
		"u.model": unigram, "b.model": bpe, "packed": packed(t, unigram), "v.txt": wordVocab, "clip.gz": packed(t, "\"x#version: 0.2\ni n\n"),
		"w.json": `{"model": {"type": "WordPiece", "vocab": {"[UNK]": 0}}, "normalizer": {"type": "BertNormalizer", "lowercase": true}}`,
	})
	for name, want := range map[string]string{"u.model": Unigram, "b.model": BPE, "packed": Unigram, "v.txt": WordPiece, "clip.gz": CLIP, "w.json": WordPiece} {
		s, err := Read(filepath.Join(dir, name), "")
		if err != nil || s.Type != want || len(s.Digest) != 64 || !slices.Equal(s.Files, []string{name}) {
			t.Errorf("%s: %+v, %v, want %s", name, s, err, want)
		}
	}
	if _, err := Read(filepath.Join(dir, "u.model"), BPE); err == nil || !strings.Contains(err.Error(), "of type unigram, not bpe") {
		t.Errorf("another type: %v", err)
	}
	path := filepath.Join(write(t, map[string]string{"u.json": `{"model": {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["a", -1.0]]}}`}), "u.json")
	if s, err := Read(path, JSON); err != nil || s.Natural() != "json" {
		t.Errorf("a unigram model's tokenizer.json: %v", err)
	} else if m, err := s.Model(nil); err != nil || !slices.Equal(m.NewEncoder().Append(nil, "aba"), []int32{1, 0, 1}) {
		t.Errorf("a unigram model's tokenizer.json: %v", err)
	} else if c, err := s.Card(); err != nil || c.Model != "Unigram" || c.Size != 2 {
		t.Errorf("%+v, %v", c, err)
	}
	for name, text := range map[string]string{
		"empty": "", "cut": unigram[:40], "cut.gz": packed(t, wordVocab)[:20], "cut.json": `{"model": `, "other.json": `{"model": {"type": "Unigram"}}`,
	} {
		path := filepath.Join(write(t, map[string]string{name: text}), name)
		if _, err := Read(path, ""); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWordAndChar(t *testing.T) {
	small := tokentest.Small()
	small.Type = 3
	word := small.Bytes()
	small.Type = 4
	dir := write(t, map[string]string{"w": string(word), "c": string(small.Bytes())})
	for name, want := range map[string][]int32{Word: {7, 2}, Char: {3, 4, 3, 4, 5}} {
		s, err := Read(filepath.Join(dir, name[len("sp-"):len("sp-")+1]), name)
		if err != nil {
			t.Fatal(err)
		}
		m, err := s.Model(nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.NewEncoder().Append(nil, "a ab"); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
		if _, err := s.As(s.Natural(), nil); err == nil || !strings.Contains(err.Error(), "no class") {
			t.Errorf("%s has a class: %v", name, err)
		}
		if c, err := s.Card(); err != nil || c.Type != name || c.Natural != "" {
			t.Errorf("card %+v, %v", c, err)
		}
	}
	small.Type = 5
	if _, err := Read(filepath.Join(write(t, map[string]string{"x": string(small.Bytes())}), "x"), ""); err == nil || !strings.Contains(err.Error(), "model type 5, want 1") {
		t.Errorf("type 5: %v", err)
	}
}

func TestFolders(t *testing.T) {
	if _, err := Read(write(t, nil), ""); !errors.Is(err, ErrUnknown) {
		t.Errorf("an empty folder: %v", err)
	}
	if s, err := Read(write(t, map[string]string{"vocab.txt": wordVocab, "other": "x"}), ""); err != nil || s.Type != WordPiece {
		t.Errorf("vocab.txt: %v", err)
	}
	files := map[string]string{"vocab.json": `{"a": 0, "b": 1, "ab": 2}`, "merges.txt": "a b\n"}
	for _, path := range []string{"", "vocab.json", "merges.txt"} {
		s, err := Read(filepath.Join(write(t, files), path), "")
		if err != nil || s.Type != ByteBPE || !slices.Equal(s.Files, []string{"vocab.json", "merges.txt"}) {
			t.Errorf("%q: %+v, %v", path, s, err)
		}
	}
}

func TestAs(t *testing.T) {
	dir := write(t, map[string]string{"u": string(tokentest.Small().Bytes()), "b": string(tokentest.SmallBPE().Bytes()), "v": wordVocab})
	open := func(name string) *Source {
		s, err := Read(filepath.Join(dir, name), "")
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for _, x := range []struct {
		file, as string
		variants []string
		want     []int32
	}{
		{"u", "t5", nil, []int32{7, 3, 5, 1}},
		{"u", "t5", []string{"fast"}, []int32{7, 3, 5, 1}},
		{"b", "llama", nil, []int32{1, 259, 266, 268}},
		{"b", "llama", []string{"v5", "legacy"}, []int32{1, 259, 266, 268}},
		{"v", "bert-uncased", nil, []int32{2, 5, 1, 3}},
		{"v", "bert-cased", []string{"slow"}, []int32{2, 5, 1, 3}},
	} {
		c, err := open(x.file).As(x.as, x.variants)
		if err != nil {
			t.Errorf("%s as %s: %v", x.file, x.as, err)
			continue
		}
		if got := c.NewEncoder().Append(nil, "a b"); !slices.Equal(got, x.want) {
			t.Errorf("%s as %s %v: %v, want %v", x.file, x.as, x.variants, got, x.want)
		}
	}
	for as, want := range map[string]string{"t5": "type wordpiece cannot be t5", "bert": `class "bert"`} {
		if _, err := open("v").As(as, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", as, err)
		}
	}
	if _, err := open("u").As("t5", []string{"prefix"}); err == nil || !strings.Contains(err.Error(), "t5 has since-0.2.2") {
		t.Errorf("a wrong variant: %v", err)
	}
	if _, err := open("u").Model([]string{"fast"}); err == nil {
		t.Error("SentencePiece itself has no fast variant")
	}
}

func TestCard(t *testing.T) {
	dir := write(t, map[string]string{"u": string(tokentest.Small().Bytes())})
	s, err := Read(filepath.Join(dir, "u"), "")
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Card()
	want := []Special{{0, "<pad>", "control"}, {1, "</s>", "control"}, {2, "<unk>", "unknown"}, {10, "[X]", "user-defined"}}
	if err != nil || c.Size != 12 || c.Natural != "t5" || c.Normalizer != "test" || !slices.Equal(c.Specials, want) {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestPublicFiles opens each public file as what it is.
func TestPublicFiles(t *testing.T) {
	for path, want := range map[string]struct {
		kind, natural string
		size          int
	}{
		"tok-t5/spiece.model":                        {Unigram, "t5", 32000},
		"tok-mistral-bpe/tokenizer.model.v1":         {BPE, "llama", 32000},
		"tok-bert-vocab/google_uncased_en_vocab.txt": {WordPiece, "bert-uncased", 30522},
		"tok-bert-vocab/google_cased_en_vocab.txt":   {WordPiece, "bert-cased", 28996},
		"tok-bert-vocab/google_zh_vocab.txt":         {WordPiece, "bert-uncased", 21128},
		"tok-gpt2":                                   {ByteBPE, "gpt2", 50257},
		"tok-roberta/roberta.json":                   {ByteBPE, "json", 50265},
		"tok-clip":                                   {CLIP, "clip", 49408},
	} {
		s, err := Read(shared.Dir(t, "data", path), "")
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		c, err := s.Card()
		if err != nil || c.Type != want.kind || c.Natural != want.natural || c.Size != want.size {
			t.Errorf("%s: %+v, %v, want %+v", path, c, err, want)
		}
	}
}

// FuzzRead reads any bytes as a vocabulary and, if they are one, uses it.
func FuzzRead(f *testing.F) {
	f.Add(tokentest.Small().Bytes())
	f.Add(tokentest.SmallBPE().Bytes())
	f.Add([]byte(wordVocab))
	f.Add([]byte(`{"model": {"type": "WordPiece", "vocab": {"[UNK]": 0, "a": 1}}}`))
	f.Add([]byte("\"x#version: 0.2\ni n\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		path := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(path, file, 0o666); err != nil {
			t.Fatal(err)
		}
		s, err := Read(path, "")
		if err != nil {
			return
		}
		if m, err := s.Model(nil); err == nil {
			ids := m.NewEncoder().Append(nil, " a b\xff[X]</s> é 你")
			if _, err := m.Decode(nil, ids); err != nil {
				t.Fatalf("%v: %v", ids, err)
			}
		}
		for _, as := range Names() {
			c, err := s.As(as, nil)
			if err != nil {
				continue
			}
			ids := c.NewEncoder().Append(nil, "a b </s>")
			for _, id := range ids {
				if id < 0 || int(id) >= c.Size() {
					t.Fatalf("id %d of %d", id, c.Size())
				}
			}
		}
	})
}
