package tokentest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"espalier/internal/shared"
)

// readers has the test that holds each file of the goldens against the code: its
// package, below tokenize, and name.
var readers = map[string]string{
	"acort/flickr8k_lines.txt":   "word TestGoldenVocab",
	"acort/radix_decode.jsonl":   ". TestGoldenDecode",
	"acort/radix_digits.jsonl":   "radix TestGoldenIndices",
	"acort/radix_encode.jsonl":   ". TestGoldenEncode",
	"acort/radix_index.jsonl":    "radix TestGoldenIndices",
	"acort/vocab_flickr8k.json":  "word TestGoldenVocab",
	"acort/vocab_flickr8k.jsonl": "word TestGoldenVocab",
	"acort/vocab_small.jsonl":    "word TestVocabSmall",
	"bert_cased.jsonl":           "preset TestBert",
	"bert_options.jsonl":         "preset TestBertOptions",
	"bert_uncased.jsonl":         "preset TestBert",
	"bert_zh.jsonl":              "preset TestBert",
	"char_classes.json":          "chars TestClasses",
	"char_normalize.json":        "chars TestMaps",
	"clip.jsonl":                 "preset TestCLIP",
	"clip_clean.jsonl":           "mend TestGolden",
	"clip_ctx77.jsonl":           "preset TestCLIPContext",
	"extra.json":                 "", // what some records were made of, repeated there
	"gpt2.jsonl":                 "preset TestGPT2",
	"hf_decode.jsonl":            "preset TestDecode",
	"inputs.jsonl":               "preset TestT5",
	"llama_hf.jsonl":             "preset TestLlama",
	"pairs.jsonl":                "preset TestPairs",
	"pairs_encoded.jsonl":        "preset TestPairs",
	"roberta.jsonl":              "preset TestRoberta",
	"sp_bytes.jsonl":             "unigram TestGoldenBytes",
	"sp_decode.jsonl":            "spm TestGoldenDecode",
	"sp_mistral_v1.jsonl":        "bpe TestGolden",
	"sp_more.jsonl":              "unigram TestGoldenMore",
	"sp_nbest.jsonl":             "unigram TestGoldenBest",
	"sp_normalize.jsonl":         "spm TestGoldenNormalize",
	"sp_t5.jsonl":                "unigram TestGolden",
	"sp_zh.jsonl":                "unigram TestGolden",
	"t5_hf.jsonl":                "preset TestT5",
}

// TestInventory holds that every file of the goldens is read by a test, and that
// those tests are there.
func TestInventory(t *testing.T) {
	root := shared.Dir(t, "goldens", "tokenizers")
	found := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, ".py") || strings.HasSuffix(path, ".md") {
			return err
		}
		name, err := filepath.Rel(root, path)
		name = filepath.ToSlash(name)
		found[name] = true
		if _, ok := readers[name]; !ok {
			t.Errorf("%s: no test reads it", name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, reader := range readers {
		if !found[name] {
			t.Errorf("%s is no file of the goldens", name)
		}
		if reader == "" {
			continue
		}
		dir, test, _ := strings.Cut(reader, " ")
		if !has(t, filepath.Join("..", dir), regexp.MustCompile(`(?m)^func `+test+`\(t \*testing\.T\)`)) {
			t.Errorf("%s: package %s has no %s", name, dir, test)
		}
	}
}

// has reports whether a test file of a folder matches.
func has(t *testing.T, dir string, want *regexp.Regexp) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if want.Match(text) {
			return true
		}
	}
	return false
}
