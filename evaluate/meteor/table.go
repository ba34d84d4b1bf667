package meteor

import (
	"bytes"
	"context"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"

	"espalier/pipeline"
)

// Paraphrases are the pairs of phrases of METEOR's table whose words all occur
// in the texts that are scored.
type Paraphrases struct {
	of      map[string][][]string
	longest int // words
}

// Paraphrases reads the table, whose lines are by threes a probability and two
// phrases; nil if there is none. Known reports the words of the texts.
func (d *Data) Paraphrases(ctx context.Context, known func(word []byte) bool) (*Paraphrases, error) {
	if d.paraphrase == "" {
		return nil, nil
	}
	f, err := os.Open(d.paraphrase)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, &pipeline.RefusedError{File: d.paraphrase, Offset: -1, Reason: err.Error()}
	}
	t := &Paraphrases{of: make(map[string][][]string)}
	if err := t.read(ctx, z, known); err != nil {
		return nil, &pipeline.RefusedError{File: d.paraphrase, Offset: -1, Reason: err.Error()}
	}
	return t, nil
}

func (t *Paraphrases) read(ctx context.Context, r io.Reader, known func([]byte) bool) error {
	l := newLines(r)
	all := func(phrase []byte) bool {
		for w := range bytes.FieldsSeq(phrase) {
			if !known(w) {
				return false
			}
		}
		return true
	}
	first, keep := "", false
	for l.sc.Scan() {
		l.n++
		switch l.n % 3 {
		case 2:
			if keep = all(l.sc.Bytes()); keep {
				first = l.sc.Text()
			}
		case 0:
			if keep && all(l.sc.Bytes()) {
				t.of[first] = append(t.of[first], strings.Fields(l.sc.Text()))
				t.longest = max(t.longest, strings.Count(first, " ")+1)
			}
		}
		if l.n&(1<<18-1) == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return l.sc.Err()
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
