package records

import (
	"path"
	"strings"

	"espalier/preprocess/corpus"
)

// splitNames are parts of file names that tell a split, longest first.
var splitNames = []string{"validation", "testdev", "train", "valid", "test", "val", "dev"}

// SplitOf returns the label asked for, or else what the file's name says, such
// as "dev" for film/dev.json and "train2014" for
// v2_OpenEnded_mscoco_train2014_questions.json; "all" if it says nothing.
func SplitOf(src *corpus.Source) string {
	if src.Split != "" {
		return src.Split
	}
	return SplitOfName(src.Name)
}

// SplitOfName returns the split that a file name says, "all" if it says none.
func SplitOfName(name string) string {
	base := path.Base(name)
	base, _, _ = strings.Cut(base, ".")
	for _, word := range strings.FieldsFunc(base, func(r rune) bool { return r == '_' || r == '-' || r == ' ' }) {
		for _, s := range splitNames {
			rest, ok := strings.CutPrefix(word, s)
			if ok && strings.Trim(rest, "0123456789") == "" {
				return word
			}
		}
	}
	return "all"
}
