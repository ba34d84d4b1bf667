package meteor

import (
	"archive/zip"
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/flate"

	"espalier/pipeline"
)

// The names of METEOR's tables, in its jar or in a folder.
const (
	functionFile  = "function/english.words"
	prefixFile    = "nonbreaking/english.prefixes"
	synsetFile    = "synonym/english.synsets"
	exceptionFile = "synonym/english.exceptions"
)

// Data are the tables of METEOR for English. It is read-only once loaded.
type Data struct {
	prefixes   map[string]bool // words that keep a dot; true: only before digits
	function   map[string]bool
	synsets    *synsets
	exceptions map[string][]string // base forms
	paraphrase string              // path of the table, "" if there is none
}

// Load reads the tables of a folder: those of METEOR's jar, unpacked or in a
// file *.jar, and data/paraphrase-en.gz or paraphrase-en.gz if it is there. The
// folder "meteor" of the Python package pycocoevalcap is one. A folder of "" has
// no tables.
func Load(dir string) (*Data, error) {
	d := &Data{prefixes: make(map[string]bool), function: make(map[string]bool)}
	if dir == "" {
		return d, nil
	}
	var tables fs.FS = os.DirFS(dir)
	if _, err := fs.Stat(tables, functionFile); err != nil {
		jars, _ := filepath.Glob(filepath.Join(dir, "*.jar")) // the pattern is fixed
		if len(jars) == 0 {
			return nil, &pipeline.RefusedError{File: dir, Offset: -1, Reason: "want a folder with METEOR's jar, or with " + functionFile + " and the like"}
		}
		z, err := zip.OpenReader(jars[0])
		if err != nil {
			return nil, &pipeline.RefusedError{File: jars[0], Offset: -1, Reason: err.Error()}
		}
		defer z.Close()
		z.RegisterDecompressor(zip.Deflate, flate.NewReader)
		tables = z
	}
	for _, t := range []struct {
		name string
		line func(lines *lines) error
	}{{functionFile, d.readFunction}, {prefixFile, d.readPrefixes}, {exceptionFile, d.readExceptions}} {
		if err := readLines(tables, dir, t.name, t.line); err != nil {
			return nil, err
		}
	}
	var err error
	if d.synsets, err = readSynsets(tables, dir); err != nil {
		return nil, err
	}
	for _, name := range []string{filepath.Join("data", "paraphrase-en.gz"), "paraphrase-en.gz"} {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err == nil {
			d.paraphrase = path
			break
		}
	}
	return d, nil
}

// lines are the lines of a table.
type lines struct {
	sc *bufio.Scanner
	n  int64
}

func newLines(r io.Reader) *lines {
	l := &lines{sc: bufio.NewScanner(r)}
	l.sc.Buffer(make([]byte, 1<<16), 1<<20)
	return l
}

func (l *lines) each(visit func(line string) error) error {
	for l.sc.Scan() {
		l.n++
		if err := visit(l.sc.Text()); err != nil {
			return err
		}
	}
	return l.sc.Err()
}

func readLines(tables fs.FS, dir, name string, read func(*lines) error) error {
	f, err := tables.Open(name)
	if err != nil {
		return &pipeline.RefusedError{File: filepath.Join(dir, name), Offset: -1, Reason: "METEOR's table is missing"}
	}
	defer f.Close()
	l := newLines(f)
	if err := read(l); err != nil {
		return &pipeline.RefusedError{File: filepath.Join(dir, name), Line: l.n, Offset: -1, Reason: err.Error()}
	}
	return nil
}

func (d *Data) readFunction(l *lines) error {
	return l.each(func(line string) error {
		if w := strings.TrimSpace(line); w != "" {
			d.function[w] = true
		}
		return nil
	})
}

func (d *Data) readPrefixes(l *lines) error {
	return l.each(func(line string) error {
		w := strings.TrimSpace(line)
		if w == "" || w[0] == '#' {
			return nil
		}
		w, numeric := strings.CutSuffix(w, "#NUMERIC_ONLY#")
		d.prefixes[strings.TrimSpace(w)] = numeric
		return nil
	})
}

var errHalf = errors.New("a line for a second one is missing")

// pairs visits lines two by two.
func (l *lines) pairs(visit func(first, second string) error) error {
	first := ""
	err := l.each(func(line string) error {
		if l.n%2 == 1 {
			first = line
			return nil
		}
		return visit(first, line)
	})
	if err == nil && l.n%2 == 1 {
		err = errHalf
	}
	return err
}

func (d *Data) readExceptions(l *lines) error {
	d.exceptions = make(map[string][]string, 1<<13)
	return l.pairs(func(base, forms string) error {
		for _, f := range strings.Fields(forms) {
			d.exceptions[f] = append(d.exceptions[f], base)
		}
		return nil
	})
}

// Modules names the modules that run, in their order.
func (d *Data) Modules() []string {
	out := []string{"exact", "stem"}
	if d.synsets != nil {
		out = append(out, "synonym")
	}
	if d.paraphrase != "" {
		out = append(out, "paraphrase")
	}
	return out
}
