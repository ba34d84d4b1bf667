package cider

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"espalier/evaluate/ngram"
)

// ReadDF reads a document-frequency table from JSON and finishes it. Two forms
// are known (see [OpenDF] for others): that of the self-critical training code, whose n-grams are words
// joined by blanks,
//
//	{"ref_len": 113287, "document_frequency": {"a man": 41000, ...}}
//
// and a list, {"images": 113287, "ngrams": [["a man", 41000], ...]}. The table
// is read as a stream.
func ReadDF(words *ngram.Words, r io.Reader) (*DF, error) {
	d, err := readDF(words, r)
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("table ends too early: %w", io.ErrUnexpectedEOF)
	}
	return d, err
}

func readDF(words *ngram.Words, r io.Reader) (*DF, error) {
	d := NewDF(words)
	dec := json.NewDecoder(bufio.NewReaderSize(r, 1<<16))
	dec.UseNumber()
	if err := delim(dec, '{'); err != nil {
		return nil, err
	}
	images := int64(0)
	grams := false
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, err
		}
		switch key {
		case "ref_len", "images":
			var n float64
			if err := dec.Decode(&n); err != nil {
				return nil, fmt.Errorf("%s: %w", key, err)
			}
			if n < 1 || n != math.Trunc(n) || n > math.MaxUint32 {
				return nil, fmt.Errorf("%s: %v, want a number of images (its logarithm is taken here)", key, n)
			}
			images = int64(n)
		case "document_frequency":
			grams = true
			if err := readObject(dec, d); err != nil {
				return nil, fmt.Errorf("%s: %w", key, err)
			}
		case "ngrams":
			grams = true
			if err := readList(dec, d); err != nil {
				return nil, fmt.Errorf("%s: %w", key, err)
			}
		default:
			var skip json.RawMessage
			if err := dec.Decode(&skip); err != nil {
				return nil, err
			}
		}
	}
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	switch {
	case !grams:
		return nil, fmt.Errorf("no document_frequency and no ngrams in the table")
	case images == 0:
		return nil, fmt.Errorf("no ref_len and no images in the table")
	}
	d.SetImages(images)
	d.Finish()
	return d, nil
}

// ParseDF is ReadDF of a document in memory.
func ParseDF(words *ngram.Words, b []byte) (*DF, error) {
	return ReadDF(words, strings.NewReader(string(b)))
}

func delim(dec *json.Decoder, want json.Delim) error {
	t, err := dec.Token()
	if err != nil {
		return err
	}
	if t != want {
		return fmt.Errorf("byte %d: %v, want %v", dec.InputOffset(), t, want)
	}
	return nil
}

func readObject(dec *json.Decoder, d *DF) error {
	if err := delim(dec, '{'); err != nil {
		return err
	}
	for dec.More() {
		gram, err := dec.Token()
		if err != nil {
			return err
		}
		var n float64
		if err := dec.Decode(&n); err != nil {
			return err
		}
		if err := set(d, gram.(string), n); err != nil {
			return err
		}
	}
	_, err := dec.Token()
	return err
}

func readList(dec *json.Decoder, d *DF) error {
	if err := delim(dec, '['); err != nil {
		return err
	}
	for i := 0; dec.More(); i++ {
		var gram string
		var n float64
		pair := []any{&gram, &n}
		if err := dec.Decode(&pair); err != nil {
			return fmt.Errorf("entry %d: %w", i, err)
		}
		if len(pair) != 2 {
			return fmt.Errorf("entry %d: %d values, want an n-gram and a count", i, len(pair))
		}
		if err := set(d, gram, n); err != nil {
			return err
		}
	}
	_, err := dec.Token()
	return err
}

func set(d *DF, gram string, n float64) error {
	if n < 0 || n != math.Trunc(n) || n > math.MaxUint32 {
		return fmt.Errorf("n-gram %q: count %v, want a whole number", gram, n)
	}
	return d.Set(gram, uint32(n))
}
