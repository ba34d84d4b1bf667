package tokenize

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"espalier/pipeline"
	"espalier/pipeline/shard"
	"espalier/pipeline/store"
	"espalier/tokenize/family"
	"espalier/tokenize/model"
	"espalier/tokenize/preset"
	"espalier/tokenize/tokens"
)

// OpenFamily reads the public vocabulary among the files of an input.
func OpenFamily(in *pipeline.Input) (*family.Source, error) {
	var names []string
	for _, e := range in.Manifest.Files {
		names = append(names, e.Name)
	}
	open := func(name string) (io.ReadCloser, error) {
		f, err := in.Open(name)
		if err != nil {
			return nil, err
		}
		return struct {
			io.Reader
			io.Closer
		}{section(f), f}, nil
	}
	s, err := family.ReadFiles(names, open, "")
	if err != nil {
		return nil, fmt.Errorf("tokenize: input %s (%s): %w", in.Name, in.Node, err)
	}
	return s, nil
}

// A lexicon is an opened public vocabulary. It is immutable and safe for
// concurrent use.
type lexicon struct {
	tok   model.Tokenizer
	class *preset.Class // nil for SentencePiece's own ids
	frame model.Frame
	space tokens.Vocab
}

func (s *Encode) lexicon(in *pipeline.Input) (*lexicon, error) {
	src, err := OpenFamily(in)
	if err != nil {
		return nil, err
	}
	x := &lexicon{}
	if s.As != "" {
		x.class, err = src.As(s.As, s.Variants)
		x.tok = x.class
	} else if x.tok, err = src.Model(s.Variants); err == nil {
		x.class, _ = x.tok.(*preset.Class)
	}
	if err != nil {
		return nil, fmt.Errorf("tokenize/encode: %w", err)
	}
	x.space = src.Space(s.As, x.tok)
	x.space.Variants = strings.Join(s.Variants, ",")
	if s.As != "" {
		x.frame = x.class.Frame
	}
	x.frame.Pad = max(0, x.space.Pad)
	return x, nil
}

// shared is lexicon for all parts of a run at once.
func (s *Encode) shared(ctx context.Context, t *pipeline.Task) (*lexicon, func(), error) {
	in := t.In["vocab"]
	key := fmt.Sprintf("tokenize %s as %s %q", in.Manifest.Digest, s.As, s.Variants)
	v, release, err := t.Share(ctx, key, func(context.Context) (any, func(), error) {
		x, err := s.lexicon(in)
		return x, func() {}, err
	})
	if err != nil {
		return nil, nil, err
	}
	return v.(*lexicon), release, nil
}

// encoder returns what appends the ids of a text without special ids around it.
func (x *lexicon) encoder() func(ids []int32, text string) []int32 {
	if x.class != nil {
		return x.class.Encoder().Body
	}
	return x.tok.NewEncoder().Append
}

// A side says how input or target ids are made, and counts them.
type side struct {
	limits model.Limits
	sum    sideTally
	unk    int32
	frame  *model.Frame
}

func newSide(s *Encode, x *lexicon, most, least int) side {
	d := side{limits: model.Limits{Pad: least, PadLeft: s.PadLeft}, sum: sideTally{Lengths: map[int]int64{}}, unk: x.space.Unk, frame: &x.frame}
	if most > 0 {
		d.limits.Max = most
		d.limits.Truncate, _ = model.ParseTruncation(s.Truncate) // Check has done it
	}
	return d
}

// join makes the encoding of the ids of one text, or of two.
func (d *side) join(a, b []int32, two bool) (model.Encoding, error) {
	e, err := d.frame.Join(a, b, two, d.limits)
	if err != nil {
		return e, err
	}
	d.sum.Texts++
	d.sum.Lengths[len(e.IDs)]++
	d.sum.IDs += int64(len(e.IDs))
	if e.Cut > 0 {
		d.sum.Cut++
	}
	for _, id := range e.IDs {
		if id == d.unk {
			d.sum.Unknown++
		}
	}
	return e, nil
}

// A textEncoder encodes the rows of one shard.
type textEncoder struct {
	t             *pipeline.Task
	file          string
	columns       *textColumns
	body          func(ids []int32, text string) []int32
	input, target side
	a, b          []int32
	rows          []tokens.Masked
}

// runTexts encodes the texts of one shard.
func (s *Encode) runTexts(ctx context.Context, t *pipeline.Task, e store.FileEntry, split string) error {
	x, release, err := s.shared(ctx, t)
	if err != nil {
		return err
	}
	defer release()
	c, closer, err := s.open(t.In["examples"], e)
	if err != nil {
		return err
	}
	defer closer.Close()
	n := textEncoder{
		t: t, file: e.Name, columns: c, body: x.encoder(),
		input: newSide(s, x, s.MaxSource, s.PadSource), target: newSide(s, x, s.MaxTarget, s.PadTarget),
	}
	if n.target.limits.Truncate != model.NoTruncation {
		n.target.limits.Truncate = model.LongestFirst // of one text
	}
	if s.Masks {
		err = encodeTexts(ctx, &n, split, tokens.MaskedSchema, func(r tokens.Masked) tokens.Masked { return r })
	} else {
		err = encodeTexts(ctx, &n, split, tokens.Schema, func(r tokens.Masked) tokens.Row { return r.Row })
	}
	if err != nil {
		return err
	}
	b, err := json.Marshal(textTally{n.input.sum, n.target.sum})
	if err != nil {
		return err
	}
	t.Out.Note(statsNote, string(b))
	return nil
}

