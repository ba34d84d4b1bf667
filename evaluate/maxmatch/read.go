package maxmatch

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"espalier/evaluate/pytext"
)

// maxLine is the longest line that is read.
const maxLine = 16 << 20

// Read reads an M2 file: blocks separated by empty lines, each with lines "S
// source" and "A start end|||type|||corrections|||...|||annotator". Errors name
// the line.
func Read(r io.Reader) ([]Sentence, error) {
	var out []Sentence
	var block []string
	first, n := 0, 0
	flush := func() error {
		if len(block) == 0 {
			return nil
		}
		s, err := parse(block, first)
		out = append(out, s...)
		block = block[:0]
		return err
	}
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, maxLine)
	for sc.Scan() {
		n++
		line := strings.TrimSuffix(sc.Text(), "\r")
		if n == 1 {
			line = strings.TrimPrefix(line, "\ufeff")
		}
		if strings.TrimSpace(line) == "" {
			if err := flush(); err != nil {
				return nil, err
			}
			continue
		}
		if len(block) == 0 {
			first = n
		}
		block = append(block, line)
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", n+1, err)
	}
	return out, flush()
}

// Block is Read of a text that is mostly one block.
func Block(text string) ([]Sentence, error) {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, l := range lines {
		if lines[i] = strings.TrimSuffix(l, "\r"); strings.TrimSpace(l) == "" {
			return Read(strings.NewReader(text))
		}
	}
	lines[0] = strings.TrimPrefix(lines[0], "\ufeff")
	return parse(lines, 1)
}

// A LineError says which line of an M2 file cannot be read.
type LineError struct {
	Line   int
	Reason string
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Reason) }

// parse reads a block of lines.
func parse(block []string, first int) ([]Sentence, error) {
	var sources [][]string
	var all []string
	for _, line := range block {
		if s, ok := strings.CutPrefix(line, "S "); ok || line == "S" {
			if !ok {
				s = ""
			}
			words := pytext.Fields(s)
			if sources = append(sources, words); len(sources) == 1 {
				all = words
			} else {
				all = slices.Concat(all, words)
			}
		}
	}
	if len(sources) == 0 {
		return nil, &LineError{first, "a block without a line S: is this an M2 file?"}
	}
	edits := make(map[int][]Edit)
	for k, line := range block {
		switch {
		case line == "S", strings.HasPrefix(line, "S "), strings.HasPrefix(line, "I "):
			continue
		case !strings.HasPrefix(line, "A "):
			return nil, &LineError{first + k, fmt.Sprintf("%.40q begins neither with S, A nor I", line)}
		}
		id, e, err := parseEdit(line[2:], all)
		if err != nil {
			return nil, &LineError{first + k, err.Error()}
		}
		edits[id] = append(edits[id], e)
	}
	var ids []int
	for id := range edits {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	var out []Sentence
	offset := 0
	for _, src := range sources {
		offset += len(src)
		s := Sentence{Source: src}
		for _, id := range ids {
			a := Annotator{ID: id}
			for _, e := range edits[id] {
				if e.Start >= 0 && e.End >= 0 && e.Start <= offset && e.End <= offset {
					a.Edits = append(a.Edits, e)
				}
			}
			s.Annotators = append(s.Annotators, a)
		}
		if len(s.Annotators) == 0 {
			s.Annotators = []Annotator{{}}
		}
		out = append(out, s)
	}
	return out, nil
}

func parseEdit(line string, source []string) (annotator int, e Edit, err error) {
	var fields [6]string
	n := 0
	for f := range strings.SplitSeq(line, "|||") {
		if n < len(fields) {
			fields[n] = f
		}
		n++
	}
	if n < len(fields) {
		return 0, e, fmt.Errorf("%d fields between |||, want 6", n)
	}
	offsets := pytext.Fields(fields[0])
	if len(offsets) != 2 {
		return 0, e, fmt.Errorf("offsets %q, want two numbers", fields[0])
	}
	for i, p := range []*int{&e.Start, &e.End} {
		if *p, err = strconv.Atoi(offsets[i]); err != nil {
			return 0, e, fmt.Errorf("offset %q is no number", offsets[i])
		}
	}
	if annotator, err = strconv.Atoi(strings.TrimSpace(fields[5])); err != nil {
		return 0, e, fmt.Errorf("annotator %q is no number", fields[5])
	}
	if fields[1] == "noop" {
		e.Start, e.End = -1, -1
		return annotator, e, nil
	}
	for _, c := range strings.Split(fields[2], "||") {
		if c = pytext.Strip(c); c == "-NONE-" {
			c = ""
		}
		e.Corrections = append(e.Corrections, c)
	}
	if e.Start >= 0 && e.Start <= e.End && e.End <= len(source) {
		e.Original = strings.Join(source[e.Start:e.End], " ")
	}
	return annotator, e, nil
}
