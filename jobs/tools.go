package jobs

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"espalier/evaluate/cider"
	"espalier/evaluate/ngram"
	"espalier/evaluate/numeric"
	"espalier/evaluate/ptb"
	"espalier/pipeline/store"
	"espalier/tokenize"
	"espalier/tokenize/tokens"
	"espalier/trainer"
)

// Tools are what the trainer's stages are given by name.
func Tools() trainer.Tools {
	return trainer.Tools{
		Detokenizers: map[string]func(trainer.Files) (trainer.Detokenizer, error){
			"caption/1":   captionDetokenizer(false),
			"published/1": captionDetokenizer(true),
		},
		Validators: map[string]trainer.Validator{"cider/1": ciderOf},
		Texts:      map[string]func(trainer.Listing, tokens.Vocab) (trainer.Detokenizer, error){"text/1": textDetokenizer},
		Metrics:    map[string]trainer.Metrics{"tasks/1": taskMetrics},
	}
}

// captionDetokenizer decodes with the vocabulary of tokenize/train, strictly
// or as the published code does.
func captionDetokenizer(published bool) func(trainer.Files) (trainer.Detokenizer, error) {
	return func(files trainer.Files) (_ trainer.Detokenizer, err error) {
		var readers [2]io.Reader
		for i, name := range []string{tokenize.VocabFile, tokenize.WordFile} {
			var f *store.File
			if f, err = files.Open(name); err != nil {
				return nil, err
			}
			defer func() { err = errors.Join(err, f.Close()) }()
			readers[i] = io.NewSectionReader(f, 0, f.Size())
		}
		c, err := tokenize.Load(readers[0], readers[1])
		if err != nil {
			return nil, err
		}
		c.PublishedDecoding = published
		return c.Decode, nil
	}
}

// lineBreaks are characters that would shift all later captions in the PTB
// tokenizer's stream.
var lineBreaks = strings.NewReplacer("\r", " ", "\v", " ", "\f", " ", "\u2028", " ", "\u2029", " ")

// ciderOf is CIDEr as the caption tools compute it: PTB tokens, document
// frequencies of the references at hand.
func ciderOf(texts []string, references [][]string) (float64, error) {
	var words ngram.Words
	number := func(captions []string) ([][]uint32, error) {
		out := make([][]uint32, 0, len(captions))
		t := ptb.New(func(line []byte) { out = append(out, words.Fields(nil, string(ptb.Filter(line)))) })
		for _, c := range captions {
			if err := t.Feed(lineBreaks.Replace(c)); err != nil {
				return nil, err
			}
		}
		t.Close()
		if len(out) != len(captions) {
			return nil, fmt.Errorf("%d captions became %d lines", len(captions), len(out))
		}
		return out, nil
	}
	var all []string
	for _, refs := range references {
		all = append(all, refs...)
	}
	refs, err := number(all)
	if err != nil {
		return 0, err
	}
	hyps, err := number(texts)
	if err != nil {
		return 0, err
	}
	df := cider.NewDF(&words)
	at := 0
	for _, r := range references {
		df.AddImage(refs[at : at+len(r)])
		at += len(r)
	}
	df.Finish()
	s := cider.NewScorer(df, cider.Options{})
	scores := make([]float64, len(hyps))
	at = 0
	for i, r := range references {
		scores[i] = s.Score(hyps[i], refs[at:at+len(r)])
		at += len(r)
	}
	return numeric.Mean(scores), nil
}
