package data

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"espalier/data/card"
	"espalier/pipeline"
	"espalier/preprocess"
)

// States of what a check looks at.
const (
	OK      = "ok"
	Missing = "missing"
	Absent  = "absent" // not there and not needed
	Differs = "differs"
	Unknown = "unknown" // nothing to compare with
)

// A Finding is one line of a check.
type Finding struct {
	What     string `json:"what"`     // a file, a folder or a split
	Found    string `json:"found"`    // bytes, images, rows
	Expected string `json:"expected"` // as the card says, "" if it does not
	State    string `json:"state"`
	Note     string `json:"note,omitempty"`
}

// Check compares a folder of raw files with the card of its corpus: what is
// there, what is missing, and how many rows and dead letters there are. A file
// that cannot be read is a finding, not an error.
func Check(ctx context.Context, corpus, raw string) ([]Finding, error) {
	c, ok := card.Find(corpus)
	if !ok {
		return nil, fmt.Errorf("no card of corpus %q", corpus)
	}
	names, err := (&pipeline.Files{Path: raw}).Find(ctx) // as ingest finds them
	if err != nil {
		return nil, err
	}
	var out []Finding
	members, err := preprocess.Members(ctx, rawFiles(raw, names))
	if err != nil && ctx.Err() != nil {
		return nil, err // else the count of rows says what is wrong
	}
	for _, f := range c.Files {
		finding, err := checkFile(raw, slices.Concat(names, members), f)
		if err != nil {
			return nil, err
		}
		out = append(out, finding)
	}
	counted, err := countRows(ctx, corpus, c, raw, names)
	out = append(out, counted...)
	if corpus != c.Name {
		out = variant(out)
	}
	return out, err
}

// variant takes back what the card says of another corpus in the same layout: it
// may have other files and other numbers of rows.
func variant(list []Finding) []Finding {
	list = slices.DeleteFunc(list, func(f Finding) bool {
		return f.Found == read && slices.ContainsFunc(list, func(g Finding) bool { return g.What == f.What && g.Found != read })
	})
	for i := range list {
		f := &list[i]
		switch {
		case f.Found == "" && f.State == Missing && f.What != rows:
			f.State = Absent
		case f.State == Differs && f.Expected != "" && f.What != deadLetters:
			f.Expected, f.State, f.Note = "", Unknown, ""
		}
	}
	return list
}

// What is found out by reading.
const (
	rows        = "rows"
	deadLetters = "dead letters"
	read        = "read"
)

// below returns the path of a listed name.
func below(root, name string) string {
	if info, err := os.Stat(root); err == nil && !info.IsDir() {
		return root
	}
	return filepath.Join(root, filepath.FromSlash(name))
}

func checkFile(root string, names []string, f card.File) (Finding, error) {
	out := Finding{What: f.Pattern, Note: f.What, State: OK}
	gone := Missing
	if f.Optional {
		gone = Absent
	}
	if folder, ok := strings.CutSuffix(f.Pattern, "/"); ok {
		n, unit := int64(0), cmp.Or(f.Unit, "images")
		for _, name := range names {
			if dir := path.Dir(name); (dir == folder || strings.HasSuffix(dir, "/"+folder)) && (f.Unit != "" || isImage(name)) {
				n++
			}
		}
		out.Found = fmt.Sprintf("%d %s", n, unit)
		if f.Images > 0 {
			out.Expected = fmt.Sprintf("%d %s", f.Images, unit)
		}
		switch {
		case n == 0:
			out.Found, out.State = "", gone
		case f.Images == 0:
			out.State = Unknown
		case n != f.Images:
			out.State = Differs
		}
		return out, nil
	}
	found := ""
	for _, name := range names {
		base, want := path.Base(strings.TrimSuffix(name, ".gz")), path.Base(f.Pattern)
		ok, err := path.Match(want, base)
		if err != nil {
			return out, fmt.Errorf("card: %w", err)
		}
		if exact := strings.HasSuffix("/"+strings.TrimSuffix(name, ".gz"), "/"+f.Pattern); exact || ok && found == "" {
			if found = name; exact { // rather than a file of that name in another folder
				break
			}
		}
	}
	if found == "" {
		out.State = gone
		return out, nil
	}
	out.What = found
	info, err := os.Stat(below(root, found))
	switch {
	case isMember(root, found):
		out.Found = "in an archive"
	case err != nil:
		return out, err
	default:
		out.Found = fmt.Sprintf("%d bytes", info.Size())
	}
	return out, nil
}

// isMember reports whether a name is that of a member of an archive: if a file
// stands where a folder would.
func isMember(root, name string) bool {
	if info, err := os.Stat(root); err == nil && info.Mode().IsRegular() {
		return name != filepath.Base(root)
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if info, err := os.Stat(below(root, dir)); err == nil {
			return info.Mode().IsRegular()
		}
	}
	return false
}

func isImage(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".jpg", ".jpeg", ".png":
		return true
	}
	return false
}

func rawFiles(root string, names []string) (files []preprocess.RawFile) {
	for _, name := range names {
		files = append(files, preprocess.RawFile{Name: name, Path: below(root, name)})
	}
	return files
}

// countRows reads the corpus's files and compares the splits with the card.
func countRows(ctx context.Context, corpus string, c card.Card, root string, names []string) ([]Finding, error) {
	got, err := preprocess.CountRows(ctx, corpus, rawFiles(root, names))
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return []Finding{{What: rows, State: Missing, Note: err.Error()}}, nil
	}
	var out []Finding
	if corpus != c.Name {
		for _, name := range got.Files {
			out = append(out, Finding{What: name, Found: read, State: OK})
		}
	}
	seen := map[string]bool{}
	for _, want := range c.Counts {
		n := got.Rows[want.Split]
		if want.Native {
			n = got.Native[want.Split]
		}
		seen[want.Split] = true
		f := Finding{What: "split " + want.Split, Found: fmt.Sprintf("%d rows", n), Expected: fmt.Sprintf("%d rows", want.Rows), State: OK, Note: want.Source}
		if n != want.Rows {
			f.State = Differs
		}
		out = append(out, f)
	}
	for _, split := range got.Splits() {
		if !seen[split] {
			out = append(out, Finding{What: "split " + split, Found: fmt.Sprintf("%d rows", got.Rows[split]), State: Unknown, Note: "not on the card"})
		}
	}
	dead := Finding{What: deadLetters, Found: fmt.Sprintf("%d", got.Dead), Expected: "0", State: OK}
	if got.Dead > 0 {
		dead.State, dead.Note = Differs, got.FirstDead
	}
	return append(out, dead), nil
}

// Bad reports whether a finding is a fault, as far as the card can tell.
func (f Finding) Bad() bool { return f.State == Missing || f.State == Differs }
