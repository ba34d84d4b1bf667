package card

import (
	"fmt"
	"slices"
	"strings"
)

// docsHead is what docs/corpora.md says before its table.
const docsHead = `# Corpora

<!-- Written from the cards in data/card: go test ./data/card -update -->

` + "`espalier data list`" + ` prints the names that ` + "`espalier ingest`" + ` takes. ` + "`espalier data check CORPUS --raw DIR`" + ` compares a
folder with what this page says before a night is spent on it: which files are there, which are missing, which counts
differ. ` + "`espalier data sample CORPUS --out DIR`" + ` writes a miniature in the same layout.

Files may be gzip streams or lie in archives. Rows that cannot be used become dead letters (` + "`espalier deadletters DIR`" + `);
files that cannot be used are refused: pointers of Git LFS, texts in UTF-16, streams and documents that end early. Of several files that say
which split they are of, ` + "`--split`" + ` chooses; if none is of it the folder is refused, and not labelled so. A key that an earlier file of the same split has is a dead letter too. Counts are those
published, by the names that rows carry as their split.

Tables of others are read as raw files where a corpus is exported to them (GLUE, SuperGLUE): Parquet, Arrow files and streams, and the
folders that ` + "`save_to_disk`" + ` of Hugging Face's datasets writes.

## Splits

` + "`espalier data split EXAMPLES`" + ` draws a split: K rows of each label or of all, halves, thousands held out of train, or shares. Whether a row is in it
depends on its id and the seed alone, in shares ` + "`--by image`" + ` on its image's name: questions on one image stay together. The output is one small Parquet file of ids, whose metadata holds the recipe; ` + "`espalier data select EXAMPLES --split FILE`" + `
applies it, here or elsewhere, and says if it was drawn from other examples. ` + "`espalier data leaks EXAMPLES...`" + ` finds rows and images that several splits
have; with ` + "`--remove train`" + ` it writes the split that is left without them. In jobs these are the kinds preprocess/split, preprocess/select and
preprocess/guard.

## Cards

`

// Markdown is docs/corpora.md: a table of all cards, and of each what it says.
func Markdown() string {
	var b strings.Builder
	b.WriteString(docsHead)
	b.WriteString("| corpus | files wanted | rows | licence | traps handled |\n|---|---|---|---|---|\n")
	for _, c := range All() {
		names := []string{"`" + c.Name + "`"}
		for _, n := range c.Also {
			names = append(names, "`"+n+"`")
		}
		var files, counts []string
		for _, f := range c.Files {
			if !f.Optional {
				files = append(files, "`"+f.Pattern+"`")
			}
		}
		for _, n := range c.Counts {
			counts = append(counts, n.Split+" "+grouped(n.Rows))
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", strings.Join(names, ", "), strings.Join(files, ", "), dash(strings.Join(counts, ", ")), c.Licence, dash(c.Traps))
	}
	b.WriteString("\n## Where they are to be had, and how to cite them\n\n")
	for _, c := range All() {
		fmt.Fprintf(&b, "- `%s`: %s, <%s>. %s.%s\n", c.Name, c.Title, c.Home, strings.TrimSuffix(c.Citation, "."), sources(c))
	}
	return b.String()
}

// sources says where the counts of a card come from.
func sources(c Card) string {
	var out []string
	for _, n := range c.Counts {
		if n.Source != "" && !slices.Contains(out, n.Source) {
			out = append(out, n.Source)
		}
	}
	if len(out) == 0 {
		return ""
	}
	return " Counts: " + strings.Join(out, "; ") + "."
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// grouped writes a number with commas.
func grouped(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
