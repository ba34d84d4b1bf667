package input

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
	"strconv"
	"unicode/utf8"
)

// maxLine is the longest line that is read.
const maxLine = 64 << 20

// readLines reads a file line by line. A line ends with LF or CRLF; a last
// line needs no end. Parse reports false for lines that hold no record.
func readLines(f *file, src *Source, parse func(line []byte, place Place) (record, bool, error), yield func(record) error) error {
	sc := bufio.NewScanner(io.NewSectionReader(f, 0, f.size))
	sc.Buffer(make([]byte, 0, 1<<16), maxLine)
	offset := int64(0)
	sc.Split(func(data []byte, end bool) (int, []byte, error) {
		if i := bytes.IndexByte(data, '\n'); i >= 0 {
			return i + 1, data[:i+1], nil
		}
		if end && len(data) > 0 {
			return len(data), data, nil
		}
		return 0, nil, nil
	})
	place := Place{File: src.Path}
	for sc.Scan() {
		raw := sc.Bytes()
		place.Line++
		place.Offset = offset
		offset += int64(len(raw))
		line := bytes.TrimSuffix(bytes.TrimSuffix(raw, []byte{'\n'}), []byte{'\r'})
		if place.Line == 1 {
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		if !utf8.Valid(line) {
			return place.refuse("", "not valid UTF-8")
		}
		r, ok, err := parse(line, place)
		if err != nil {
			return err
		}
		if ok {
			if err := yield(r); err != nil {
				return err
			}
		}
	}
	if err := sc.Err(); errors.Is(err, bufio.ErrTooLong) {
		place.Line++
		return place.refuse("", "a line of more than %d bytes", maxLine)
	} else if err != nil {
		return err
	}
	return nil
}

// readBlocks reads blocks of lines between empty lines.
func readBlocks(f *file, src *Source, yield func(record) error) error {
	var block []byte
	var first Place
	n := int64(0)
	flush := func() error {
		if len(block) == 0 {
			return nil
		}
		n++
		r := record{id: strconv.FormatInt(n, 10), texts: []string{string(block)}, place: first}
		block = block[:0]
		return yield(r)
	}
	err := readLines(f, src, func(line []byte, place Place) (record, bool, error) {
		if len(bytes.TrimSpace(line)) == 0 {
			return record{}, false, flush()
		}
		if len(block) == 0 {
			first = place
		}
		block = append(append(block, line...), '\n')
		return record{}, false, nil
	}, yield)
	if err != nil {
		return err
	}
	return flush()
}

// plainLine is one text.
func plainLine(line []byte, place Place) (record, bool, error) {
	return record{id: strconv.FormatInt(place.Line, 10), texts: []string{string(line)}, place: place}, true, nil
}

// columns reads records from lines of columns.
type columns struct {
	src        *Source
	ids, texts []string
	id, text   int
	attributes []int // columns of Source.Attributes, -1 for none; nil without names
}

func newColumns(src *Source, format string, role Role) *columns {
	return &columns{src: src, ids: src.idNames(format), texts: src.textNames(role), id: 0, text: 1}
}

func (c *columns) line(b []byte, place Place) (record, bool, error) {
	cells := bytes.Split(b, []byte{'\t'})
	if place.Line == 1 {
		id := slices.IndexFunc(cells, func(x []byte) bool { return slices.Contains(c.ids, string(x)) })
		text := slices.IndexFunc(cells, func(x []byte) bool { return slices.Contains(c.texts, string(x)) })
		if id >= 0 && text >= 0 {
			c.id, c.text = id, text
			for _, a := range c.src.Attributes {
				c.attributes = append(c.attributes, slices.IndexFunc(cells, func(x []byte) bool { return string(x) == a }))
			}
			return record{}, false, nil
		}
	}
	if len(b) == 0 {
		return record{}, false, nil
	}
	if n := max(c.id, c.text); len(cells) <= n {
		return record{}, false, place.refuse("", "%d columns, want at least %d: id and text separated by a tab", len(cells), n+1)
	}
	r := record{id: string(cells[c.id]), texts: []string{string(cells[c.text])}, place: place}
	if c.attributes != nil {
		r.attributes = make([]string, len(c.attributes))
		for i, k := range c.attributes {
			if k >= 0 && k < len(cells) {
				r.attributes[i] = string(cells[k])
			}
		}
	}
	return r, true, nil
}
