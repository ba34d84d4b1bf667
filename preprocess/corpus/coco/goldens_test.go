package coco

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"espalier/internal/shared"
)

// A goldenFile is an entry of ingest/files.json.
type goldenFile struct {
	File, Reader, Corpus, Task, Split, Digest, Note string
	Kept                                            int      `json:"rows_kept"`
	Dropped                                         int      `json:"rows_dropped"`
	Fields                                          []string `json:"digest_fields"`
}

// digest is the goldens' digest over rows: see their README.
func digest(rows []seen, fields []string) string {
	h := sha256.New()
	text := func(v any) string {
		switch v := v.(type) {
		case nil:
			return ""
		case string:
			return v
		case []any:
			var parts []string
			for _, x := range v {
				parts = append(parts, x.(string))
			}
			return strings.Join(parts, "\x1d")
		}
		panic("unexpected value")
	}
	for _, r := range rows {
		parts := []string{text(r["key"])}
		for _, f := range fields {
			parts = append(parts, text(r["fields"].(map[string]any)[f]))
		}
		parts = append(parts, text(r["label"]), text(r["references"]), text(r["image"]))
		h.Write([]byte(strings.Join(parts, "\x1f") + "\x1e"))
	}
	return hex.EncodeToString(h.Sum(nil))
}

func TestGoldens(t *testing.T) {
	var files []goldenFile
	b, err := os.ReadFile(shared.Dir(t, "goldens", "corpora", "ingest", "files.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &files); err != nil {
		t.Fatal(err)
	}
	done := 0
	for _, g := range files {
		switch g.Reader {
		case "karpathy", "coco-captions", "flickr-token":
		default:
			continue
		}
		done++
		b, err := os.ReadFile(shared.Dir(t, "data", g.File))
		if err != nil {
			t.Fatal(err)
		}
		all, dead, err := read(t, g.Reader, b, Options{File: g.File})
		if err != nil || len(dead) != g.Dropped {
			t.Fatalf("%s: %d dead letters, %v", g.File, len(dead), err)
		}
		native := g.Split
		if n, ok := strings.CutPrefix(g.Note, "native split "); ok {
			native = n
		}
		var rows []seen
		for _, r := range all {
			if g.Reader == "karpathy" && r["meta"].(map[string]any)["karpathy_split"] != native {
				continue
			}
			if r["split"] != g.Split || r["corpus"] != g.Corpus || r["task"] != g.Task {
				t.Errorf("%s: row of %v, %v, %v", g.File, r["corpus"], r["task"], r["split"])
			}
			rows = append(rows, r)
		}
		if len(rows) != g.Kept {
			t.Errorf("%s, %s: %d rows, want %d", g.File, native, len(rows), g.Kept)
		}
		if got := digest(rows, g.Fields); got != g.Digest {
			t.Errorf("%s, %s: digest %s, want %s", g.File, native, got, g.Digest)
		}
	}
	if done != 6 {
		t.Errorf("%d files, want 6", done)
	}
}

func TestGoldenRows(t *testing.T) {
	readers := map[string]string{
		"cap-karpathy-mini/dataset_coco_testing.json": "karpathy",
		"cap-coco-val4800/captions_val2014.json":      "coco-captions",
		"cap-flickr8k/Flickr8k.token.head.txt":        "flickr-token",
	}
	for file, reader := range readers {
		b, err := os.ReadFile(shared.Dir(t, "data", file))
		if err != nil {
			t.Fatal(err)
		}
		rows, _, err := read(t, reader, b, Options{File: file})
		if err != nil {
			t.Fatal(err)
		}
		byKey := map[any]seen{}
		for _, r := range rows {
			byKey[r["key"]] = r
		}
		f, err := os.Open(shared.Dir(t, "goldens", "corpora", "ingest", "rows", filepath.Dir(file)+".jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		n := 0
		for s := bufio.NewScanner(f); s.Scan(); {
			var want map[string]any
			if err := json.Unmarshal(s.Bytes(), &want); err != nil {
				t.Fatal(err)
			}
			if want["file"] != file {
				continue
			}
			n++
			got := byKey[want["key"]]
			if meta, ok := got["meta"].(map[string]any); ok && reader == "karpathy" {
				delete(meta, "marks") // not in rows of a job that asks for none
			}
			for name, v := range want {
				switch name {
				case "file", "id":
					continue
				}
				if g := got[name]; !reflect.DeepEqual(g, v) {
					t.Errorf("%s, %v: %s = %v, want %v", file, want["key"], name, g, v)
				}
			}
		}
		if n == 0 {
			t.Errorf("%s: no rows to compare", file)
		}
	}
}

func TestSharedTraps(t *testing.T) {
	var traps []trap
	b, err := os.ReadFile(shared.Dir(t, "goldens", "corpora", "traps", "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &traps); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, c := range traps {
		reader := strings.TrimPrefix(c.ReadAs, "json/")
		switch reader {
		case "karpathy", "coco-captions", "flickr-token":
		default:
			continue
		}
		n++
		b, err := os.ReadFile(shared.Dir(t, "goldens", "corpora", "traps", c.File))
		if err != nil {
			t.Fatal(err)
		}
		rows, dead, err := read(t, reader, b, Options{File: c.File})
		if c.Refused != nil {
			if err == nil {
				t.Errorf("%s: not refused", c.File)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		checkTrap(t, c, rows, dead)
	}
	if n == 0 {
		t.Error("no traps for these readers")
	}
}
