package preprocess

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"espalier/pipeline"
	"espalier/pipeline/store"
	"espalier/preprocess/corpus"
	"espalier/preprocess/corpus/coco"
	"espalier/preprocess/corpus/records"
	"espalier/preprocess/example"
)

// published is a file's last name as it is published: it may be there as a gzip
// stream.
func published(name string) string { return strings.TrimSuffix(path.Base(name), ".gz") }

// has reports whether a file has one of the corpus's published names.
func (r *reader) has(name string) bool {
	want := published(name)
	if r.folders {
		want = strings.Join(lastOf(name, 3), "/")
	}
	return r.files().MatchString(want)
}

// find returns the corpus's files among others: those with published names, or
// else the only file there is. If names tell splits, a split selects files.
func (r *reader) find(files []store.FileEntry, split string) ([]string, error) {
	var found []string
	for _, f := range files {
		if r.has(f.Name) {
			found = append(found, f.Name)
		}
	}
	refuse := func(file, reason string) ([]string, error) {
		return nil, &pipeline.RefusedError{File: file, Offset: -1, Reason: reason}
	}
	switch {
	case len(found) == 0 && len(files) == 1 && !r.folders:
		return []string{files[0].Name}, nil
	case len(found) == 0:
		return refuse(r.name, fmt.Sprintf("no file named like %s among %d raw files", plainPattern(r.files()), len(files)))
	case len(found) > 1 && r.one:
		return refuse(found[1], "a second file of "+r.name+" beside "+found[0])
	}
	if r.folders {
		for i := range found {
			found[i] = path.Dir(found[i])
		}
		slices.Sort(found)
		found = slices.Compact(found)
	}
	if home := r.atHome(found); len(home) > 0 {
		found = home
	}
	found = r.preferred(found)
	if split != "" && len(found) > 1 {
		var err error
		if found, err = r.ofSplit(found, split, files); err != nil {
			return nil, err
		}
	}
	if len(r.home) > 0 {
		seen := map[string]string{}
		for _, name := range found {
			s := r.splitOf(name)
			if other, twice := seen[s]; twice && !strings.Contains(name, "-of-") {
				return refuse(name, "a second file of "+r.name+" for one split beside "+other)
			}
			seen[s] = name
		}
	}
	return found, nil
}

// splitOf is the standard split that the name of a file or folder says.
func (r *reader) splitOf(name string) string {
	if r.folders {
		name = path.Dir(name)
	}
	return corpus.StandardSplit(name)
}

// splitsOf are the splits that the rows of a file have, by all names that it may
// say; none if its name says nothing.
func (r *reader) splitsOf(name string, files []store.FileEntry) (out []string) {
	if r.says != nil {
		if out = r.says(published(name), len(r.joined(name, files)) > 0); len(out) > 0 {
			return out
		}
	}
	if r.folders {
		name = path.Dir(name)
	}
	if s := corpus.StandardSplit(name); s != "" {
		if out = append(out, s); strings.Contains(s, "_") {
			return out // one of two, such as validation_matched
		}
	}
	for _, s := range []string{records.SplitOfName(name), coco.SplitOfFile(name)} {
		if s != "all" && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	for _, s := range strings.FieldsFunc(published(name), func(r rune) bool { return r == '_' || r == '.' }) {
		if strings.HasPrefix(s, "test-") { // such as test-dev2015
			out = append(out, s)
		}
	}
	return out
}

// ofSplit returns the files whose names say a split that is asked for. If none
// does, the split is a label for all of them, unless their names say that they
// are of several: rows for training are not to be labelled as those of a test.
func (r *reader) ofSplit(found []string, split string, files []store.FileEntry) ([]string, error) {
	var of []string
	said := map[string]bool{}
	for _, name := range found {
		names := r.splitsOf(name, files)
		if len(names) > 0 {
			said[names[0]] = true
		}
		if slices.ContainsFunc(names, func(s string) bool { return s == split || s == standard(split) }) {
			of = append(of, name)
		}
	}
	switch {
	case len(of) > 0:
		return of, nil
	case len(said) > 1:
		return nil, &pipeline.RefusedError{File: r.name, Offset: -1, Field: split, Reason: "no file of this split; the files are of " + strings.Join(sorted(said), ", ")}
	}
	return found, nil
}

// standard is the standard name of a split, that of one of two and of a year
// too: "validation_matched" for dev_matched, "validation" for val2014.
func standard(split string) string {
	first, rest, two := strings.Cut(split, "_")
	if two {
		return example.Standard(first) + "_" + rest
	}
	return example.Standard(strings.TrimRight(split, "0123456789"))
}

func sorted(set map[string]bool) []string {
	names := make([]string, 0, len(set))
	for name := range set {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// preferred leaves out files in whose place others of the same split are read.
func (r *reader) preferred(found []string) []string {
	if r.rather == nil {
		return found
	}
	whole := map[string]bool{}
	for _, name := range found {
		if r.rather().MatchString(published(name)) {
			whole[records.SplitOfName(name)] = true
		}
	}
	return slices.DeleteFunc(found, func(name string) bool {
		return whole[records.SplitOfName(name)] && !r.rather().MatchString(published(name))
	})
}

// atHome returns the files that lie in a folder of the corpus's own.
func (r *reader) atHome(names []string) (out []string) {
	for _, name := range names {
		parts := strings.Split(path.Dir(name), "/")
		if slices.ContainsFunc(parts, func(p string) bool {
			p = strings.TrimSuffix(p, ".zip")
			return slices.ContainsFunc(r.home, func(h string) bool { return strings.EqualFold(p, h) })
		}) {
			out = append(out, name)
		}
	}
	return out
}

// below returns the files of a folder that is read as one.
func (r *reader) below(dir string, files []store.FileEntry) (out []store.FileEntry) {
	if !r.folders {
		return nil
	}
	for _, f := range files {
		if path.Dir(f.Name) == dir && r.has(f.Name) {
			out = append(out, f)
		}
	}
	return out
}

// lastOf returns the last names of a path.
func lastOf(name string, n int) []string {
	parts := strings.Split(name, "/")
	return parts[max(len(parts)-n, 0):]
}

// plainPattern shows a pattern without its anchors and escapes, if it is short.
func plainPattern(re *regexp.Regexp) string {
	s := strings.TrimSuffix(strings.TrimPrefix(re.String(), "^"), "$")
	if len(s) > 80 {
		return "its published ones (espalier data check tells them)"
	}
	return strings.NewReplacer(`(_[a-z]+)?`, "", `(\.[a-z]+)?`, "", `\d{5}`, "NNNNN", `\d+`, "N", `\d\d`, "NN", `\`, "").Replace(s)
}

// joined returns the names of the files that are joined to a file.
func (r *reader) joined(name string, files []store.FileEntry) []string {
	if r.joins == nil {
		return nil
	}
	var out []string
	for _, names := range r.joins(published(name)) {
		if found := firstOf(names, path.Dir(name), files); found != "" {
			out = append(out, found)
		}
	}
	return out
}

// firstOf returns the first of some published names that a file has, one of the
// same folder before others.
func firstOf(names []string, dir string, files []store.FileEntry) string {
	for _, want := range names {
		other := ""
		for _, f := range files {
			if published(f.Name) != want {
				continue
			}
			if path.Dir(f.Name) == dir {
				return f.Name
			}
			if other == "" {
				other = f.Name
			}
		}
		if other != "" {
			return other
		}
	}
	return ""
}
