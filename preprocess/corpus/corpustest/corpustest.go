// Package corpustest compares what readers of raw corpora give with goldens.
package corpustest

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"espalier/internal/shared"
	"espalier/pipeline"
	"espalier/preprocess/corpus"
	"espalier/preprocess/rawfile"
)

// A Row is a row as JSON has it, numbers as they are printed.
type Row map[string]any

// A Reader reads a whole file in slices of about mean rows.
type Reader func(t testing.TB, src *corpus.Source, mean int) ([]Row, []*pipeline.DeadLetter, error)

// With reads files of a format.
func With[F, M any](f corpus.Format[F, M]) Reader {
	return func(t testing.TB, src *corpus.Source, mean int) (rows []Row, dead []*pipeline.DeadLetter, _ error) {
		t.Helper()
		list, err := f.Plan(t.Context(), src, mean)
		if err != nil {
			return nil, nil, err
		}
		ids := map[string]bool{}
		for _, sl := range list {
			if ids[sl.ID] {
				t.Errorf("%s: two slices %s", src.Name, sl.ID)
			}
			ids[sl.ID] = true
			for rec, err := range f.Read(t.Context(), src, sl.Of) {
				if err != nil {
					return rows, dead, err
				}
				if (rec.Row == nil) == (rec.Dead == nil) {
					t.Fatal("a record is a row or a dead letter")
				}
				if rec.Dead != nil {
					dead = append(dead, rec.Dead)
					continue
				}
				rows = append(rows, asJSON(t, rec.Row))
			}
		}
		return rows, dead, nil
	}
}

func asJSON(t testing.TB, v any) Row {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var r Row
	parse(t, b, &r)
	return r
}

func parse(t testing.TB, b []byte, v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(v); err != nil {
		t.Fatal(err)
	}
}

// Bytes is a source of some bytes.
func Bytes(name string, b []byte, joined ...*corpus.Source) *corpus.Source {
	return &corpus.Source{ReaderAt: bytes.NewReader(b), Size: int64(len(b)), Name: name, Joined: joined}
}

// File opens a file, expanded, as a source.
func File(t testing.TB, path, name string) (*corpus.Source, error) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	p, err := rawfile.Open(t.Context(), name, f, info.Size(), t.TempDir())
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { p.Close() })
	return &corpus.Source{ReaderAt: p, Size: p.Size, Name: name}, nil
}

// open is File, and an empty source for a folder.
func open(t testing.TB, path, name string) (*corpus.Source, error) {
	t.Helper()
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return Bytes(name, nil), nil
	}
	return File(t, path, name)
}

// Member opens a member of an archive; "" is the file itself, which must be none.
func Member(t testing.TB, src *corpus.Source, member string) (*corpus.Source, error) {
	t.Helper()
	a, err := rawfile.OpenArchive(t.Context(), src.Name, &rawfile.Plain{ReaderAt: src, Size: src.Size}, t.TempDir())
	if err != nil || a == nil && member == "" {
		return src, err
	}
	if a == nil {
		t.Fatalf("%s is no archive", src.Name)
	}
	p, err := a.Open(t.Context(), member)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { p.Close() })
	return &corpus.Source{ReaderAt: p, Size: p.Size, Name: src.Name + "/" + member}, nil
}

// SameSlices reads bytes as one slice and as many, which must give the same rows
// and dead letters, or refuse the file alike.
func SameSlices(t testing.TB, read Reader, name string, b []byte) {
	t.Helper()
	rows, dead, err := read(t, Bytes(name, b), corpus.SliceRows)
	rows2, dead2, err2 := read(t, Bytes(name, b), 1)
	if (err == nil) != (err2 == nil) || err == nil && (!reflect.DeepEqual(rows, rows2) || !reflect.DeepEqual(dead, dead2)) {
		t.Errorf("slices of one row differ: %d and %d rows, %d and %d dead letters, %v, %v", len(rows), len(rows2), len(dead), len(dead2), err, err2)
	}
}

// A Golden is an entry of ingest/files.json.
type Golden struct {
	File, Reader, Corpus, Task, Split, Digest, Note string
	Also                                            []string
	Kept                                            int      `json:"rows_kept"`
	Dropped                                         int      `json:"rows_dropped"`
	Twins                                           int      `json:"duplicate_keys"`
	Fields                                          []string `json:"digest_fields"`
}

