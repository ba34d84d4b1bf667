package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"
)

// A console is where a verb reads and prints.
type console struct {
	verb  string
	in    io.Reader
	out   *bufio.Writer
	errs  *os.File
	sig   *signals
	kinds Kinds
}

func newConsole(in io.Reader, out, errs *os.File) *console {
	return &console{in: in, out: bufio.NewWriter(out), errs: errs}
}

func writeString(w io.Writer, s string) error {
	_, err := io.WriteString(w, s)
	return err
}

// finish flushes what was printed, prints the error and returns its exit code.
func (c *console) finish(err error) int {
	if flushErr := c.out.Flush(); err == nil && flushErr != nil {
		err = fmt.Errorf("standard output: %w", flushErr)
	}
	code := exitCode(err)
	if _, silent := err.(silentError); err != nil && !silent {
		for _, line := range messages(err) {
			c.warn("%s", line)
		}
	}
	return code
}

// messages lists the errors that a joined one holds, each once.
func messages(err error) []string {
	var out []string
	seen := make(map[string]bool)
	var walk func(error)
	walk = func(err error) {
		if all, ok := err.(interface{ Unwrap() []error }); ok {
			for _, e := range all.Unwrap() {
				walk(e)
			}
			return
		}
		s := err.Error()
		if err == context.Canceled {
			s = "interrupted; the next call goes on from here"
		}
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	walk(err)
	return out
}

// warn prints a line to standard error.
func (c *console) warn(format string, args ...any) {
	prefix := "espalier: "
	if c.verb != "" {
		prefix = "espalier " + c.verb + ": "
	}
	fmt.Fprintln(c.errs, prefix+fmt.Sprintf(format, args...))
}

// json prints v as one line.
func (c *console) json(v any) error {
	line, err := jsonLine(v)
	if err != nil {
		return err
	}
	_, err = c.out.Write(line)
	return err
}

func jsonLine(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// A table aligns rows of text: columns whose header begins with a blank to the
// right, the others to the left.
type table struct {
	right []bool
	rows  [][]string
}

// newTable starts a table. A header that begins with a blank is that of a
// column aligned to the right.
func newTable(headers ...string) *table {
	t := &table{right: make([]bool, len(headers))}
	row := make([]string, len(headers))
	for i, h := range headers {
		t.right[i] = strings.HasPrefix(h, " ")
		row[i] = strings.TrimSpace(h)
	}
	t.rows = append(t.rows, row)
	return t
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

func (t *table) write(w io.Writer) error {
	width := make([]int, len(t.right))
	for _, row := range t.rows {
		for i, s := range row {
			width[i] = max(width[i], utf8.RuneCountInString(s))
		}
	}
	for _, row := range t.rows {
		var b strings.Builder
		for i, s := range row {
			if i > 0 {
				b.WriteString("  ")
			}
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(s))
			if t.right[i] {
				b.WriteString(pad + s)
			} else {
				b.WriteString(s + pad)
			}
		}
		if err := writeString(w, strings.TrimRight(b.String(), " ")+"\n"); err != nil {
			return err
		}
	}
	return nil
}
