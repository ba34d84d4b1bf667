package coco

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"espalier/pipeline"
	"espalier/preprocess/corpus"
)

// A seen row is what the three readers' rows have in common, as JSON.
type seen map[string]any

// collect reads all records of a file.
func collect[R any](t testing.TB, seq iter.Seq2[corpus.Record[R], error]) (rows []seen, dead []*pipeline.DeadLetter, err error) {
	t.Helper()
	for rec, e := range seq {
		if e != nil {
			return rows, dead, e
		}
		if (rec.Row == nil) == (rec.Dead == nil) {
			t.Fatal("a record is a row or a dead letter")
		}
		if rec.Dead != nil {
			dead = append(dead, rec.Dead)
			continue
		}
		b, err := json.Marshal(rec.Row)
		if err != nil {
			t.Fatal(err)
		}
		var s seen
		if err := json.Unmarshal(b, &s); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, s)
	}
	return rows, dead, nil
}

func read(t testing.TB, reader string, b []byte, o Options) ([]seen, []*pipeline.DeadLetter, error) {
	t.Helper()
	ctx, r, n := context.Background(), bytes.NewReader(b), int64(len(b))
	switch reader {
	case "karpathy":
		return collect(t, ReadKarpathy(ctx, r, n, o))
	case "coco-captions":
		return collect(t, ReadCaptions(ctx, r, n, o))
	case "flickr-token":
		return collect(t, ReadFlickr(ctx, r, n, o))
	}
	t.Fatalf("no reader %s", reader)
	return nil, nil, nil
}

// A trap is an entry of expected.json.
type trap struct {
	File   string           `json:"file"`
	ReadAs string           `json:"read_as"`
	Rows   []map[string]any `json:"rows"`
	Dead   []struct {
		Line   *int64  `json:"line"`
		Offset *int64  `json:"offset"`
		Field  string  `json:"field"`
		Where  string  `json:"where"`
		Raw    *string `json:"raw_base64"`
		Reason string  `json:"reason"`
	} `json:"dead"`
	Refused *struct {
		Line   *int64  `json:"line"`
		Offset *int64  `json:"offset"`
		Field  *string `json:"field"`
	} `json:"refused"`
}

func TestTraps(t *testing.T) {
	var traps []trap
	b, err := os.ReadFile("testdata/expected.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &traps); err != nil {
		t.Fatal(err)
	}
	if len(traps) != 3 {
		t.Fatalf("%d traps", len(traps))
	}
	for _, c := range traps {
		t.Run(c.File, func(t *testing.T) {
			b, err := os.ReadFile(filepath.Join("testdata", c.File))
			if err != nil {
				t.Fatal(err)
			}
			rows, dead, err := read(t, strings.TrimPrefix(c.ReadAs, "json/"), b, Options{File: c.File})
			if err != nil {
				t.Fatal(err)
			}
			checkTrap(t, c, rows, dead)
		})
	}
}

func checkTrap(t *testing.T, c trap, rows []seen, dead []*pipeline.DeadLetter) {
	t.Helper()
	if len(rows) != len(c.Rows) {
		t.Fatalf("%d rows, want %d", len(rows), len(c.Rows))
	}
	for i, want := range c.Rows {
		for name, v := range want {
			if !reflect.DeepEqual(rows[i][name], v) {
				t.Errorf("row %d: %s = %v, want %v", i, name, rows[i][name], v)
			}
		}
	}
	if len(dead) != len(c.Dead) {
		t.Fatalf("%d dead letters, want %d", len(dead), len(c.Dead))
	}
	for i, want := range c.Dead {
		got := dead[i]
		if got.Field != want.Field || got.Where != want.Where || got.Reason != want.Reason || got.File != c.File || got.Task != "caption" {
			t.Errorf("dead letter %d: %s, %s, %s, want %s, %s, %s", i, got.Where, got.Field, got.Reason, want.Where, want.Field, want.Reason)
		}
		if want.Line != nil && (got.Line == nil || *got.Line != *want.Line) || want.Offset != nil && (got.Offset == nil || *got.Offset != *want.Offset) {
			t.Errorf("dead letter %d: another line or offset", i)
		}
		if want.Raw != nil && base64.StdEncoding.EncodeToString(got.Raw) != *want.Raw {
			t.Errorf("dead letter %d: raw %q", i, got.Raw)
		}
	}
}

func image(id int, split string, sentences string) string {
	return fmt.Sprintf(`{"filepath":"val2014","sentids":[1],"filename":"x%d.jpg","imgid":%d,"split":%q,"sentences":[%s],"cocoid":%d}`, id, id, split, sentences, id)
}

const oneSentence = `{"tokens":["a","b"],"raw":"A b.","imgid":0,"sentid":1}`

