package tokenize

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"espalier/pipeline"
	"espalier/pipeline/shard"
	"espalier/pipeline/store"
	"espalier/tokenize/tokens"
)

// Encode turns the captions of its input "examples" into token shards with the
// vocabulary of its input "vocab": a row a caption, those of one example side by
// side, the splits as they are. A caption without words gives no row. Its parts
// are the shards of the examples.
type Encode struct {
	Field        string `yaml:"field" json:"field" doc:"text of the captions: tokens or references; default tokens"`
	MergeUnknown bool   `yaml:"merge_unknown" json:"merge_unknown" doc:"one id for a run of unknown words, as the published code has it"`
}

// Kind is "tokenize/encode".
func (*Encode) Kind() string { return "tokenize/encode" }

// Version is raised when equal examples would give other ids.
func (*Encode) Version() int { return 1 }

// Check fills in defaults.
func (s *Encode) Check() error {
	s.Field = cmp.Or(s.Field, Tokens)
	return checkField(s.Field)
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
	coder, err := Open(t.In["vocab"])
	if err != nil {
		return err
	}
	coder.MergeUnknown = s.MergeUnknown
	split, _, _, _, ok := store.ParseShardName(e.Name)
	if !ok {
		return fmt.Errorf("tokenize/encode: %s is no shard", e.Name)
	}
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
