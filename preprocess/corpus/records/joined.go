package records

import (
	"unicode/utf8"

	"espalier/pipeline"
	"espalier/preprocess/corpus"
	"espalier/preprocess/rawfile"
)

// JoinedLines reads the lines of a joined file, which must be UTF-8: it calls do
// for each, and refuses the file if a line is not.
func JoinedLines(src *corpus.Source, do func(line string)) error {
	lines := rawfile.NewLines(src, src.Size)
	n := int64(0)
	for l := lines.Next(); l != nil; l = lines.Next() {
		if n = l.N; !utf8.Valid(l.Text) {
			return &pipeline.RefusedError{File: src.Name, Line: l.N, Offset: l.Offset, Reason: BadUTF8}
		}
		do(string(l.Text))
	}
	if err := lines.Err(); err != nil {
		return &pipeline.RefusedError{File: src.Name, Line: n + 1, Offset: -1, Reason: err.Error()}
	}
	return nil
}
