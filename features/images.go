package features

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"espalier/pipeline"
	"espalier/pipeline/store"
)

// imageSuffixes are the endings of file names that count as images where no
// list says which files are.
var imageSuffixes = []string{".jpg", ".jpeg", ".png", ".gif", ".bmp", ".webp"}

func isImageName(name string) bool {
	return slices.Contains(imageSuffixes, strings.ToLower(path.Ext(name)))
}

// An imageRef is one image of a plan.
type imageRef struct {
	ID     string `json:"id"`
	File   string `json:"file,omitempty"`   // name in the input; "" if it was not found
	In     *place `json:"in,omitempty"`     // where File lies in an archive
	Reason string `json:"reason,omitempty"` // why not
	Corpus string `json:"corpus,omitempty"`
	Task   string `json:"task,omitempty"`
	Sum    string `json:"sum,omitempty"` // of the file's bytes
}

// finder looks up files by what a corpus calls them.
type finder struct {
	byBase map[string][]string // last name -> names
	sums   map[string]string   // name -> SHA-256
}

func newFinder(files []store.FileEntry) *finder {
	f := &finder{map[string][]string{}, map[string]string{}}
	for _, e := range files {
		base := path.Base(e.Name)
		f.byBase[base] = append(f.byBase[base], e.Name)
		if stem := strings.TrimSuffix(base, path.Ext(base)); isImageName(base) && stem != "" {
			f.byBase[stem] = append(f.byBase[stem], e.Name)
		}
		f.sums[e.Name] = e.SHA256
	}
	return f
}

// find returns the file that an id means: the one of that name; else the one
// whose name ends with the id, or with which the id ends (the root of the files
// may lie above or below the corpus's); else the only one with its last name,
// with or without the extension: some corpora call images by their stems.
func (f *finder) find(id string) (name, reason string) {
	want := path.Clean(filepath.ToSlash(id))
	if _, ok := f.sums[want]; ok {
		return want, ""
	}
	all := f.byBase[path.Base(want)]
	var fit []string
	for _, n := range all {
		if strings.HasSuffix(n, "/"+want) || strings.HasSuffix(want, "/"+n) {
			fit = append(fit, n)
		}
	}
	if len(fit) == 0 {
		fit = all
	}
	switch len(fit) {
	case 0:
		return "", "no such image"
	case 1:
		return fit[0], ""
	}
	return "", fmt.Sprintf("%d files fit the name, %s and %s among them", len(fit), fit[0], fit[1])
}

// exampleImage is what Extract reads of an example.
type exampleImage struct {
	Corpus string  `parquet:"corpus,dict"`
	Task   string  `parquet:"task,dict"`
	Image  *string `parquet:"image,optional"`
}

// imagesOf lists the images that examples name, each once, sorted.
func imagesOf(in *pipeline.Input) (refs []imageRef, err error) {
	seen := map[string]bool{}
	for _, e := range in.Manifest.Files {
		if !strings.HasPrefix(e.Schema, "example/") {
			continue
		}
		if err := eachRow(in, e, func(x exampleImage) {
			if x.Image != nil && !seen[*x.Image] {
				seen[*x.Image] = true
				refs = append(refs, imageRef{ID: *x.Image, Corpus: x.Corpus, Task: x.Task})
			}
		}); err != nil {
			return nil, fmt.Errorf("input %s: %s: %w", in.Name, e.Name, err)
		}
	}
	slices.SortFunc(refs, func(a, b imageRef) int { return strings.Compare(a.ID, b.ID) })
	return refs, nil
}

// FromList makes the Files stage that holds the files of a list of paths, for
// the input images of an Extract whose List is the same lines. Files that do
// not exist are left out, and become dead letters of Extract; if none exists
// that is an error.
func FromList(lines []string) (*pipeline.Files, error) {
	var paths []string
	for _, l := range lines {
		p, err := filepath.Abs(l)
		if err != nil {
			return nil, err
		}
		if st, err := os.Stat(p); err == nil && st.Mode().IsRegular() {
			paths = append(paths, filepath.ToSlash(p))
		}
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("none of the %d files of the list exists", len(lines))
	}
	root := path.Dir(paths[0])
	for _, p := range paths[1:] {
		for root != "/" && !strings.HasPrefix(p, root+"/") {
			root = path.Dir(root)
		}
	}
	f := &pipeline.Files{Path: filepath.FromSlash(root)}
	for _, p := range paths {
		f.Names = append(f.Names, strings.TrimPrefix(strings.TrimPrefix(p, root), "/"))
	}
	return f, nil
}
