package lcsts

import (
	"testing"

	"espalier/preprocess/corpus/corpustest"
)

func FuzzLCSTS(f *testing.F) {
	corpustest.Fuzz(f, corpustest.With(Format), false, nil,
		"<doc id=0>\n<summary>\na\n</summary>\n<short_text>\nb\n</short_text>\n</doc>\n<doc id=0>\n<human_label>x</human_label>\n<doc id=2>\n<summary>\nopen",
	)
}
