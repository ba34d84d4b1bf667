package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"espalier/evaluate/ptb"
	"espalier/tokenize"
	"espalier/tokenize/word"
)

// maxLine bounds a line of text that is read.
const maxLine = 64 << 20

var tokenizeVerb = verb{
	name:  "tokenize",
	args:  "[FILE...]",
	short: "turn captions into token ids, or into the words that metrics see",
	long: []string{
		"Reads a caption a line (standard input without FILE), prints a JSON object for each. --model takes",
		"the output of a tokenize/train stage. --as ptb is the caption tools' tokenizer, --as ptb-caption",
		"drops punctuation too, as they do: for both all captions are one stream.",
	},
	example: []string{
		`echo "A man riding a wave." | espalier tokenize --as ptb-caption`,
		"espalier tokenize --model out/vocabulary --ids-only captions.txt",
	},
	setup: func(f *pflag.FlagSet) action {
		var t tokenizeFlags
		f.StringVar(&t.model, "model", "", "`DIR` with vocab.json and word.vocab")
		f.StringVar(&t.as, "as", "", "`NAME` of a tokenizer that needs no files: ptb or ptb-caption")
		f.BoolVar(&t.jsonl, "jsonl", false, `read JSON lines {"text": ...}`)
		f.BoolVar(&t.raw, "words", false, "captions are words between blanks already: do not clean them")
		f.BoolVar(&t.idsOnly, "ids-only", false, "print ids between blanks, a line a caption")
		f.BoolVar(&t.decode, "decode", false, "read ids between blanks and print the text they stand for")
		return t.run
	},
}

type tokenizeFlags struct {
	model, as                   string
	jsonl, raw, idsOnly, decode bool
}

func (t *tokenizeFlags) run(ctx context.Context, c *console, args []string) error {
	switch {
	case (t.model == "") == (t.as == ""):
		return usagef("want either --model DIR or --as NAME")
	case t.as != "" && (t.idsOnly || t.decode || t.raw):
		return usagef("--as %s has no ids", t.as)
	case t.decode && t.jsonl:
		return usagef("--decode reads ids, not --jsonl")
	}
	if t.as != "" {
		if err := oneOf("as", t.as, "ptb", "ptb-caption"); err != nil {
			return err
		}
		return t.penn(ctx, c, args)
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
		if err := tok.Feed(text); err != nil {
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
	if len(files) == 0 {
		return t.lines(ctx, "standard input", c.in, f)
	}
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			return usagef("%v", err)
		}
		err = t.lines(ctx, name, file, f)
		if closeErr := file.Close(); err == nil {
			err = closeErr
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *tokenizeFlags) lines(ctx context.Context, name string, r io.Reader, f func(text string) error) error {
	s := bufio.NewScanner(r)
	s.Buffer(nil, maxLine)
	for n := 1; s.Scan(); n++ {
		text := string(bytes.TrimSuffix(s.Bytes(), []byte("\r")))
		if t.jsonl {
			var rec struct {
				Text *string `json:"text"`
			}
			if err := json.Unmarshal(s.Bytes(), &rec); err != nil {
				return fmt.Errorf("%s:%d: %w", name, n, err)
			}
			if rec.Text == nil {
				return fmt.Errorf("%s:%d: text: missing", name, n)
			}
			text = *rec.Text
		}
		if err := f(text); err != nil {
			return fmt.Errorf("%s:%d: %w", name, n, err)
		}
		if n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if err := s.Err(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
