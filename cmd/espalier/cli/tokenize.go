package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"espalier/evaluate/ptb"
	"espalier/tokenize"
	"espalier/tokenize/family"
	"espalier/tokenize/word"
)

var tokenizeVerb = verb{
	name:  "tokenize",
	args:  "[FILE...]",
	short: "turn text into token ids, ids into text, or captions into the words that metrics see",
	long: []string{
		"Reads a text a line (gzip and zstd too); prints a JSON object for each: ids, pieces, offsets.",
		"Without --as: SentencePiece's own ids, or those of a tokenize/train stage's vocabulary.",
	},
	example: []string{
		"espalier tokenize --model spiece.model --as t5 captions.txt",
	},
	setup: func(f *pflag.FlagSet) action {
		var t tokenizeFlags
		f.StringVar(&t.model, "model", "", "vocabulary `FILE` or folder")
		f.StringVar(&t.kind, "type", "", "want this `TYPE`: "+strings.Join(family.Types, " "))
		f.StringVar(&t.as, "as", "", "`CLASS` "+strings.Join(family.Names(), " ")+" ptb ptb-caption")
		f.StringSliceVar(&t.variants, "variant", nil, "other behaviours, comma-separated; a wrong `NAME` lists them")
		f.BoolVar(&t.special, "add-special", false, "special ids around the text even without --as")
		f.BoolVar(&t.pair, "pair", false, `two texts a line, with a tab between; of --jsonl "text" and "pair"`)
		f.IntVar(&t.maxLen, "max-len", 0, "at most `N` ids, special ones included")
		f.StringVar(&t.truncate, "truncate", "longest-first", "`WHAT` is cut: longest-first, only-first, only-second")
		f.IntVar(&t.pad, "pad", 0, "at least `N` ids, padded")
		f.BoolVar(&t.jsonl, "jsonl", false, `read JSON lines {"text": ...}; with --decode {"ids": [...]}`)
		f.BoolVar(&t.idsOnly, "ids-only", false, "print ids between blanks, a line a text")
		f.StringVar(&t.offsets, "offsets", "bytes", "`UNIT` of offsets: bytes, or chars (code points)")
		f.BoolVar(&t.decode, "decode", false, "read ids between blanks and print the text they stand for")
		f.BoolVar(&t.skip, "skip-special", false, "with --decode: leave special ids out")
		f.BoolVar(&t.tidy, "tidy", false, "with --decode: no blanks before punctuation, as transformers' clean-up has it")
		f.BoolVar(&t.inspect, "inspect", false, "print what the vocabulary is")
		f.BoolVar(&t.raw, "words", false, "captions are words between blanks already: do not clean them")
		return t.run
	},
}

type tokenizeFlags struct {
	model, kind, as, truncate, offsets                              string
	variants                                                        []string
	special, pair, jsonl, idsOnly, decode, skip, tidy, inspect, raw bool
	maxLen, pad                                                     int
}

func (t *tokenizeFlags) run(ctx context.Context, c *console, args []string) error {
	if t.as == "ptb" || t.as == "ptb-caption" {
		if t.model != "" || t.idsOnly || t.decode || t.raw || t.inspect {
			return usagef("--as %s has neither ids nor a model", t.as)
		}
		return t.penn(ctx, c, args)
	}
	if t.inspect && t.model == "" && len(args) == 1 {
		t.model, args = args[0], nil
	}
	if t.model == "" {
		return usagef("want --model FILE, or --as ptb or ptb-caption")
	}
	if _, err := os.Stat(filepath.Join(t.model, "word.vocab")); err == nil {
		return t.captions(ctx, c, args)
	}
	if t.inspect {
		return t.card(c)
	}
	return t.encode(ctx, c, args)
}

// captions encodes with the output of a tokenize/train stage.
func (t *tokenizeFlags) captions(ctx context.Context, c *console, args []string) error {
	switch {
	case t.as != "" || t.kind != "" || t.variants != nil || t.pair || t.inspect:
		return usagef("--as, --type, --variant, --pair and --inspect need a vocabulary file of another kind than %s", t.model)
	case t.decode && t.jsonl:
		return usagef("--decode reads ids, not --jsonl")
	}
	coder, err := openCoder(t.model)
	if err != nil {
		return err
	}
	return t.each(ctx, c, args, func(text string) error { return t.code(c, coder, text) })
}

func openCoder(dir string) (*tokenize.Coder, error) {
	vocab, err := os.Open(filepath.Join(dir, "vocab.json"))
	if err != nil {
		return nil, usagef("%v", err)
	}
	defer vocab.Close()
	words, err := os.Open(filepath.Join(dir, "word.vocab"))
	if err != nil {
		return nil, usagef("%v", err)
	}
	defer words.Close()
	return tokenize.Load(vocab, words)
}

// code prints one caption as ids, or ids as a caption.
func (t *tokenizeFlags) code(c *console, coder *tokenize.Coder, text string) error {
	if t.decode {
		var ids []int32
		for _, s := range strings.Fields(text) {
			var id int32
			if _, err := fmt.Sscanf(s, "%d", &id); err != nil {
				return fmt.Errorf("%q is no id", s)
			}
			if id == coder.Vocab().BOS && len(ids) == 0 {
				continue
			}
			ids = append(ids, id)
		}
		return writeString(c.out, coder.Decode(ids)+"\n")
	}
	if !t.raw {
		text = word.Clean(text)
	}
	ids, n := coder.Append([]int32{}, text)
	if t.idsOnly {
		s := strings.Trim(fmt.Sprint(ids), "[]")
		return writeString(c.out, s+"\n")
	}
	pieces := []string{}
	for _, id := range coder.Words().Append(nil, text, coder.MergeUnknown) {
		pieces = append(pieces, coder.Words().Word(id))
	}
	return c.json(struct {
		IDs     []int32  `json:"ids"`
		Pieces  []string `json:"pieces"`
		Unknown int      `json:"unknown"`
		Cut     bool     `json:"cut"`
	}{ids, pieces, n.Unknown, n.Cut})
}

// penn prints what the caption metrics see of all captions as one stream.
func (t *tokenizeFlags) penn(ctx context.Context, c *console, args []string) error {
	var failed error
	tok := ptb.New(func(line []byte) {
		if t.as == "ptb-caption" {
			line = ptb.Filter(line)
		}
		pieces := []string{}
		if len(line) > 0 {
			pieces = strings.Split(string(line), " ")
		}
		if err := c.json(map[string]any{"pieces": pieces}); err != nil && failed == nil {
			failed = err
		}
	})
	err := t.each(ctx, c, args, func(text string) error {
		if err := tok.Feed(strings.Clone(text)); err != nil { // it is kept for a while
			return err
		}
		return failed
	})
	if err != nil {
		return err
	}
	tok.Close()
	return failed
}

// each calls f with the text of every line of the files, or of standard input.
func (t *tokenizeFlags) each(ctx context.Context, c *console, files []string, f func(text string) error) error {
	var out lineWriter = func(_ []byte, line string) ([]byte, error) {
		text, err := t.text(line)
		if err == nil {
			err = f(text)
		}
		return nil, err
	}
	return eachFile(ctx, c, files, 1, func() lineWriter { return out })
}

// text returns the text of a line.
func (t *tokenizeFlags) text(line string) (string, error) {
	if !t.jsonl {
		return line, nil
	}
	var rec struct {
		Text *string `json:"text"`
	}
	if err := json.Unmarshal([]byte(line), &rec); err != nil {
		return "", err
	}
	if rec.Text == nil {
		return "", errors.New("text: missing")
	}
	return *rec.Text, nil
}
