package gec

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"espalier/pipeline"
	"espalier/preprocess/corpus"
	"espalier/preprocess/corpus/records"
	"espalier/preprocess/rawjson"
)

// SentenceFields are the source fields of M2 files.
type SentenceFields struct {
	Sentence string `parquet:"sentence" json:"sentence"` // words between blanks
}

// EditsMeta has the edits of a sentence by annotator, each as "start end type
// correction".
type EditsMeta struct {
	Edits map[string][]string `parquet:"edits" json:"edits"`
}

// M2 reads M2 files: a line with the sentence, lines with edits, an empty line.
// An edit that cannot be used goes alone, its sentence stays; lines with targets
// are passed over. Rows carry a line
// only in files that are not tidy: in which more than one empty line stands
// between sentences.
func M2(name string) *records.Records[SentenceFields, EditsMeta] {
	return &records.Records[SentenceFields, EditsMeta]{
		Corpus: name, Task: "gec", Layout: Blocks{},
		Rows: func(el *records.Element, row func([]byte)) {
			if isSentence(el.Bytes) {
				row(nil)
			}
		},
		Decoder: func(*corpus.Source) func(*records.Element, *records.Out[SentenceFields, EditsMeta]) { return block },
	}
}

func isSentence(line []byte) bool {
	return bytes.HasPrefix(line, []byte("S ")) || string(line) == "S" || bytes.HasPrefix(line, []byte("S\n")) || bytes.HasPrefix(line, []byte("S\r\n"))
}

func block(el *records.Element, out *records.Out[SentenceFields, EditsMeta]) {
	lines := strings.Split(string(el.Bytes), "\n")
	if !isSentence(el.Bytes) {
		reason := "neither a sentence nor an edit"
		if strings.HasPrefix(lines[0], "A ") {
			reason = "edit without a sentence"
		}
		out.Lost(records.Fault{Reason: reason})
		return
	}
	first := strings.TrimSuffix(lines[0], "\r")
	f, m := SentenceFields{cut2(first)}, EditsMeta{Edits: map[string][]string{}}
	if !utf8.ValidString(f.Sentence) {
		out.Dead(records.Fault{Field: "sentence", Reason: records.BadUTF8, Raw: []byte(first)})
		return
	}
	n := len(strings.Split(f.Sentence, " "))
	offset := el.Offset + int64(len(lines[0])) + 1
	var lost []records.Fault
	for i, whole := range lines[1:] {
		line := strings.TrimSuffix(whole, "\r")
		annotator, edit, fault := editOf(line, n)
		switch {
		case isTarget(line):
		case fault.Bad():
			fault.Line, fault.Offset, fault.Raw = el.First+int64(i)+1, offset, []byte(line)
			lost = append(lost, fault)
		default:
			m.Edits[annotator] = append(m.Edits[annotator], edit)
		}
		offset += int64(len(whole)) + 1
	}
	out.Row("", f, m)
	for _, fault := range lost {
		out.Lost(fault)
	}
}

// isTarget reports whether a line is a target, such as "T0-A0 ..." or "T0 ...":
// ChERRANT writes them between a sentence and its edits, which tell the same.
func isTarget(line string) bool {
	return len(line) > 1 && line[0] == 'T' && '0' <= line[1] && line[1] <= '9'
}

// editOf reads a line such as "A 3 4|||Prep|||on|||REQUIRED|||-NONE-|||0", an edit
// of a sentence of n words.
func editOf(line string, n int) (annotator, edit string, _ records.Fault) {
	rest, ok := strings.CutPrefix(line, "A ")
	f := strings.Split(rest, "|||")
	switch {
	case !ok:
		return "", "", records.Fault{Reason: "neither a sentence nor an edit"}
	case !utf8.ValidString(line):
		return "", "", records.Fault{Reason: records.BadUTF8}
	case len(f) != 6:
		return "", "", records.Fault{Reason: fmt.Sprintf("%d fields where 6 are expected", len(f))}
	}
	first, last, _ := strings.Cut(f[0], " ")
	start, err := strconv.Atoi(first)
	if err != nil {
		return "", "", records.Fault{Field: "start", Reason: "number expected"}
	}
	end, err := strconv.Atoi(last)
	if err != nil {
		return "", "", records.Fault{Field: "end", Reason: "number expected"}
	}
	switch {
	case start == -1 && end == -1: // noop
	case start < 0 || start > n:
		return "", "", records.Fault{Field: "start", Reason: "offset past the sentence"}
	case end > n:
		return "", "", records.Fault{Field: "end", Reason: "offset past the sentence"}
	case end < start:
		return "", "", records.Fault{Field: "end", Reason: "ends before it starts"}
	}
	return f[5], fmt.Sprintf("%d %d %s %s", start, end, f[1], f[2]), records.Fault{}
}

// Blocks is the layout of M2 files: an element is a sentence with its edits, or a
// line that belongs to none.
type Blocks struct{}

// Walk walks over the blocks of a file.
func (Blocks) Walk(src *corpus.Source, at *records.Span) records.Walker {
	w := &blockWalker{src: src, lines: records.Lines{}.Walk(src, at), tidy: true}
	if at != nil {
		w.index, w.untold = at.Index, at.Mode == tidy
	}
	return w
}

const tidy = "tidy"

type blockWalker struct {
	src          *corpus.Source
	lines        records.Walker
	index        int64
	next         *records.Element
	empty        bool // the line before was
	tidy, untold bool
	buf          []byte
	el           records.Element
	err          error
}

// Next finds the next block.
func (w *blockWalker) Next() *records.Element {
	line := w.take()
	for line != nil && len(line.Bytes) == 0 {
		line = w.take()
	}
	if line == nil || w.err != nil {
		return nil
	}
	w.el = *line
	w.el.Index = w.index
	w.index++
	w.buf = append(w.buf[:0], line.Bytes...)
	end := endOf(line)
	if isSentence(line.Bytes) {
		for line = w.take(); line != nil; line = w.take() {
			if len(line.Bytes) == 0 {
				break
			}
			if isSentence(line.Bytes) {
				w.next = line
				break
			}
			w.buf = append(append(w.buf, end...), line.Bytes...)
			end = endOf(line)
			if w.el.To = line.To; len(w.buf) > rawjson.MaxElement {
				w.err = &pipeline.RefusedError{File: w.src.Name, Line: w.el.First, Offset: w.el.Offset, Reason: fmt.Sprintf("block of more than %d bytes", rawjson.MaxElement)}
				return nil
			}
		}
	}
	if w.el.Bytes = w.buf; w.untold {
		w.el.Line = 0
	}
	return &w.el
}

// endOf is what ends a line, so that offsets in a block are those of the file.
func endOf(line *records.Element) string {
	return "\r\n"[2-min(line.To-line.Offset-int64(len(line.Bytes)), 2):]
}

func (w *blockWalker) take() *records.Element {
	if line := w.next; line != nil {
		w.next = nil
		return line
	}
	line := w.lines.Next()
	if line != nil {
		w.tidy = w.tidy && !(w.empty && len(line.Bytes) == 0) && line.Offset == line.From
		w.empty = len(line.Bytes) == 0
	}
	return line
}

// Err returns why the walk ended early.
func (w *blockWalker) Err() error {
	if w.err != nil {
		return w.err
	}
	return w.lines.Err()
}

// Mode tells whether the file is tidy.
func (w *blockWalker) Mode() string {
	if w.tidy {
		return tidy
	}
	return ""
}