// writeRows is how many rows are written at a time.
const writeRows = 512

// encodeTexts writes the rows of one shard, of the kind that keep makes of them.
func encodeTexts[R any](ctx context.Context, n *textEncoder, split, schema string, keep func(tokens.Masked) R) error {
	f, err := n.t.Out.Create(split+".parquet", schema)
	if err != nil {
		return err
	}
	w, err := shard.NewWriter[R](f, shard.Options{})
	if err != nil {
		return err
	}
	n.t.Meter.Expect(n.columns.table.NumRows(), "examples")
	var rows []R
	flush := func() error {
		err := w.Write(rows)
		clear(rows)
		rows = rows[:0]
		return err
	}
	seen := int64(0)
	for row, err := range n.columns.table.Rows() {
		if err != nil {
			return fmt.Errorf("%s: %w", n.file, err)
		}
		if seen++; seen%writeRows == 0 {
			n.t.Meter.Add(writeRows)
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		if err := n.encode(row, seen-1); err != nil {
			return fmt.Errorf("%s: row %d: %w", n.file, seen, err)
		}
		for _, r := range n.rows {
			if rows = append(rows, keep(r)); len(rows) >= writeRows {
				if err := flush(); err != nil {
					return err
				}
			}
		}
	}
	n.t.Meter.Add(seen % writeRows)
	n.t.RowsIn(n.file, seen)
	if err := flush(); err != nil {
		return err
	}
	kept := w.Rows()
	if err := w.Close(); err != nil {
		return err
	}
	return f.Close(kept)
}

// encode makes the token rows of one row: one for each target, or one without.
func (n *textEncoder) encode(row []any, at int64) error {
	n.rows = n.rows[:0]
	x, err := n.columns.read(row)
	if err != nil {
		return err
	}
	r := tokens.Masked{Row: tokens.Row{ID: x.id, Task: x.task, Split: x.split, N: x.part, Image: x.image}}
	if x.source != nil {
		n.a, n.b = n.body(n.a[:0], *x.source), n.b[:0]
		if x.pair != nil {
			n.b = n.body(n.b, *x.pair)
		}
		e, err := n.input.join(n.a, n.b, x.pair != nil)
		if errors.Is(err, model.ErrTooShort) {
			return n.t.Dead(pipeline.DeadLetter{Corpus: x.corpus, Task: x.task, File: n.file, N: &at, Field: n.columns.source.name, Where: x.id, Reason: err.Error()})
		}
		if err != nil {
			return fmt.Errorf("%s: max_source: %w", x.id, err)
		}
		// The class that leaves an end id away counts it in its masks.
		k := len(e.IDs)
		r.Input, r.Types, r.Special, r.Attention = e.IDs, e.Types[:k], e.Special[:k], e.Attention
	}
	for i, text := range x.targets {
		r := r
		r.N += int32(i)
		if text != "" {
			n.a = n.body(n.a[:0], text)
			e, err := n.target.join(n.a, nil, false)
			if err != nil {
				return fmt.Errorf("%s: max_target: %w", x.id, err)
			}
			r.Target = e.IDs
		}
		n.rows = append(n.rows, r)
	}
	if len(x.targets) == 0 {
		n.rows = append(n.rows, r)
	}
	return nil
}

// finishTexts adds up the parts' counts and writes vocab.json.
func (s *Encode) finishTexts(ctx context.Context, t *pipeline.Task, parts []pipeline.Part) error {
	x, release, err := s.shared(ctx, t)
	if err != nil {
		return err
	}
	defer release()
	sum := textTally{Input: sideTally{Lengths: map[int]int64{}}, Target: sideTally{Lengths: map[int]int64{}}}
	for i := range parts {
		var n textTally
		if err := json.Unmarshal([]byte(t.Part(i).Notes[statsNote]), &n); err != nil {
			return fmt.Errorf("counts of part %d: %w", i, err)
		}
		sum.Input.add(&n.Input)
		sum.Target.add(&n.Target)
	}
	for name, d := range map[string]*sideTally{"input": &sum.Input, "target": &sum.Target} {
		if d.Texts == 0 {
			continue
		}
		for key, value := range d.notes() {
			t.Out.Note(name+"_"+key, value)
		}
	}
	for _, d := range []struct {
		text string
		sum  *sideTally
	}{{"sources encoded", &sum.Input}, {"targets encoded", &sum.Target}} {
		if d.sum.Texts > 0 {
			t.Log.Info(d.text, d.sum.attributes()...)
		}
	}
	v := x.space
	v.MaxLen = max(s.MaxTarget, sum.Target.longest())
	if sum.Target.Texts == 0 {
		v.MaxLen = max(s.MaxSource, sum.Input.longest())
	}
	return writeVocab(t.Out, v)
}
