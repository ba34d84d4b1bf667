// Package input reads predictions and references for scoring, in any of the
// layouts that tools write, and joins them.
//
// A [Source] is a file, plain or compressed by gzip or zstd (told by its first
// bytes), or a stream. Its layout is told by its content too:
//
//	coco     a JSON object with "annotations" (and "images", whose order counts): references of images
//	json     a JSON array of objects, such as a COCO results file
//	jsonl    one JSON object a line
//	map      one JSON object whose names are the ids: of texts, or of objects
//	squad    a JSON object with "data": paragraphs with questions, as SQuAD's
//	tsv      columns separated by tabs: id and text, or named by a first line (asked for, by the name's end, or by such a line)
//	parquet, arrow
//	m2       blocks of lines, the first "S source": a block is one reference, its id the number of the block, from 1
//	lines    one text a line; its id is the number of the line, from 1
//
// Every fault is a [pipeline.RefusedError] that names file, line or byte, and
// field. A [Set] keeps the order of its file; nothing here is safe for
// concurrent use.
package input

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"

	"espalier/pipeline"
)

// A Role says what is read: it decides the default names of fields and the
// hints of messages.
type Role uint8

// Roles.
const (
	Predictions Role = iota
	References
)

// Formats are the values of Source.Format; "" tells them by content.
var Formats = []string{"coco", "json", "jsonl", "map", "squad", "tsv", "parquet", "arrow", "m2", "lines"}

// A Source is one file or stream of texts.
type Source struct {
	Path   string    // "-" reads Reader; also the name in messages
	Reader io.Reader // of "-"
	Format string    // one of Formats, "" to tell it by content
	ID     string    // field of the id, "" for "id" or "image_id"
	Text   string    // field of the text or texts, "" for the usual names
	// Attributes are further fields that are kept, as text: of JSON objects,
	// of named columns.
	Attributes []string
	Split      string // of tables with a column of that name: only these rows, "" for all
}

// idNames lists the fields to look for, in order. Entries of COCO's arrays have
// an id of their own beside the image's.
func (s *Source) idNames(format string) []string {
	switch {
	case s.ID != "":
		return []string{s.ID}
	case format == "json":
		return []string{"image_id", "question_id", "id"}
	}
	return []string{"id", "image_id", "question_id"}
}

func (s *Source) textNames(role Role) []string {
	switch {
	case s.Text != "":
		return []string{s.Text}
	case role == References:
		return []string{"references", "refs", "text", "caption", "answers", "label", "answer"}
	}
	return []string{"text", "caption", "prediction", "answer", "label"}
}

// A Place is where a record begins.
type Place struct {
	File   string
	Line   int64 // 1-based, 0 if the file has no lines
	Offset int64 // byte, -1 if unknown
}

func (p Place) String() string {
	switch {
	case p.Line > 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	case p.Offset >= 0:
		return fmt.Sprintf("%s at byte %d", p.File, p.Offset)
	}
	return p.File
}

func (p Place) refuse(field, format string, args ...any) error {
	return &pipeline.RefusedError{File: p.File, Line: p.Line, Offset: p.Offset, Field: field, Reason: fmt.Sprintf(format, args...)}
}

// A record is one id with the texts that one place of a file gives it.
type record struct {
	id         string
	texts      []string
	attributes []string // as Source.Attributes, nil if it has none
	place      Place
}

// A Set is what sources say, by id, in the order in which ids first came.
type Set struct {
	IDs    []string
	Texts  [][]string // nil for an id without texts, empty for an empty list
	Places []Place
	ByLine bool // ids are the numbers of lines
	// Attributes of the records, where one has any.
	Attributes [][]string

	index  map[string]int32
	layout string // of the first source
}

// Find returns the place of an id in the set.
func (s *Set) Find(id string) (int, bool) {
	if s.ByLine { // ids are 1, 2, 3 ...
		n, err := strconv.Atoi(id)
		if err != nil || n < 1 || n > len(s.IDs) || s.IDs[n-1] != id {
			return 0, false
		}
		return n - 1, true
	}
	i, ok := s.index[id]
	return int(i), ok
}

// add returns the entry of an id, a new one if it has none.
func (s *Set) add(id string, p Place) int {
	if n := len(s.IDs) - 1; n >= 0 && s.IDs[n] == id {
		return n // an image's captions often stand together
	}
	if i, ok := s.Find(id); ok {
		return i
	}
	i := len(s.IDs)
	if !s.ByLine {
		if s.index == nil {
			s.index = make(map[string]int32)
		}
		s.index[id] = int32(i)
	}
	s.IDs = append(s.IDs, id)
	s.Texts = append(s.Texts, nil)
	s.Places = append(s.Places, p)
	return i
}

// note keeps a record's attributes.
func (s *Set) note(i int, attributes []string) {
	if attributes == nil {
		return
	}
	for len(s.Attributes) <= i {
		s.Attributes = append(s.Attributes, nil)
	}
	s.Attributes[i] = attributes
}

// attributes returns those of a record, nil if it has none.
func (s *Set) attributes(i int) []string {
	if i < len(s.Attributes) {
		return s.Attributes[i]
	}
	return nil
}