// Digest is the goldens' digest over rows: see their README.
func Digest(rows []Row, fields []string) string {
	h := sha256.New()
	for _, r := range rows {
		parts := []string{text(r["key"])}
		for _, f := range fields {
			parts = append(parts, text(r["fields"].(map[string]any)[f]))
		}
		parts = append(parts, text(r["label"]), text(r["references"]), text(r["image"]))
		io.WriteString(h, strings.Join(parts, "\x1f")+"\x1e")
	}
	return hex.EncodeToString(h.Sum(nil))
}

func text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		if v {
			return "true"
		}
		return "false"
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = text(v[i])
		}
		return strings.Join(parts, "\x1d")
	}
	panic("corpustest: unexpected value")
}

// Check compares all files of the goldens that a reader is given for: their
// counts, their digest over all rows, and every stored row, for slices of any
// size. It returns the number of files.
func Check(t *testing.T, of func(g Golden) Reader) int {
	var list []Golden
	b, err := os.ReadFile(shared.Dir(t, "goldens", "corpora", "ingest", "files.json"))
	if err != nil {
		t.Fatal(err)
	}
	parse(t, b, &list)
	n := 0
	for _, g := range list {
		read := of(g)
		if read == nil {
			continue
		}
		n++
		t.Run(g.File, func(t *testing.T) { checkFile(t, g, read) })
	}
	return n
}

// CheckFolders is Check for folders that are read as one.
func CheckFolders(t *testing.T, of func(g Golden) (Reader, *corpus.Source)) int {
	return Check(t, func(g Golden) Reader {
		read, src := of(g)
		if read == nil {
			return nil
		}
		return func(t testing.TB, asked *corpus.Source, mean int) ([]Row, []*pipeline.DeadLetter, error) {
			src.Split = asked.Split
			return read(t, src, mean)
		}
	})
}

// checkFile compares a file, or a folder for which read has a source.
func checkFile(t *testing.T, g Golden, read Reader) {
	src, err := open(t, shared.Dir(t, "data", g.File), g.File)
	if err != nil {
		t.Fatal(err)
	}
	src.Split = g.Split
	for _, name := range g.Also {
		other, err := File(t, shared.Dir(t, "data", name), name)
		if err != nil {
			t.Fatal(err)
		}
		src.Joined = append(src.Joined, other)
	}
	rows, dead, err := read(t, src, corpus.SliceRows)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != g.Kept || len(dead) != g.Dropped {
		t.Fatalf("%d rows and %d dead letters, want %d and %d", len(rows), len(dead), g.Kept, g.Dropped)
	}
	for _, r := range rows {
		if r["split"] != g.Split || r["corpus"] != g.Corpus || r["task"] != g.Task {
			t.Fatalf("row of %v, %v, %v", r["corpus"], r["task"], r["split"])
		}
	}
	if got := Digest(rows, g.Fields); got != g.Digest {
		t.Errorf("digest %s, want %s", got, g.Digest)
	}
	checkRows(t, g, rows)
	means := []int{1, 7, 300}
	if len(rows) > 500 {
		means = []int{90, 701}
	}
	for _, mean := range means {
		again, dead, err := read(t, src, mean)
		if err != nil || len(dead) != g.Dropped || !reflect.DeepEqual(again, rows) {
			t.Errorf("slices of %d: other rows (%d, %v)", mean, len(again), err)
		}
	}
}

