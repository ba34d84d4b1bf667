package word

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"

	"espalier/internal/shared"
)

func count(lines ...string) *Counter {
	c := new(Counter)
	for _, l := range lines {
		c.Add(l)
	}
	return c
}

func TestVocabSmall(t *testing.T) {
	// The words that SentencePiece 0.2.1 keeps (testdata/README.md).
	b, err := os.ReadFile("testdata/vocab_small.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan(); n++ {
		var c struct {
			Lines []string
			Size  int `json:"vocab_size"`
			Words []string
		}
		if err := json.Unmarshal(s.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		v, err := count(c.Lines...).Vocab(c.Size)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(v.Words(), c.Words) {
			t.Errorf("size %d: %q, want %q", c.Size, v.Words(), c.Words)
		}
	}
	if n == 0 {
		t.Error("no cases")
	}
}

func TestRareCharacters(t *testing.T) {
	// 3,000 words of "ab" and one of "aq": q has a share below 0.0005.
	c := count(strings.Repeat("ab ", 3000), "aq")
	if got := c.Rare(); !reflect.DeepEqual(got, map[rune]int64{'q': 1}) {
		t.Errorf("rare characters %v", got)
	}
	v, err := c.Vocab(100)
	if err != nil || !reflect.DeepEqual(v.Words(), []string{"ab"}) {
		t.Errorf("words %q, %v", v.Words(), err)
	}
	// The left-out word still counts in the total.
	if got, want := v.LogProb(First), float32(math.Log(3000.0/3001)); got != want {
		t.Errorf("log-probability %g, want %g", got, want)
	}
}

func TestVocabRefuses(t *testing.T) {
	if _, err := count("a").Vocab(4); err == nil {
		t.Error("a vocabulary without a word")
	}
	if _, err := new(Counter).Vocab(10); err == nil {
		t.Error("a vocabulary of nothing")
	}
}

func TestLn(t *testing.T) {
	for _, x := range []float64{1, 0.5, 0.158, 8112.0 / 55176, 1.0 / 600000, 3e-12, 1 - 1e-9, 2, 1e300} {
		if got, want := ln(x), math.Log(x); math.Abs(got-want) > 4e-16*max(1, math.Abs(want)) {
			t.Errorf("ln(%g) = %.17g, want %.17g", x, got, want)
		}
	}
}

func TestIDs(t *testing.T) {
	v, err := count("a a b").Vocab(10)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text  string
		merge bool
		want  []int32
	}{
		{"  b   a ", true, []int32{5, 4}},
		{"x y a z <unk> <bos>", true, []int32{Unk, 4, Unk}},
		{"x y a z", false, []int32{Unk, Unk, 4, Unk}},
		{"", true, nil},
	} {
		if got := v.Append(nil, c.text, c.merge); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q: %v, want %v", c.text, got, c.want)
		}
	}
	// A run is merged inside a text, not with what stands before it.
	if got := v.Append([]int32{Unk}, "x", true); !reflect.DeepEqual(got, []int32{Unk, Unk}) {
		t.Errorf("got %v", got)
	}
	for id, want := range map[int32]string{4: "a", 5: "b", 6: UnkText, 0: UnkText, -1: UnkText} {
		if got := v.Word(id); got != want {
			t.Errorf("Word(%d) = %s, want %s", id, got, want)
		}
	}
}