// ReadReferences reads sources that each add texts to ids. Line files add the
// text of the same line.
func ReadReferences(ctx context.Context, sources []Source) (*Set, error) {
	set := &Set{}
	for n := range sources {
		before := len(set.IDs)
		err := read(ctx, &sources[n], References, set, func(r record) error {
			i := set.add(r.id, r.place)
			if set.ByLine && len(set.Texts[i]) < n {
				return r.place.refuse("", "the file has more lines than %s", sources[0].Path)
			}
			if set.Texts[i] == nil {
				set.Texts[i] = r.texts
			} else {
				set.Texts[i] = append(set.Texts[i], r.texts...)
			}
			set.note(i, r.attributes)
			return nil
		})
		if err != nil {
			return nil, err
		}
		if n > 0 && set.ByLine {
			for i, t := range set.Texts[:before] {
				if len(t) == n {
					return nil, Place{File: sources[n].Path, Offset: -1}.refuse("", "%d lines, %s has %d", i, sources[0].Path, before)
				}
			}
		}
	}
	return set, nil
}

// Duplicates says what to do with an id that is predicted twice.
type Duplicates string

// Values of Duplicates.
const (
	Refuse Duplicates = "refuse"
	First  Duplicates = "first"
	Last   Duplicates = "last"
)

// ReadPredictions reads one text an id. It returns how many predictions a
// policy other than Refuse left out.
func ReadPredictions(ctx context.Context, src Source, dup Duplicates) (set *Set, dropped int, err error) {
	set = &Set{}
	err = read(ctx, &src, Predictions, set, func(r record) error {
		if len(r.texts) != 1 {
			return r.place.refuse("", "%d texts, want one prediction", len(r.texts))
		}
		i := set.add(r.id, r.place)
		if set.Texts[i] == nil {
			set.Texts[i] = r.texts
			set.note(i, r.attributes)
			return nil
		}
		switch dup {
		case First:
		case Last:
			set.Texts[i] = r.texts
			set.note(i, r.attributes)
		default:
			return r.place.refuse("", "id %s is predicted again, first at %s (--duplicates first or last takes one)", r.id, set.Places[i])
		}
		dropped++
		return nil
	})
	return set, dropped, err
}

// read reads one source, record by record.
func read(ctx context.Context, src *Source, role Role, set *Set, yield func(record) error) error {
	f, err := open(src)
	if err != nil {
		return err
	}
	defer f.close()
	format := src.Format
	if format == "" {
		if format, err = f.detect(src, role); err != nil {
			return err
		}
	}
	if !slices.Contains(Formats, format) {
		return fmt.Errorf("format %q: want %q", format, Formats)
	}
	if set.layout == "" {
		set.layout = format
	}
	byLine := format == "lines" || format == "m2"
	if len(set.IDs) > 0 && byLine != set.ByLine {
		return Place{File: src.Path, Offset: -1}.refuse("", "read as %s, but the first file as %s: line numbers and ids do not mix", format, set.layout)
	}
	set.ByLine = byLine
	n := 0
	check := func(r record) error {
		if n++; n%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		return yield(r)
	}
	switch format {
	case "coco":
		return readCOCO(ctx, f, src, role, check)
	case "json":
		return readArray(f, src, role, check)
	case "jsonl":
		return readLines(f, src, newObjects(src, format, role).line, check)
	case "map":
		return readMap(f, src, role, check)
	case "squad":
		return readSquad(ctx, f, src, role, check)
	case "tsv":
		return readLines(f, src, newColumns(src, format, role).line, check)
	case "m2":
		return readBlocks(f, src, check)
	case "lines":
		return readLines(f, src, plainLine, check)
	}
	return readTable(f, src, format, role, check)
}

// namedColumns reports that the first line names columns of ids and of texts.
func (s *Source) namedColumns(head []byte, role Role) bool {
	line, _, _ := bytes.Cut(head, []byte{'\n'})
	id, text := false, false
	for cell := range bytes.SplitSeq(bytes.TrimSuffix(line, []byte{'\r'}), []byte{'\t'}) {
		id = id || slices.Contains(s.idNames("tsv"), string(cell))
		text = text || slices.Contains(s.textNames(role), string(cell))
	}
	return id && text
}

// detect tells the layout by the first bytes.
func (f *file) detect(src *Source, role Role) (string, error) {
	head := make([]byte, min(f.size, 1<<16))
	if _, err := f.ReadAt(head, 0); err != nil && err != io.EOF {
		return "", fmt.Errorf("%s: %w", src.Path, err)
	}
	switch {
	case bytes.HasPrefix(head, []byte("PAR1")):
		return "parquet", nil
	case bytes.HasPrefix(head, []byte("ARROW1")), bytes.HasPrefix(head, []byte{0xff, 0xff, 0xff, 0xff}):
		return "arrow", nil
	}
	head = bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
	if len(head) > 0 && (head[0] == '[' || head[0] == '{') {
		rest := bytes.TrimLeft(head[1:], " \t\r\n")
		switch {
		case head[0] == '[' && len(rest) > 0 && (rest[0] == '{' || rest[0] == ']'):
			return "json", nil
		case head[0] == '{' && len(rest) > 0 && (rest[0] == '"' || rest[0] == '}'):
			if wholeObject(head) && !src.onlyLine(head, role) {
				return "jsonl", nil
			}
			return kindOfObject(head), nil
		}
	}
	switch {
	case f.ext == ".tsv", src.namedColumns(head, role):
		return "tsv", nil
	case bytes.HasPrefix(head, []byte("S ")) && (f.ext == ".m2" || bytes.Contains(head, []byte("\nA ")) && bytes.Contains(head, []byte("|||"))):
		return "m2", nil
	}
	return "lines", nil
}

var stdin = os.Stdin
