package vocab

import (
	"errors"
	"fmt"
	"strings"
)

// MaxSize is the largest vocabulary.
const MaxSize = 1 << 23

// JSON reads a vocab.json, an object of pieces and ids, and returns the pieces by
// id; "" where an id is not used.
func JSON(file string) ([]string, error) {
	r := reader{s: file}
	v, _, err := r.vocab()
	if err != nil {
		return nil, err
	}
	return v, r.done()
}

// vocab reads an object of pieces and ids and returns the pieces by id and how
// many there are.
func (r *reader) vocab() ([]string, int, error) {
	var v []string
	n := 0
	bound := len(r.s) // no more ids than bytes
	err := r.object(func(piece string) error {
		id, err := r.int()
		switch {
		case err != nil:
			return err
		case int(id) >= min(bound, MaxSize):
			return r.fail("id %d of %q: too large", id, piece)
		}
		for int(id) >= len(v) {
			v = append(v, "")
		}
		if v[id] != "" {
			return r.fail("id %d is %q and %q", id, v[id], piece)
		}
		v[id] = piece
		n++
		return nil
	})
	return v, n, err
}

// Merges reads a merges.txt: pairs of pieces with a blank between, a line each;
// a first line that begins with #version is skipped.
func Merges(file string) ([][2]string, error) {
	merges := make([][2]string, 0, strings.Count(file, "\n")+1)
	for n := 1; file != ""; n++ {
		line := file
		if k := strings.IndexByte(file, '\n'); k >= 0 {
			line, file = file[:k], file[k+1:]
		} else {
			file = ""
		}
		line = strings.TrimSuffix(line, "\r")
		if line == "" || n == 1 && strings.HasPrefix(line, "#version") {
			continue
		}
		m, err := pair(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		merges = append(merges, m)
	}
	return merges, nil
}

func pair(line string) ([2]string, error) {
	l, r, ok := strings.Cut(line, " ")
	if !ok || l == "" || r == "" || strings.Contains(r, " ") {
		if len(line) > 80 {
			line = line[:80] + "..."
		}
		return [2]string{}, fmt.Errorf("%q is no pair of pieces", line)
	}
	return [2]string{l, r}, nil
}

// CLIPMerges is how many lines of CLIP's list are used, counted as the public
// code counts.
const CLIPMerges = 49152 - 256 - 2

// CLIP reads CLIP's list of merges, unpacked: the lines from the second on, of
// which those are used that the vocabulary has room for.
func CLIP(file string) ([][2]string, error) {
	_, file, ok := strings.Cut(file, "\n")
	if !ok {
		return nil, errors.New("one line: no list of merges")
	}
	merges := make([][2]string, 0, CLIPMerges)
	for n := 2; len(merges) < CLIPMerges && file != ""; n++ {
		var line string
		line, file, _ = strings.Cut(file, "\n")
		m, err := pair(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		merges = append(merges, m)
	}
	return merges, nil
}
