package evaluate

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"espalier/evaluate/cherrant"
	"espalier/evaluate/input"
	"espalier/pipeline"
)

// Sentences with their corrections come as lines of a number, the sentence and
// its corrections, separated by tabs: ChERRANT's own format, whose files end in
// .para. The number is not looked at; the line's place is the id.

// sourceField is the attribute that holds the sentence which was corrected.
const sourceField = "source"

// A sentencePair is one line.
type sentencePair struct {
	source  string
	targets []string
	place   input.Place
}

const longestLine = 64 << 20

// sentencePairs yields the lines of a file.
func sentencePairs(r io.Reader, file string) iter.Seq2[sentencePair, error] {
	return func(yield func(sentencePair, error) bool) {
		s := bufio.NewScanner(r)
		s.Buffer(make([]byte, 0, 1<<16), longestLine)
		place := input.Place{File: file, Offset: -1}
		refuse := func(reason string) {
			yield(sentencePair{}, &pipeline.RefusedError{File: file, Line: place.Line, Offset: -1, Reason: reason})
		}
		blank := int64(0) // a line that was empty, which only the end may have
		for s.Scan() {
			place.Line++
			text := s.Bytes()
			if place.Line == 1 {
				text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
			}
			switch cells := strings.Split(string(text), "\t"); {
			case len(bytes.TrimSpace(text)) == 0:
				blank = place.Line
				continue
			case blank > 0:
				place.Line = blank
				refuse("an empty line, want NUMBER, SENTENCE and corrections between tabs")
				return
			case !utf8.Valid(text):
				refuse("not valid UTF-8")
				return
			case len(cells) < 3:
				refuse(fmt.Sprintf("%d columns, want NUMBER, SENTENCE and corrections between tabs", len(cells)))
				return
			default:
				if !yield(sentencePair{cells[1], cells[2:], place}, nil) {
					return
				}
			}
		}
		if err := s.Err(); err != nil {
			refuse(err.Error())
		}
	}
}

// isPairs tells such files by their names.
func isPairs(path string) bool {
	for _, z := range []string{".gz", ".zst"} {
		path = strings.TrimSuffix(path, z)
	}
	return filepath.Ext(path) == ".para"
}

// readPairs reads such a file as predictions or references, whose attributes
// have the sentences.
func readPairs(ctx context.Context, src *input.Source, role input.Role) (*input.Set, error) {
	r, size, done, err := input.Expand(src.Path)
	if err != nil {
		return nil, err
	}
	defer done()
	set := &input.Set{ByLine: true}
	for p, err := range sentencePairs(io.NewSectionReader(r, 0, size), src.Path) {
		if err != nil {
			return nil, err
		}
		if len(set.IDs)%4096 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if role == input.Predictions && len(p.targets) > 1 {
			return nil, &pipeline.RefusedError{File: src.Path, Line: p.place.Line, Offset: -1, Reason: fmt.Sprintf("%d corrections, want one prediction", len(p.targets))}
		}
		attributes := make([]string, len(src.Attributes))
		for i, name := range src.Attributes {
			if name == sourceField {
				attributes[i] = p.source
			}
		}
		set.IDs = append(set.IDs, strconv.Itoa(len(set.IDs)+1))
		set.Texts, set.Places, set.Attributes = append(set.Texts, p.targets), append(set.Places, p.place), append(set.Attributes, attributes)
	}
	return set, nil
}

// withSources gives examples the sentences of a file of their own.
func (c *corpus) withSources(ctx context.Context, src input.Source) error {
	set, err := input.ReadReferences(ctx, []input.Source{src})
	if err != nil {
		return err
	}
	k := -1
	for i, name := range c.attributes {
		if name == sourceField {
			k = i
		}
	}
	if k < 0 {
		return &pipeline.UsageError{Msg: "no metric looks at the texts of " + src.Path}
	}
	for i, id := range c.IDs {
		j, ok := set.Find(id)
		if !ok || len(set.Texts[j]) != 1 {
			return &pipeline.RefusedError{File: src.Path, Offset: -1, Reason: fmt.Sprintf("id %s, which is predicted, has no text here", id)}
		}
		for len(c.Attributes) <= i {
			c.Attributes = append(c.Attributes, nil)
		}
		row := make([]string, len(c.attributes))
		copy(row, c.Attributes[i])
		row[k] = set.Texts[j][0]
		c.Attributes[i] = row
	}
	return nil
}

// WriteEdits reads lines of sentences and their corrections and writes the
// edits between them as an M2 file. It returns how many sentences have so many
// alignments that not all were looked at.
func WriteEdits(ctx context.Context, f *cherrant.Finder, in io.Reader, file string, w io.Writer) (cut int, err error) {
	var block []byte
	n := 0
	for p, err := range sentencePairs(in, file) {
		if err != nil {
			return cut, err
		}
		if n++; n%64 == 0 && ctx.Err() != nil {
			return cut, ctx.Err()
		}
		var more bool
		if block, more, err = f.AppendBlock(block[:0], p.source, p.targets); err != nil {
			return cut, &pipeline.RefusedError{File: file, Line: p.place.Line, Offset: -1, Reason: err.Error()}
		}
		if more {
			cut++
		}
		if _, err := w.Write(append(block, '\n')); err != nil {
			return cut, err
		}
	}
	return cut, nil
}
