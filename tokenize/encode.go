package tokenize

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"espalier/pipeline"
	"espalier/pipeline/shard"
	"espalier/pipeline/store"
	"espalier/tokenize/family"
	"espalier/tokenize/model"
	"espalier/tokenize/tokens"
)

// Encode turns texts into token shards, the splits as they are. Its parts are the
// shards of its input "examples", which may be examples of any corpus or texts
// that preprocess/render made of them; its input "vocab" says what it does.
//
// With the output of a tokenize/train stage it encodes captions: a row a caption,
// those of one example side by side; a caption without words gives no row.
//
// With a public vocabulary (a pipeline/files stage over the file, or the pair) it
// encodes a source and a target text each into a row, and writes beside the
// shards vocab.json, which says what a trainer must know of the ids.
type Encode struct {
	Field        string `yaml:"field" json:"field" doc:"captions: text, tokens or references; default tokens"`
	MergeUnknown bool   `yaml:"merge_unknown" json:"merge_unknown" doc:"captions: one id for a run of unknown words, as the published code has it"`

	As       string   `yaml:"as" json:"as" doc:"class that the vocabulary is read as, such as t5, its special ids included; default SentencePiece's own ids, or those of the class that fits without special ids"`
	Variants []string `yaml:"variants" json:"variants" doc:"other behaviours of the class, such as fast"`

	Source string `yaml:"source" json:"source" doc:"column that the input ids are made of, such as fields.sentence; default source of rendered texts"`
	Pair   string `yaml:"pair" json:"pair" doc:"column of the second text, which is joined to the first"`
	Target string `yaml:"target" json:"target" doc:"column that the target ids are made of, a row for each text of a list; default target of rendered texts if source is the default too"`

	MaxSource int    `yaml:"max_source" json:"max_source" doc:"input ids at most, special ones included; default no limit"`
	MaxTarget int    `yaml:"max_target" json:"max_target" doc:"target ids at most; default no limit"`
	Truncate  string `yaml:"truncate" json:"truncate" doc:"which of two texts is cut: longest-first, only-first or only-second; default longest-first"`
	PadSource int    `yaml:"pad_source" json:"pad_source" doc:"input ids at least, padded; default no padding"`
	PadTarget int    `yaml:"pad_target" json:"pad_target" doc:"target ids at least, padded; default no padding"`
	PadLeft   bool   `yaml:"pad_left" json:"pad_left" doc:"padding in front"`
	Masks     bool   `yaml:"masks" json:"masks" doc:"columns types, special and attention beside input"`
}

// Kind is "tokenize/encode".
func (*Encode) Kind() string { return "tokenize/encode" }

// Version is raised when equal examples would give other ids.
func (*Encode) Version() int { return 2 }

// Check fills in defaults.
func (s *Encode) Check() error {
	s.Field = cmp.Or(s.Field, Tokens)
	s.Truncate = cmp.Or(s.Truncate, model.LongestFirst.String())
	errs := []error{checkField(s.Field)}
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if _, err := model.ParseTruncation(s.Truncate); err != nil {
		fault("truncate: %w", err)
	}
	switch {
	case s.As != "" && !slices.Contains(family.Names(), s.As):
		fault("as: %q, want %s", s.As, strings.Join(family.Names(), ", "))
	default:
		if err := family.CheckVariants(s.As, s.Variants); err != nil {
			fault("variants: %w", err)
		}
	}
	for _, x := range []struct {
		name string
		n    int
	}{{"max_source", s.MaxSource}, {"max_target", s.MaxTarget}, {"pad_source", s.PadSource}, {"pad_target", s.PadTarget}} {
		if x.n < 0 || x.n > maxIDs {
			fault("%s: %d, want 0 to %d", x.name, x.n, maxIDs)
		}
	}
	if s.Pair != "" && s.As == "" {
		fault("pair: needs as, which says how two texts are joined")
	}
	return errors.Join(errs...)
}

// maxIDs bounds the lengths that may be asked for.
const maxIDs = 1 << 24

// captions reports whether the vocabulary is that of a tokenize/train stage.
func captions(vocab *pipeline.Input) bool {
	return slices.ContainsFunc(vocab.Manifest.Files, func(e store.FileEntry) bool { return e.Name == WordFile })
}

// statsNote is the note of a part that holds its counts.
const statsNote = "stats"

// A tally counts what Encode did.
type tally struct {
	Captions int64         `json:"captions"`
	Empty    int64         `json:"empty"`
	Words    int64         `json:"words"`
	Unknown  int64         `json:"unknown"`
	Cut      int64         `json:"cut"`
	Lengths  map[int]int64 `json:"lengths"` // captions by number of ids
}