// checkRows compares the stored rows of a file.
func checkRows(t *testing.T, g Golden, rows []Row) {
	folder, _, _ := strings.Cut(g.File, "/")
	b, err := os.ReadFile(shared.Dir(t, "goldens", "corpora", "ingest", "rows", folder+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	byN := map[string]Row{}
	for _, r := range rows {
		byN[text(r["n"])] = r
	}
	n := 0
	for line := range bytes.Lines(b) {
		var want Row
		parse(t, line, &want)
		file := text(want["file"])
		if file != g.File && path.Dir(file) != g.File || want["split"] != g.Split {
			continue
		}
		n++
		compare(t, "row "+text(want["n"]), byN[text(want["n"])], want, "file", "id")
	}
	if n == 0 && len(rows) > 0 {
		t.Error("no stored rows")
	}
}

// compare compares what a golden row says, but for some names.
func compare(t testing.TB, what string, got, want Row, but ...string) {
	t.Helper()
	for name, v := range want {
		skip := false
		for _, b := range but {
			skip = skip || b == name
		}
		if _, number := v.(json.Number); number && name == "label" {
			v = text(v)
		}
		if list, ok := v.([]any); ok && len(list) == 0 && got[name] == nil {
			continue // no list is an empty one
		}
		if !skip && !same(got[name], v) {
			t.Errorf("%s: %s = %s, want %s", what, name, show(got[name]), show(v))
		}
	}
}

func show(v any) string {
	b, _ := json.Marshal(v)
	if len(b) > 300 {
		b = append(b[:300], "..."...)
	}
	return string(b)
}

// same compares values, of which long texts may be given by size and digest.
func same(got, want any) bool {
	w, ok := want.(map[string]any)
	if s, isText := got.(string); ok && isText {
		sum := sha256.Sum256([]byte(s))
		return text(w["sha256"]) == hex.EncodeToString(sum[:])
	}
	g, isMap := got.(map[string]any)
	if !ok || !isMap {
		return reflect.DeepEqual(got, want)
	}
	if len(g) != len(w) {
		return false
	}
	for name := range w {
		if !same(g[name], w[name]) {
			return false
		}
	}
	return true
}

// A Trap is an entry of traps/expected.json.
type Trap struct {
	File    string            `json:"file"`
	ReadAs  string            `json:"read_as"`
	Options map[string]string `json:"options"`
	Rows    []Row             `json:"rows"`
	Dead    []struct {
		N      *int64  `json:"n"`
		Line   *int64  `json:"line"`
		Offset *int64  `json:"offset"`
		Field  string  `json:"field"`
		Where  string  `json:"where"`
		Raw    *string `json:"raw_base64"`
	} `json:"dead"`
	Refused *struct {
		Line   *int64  `json:"line"`
		Offset *int64  `json:"offset"`
		Field  *string `json:"field"`
	} `json:"refused"`
}

// SharedTraps reads all traps of the goldens that a reader is given for. It
// returns their number.
func SharedTraps(t *testing.T, of func(c Trap) Reader) int {
	return Traps(t, shared.Dir(t, "goldens", "corpora", "traps"), of)
}

// Traps reads the traps of a folder that a reader is given for, and compares
// rows, dead letters and refusals. It returns their number.
func Traps(t *testing.T, dir string, of func(c Trap) Reader) int {
	var list []Trap
	b, err := os.ReadFile(filepath.Join(dir, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	parse(t, b, &list)
	n := 0
	for _, c := range list {
		read := of(c)
		if read == nil {
			continue
		}
		n++
		t.Run(filepath.Base(c.File), func(t *testing.T) {
			for _, mean := range []int{corpus.SliceRows, 1, 2} {
				checkTrap(t, dir, c, read, mean)
			}
		})
	}
	return n
}

func checkTrap(t *testing.T, dir string, c Trap, read Reader, mean int) {
	var rows []Row
	var dead []*pipeline.DeadLetter
	src, err := File(t, filepath.Join(dir, c.File), c.File)
	if err == nil {
		src, err = Member(t, src, c.Options["member"])
	}
	if err == nil {
		src.Encoding = c.Options["encoding"]
		if name := c.Options["annotations"]; name != "" {
			other, err := File(t, filepath.Join(dir, name), name)
			if err != nil {
				t.Fatal(err)
			}
			src.Joined = append(src.Joined, other)
		}
		rows, dead, err = read(t, src, mean)
	}
	if c.Refused != nil {
		checkRefused(t, c, err)
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != len(c.Rows) || len(dead) != len(c.Dead) {
		t.Fatalf("%d rows and %d dead letters, want %d and %d", len(rows), len(dead), len(c.Rows), len(c.Dead))
	}
	for i, want := range c.Rows {
		compare(t, "row "+text(want["n"]), rows[i], want, "edits")
	}
	for i, want := range c.Dead {
		got := dead[i]
		switch {
		case got.Field != want.Field || want.Where != "" && got.Where != want.Where,
			want.N != nil && (got.N == nil || *got.N != *want.N),
			want.Line != nil && (got.Line == nil || *got.Line != *want.Line),
			want.Offset != nil && (got.Offset == nil || *got.Offset != *want.Offset),
			want.Raw != nil && base64.StdEncoding.EncodeToString(got.Raw) != *want.Raw:
			t.Errorf("dead letter %d is %s, want %s", i, show(got), show(want))
		}
		if got.Reason == "" || got.Corpus == "" || got.Task == "" || !strings.HasPrefix(got.File, "raw/") {
			t.Errorf("dead letter %d lacks something: %s", i, show(got))
		}
	}
}

func checkRefused(t *testing.T, c Trap, err error) {
	var r *pipeline.RefusedError
	if !errors.As(err, &r) {
		t.Errorf("%v, want a refusal", err)
		return
	}
	w := c.Refused
	if r.File != c.File || w.Line != nil && r.Line != *w.Line || w.Offset != nil && r.Offset != *w.Offset || w.Field != nil && r.Field != *w.Field {
		t.Errorf("refused as %+v, want %s", r, show(w))
	}
}
