package report

import (
	"bytes"
	"errors"
	"fmt"
	"html/template"
	"strings"
	"time"
)

// A Time is what making an output took, by a run log: it differs from run to run,
// so that it is no part of a report but may be added to a copy.
type Time struct {
	Stage   string
	Seconds float64 // at work, in all runs
	Runs    int
	Memory  int64 // most bytes of a process meanwhile
}

func (t Time) took() string {
	d := time.Duration(t.Seconds * float64(time.Second))
	if d >= time.Minute {
		return d.Round(time.Second).String()
	}
	return fmt.Sprintf("%.1fs", t.Seconds)
}

func (t Time) megabytes() string { return fmt.Sprintf("%d MB", t.Memory/1e6) }

var timesTmpl = template.Must(template.New("times").Funcs(template.FuncMap{"took": Time.took, "megabytes": Time.megabytes}).Parse(
	`<section id="times">
<h2>How long it took</h2>
<p class="lead">From the run log, not from what made the numbers: it differs from run to run. Memory is that of the whole process.</p>
<div class="scroll"><table>
<thead><tr><th scope="col">stage</th><th scope="col" class="n">time</th><th scope="col" class="n">runs</th><th scope="col" class="n">peak memory</th></tr></thead>
<tbody>
{{range .}}<tr><th scope="row">{{.Stage}}</th><td class="n">{{took .}}</td><td class="n">{{.Runs}}</td><td class="n">{{megabytes .}}</td></tr>
{{end}}</tbody>
</table></div>
</section>
`))

var errNoPlace = errors.New("report: no place for times: not a page of this version")

// AddTimes adds a section to a copy of the page and of its Markdown.
func AddTimes(page, markdown []byte, times []Time) (newPage, newMarkdown []byte, err error) {
	var section, lines bytes.Buffer
	if err := timesTmpl.Execute(&section, times); err != nil {
		return nil, nil, fmt.Errorf("report: times: %w", err)
	}
	fmt.Fprintf(&lines, "\n## How long it took\n\nFrom the run log. Memory is that of the whole process.\n\n| stage | time | runs | peak memory |\n|---|---:|---:|---:|\n")
	for _, t := range times {
		fmt.Fprintf(&lines, "| %s | %s | %d | %s |\n", escaped(t.Stage), t.took(), t.Runs, t.megabytes())
	}
	insert := func(text []byte, before string, part []byte) []byte {
		i := bytes.Index(text, []byte(before))
		if i < 0 {
			err = errNoPlace
			return nil
		}
		return bytes.Join([][]byte{text[:i], part, text[i:]}, nil)
	}
	newPage = insert(page, `<section id="chain">`, section.Bytes())
	newMarkdown = insert(markdown, "\n## "+chainTitle+"\n", lines.Bytes())
	newPage = bytes.Replace(newPage, []byte(`<a href="#chain">`), []byte(`<a href="#times">Times</a>`+"\n"+`<a href="#chain">`), 1)
	return newPage, newMarkdown, err
}

// TimesTable is the same as lines of text.
func TimesTable(times []Time) string {
	var b strings.Builder
	width := len("stage")
	for _, t := range times {
		width = max(width, len(t.Stage))
	}
	fmt.Fprintf(&b, "%-*s  %10s  %4s  %11s\n", width, "stage", "time", "runs", "peak memory")
	for _, t := range times {
		fmt.Fprintf(&b, "%-*s  %10s  %4d  %11s\n", width, t.Stage, t.took(), t.Runs, t.megabytes())
	}
	return b.String()
}
