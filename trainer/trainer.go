// Package trainer holds the stages that train models and let them predict, and
// their loop.
//
// [Train] fits the caption model ORT (or ACORT) to token shards and vector
// shards and writes a checkpoint: weights, configuration and the curve of losses
// and validation scores. What it does is a function of its fields and inputs:
// every draw depends on the seed and the step alone, and a run that was killed
// goes on from its last saved state with the same bits. [Predict] decodes a
// split with a checkpoint, in parts.
//
// [Tune] and [Generate] do likewise for text-to-text models that a method of
// package peft edits: a published backbone is opened once for all stages of a
// run, a checkpoint holds what was trained and the backbone's digest, and an
// update is of one task of a mixture.
//
// The package knows no tokenizer and no metric: [Tools] brings them, chosen by
// named, versioned fields of the stages. A [Captioner] is used from one
// goroutine.
package trainer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"espalier/features/vectors"
	"espalier/pipeline"
	"espalier/pipeline/shard"
	"espalier/pipeline/store"
	"espalier/preprocess/example"
	"espalier/tokenize/tokens"
)

// A Detokenizer gives the text that generated ids stand for. The ids begin
// behind BOS; an EOS and what follows it count for nothing.
type Detokenizer func(ids []int32) string

// A Validator scores texts against the references of the same places; more is
// better.
type Validator func(texts []string, references [][]string) (float64, error)

// Tools are what the stages use without knowing it. The names that choose them
// are fields of the stages, such as "cider/1", and never change their meaning.
type Tools struct {
	// Detokenizers make a Detokenizer from the files of a vocabulary.
	Detokenizers map[string]func(vocab Files) (Detokenizer, error)
	Validators   map[string]Validator
	// Texts make a Detokenizer of a public vocabulary's files.
	Texts map[string]func(files Listing, v tokens.Vocab) (Detokenizer, error)
	// Metrics score what was generated for a task.
	Metrics map[string]Metrics
}

// Metrics returns the metrics of a task, of texts against the references of
// the same places, in an order of its own; more is better.
type Metrics func(task string, texts []string, references [][]string) ([]Measured, error)

// A Measured is the value of a metric.
type Measured struct {
	Name  string
	Value float64
}

// A Listing is files that can be listed.
type Listing interface {
	Files
	Names() []string
}

// listed is the files of an input below a prefix.
type listed struct {
	in     *pipeline.Input
	prefix string
}

func (l listed) Open(name string) (*store.File, error) { return l.in.Open(l.prefix + name) }

func (l listed) Names() []string {
	var out []string
	for _, e := range l.in.Manifest.Files {
		if name, ok := strings.CutPrefix(e.Name, l.prefix); ok && e.Name != store.DeadLetters {
			out = append(out, name)
		}
	}
	return out
}

// Files is a folder of files, such as an input of a stage or a [Folder].
type Files interface {
	Open(name string) (*store.File, error)
}

// check reports a name that no tool has. Without any tools it says nothing.
func check[T any](tools map[string]T, field, name string) error {
	if _, ok := tools[name]; ok || len(tools) == 0 {
		return nil
	}
	names := make([]string, 0, len(tools))
	for n := range tools {
		names = append(names, n)
	}
	slices.Sort(names)
	return fmt.Errorf("%s: %q, want %s", field, name, strings.Join(names, " or "))
}

// input returns an input of a task.
func input(t *pipeline.Task, name string) (*pipeline.Input, error) {
	in := t.In[name]
	if in == nil {
		return nil, &pipeline.UsageError{Msg: fmt.Sprintf("inputs: %s is missing", name)}
	}
	return in, nil
}

// splitShards returns the shards of a split, under whatever name means it, and
// that name.
func splitShards(in *pipeline.Input, split string) (string, []store.FileEntry, error) {
	var names []string
	for _, s := range in.Manifest.Splits() {
		if example.SameSplit(s, split) {
			return s, in.Shards(s), nil
		}
		names = append(names, s)
	}
	if files := in.Shards(split); len(files) > 0 {
		return split, files, nil
	}
	return "", nil, fmt.Errorf("input %s: no split %s; it has %s", in.Name, split, strings.Join(names, ", "))
}

// A closer closes what was opened, last first.
type closer []io.Closer

func (c *closer) Close() error {
	var errs []error
	for _, f := range slices.Backward(*c) {
		errs = append(errs, f.Close())
	}
	*c = nil
	return errors.Join(errs...)
}

// openShards opens files of an input as typed shards.
func openShards[T any](in *pipeline.Input, files []store.FileEntry, c *closer) ([]*shard.Reader[T], error) {
	var out []*shard.Reader[T]
	for _, e := range files {
		f, err := in.Open(e.Name)
		if err != nil {
			return nil, err
		}
		*c = append(*c, f)
		r, err := shard.Open[T](f, f.Size())
		if err != nil {
			return nil, fmt.Errorf("input %s: %s: %w", in.Name, e.Name, err)
		}
		out = append(out, r)
	}
	return out, nil
}

// An image says in which shard its features lie.
type shardOf map[string]int

// openVectors opens all vector shards of an input. where, if not nil, receives
// the place of each image's shard among the manifest's files.
func openVectors(in *pipeline.Input, c *closer, where shardOf) (*vectors.Index, error) {
	files, err := openVectorFiles(in, c, where)
	if err != nil {
		return nil, err
	}
	x, err := vectors.NewIndex(files...)
	if err != nil {
		return nil, fmt.Errorf("input %s: %w", in.Name, err)
	}
	return x, nil
}

func openVectorFiles(in *pipeline.Input, c *closer, where shardOf) ([]*vectors.File, error) {
	var files []*vectors.File
	for i, e := range in.Manifest.Files {
		if e.Schema != vectors.GridSchema && e.Schema != vectors.RegionSchema {
			continue
		}
		f, err := in.Open(e.Name)
		if err != nil {
			return nil, err
		}
		*c = append(*c, f)
		v, err := vectors.Open(f, f.Size())
		if err != nil {
			return nil, fmt.Errorf("input %s: %s: %w", in.Name, e.Name, err)
		}
		files = append(files, v)
		for row := range v.Len() {
			if where != nil {
				where[v.ID(row)] = i
			}
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("input %s: no vector shards", in.Name)
	}
	return files, nil
}

const vocabFile = "vocab.json"

// readVocab reads vocab.json.
func readVocab(files Files) (v tokens.Vocab, err error) {
	text, err := readFile(files, vocabFile)
	if err != nil {
		return v, err
	}
	if err := json.Unmarshal(text, &v); err != nil {
		return v, fmt.Errorf("%s: %w", vocabFile, err)
	}
	if v.Size < 1 || v.MaxLen < 2 {
		return v, fmt.Errorf("%s: %d ids, sequences of at most %d", vocabFile, v.Size, v.MaxLen)
	}
	return v, nil
}

func readFile(files Files, name string) ([]byte, error) {
	f, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, f.Size())
	if n, err := f.ReadAt(b, 0); n < len(b) {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return b, nil
}
