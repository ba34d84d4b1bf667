package shard

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"espalier/internal/shared"
)

// golden is an entry of goldens/corpora/interop/contents.json.
type golden struct {
	File    string
	Rows    int64
	Columns []struct {
		Name     string
		Type     string
		Nullable bool
		Values   []any
	}
	Files []string
}

// eachGoldens runs a test over the part of the goldens that lies here and over
// all of them.
func eachGoldens(t *testing.T, f func(t *testing.T, dir string, files []golden, refused []string)) {
	for name, dir := range map[string]func(t *testing.T) string{
		"part":  func(*testing.T) string { return filepath.Join("testdata", "interop") },
		"whole": func(t *testing.T) string { return shared.Dir(t, "goldens", "corpora", "interop") },
	} {
		t.Run(name, func(t *testing.T) {
			dir := dir(t)
			files, refused := goldens(t, dir)
			f(t, dir, files, refused)
		})
	}
}

func goldens(t *testing.T, dir string) (files []golden, refused []string) {
	b, err := os.ReadFile(filepath.Join(dir, "contents.json"))
	if err != nil {
		t.Fatal(err)
	}
	var contents struct {
		Files   []golden
		Refused []struct{ File string }
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(&contents); err != nil {
		t.Fatal(err)
	}
	for _, r := range contents.Refused {
		refused = append(refused, r.File)
	}
	return contents.Files, refused
}

func openTable(t *testing.T, path string) (*Table, error) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return OpenTable(bytes.NewReader(b), int64(len(b)))
}

// TestOtherWriters reads every file of pyarrow, polars, DuckDB and datasets
// and compares every value.
func TestOtherWriters(t *testing.T) { eachGoldens(t, testOtherWriters) }

func testOtherWriters(t *testing.T, dir string, files []golden, _ []string) {
	if len(files) < 12 {
		t.Fatalf("%d files, want at least 12", len(files))
	}
	for _, g := range files {
		t.Run(g.File, func(t *testing.T) {
			var tables []*Table
			paths := []string{g.File}
			if g.Files != nil { // a folder of datasets
				paths = nil
				for _, f := range g.Files {
					if strings.HasSuffix(f, ".arrow") {
						paths = append(paths, filepath.Join(g.File, f))
					}
				}
			}
			for _, p := range paths {
				table, err := openTable(t, filepath.Join(dir, p))
				if err != nil {
					t.Fatal(err)
				}
				tables = append(tables, table)
			}
			compare(t, g, tables)
		})
	}
}

func compare(t *testing.T, g golden, tables []*Table) {
	t.Helper()
	var n int64
	for _, table := range tables {
		columns := table.Columns()
		if len(columns) != len(g.Columns) {
			t.Fatalf("columns %v, want %d", columns, len(g.Columns))
		}
		for i, c := range columns {
			if w := g.Columns[i]; c.Name != w.Name || c.Nullable != w.Nullable {
				t.Errorf("column %d: %+v, want %s, nullable %v", i, c, w.Name, w.Nullable)
			}
		}
		start := n
		for row, err := range table.Rows() {
			if err != nil {
				t.Fatal(err)
			}
			var back map[string]any
			line := AppendJSON(nil, columns, row)
			if err := json.Unmarshal(line, &back); err != nil || len(back) != len(columns) {
				t.Fatalf("row %d is no JSON object: %v: %s", n, err, line)
			}
			for i, v := range row {
				w := g.Columns[i]
				if !same(v, w.Values[n], w.Type) {
					t.Errorf("row %d, column %s (%s): %v, want %v", n, w.Name, w.Type, v, w.Values[n])
				}
			}
			n++
		}
		if n-start != table.NumRows() {
			t.Errorf("%d rows, NumRows says %d", n-start, table.NumRows())
		}
	}
	if n != g.Rows {
		t.Errorf("%d rows, want %d", n, g.Rows)
	}
}

// same compares a value with the golden's JSON; typ is pyarrow's name of the
// type, which gives the unit of times.
func same(got, want any, typ string) bool {
	switch w := want.(type) {
	case nil:
		return got == nil
	case bool:
		return got == w
	case string:
		switch g := got.(type) {
		case string:
			return g == w
		case Decimal:
			return string(g) == w
		case float64:
			f := map[string]float64{"nan": math.NaN(), "inf": math.Inf(1), "-inf": math.Inf(-1)}[w]
			return math.Float64bits(f) == math.Float64bits(g) || f != f && g != g
		}
	case json.Number:
		return sameNumber(got, w, typ)
	case []any:
		return sameList(got, w, typ)
	case map[string]any:
		if b, ok := got.([]byte); ok {
			return base64.StdEncoding.EncodeToString(b) == w["base64"]
		}
		s, ok := got.(Struct)
		if !ok || len(s) != len(w) {
			return false
		}
		for _, f := range s {
			v, ok := w[f.Name]
			if !ok || !same(f.Value, v, "") {
				return false
			}
		}
		return true
	}
	return false
}

func sameNumber(got any, want json.Number, typ string) bool {
	unit := time.Nanosecond
	for name, u := range map[string]time.Duration{"[s": time.Second, "[ms": time.Millisecond, "[us": time.Microsecond} {
		if strings.Contains(typ, name) {
			unit = u
		}
	}
	switch g := got.(type) {
	case int64, uint64:
		return fmt.Sprint(g) == want.String()
	case float64:
		f, err := want.Float64()
		return err == nil && math.Float64bits(f) == math.Float64bits(g)
	case Timestamp:
		return fmt.Sprint(time.Time(g).UnixNano()/int64(unit)) == want.String()
	case Date:
		return fmt.Sprint(int32(g)) == want.String()
	case TimeOfDay:
		return fmt.Sprint(int64(g)/int64(unit)) == want.String()
	}
	return false
}

func sameList(got any, want []any, typ string) bool {
	switch g := got.(type) {
	case []any:
		for i := range want {
			if i >= len(g) || !same(g[i], want[i], "") {
				return false
			}
		}
		return len(g) == len(want)
	case []float32:
		for i := range want {
			if i >= len(g) || !same(float64(g[i]), want[i], "") {
				return false
			}
		}
		return len(g) == len(want)
	case Map:
		for i := range want {
			pair := want[i].([]any)
			if i >= len(g) || !same(g[i].Key, pair[0], "") || !same(g[i].Value, pair[1], "") {
				return false
			}
		}
		return len(g) == len(want)
	}
	return false
}

func TestBrokenFilesAreRefused(t *testing.T) { eachGoldens(t, testBrokenFiles) }

func testBrokenFiles(t *testing.T, dir string, _ []golden, refused []string) {
	if len(refused) < 3 {
		t.Fatalf("%d files to refuse, want at least 3", len(refused))
	}
	for _, name := range refused {
		table, err := openTable(t, filepath.Join(dir, name))
		if err == nil {
			for _, e := range table.Rows() {
				err = errors.Join(err, e)
			}
		}
		if !errors.Is(err, ErrFormat) {
			t.Errorf("%s: error %v, want ErrFormat", name, err)
		}
		t.Logf("%s: %v", name, err)
	}
}
