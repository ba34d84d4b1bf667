package cider

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"espalier/evaluate/ngram"
	"espalier/pipeline/shard"
	"espalier/trainer/ckpt"
)

// OpenDF reads a table in any form, told by its first bytes:
//
//   - JSON, as ReadDF has it;
//   - a pickle of the self-critical training code, {"ref_len": ..,
//     "document_frequency": {("a", "man"): 41000.0, ...}}; nothing in it is
//     run. A ref_len below 40 is a logarithm, as older ones have it;
//   - Parquet or Arrow with the columns ngram (words joined by blanks) and
//     count; the row whose n-gram is empty counts the images.
func OpenDF(words *ngram.Words, r io.ReaderAt, size int64) (*DF, error) {
	head := make([]byte, min(size, 64))
	if _, err := r.ReadAt(head, 0); err != nil && err != io.EOF {
		return nil, err
	}
	stream := io.NewSectionReader(r, 0, size)
	trimmed := bytes.TrimLeft(head, " \t\r\n")
	switch {
	case bytes.HasPrefix(head, []byte("PAR1")), bytes.HasPrefix(head, []byte("ARROW1")), bytes.HasPrefix(head, []byte{0xff, 0xff, 0xff, 0xff}):
		t, err := shard.OpenTable(r, size)
		if err != nil {
			return nil, err
		}
		return tableDF(words, t)
	case bytes.HasPrefix(trimmed, []byte("{")):
		return ReadDF(words, stream)
	case len(head) > 0 && (head[0] == 0x80 || head[0] == '('):
		v, err := ckpt.ReadPlain(stream, size)
		if err != nil {
			return nil, err
		}
		return pickleDF(words, v)
	}
	return nil, errors.New("neither JSON, a pickle, Parquet nor Arrow")
}

// largestLog is above the logarithm of any number of images.
const largestLog = 40

func pickleDF(words *ngram.Words, v any) (*DF, error) {
	top, ok := v.(*ckpt.Dict)
	if !ok {
		return nil, fmt.Errorf("a pickle of a %T, want a dict", v)
	}
	grams, ok := top.Get("document_frequency").(*ckpt.Dict)
	if !ok {
		return nil, errors.New("the pickle's dict has no document_frequency that is a dict")
	}
	n, ok := countOf(top.Get("ref_len"))
	if !ok || n <= 0 {
		return nil, errors.New("ref_len: want a number of images, or its logarithm")
	}
	if n < largestLog && n != math.Trunc(n) {
		n = math.Round(math.Exp(n))
	}
	d := NewDF(words)
	for i, k := range grams.Keys {
		list, ok := k.([]any)
		if !ok {
			return nil, fmt.Errorf("document_frequency: key %d is a %T, want a tuple of words", i, k)
		}
		gram := make([]string, len(list))
		for j, w := range list {
			if gram[j], ok = word(w); !ok {
				return nil, fmt.Errorf("document_frequency: key %d holds a %T, want words", i, w)
			}
		}
		c, ok := countOf(grams.Values[i])
		if !ok {
			return nil, fmt.Errorf("document_frequency: %q counts a %T", strings.Join(gram, " "), grams.Values[i])
		}
		if err := set(d, strings.Join(gram, " "), c); err != nil {
			return nil, err
		}
	}
	return finished(d, n)
}

func finished(d *DF, images float64) (*DF, error) {
	if images < 1 || images != math.Trunc(images) || images > math.MaxUint32 {
		return nil, fmt.Errorf("%v images, want a whole number of them", images)
	}
	d.SetImages(int64(images))
	d.Finish()
	return d, nil
}

func word(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case []byte:
		return string(v), true
	case int64:
		return strconv.FormatInt(v, 10), true
	}
	return "", false
}

func countOf(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case int64:
		return float64(v), true
	case uint64:
		return float64(v), true
	}
	return 0, false
}

func tableDF(words *ngram.Words, t *shard.Table) (*DF, error) {
	t, err := t.Select("ngram", "count")
	if err != nil {
		return nil, err
	}
	d, images := NewDF(words), 0.0
	n := 0
	for row, err := range t.Rows() {
		if err != nil {
			return nil, err
		}
		gram, _ := row[0].(string) // null is the empty n-gram
		c, ok := countOf(row[1])
		if !ok {
			return nil, fmt.Errorf("row %d: count is a %T", n, row[1])
		}
		n++
		if gram == "" {
			images = c
			continue
		}
		if err := set(d, gram, c); err != nil {
			return nil, fmt.Errorf("row %d: %w", n-1, err)
		}
	}
	if images == 0 {
		return nil, errors.New("no row with an empty n-gram, whose count is the number of images")
	}
	return finished(d, images)
}
