package tokenize

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"espalier/pipeline"
	"espalier/pipeline/store"
	"espalier/tokenize/spm"
	"espalier/tokenize/unigram"
)

// Unigram is the type of vocabulary that Train learns from rendered texts.
const Unigram = "unigram"

// ModelFile is a vocabulary of type unigram, as T5 names its own.
const ModelFile = "spiece.model"

func (s *Train) checkUnigram() error {
	var errs []error
	if s.Base != 0 || s.Digits != 0 || s.MaxLen != 0 || s.Field != "" {
		errs = append(errs, errors.New("base, digits, max_len, field: a unigram vocabulary has none"))
	}
	s.Size, s.Split = cmp.Or(s.Size, 1000), cmp.Or(s.Split, "train")
	if s.Size < 4 || s.Size > 1<<20 {
		errs = append(errs, fmt.Errorf("size: %d, want 4 to %d", s.Size, 1<<20))
	}
	return errors.Join(errs...)
}

// learnUnigram counts the words of the texts of all inputs and makes pieces.
func (s *Train) learnUnigram(ctx context.Context, t *pipeline.Task) error {
	counts := map[string]int64{}
	texts, words := 0, 0
	add := func(text string) {
		texts++
		for w := range strings.SplitSeq(text, " ") {
			if w != "" {
				counts[w]++
				words++
			}
		}
	}
	if !slices.ContainsFunc(slices.Collect(maps.Keys(t.In)), isTexts) {
		return errors.New("tokenize/train: want an input named texts, or several such as texts-cola")
	}
	for _, name := range slices.Sorted(maps.Keys(t.In)) {
		in := t.In[name]
		if !isTexts(name) {
			return fmt.Errorf("tokenize/train: a unigram vocabulary has no use for input %s", name)
		}
		shards := in.Shards(s.Split)
		if len(shards) == 0 {
			return fmt.Errorf("tokenize/train: input %s (%s) has no split %s, only %s", name, in.Node, s.Split, strings.Join(in.Manifest.Splits(), ", "))
		}
		for _, e := range shards {
			if err := eachText(ctx, in, e, add); err != nil {
				return err
			}
			t.Meter.Add(e.Rows)
		}
	}
	pieces, err := unigram.Learn(counts, s.Size)
	if err != nil {
		return fmt.Errorf("tokenize/train: size: %w", err)
	}
	t.Out.Note("texts", strconv.Itoa(texts))
	t.Out.Note("running_words", strconv.Itoa(words))
	t.Out.Note("distinct_words", strconv.Itoa(len(counts)))
	t.Out.Note("pieces", strconv.Itoa(len(pieces)))
	f, err := t.Out.Create(ModelFile, "")
	if err != nil {
		return err
	}
	if _, err := f.Write(spm.Marshal(spm.Unigram, pieces)); err != nil {
		return err
	}
	return f.Close(0)
}

func isTexts(name string) bool { return name == "texts" || strings.HasPrefix(name, "texts-") }

// eachText calls f with all sources and targets of a shard of rendered texts.
func eachText(ctx context.Context, in *pipeline.Input, e store.FileEntry, f func(string)) error {
	c, closer, err := new(Encode).open(in, e)
	if err != nil {
		return err
	}
	defer closer.Close()
	seen := 0
	for row, err := range c.table.Rows() {
		if err == nil && seen%writeRows == 0 {
			err = ctx.Err()
		}
		seen++
		var x textRow
		if err == nil {
			x, err = c.read(row)
		}
		if err != nil {
			return fmt.Errorf("%s: row %d: %w", e.Name, seen, err)
		}
		if x.source != nil {
			f(*x.source)
		}
		for _, text := range x.targets {
			f(text)
		}
	}
	return nil
}