// Plan makes each shard of the examples a part.
func (s *Encode) Plan(ctx context.Context, t *pipeline.Task) ([]pipeline.Part, error) {
	in, vocab := t.In["examples"], t.In["vocab"]
	if in == nil || vocab == nil {
		return nil, errors.New("tokenize/encode: want inputs named examples and vocab")
	}
	var parts []pipeline.Part
	for _, split := range in.Manifest.Splits() {
		for _, e := range in.Shards(split) {
			sl, err := json.Marshal(e)
			if err != nil {
				return nil, err
			}
			// The split names the part's file, so it is part of what decides it.
			id := fmt.Sprintf("%s %s vocabulary %s", split, e.SHA256, vocab.Manifest.Digest)
			parts = append(parts, pipeline.Part{Index: len(parts), ID: id, Slice: sl})
		}
	}
	return parts, nil
}

// Run encodes one shard.
func (s *Encode) Run(ctx context.Context, t *pipeline.Task, p pipeline.Part) error {
	var e store.FileEntry
	if err := json.Unmarshal(p.Slice, &e); err != nil {
		return fmt.Errorf("slice of part %d: %w", p.Index, err)
	}
	split, _, _, _, ok := store.ParseShardName(e.Name)
	if !ok {
		return fmt.Errorf("tokenize/encode: %s is no shard", e.Name)
	}
	if captions(t.In["vocab"]) {
		return s.runCaptions(ctx, t, e, split)
	}
	return s.runTexts(ctx, t, e, split)
}

// runCaptions encodes the captions of one shard.
func (s *Encode) runCaptions(ctx context.Context, t *pipeline.Task, e store.FileEntry, split string) error {
	coder, err := Open(t.In["vocab"])
	if err != nil {
		return err
	}
	coder.MergeUnknown = s.MergeUnknown
	f, err := t.Out.Create(split+".parquet", tokens.Schema)
	if err != nil {
		return err
	}
	w, err := shard.NewWriter[tokens.Row](f, shard.Options{})
	if err != nil {
		return err
	}
	n := tally{Lengths: map[int]int64{}}
	t.Meter.Expect(e.Rows, "examples")
	err = eachExample(ctx, t.In["examples"], e, s.Field, func(x *captioned) error {
		t.Meter.Add(1)
		return w.Write(n.encode(coder, x))
	})
	if err != nil {
		return err
	}
	b, err := json.Marshal(n)
	if err != nil {
		return err
	}
	t.Out.Note(statsNote, string(b))
	rows := w.Rows()
	if err := w.Close(); err != nil {
		return err
	}
	return f.Close(rows)
}

// encode returns the rows of one example.
func (n *tally) encode(coder *Coder, x *captioned) []tokens.Row {
	var rows []tokens.Row
	for i, text := range x.texts {
		ids, c := coder.Append(nil, text)
		n.Captions++
		if c.Words == 0 {
			n.Empty++
			continue
		}
		n.Words += int64(c.Words)
		n.Unknown += int64(c.Unknown)
		if c.Cut {
			n.Cut++
		}
		n.Lengths[len(ids)]++
		rows = append(rows, tokens.Row{ID: x.id, Task: x.task, Split: x.split, N: int32(i), Target: ids, Image: x.image})
	}
	return rows
}

// Finish adds up the parts' counts.
func (s *Encode) Finish(ctx context.Context, t *pipeline.Task, parts []pipeline.Part) error {
	if !captions(t.In["vocab"]) {
		return s.finishTexts(ctx, t, parts)
	}
	sum := tally{Lengths: map[int]int64{}}
	for i := range parts {
		var n tally
		if err := json.Unmarshal([]byte(t.Part(i).Notes[statsNote]), &n); err != nil {
			return fmt.Errorf("counts of part %d: %w", i, err)
		}
		sum.Captions += n.Captions
		sum.Empty += n.Empty
		sum.Words += n.Words
		sum.Unknown += n.Unknown
		sum.Cut += n.Cut
		for length, k := range n.Lengths {
			sum.Lengths[length] += k
		}
	}
	lengths, err := json.Marshal(sum.Lengths) // keys in order
	if err != nil {
		return err
	}
	t.Out.Note("captions", strconv.FormatInt(sum.Captions, 10))
	t.Out.Note("captions_without_words", strconv.FormatInt(sum.Empty, 10))
	t.Out.Note("unknown_words", share(sum.Unknown, sum.Words))
	t.Out.Note("captions_cut", share(sum.Cut, sum.Captions))
	t.Out.Note("lengths", string(lengths))
	t.Log.Info("captions encoded", "captions", sum.Captions, "unknown_words", share(sum.Unknown, sum.Words), "cut", share(sum.Cut, sum.Captions), "lengths", string(lengths))
	return nil
}

// share writes "3 of 1200 (0.250%)".
func share(n, of int64) string {
	if of == 0 {
		return "0 of 0"
	}
	return fmt.Sprintf("%d of %d (%.3f%%)", n, of, 100*float64(n)/float64(of))
}

// section reads an open file from its start.
func section(f *store.File) io.Reader { return io.NewSectionReader(f, 0, f.Size()) }