func TestKarpathyDamage(t *testing.T) {
	for _, c := range []struct{ element, where, field, reason string }{
		{`5`, "images[1]", "", "number where an object is expected"},
		{`null`, "images[1]", "", "null where an object is expected"},
		{`{"cocoid":NaN}`, "images[1]", "cocoid", "not JSON"},
		{`{"cocoid":7,}`, "images[1]", "", "not JSON"},
		{strings.Replace(image(7, "val", oneSentence), `"cocoid":7`, `"cocoid":"7"`, 1), "images[1]", "cocoid", "text where a number is expected"},
		{strings.Replace(image(7, "val", oneSentence), `"cocoid":7`, `"cocoid":7.0`, 1), "images[1]", "cocoid", "number is no integer"},
		{strings.Replace(image(7, "val", oneSentence), `"cocoid":7`, `"x":7`, 1), "images[1]", "cocoid", "missing field"},
		{image(7, "Val", oneSentence), "images[1]", "split", "unknown split"},
		{image(7, "val", ""), "images[1]", "sentences", "no caption"},
		{image(1, "val", oneSentence), "images[1]", "cocoid", "duplicate key"},
		{strings.Replace(image(7, "val", oneSentence), `"A b."`, `"A `+"\xff"+`"`, 1), "images[1]", "sentences", "invalid UTF-8"},
		{strings.Replace(image(7, "val", oneSentence), `"A b."`, `"A \ud800"`, 1), "images[1]", "sentences", "lone surrogate in text"},
		{strings.Replace(image(7, "val", oneSentence), `"A b."`, "\"A \x01\"", 1), "images[1]", "sentences", "control character in text"},
		{image(7, "val", oneSentence+`,{"tokens":[],"raw":""}`), "images[1].sentences[1]", "raw", "empty text"},
		{image(7, "val", `{"tokens":[1],"raw":"x"},`+oneSentence), "images[1].sentences[0]", "tokens", "number where text is expected"},
		{strings.Replace(image(7, "val", oneSentence), `[1]`, `[1,9223372036854775808]`, 1), "images[1]", "sentids", "number does not fit 64 bits"},
		{strings.Replace(image(7, "val", oneSentence), `"imgid":7`, `"imgid":7,"unseen":3`, 1), "images[1]", "unseen", "number where a truth value is expected"},
	} {
		doc := `{"images":[` + image(1, "train", oneSentence) + ",\n" + c.element + ", " + image(2, "test", oneSentence) + `]}`
		rows, dead, err := read(t, "karpathy", []byte(doc), Options{File: "k.json", Marks: []string{"unseen"}})
		if err != nil {
			t.Errorf("%.60s: %v", c.element, err)
			continue
		}
		if len(dead) != 1 {
			t.Errorf("%.60s: %d dead letters", c.element, len(dead))
			continue
		}
		d := dead[0]
		if d.Where != c.where || d.Field != c.field || d.Reason != c.reason || *d.N != 1 || string(d.Raw) != c.element || *d.Offset != int64(strings.Index(doc, c.element)) && c.element != "5" {
			t.Errorf("%.60s: %s, %s, %s at %d", c.element, d.Where, d.Field, d.Reason, *d.Offset)
		}
		kept := 2
		if strings.Contains(c.where, "sentences") {
			kept = 3
		}
		if len(rows) != kept || rows[0]["key"] != "1" || rows[kept-1]["key"] != "2" || rows[kept-1]["n"] != 2.0 {
			t.Errorf("%.60s: %d rows kept", c.element, len(rows))
		}
	}
}

