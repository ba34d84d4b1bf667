package tokenize

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"espalier/pipeline"
	"espalier/pipeline/shard"
	"espalier/pipeline/store"
	"espalier/tokenize/tokens"
	"espalier/tokenize/word"
)

// Names of a vocabulary's files.
const (
	VocabFile = "vocab.json" // a tokens.Vocab
	WordFile  = "word.vocab" // the words, as SentencePiece lists them
)

// Fields that hold the text of captions.
const (
	Tokens     = "tokens"     // fields.tokens, as Karpathy's layout brings them
	References = "references" // the raw captions, cleaned as Karpathy's tokens are
)

// Train learns a vocabulary from the captions of one split of its input
// "examples". With an input "words", which holds one file *.vocab such as the
// published word.vocab, it takes the words from there and learns nothing. Its
// output holds word.vocab and vocab.json.
//
// Of type unigram it learns from the sources and targets of the rendered texts of
// its inputs texts and texts-NAME, as unigram.Learn does, for models of random
// weights. Its output is a SentencePiece model, spiece.model.
type Train struct {
	Type   string `yaml:"type" json:"type" doc:"word, radix or unigram; default radix"`
	Size   int    `yaml:"size" json:"size" doc:"ids, the special ones included; default 10001, 1000 of type unigram"`
	Base   int    `yaml:"base" json:"base" doc:"values of a radix digit; default 768"`
	Digits int    `yaml:"digits" json:"digits" doc:"digits of a word; default the fewest that do"`
	MaxLen int    `yaml:"max_len" json:"max_len" doc:"ids of the longest caption with BOS and EOS; default 18 for words, room for 12 words for radix"`
	Field  string `yaml:"field" json:"field" doc:"text of the captions: tokens or references; default tokens"`
	Split  string `yaml:"split" json:"split" doc:"default train"`
}

// Kind is "tokenize/train".
func (*Train) Kind() string { return "tokenize/train" }

// Version is raised when equal examples would give another vocabulary.
func (*Train) Version() int { return 1 }

// Check fills in defaults.
func (s *Train) Check() error {
	s.Type = cmp.Or(s.Type, Radix)
	if s.Type == Unigram {
		return s.checkUnigram()
	}
	s.Size = cmp.Or(s.Size, 10001)
	s.Field = cmp.Or(s.Field, Tokens)
	s.Split = cmp.Or(s.Split, "train")
	var errs []error
	switch s.Type {
	case Radix:
		s.Base = cmp.Or(s.Base, 768)
		if s.Base < 2 || s.Base > 1<<20 {
			errs = append(errs, fmt.Errorf("base: %d, want 2 to %d", s.Base, 1<<20))
		}
		if s.Digits < 0 || s.Digits > 31 {
			errs = append(errs, fmt.Errorf("digits: %d, want 1 to 31, or 0 for the fewest", s.Digits))
		}
	case Word:
		s.MaxLen = cmp.Or(s.MaxLen, 18)
		if s.Base != 0 || s.Digits != 0 {
			errs = append(errs, errors.New("base, digits: a word vocabulary has none"))
		}
	default:
		errs = append(errs, fmt.Errorf("type: %q, want %s, %s or %s", s.Type, Word, Radix, Unigram))
	}
	if s.Size < int(word.First)+1 {
		errs = append(errs, fmt.Errorf("size: %d, want at least %d", s.Size, word.First+1))
	}
	if s.MaxLen != 0 && s.MaxLen < 3 {
		errs = append(errs, fmt.Errorf("max_len: %d, want at least 3", s.MaxLen))
	}
	return errors.Join(append(errs, checkField(s.Field))...)
}

func checkField(field string) error {
	if field != Tokens && field != References {
		return fmt.Errorf("field: %q, want %s or %s", field, Tokens, References)
	}
	return nil
}

// Run makes the vocabulary.
func (s *Train) Run(ctx context.Context, t *pipeline.Task, _ pipeline.Part) error {
	if s.Type == Unigram {
		return s.learnUnigram(ctx, t)
	}
	var words *word.Vocab
	var err error
	if in := t.In["words"]; in != nil {
		words, err = readWords(in)
	} else {
		words, err = s.learn(ctx, t)
	}
	if err != nil {
		return err
	}
	coder, err := s.coder(words)
	if err != nil {
		return fmt.Errorf("tokenize/train: %w", err)
	}
	t.Out.Note("vocabulary_words", strconv.Itoa(len(words.Words())))
	if s.Type == Radix {
		t.Out.Note("base", strconv.Itoa(coder.Code().Base))
		t.Out.Note("digits", strconv.Itoa(coder.Code().Digits))
	}
	return writeCoder(t.Out, coder)
}

// readWords reads the one *.vocab file of an input.
func readWords(in *pipeline.Input) (_ *word.Vocab, err error) {
	var names []string
	for _, e := range in.Manifest.Files {
		if strings.HasSuffix(e.Name, ".vocab") {
			names = append(names, e.Name)
		}
	}
	if len(names) != 1 {
		return nil, fmt.Errorf("tokenize/train: input words has %d files *.vocab, want one", len(names))
	}
	f, err := in.Open(names[0])
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	v, err := word.Read(section(f))
	if err != nil {
		return nil, &pipeline.RefusedError{File: names[0], Offset: -1, Reason: err.Error()}
	}
	return v, nil
}

