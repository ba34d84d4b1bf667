package meteor

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"espalier/pipeline"
	"espalier/pipeline/store"
)

// Paraphrases are the pairs of phrases of METEOR's table whose words all occur
// in the texts that are scored.
type Paraphrases struct {
	of      map[string][][]string
	longest int // words
}

// Paraphrases reads the table; nil if there is none. Known reports the words of
// the texts. The first reading leaves an index of the table in the user's cache
// folder, named by the table's content, which later readings take; where it
// cannot be written, all goes as the first time.
func (d *Data) Paraphrases(ctx context.Context, known func(word []byte) bool) (*Paraphrases, error) {
	if d.paraphrase == "" {
		return nil, nil
	}
	t, err := readParaphrases(ctx, d.paraphrase, store.CacheDir(), known)
	if err != nil && ctx.Err() == nil {
		return nil, &pipeline.RefusedError{File: d.paraphrase, Offset: -1, Reason: err.Error()}
	}
	return t, err
}

func readParaphrases(ctx context.Context, table, cache string, known func(word []byte) bool) (*Paraphrases, error) {
	if cache != "" {
		index, err := indexPath(cache, table)
		if err != nil {
			return nil, err
		}
		t := &Paraphrases{of: make(map[string][][]string)}
		if t.readIndex(ctx, index, known) == nil {
			return t, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if writeIndex(ctx, index, readTable(table)) == nil {
			t = &Paraphrases{of: make(map[string][][]string)}
			return t, t.readIndex(ctx, index, known)
		}
	}
	t := &Paraphrases{of: make(map[string][][]string)}
	all := func(phrase []byte) bool {
		for w := range bytes.FieldsSeq(phrase) {
			if !known(w) {
				return false
			}
		}
		return true
	}
	return t, readTable(table)(ctx, func(first, second []byte) error {
		if all(first) && all(second) {
			t.add(strings.Fields(string(first)), strings.Fields(string(second)))
		}
		return nil
	})
}

func (t *Paraphrases) add(first, second []string) {
	key := strings.Join(first, " ")
	t.of[key] = append(t.of[key], second)
	t.longest = max(t.longest, len(first))
}

// find visits the matches of a pair of texts. A pair that the table holds both
// ways is visited twice, as in the original: it is then no single candidate.
func (t *Paraphrases) find(hyp, ref []string, visit func(*match)) {
	one := func(from, to []string, turned bool) {
		for i := range from {
			for n := 1; n <= t.longest && i+n <= len(from); n++ {
				for _, words := range t.of[strings.Join(from[i:i+n], " ")] {
					for j := 0; j+len(words) <= len(to); j++ {
						if !slices.Equal(words, to[j:j+len(words)]) {
							continue
						}
						m := match{i, n, j, len(words), paraphrase}
						if turned {
							m = match{j, len(words), i, n, paraphrase}
						}
						visit(&m)
					}
				}
			}
		}
	}
	one(ref, hyp, true)
	one(hyp, ref, false)
}