func TestKarpathyTwins(t *testing.T) {
	// The first of equal keys that can be kept is kept: here not the very first.
	doc := `{"images":[` + strings.Join([]string{image(1, "weird", oneSentence), image(1, "val", oneSentence), image(2, "val", oneSentence), image(1, "test", oneSentence)}, ",") + `]}`
	for _, mean := range []int{1, 100} {
		list, err := PlanKarpathy(t.Context(), strings.NewReader(doc), int64(len(doc)), mean, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var kept, twins []float64
		for _, sl := range list {
			rows, dead, err := collect(t, ReadKarpathySlice(t.Context(), strings.NewReader(doc), sl, Options{}))
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range rows {
				kept = append(kept, r["n"].(float64))
			}
			for _, d := range dead {
				if d.Field == "cocoid" {
					twins = append(twins, float64(*d.N))
				}
			}
		}
		if !reflect.DeepEqual(kept, []float64{1, 2}) || !reflect.DeepEqual(twins, []float64{3}) {
			t.Errorf("mean %d: kept %v, twins %v", mean, kept, twins)
		}
	}
}

func TestKarpathyLastNameWins(t *testing.T) {
	doc := `{"images":[{"cocoid":"x","split":"test","cocoid":5,"filename":"a.b.jpg","split":"val","sentences":[],"sentences":[` +
		`{"raw":"no","tokens":[],"tokens":["y","z"],"raw":"Yes\n\u00e9"}],"unseen":false,"unseen":true,"other":{"raw":[1,{}]}}]}`
	rows, dead, err := read(t, "karpathy", []byte(doc), Options{Marks: []string{"unseen"}})
	if err != nil || len(dead) > 0 || len(rows) != 1 {
		t.Fatal(rows, dead, err)
	}
	want := seen{
		"id": "coco/caption/val/5", "corpus": "coco", "task": "caption", "split": "val", "key": "5", "n": 0.0, "line": nil, "label": nil, "label_id": nil,
		"fields": map[string]any{"tokens": []any{"y z"}}, "references": []any{"Yes\né"}, "image": "a.b",
		"meta": map[string]any{"imgid": nil, "sentids": nil, "filepath": nil, "karpathy_split": "val", "marks": []any{"unseen"}},
	}
	if !reflect.DeepEqual(rows[0], want) {
		t.Errorf("got %v\nwant %v", rows[0], want)
	}
}

func TestRefused(t *testing.T) {
	for _, c := range []struct {
		reader, in   string
		line, offset int64
		field        string
	}{
		{"coco-captions", `{"images": [{"id": 1}], "annotations": [{"id": 1, "image_id": 1, "caption": "a"}, {"id"`, 1, 87, ""},
		{"coco-captions", `{"images": []}`, 1, 0, "annotations"},
		{"karpathy", `{"images": [` + "\n" + image(1, "val", oneSentence) + "] x", 2, 0, ""},
		{"karpathy", `[]`, 1, 0, ""},
		{"karpathy", ``, 1, 0, ""},
	} {
		rows, _, err := read(t, c.reader, []byte(c.in), Options{File: "f.json"})
		var r *pipeline.RefusedError
		if !errors.As(err, &r) || len(rows) > 0 {
			t.Errorf("%s: %d rows, %v", c.in, len(rows), err)
			continue
		}
		if r.File != "f.json" || r.Line != c.line || r.Field != c.field || c.offset > 0 && r.Offset != c.offset {
			t.Errorf("%s: got %+v", c.in, r)
		}
	}
}

func TestCaptionsInAnyOrder(t *testing.T) {
	doc := `{"annotations":[{"image_id":2,"id":20,"caption":"b1"},{"image_id":1,"id":10,"caption":"a1"},{"image_id":2,"id":21,"caption":"b2"}],"info":{},"images":[{"id":1,"file_name":"a.jpg"},{"id":2,"file_name":"b.jpg"}]}`
	for _, mean := range []int{1, 100} {
		list, err := PlanCaptions(t.Context(), strings.NewReader(doc), int64(len(doc)), mean, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, sl := range list {
			rows, dead, err := collect(t, ReadCaptionsSlice(t.Context(), strings.NewReader(doc), sl, Options{File: "x/captions_val2014.json.gz"}))
			if err != nil || len(dead) > 0 {
				t.Fatal(dead, err)
			}
			for _, r := range rows {
				got = append(got, fmt.Sprint(r["id"], r["references"], r["meta"], r["image"]))
			}
		}
		want := []string{"coco/caption/val2014/1[a1] map[annotation_ids:[10]]a", "coco/caption/val2014/2[b1 b2] map[annotation_ids:[20 21]]b"}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("mean %d: got %q", mean, got)
		}
	}
}

func TestSliceIDs(t *testing.T) {
	// An edit of equal length changes the ID of its own slice only; a longer one
	// those behind it too, because dead letters carry offsets.
	var images []string
	for i := range 400 {
		images = append(images, image(i, "val", oneSentence))
	}
	ids := func(doc string) (out []string) {
		list, err := PlanKarpathy(t.Context(), strings.NewReader(doc), int64(len(doc)), 40, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range list {
			out = append(out, s.ID)
		}
		return out
	}
	differ := func(a, b []string) (n int) {
		for i := range min(len(a), len(b)) {
			if a[i] != b[i] {
				n++
			}
		}
		return n
	}
	doc := `{"images":[` + strings.Join(images, ",") + `]}`
	before := ids(doc)
	if len(before) < 4 {
		t.Fatalf("%d slices", len(before))
	}
	mid := strings.LastIndex(doc[:len(doc)/2], "A b.")
	if n := differ(before, ids(doc[:mid]+"A c."+doc[mid+4:])); n != 1 {
		t.Errorf("%d slices changed, want 1", n)
	}
	if n := differ(before, ids(doc[:mid]+"A cc."+doc[mid+4:])); n < 2 || n == len(before) {
		t.Errorf("%d of %d slices changed", n, len(before))
	}
	more := `{"images":[` + strings.Join(append(images, image(999, "val", oneSentence)), ",") + `]}`
	after := ids(more)
	if n := differ(before, after) + max(len(after)-len(before), 0); n != 1 {
		t.Errorf("an image at the end: %d slices changed, want 1", n)
	}
}

func FuzzReaders(f *testing.F) {
	for _, name := range []string{"coco.json", "karpathy.json", "flickr.token"} {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, reader := range []string{"karpathy", "coco-captions", "flickr-token"} {
			rows, _, err := read(t, reader, b, Options{File: "f"})
			keys := map[any]bool{}
			for _, r := range rows {
				if keys[r["key"]] || len(r["references"].([]any)) == 0 {
					t.Fatalf("%s: key %v twice, or without a caption", reader, r["key"])
				}
				keys[r["key"]] = true
			}
			var refused *pipeline.RefusedError
			if err != nil && !errors.As(err, &refused) {
				t.Fatalf("%s: %v", reader, err)
			}
		}
	})
}