// learn counts the words of the split and keeps the most frequent.
func (s *Train) learn(ctx context.Context, t *pipeline.Task) (*word.Vocab, error) {
	in := t.In["examples"]
	if in == nil {
		return nil, errors.New("tokenize/train: want an input named examples, or one named words")
	}
	shards := in.Shards(s.Split)
	if len(shards) == 0 {
		return nil, fmt.Errorf("tokenize/train: %s has no split %s, only %s", in.Node, s.Split, strings.Join(in.Manifest.Splits(), ", "))
	}
	var counter word.Counter
	captions := 0
	for _, e := range shards {
		err := eachExample(ctx, in, e, s.Field, func(x *captioned) error {
			for _, text := range x.texts {
				counter.Add(text)
				captions++
			}
			t.Meter.Add(1)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	words, err := counter.Vocab(s.Size)
	if err != nil {
		return nil, fmt.Errorf("tokenize/train: %w", err)
	}
	known := int64(0)
	for _, w := range words.Words() {
		known += counter.Count(w)
	}
	t.Out.Note("captions", strconv.Itoa(captions))
	t.Out.Note("running_words", strconv.FormatInt(counter.Total(), 10))
	t.Out.Note("distinct_words", strconv.Itoa(counter.Distinct()))
	t.Out.Note("rare_characters", strconv.Itoa(len(counter.Rare())))
	t.Out.Note("coverage", strconv.FormatFloat(float64(known)/float64(counter.Total()), 'f', 6, 64))
	return words, nil
}

func (s *Train) coder(words *word.Vocab) (*Coder, error) {
	if s.Type == Word {
		return NewWord(words, s.MaxLen)
	}
	code, err := radixCode(words, s.Base, s.Digits)
	if err != nil {
		return nil, err
	}
	return newRadix(words, code, cmp.Or(s.MaxLen, 2+12*code.Digits))
}

func writeCoder(out *store.Writer, c *Coder) error {
	f, err := out.Create(WordFile, "")
	if err != nil {
		return err
	}
	if err := c.Words().Write(f); err != nil {
		return err
	}
	if err := f.Close(0); err != nil {
		return err
	}
	return writeVocab(out, c.Vocab())
}

func writeVocab(out *store.Writer, v tokens.Vocab) error {
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err
	}
	f, err := out.Create(VocabFile, "")
	if err != nil {
		return err
	}
	if _, err := f.Write(append(b, '\n')); err != nil {
		return err
	}
	return f.Close(0)
}

// Open reads the coder of a vocabulary that Train made.
func Open(in *pipeline.Input) (_ *Coder, err error) {
	v, err := in.Open(VocabFile)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	w, err := in.Open(WordFile)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	return Load(section(v), section(w))
}

// captioned is what is read of an example.
type captioned struct {
	id, task, split, image string
	texts                  []string // of its captions, in the order of its references
}

// Rows of example shards, with as many columns as are needed.
type (
	tokenColumns struct {
		ID     string  `parquet:"id"`
		Task   string  `parquet:"task,dict"`
		Split  string  `parquet:"split,dict"`
		Image  *string `parquet:"image,optional"`
		Fields struct {
			Tokens []string `parquet:"tokens,list"`
		} `parquet:"fields"`
	}
	referenceColumns struct {
		ID         string   `parquet:"id"`
		Task       string   `parquet:"task,dict"`
		Split      string   `parquet:"split,dict"`
		Image      *string  `parquet:"image,optional"`
		References []string `parquet:"references,list"`
	}
)

// eachExample reads one shard of examples.
func eachExample(ctx context.Context, in *pipeline.Input, e store.FileEntry, field string, f func(*captioned) error) error {
	if field == References {
		return eachRow(ctx, in, e, func(r *referenceColumns) error {
			texts := make([]string, len(r.References))
			for i, raw := range r.References {
				texts[i] = word.Clean(raw)
			}
			return f(&captioned{r.ID, r.Task, r.Split, orEmpty(r.Image), texts})
		})
	}
	return eachRow(ctx, in, e, func(r *tokenColumns) error {
		return f(&captioned{r.ID, r.Task, r.Split, orEmpty(r.Image), r.Fields.Tokens})
	})
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func eachRow[R any](ctx context.Context, in *pipeline.Input, e store.FileEntry, f func(*R) error) (err error) {
	file, err := in.Open(e.Name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	r, err := shard.Open[R](file, file.Size())
	if err != nil {
		return fmt.Errorf("%s: %w", e.Name, err)
	}
	for g := range r.RowGroups() {
		if err := ctx.Err(); err != nil {
			return err
		}
		rows, err := r.ReadGroup(g)
		if err != nil {
			return fmt.Errorf("%s: %w", e.Name, err)
		}
		for i := range rows {
			if err := f(&rows[i]); err != nil {
				return err
			}
		}
	}
	return nil
}
