package card

import (
	"fmt"
	"strings"
)

// docsHead is what docs/corpora.md says before its table.
const docsHead = `# Corpora

<!-- Written from the cards in data/card: go test ./data/card -update -->

` + "`espalier data list`" + ` prints the names that ` + "`espalier ingest`" + ` takes. ` + "`espalier data check CORPUS --raw DIR`" + ` compares a
folder with what this page says before a night is spent on it: which files are there, which are missing, which counts
differ. ` + "`espalier data sample CORPUS --out DIR`" + ` writes a miniature in the same layout.

Files may be gzip streams or lie in archives. Rows that cannot be used become dead letters (` + "`espalier deadletters DIR`" + `);
files that cannot be used are refused. Counts are those published, by the names that rows carry as their split.

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
		fmt.Fprintf(&b, "- `%s`: %s, <%s>. %s.\n", c.Name, c.Title, c.Home, strings.TrimSuffix(c.Citation, "."))
	}
	return b.String()
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