func TestFile(t *testing.T) {
	v, err := count("a a on é", "on a").Vocab(10)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := v.Write(&b); err != nil {
		t.Fatal(err)
	}
	want := "<pad>\t0\n<unk>\t0\n<bos>\t0\n<eos>\t0\n▁a\t-0.693147\n▁on\t-1.09861\n▁é\t-1.79176\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	again, err := Read(&b)
	if err != nil || !reflect.DeepEqual(again.Words(), v.Words()) {
		t.Errorf("read again: %q, %v", again.Words(), err)
	}
	for _, bad := range []string{
		"", "<pad>\t0\n", "a\t0\n", strings.Replace(want, "▁on", "on", 1), strings.Replace(want, "▁on", "▁a", 1),
		strings.Replace(want, "-1.09861", "x", 1), strings.Replace(want, "▁on\t", "▁on ", 1), strings.Replace(want, "▁on", "▁", 1), strings.Replace(want, "▁on", "▁\xff", 1),
	} {
		if _, err := Read(strings.NewReader(bad)); err == nil {
			t.Errorf("accepted %q", bad)
		}
	}
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"A man, with a cloud-wreathed hat. ": "a man with a cloud wreathed hat",
		"It's \"ok\"\n(really)!":             "its ok really",
		"  ":                                 "",
		"-x-":                                "x",
		"Café À la":                          "café à la",
	} {
		if got := Clean(in); got != want {
			t.Errorf("Clean(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestGoldenVocab(t *testing.T) {
	lines, err := os.ReadFile(shared.Dir(t, "goldens", "tokenizers", "acort", "flickr8k_lines.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var g struct {
		Words int64
		Rare  map[string]int64 `json:"rare_characters"`
		Sizes []struct {
			Size   int    `json:"vocab_size"`
			Rows   int    `json:"rows"`
			Digest string `json:"words_sha256"`
		}
	}
	b, err := os.ReadFile(shared.Dir(t, "goldens", "tokenizers", "acort", "vocab_flickr8k.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &g); err != nil {
		t.Fatal(err)
	}
	c := count(strings.Split(string(lines), "\n")...)
	if c.Total() != g.Words {
		t.Errorf("%d words, want %d", c.Total(), g.Words)
	}
	rare := map[string]int64{}
	for r, n := range c.Rare() {
		rare[string(r)] = n
	}
	if !reflect.DeepEqual(rare, g.Rare) {
		t.Errorf("rare characters %v, want %v", rare, g.Rare)
	}
	for _, s := range g.Sizes {
		v, err := c.Vocab(s.Size)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256([]byte(strings.Join(v.Words(), "\n")))
		if v.Size() != s.Rows || hex.EncodeToString(sum[:]) != s.Digest {
			t.Errorf("size %d: %d rows, or other words", s.Size, v.Size())
		}
	}
	v, err := c.Vocab(10001)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(shared.Dir(t, "goldens", "tokenizers", "acort", "vocab_flickr8k.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for s := bufio.NewScanner(f); s.Scan(); n++ {
		var w struct {
			Word    string
			ID      int32
			LogProb float64 `json:"log_prob"`
		}
		if err := json.Unmarshal(s.Bytes(), &w); err != nil {
			t.Fatal(err)
		}
		if v.Word(w.ID) != w.Word || v.ID(w.Word) != w.ID || math.Abs(float64(v.LogProb(w.ID))-w.LogProb) > 1e-6 {
			t.Errorf("id %d: %s, %g, want %s, %g", w.ID, v.Word(w.ID), v.LogProb(w.ID), w.Word, w.LogProb)
		}
	}
	if n != v.Size()-int(First) {
		t.Errorf("%d words, want %d", v.Size()-int(First), n)
	}
}

func TestPublishedVocab(t *testing.T) {
	b, err := os.ReadFile(shared.Dir(t, "data", "acort-published", "ACORT-base", "tokenizer", "word.vocab"))
	if err != nil {
		t.Fatal(err)
	}
	v, err := Read(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if v.Size() != 10001 || v.ID("surfboard") != 155 || v.Word(10000) != "cherubs" || v.ID("quilt") != Unk {
		t.Errorf("size %d, surfboard %d, last %s", v.Size(), v.ID("surfboard"), v.Word(10000))
	}
	var again bytes.Buffer
	if err := v.Write(&again); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(again.Bytes(), b) {
		t.Error("the published file does not come out as it went in")
	}
}

func TestCleanOnKarpathyTokens(t *testing.T) {
	b, err := os.ReadFile(shared.Dir(t, "data", "cap-karpathy-mini", "dataset_coco_testing.json"))
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Images []struct {
			Sentences []struct {
				Tokens []string
				Raw    string
			}
		}
	}
	if err := json.Unmarshal(b, &d); err != nil {
		t.Fatal(err)
	}
	for _, im := range d.Images {
		for _, s := range im.Sentences {
			if got, want := Clean(s.Raw), strings.Join(s.Tokens, " "); got != want {
				t.Errorf("%q: %q, want %q", s.Raw, got, want)
			}
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add("<pad>\t0\n<unk>\t0\n<bos>\t0\n<eos>\t0\n▁a\t-0.693147\n")
	f.Fuzz(func(t *testing.T, in string) {
		v, err := Read(strings.NewReader(in))
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := v.Write(&b); err != nil {
			t.Fatal(err)
		}
		again, err := Read(&b)
		if err != nil || !reflect.DeepEqual(again.Words(), v.Words()) {
			t.Fatalf("not read again: %v", err)
		}
	})
}
