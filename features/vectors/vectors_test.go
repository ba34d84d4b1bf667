package vectors

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"espalier/pipeline/shard"
)

func grid(id string, seed float32) *Row {
	r := &Row{ID: id, Height: 2, Width: 3, Count: 6, Dim: 4, Values: make([]float32, 24)}
	for i := range r.Values {
		r.Values[i] = seed + float32(i)/8
	}
	return r
}

func regions(id string, n int) *Row {
	r := &Row{ID: id, Count: n, Dim: 5, Values: make([]float32, 5*n), Boxes: make([]float32, 4*n)}
	for i := range r.Values {
		r.Values[i] = float32(i*n) / 16
	}
	for i := range r.Boxes {
		r.Boxes[i] = float32(i) / 100
	}
	return r
}

func file(t *testing.T, o Options, rows ...*Row) *File {
	t.Helper()
	var buf bytes.Buffer
	w, err := NewWriter(&buf, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if w.Rows() != int64(len(rows)) {
		t.Fatalf("%d rows written, want %d", w.Rows(), len(rows))
	}
	f, err := Open(bytes.NewReader(buf.Bytes()), int64(buf.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestGridsAndRegions(t *testing.T) {
	for _, c := range []struct {
		o    Options
		rows []*Row
	}{
		{Options{Height: 2, Width: 3, Dim: 4, Half: true, Metadata: map[string]string{"model": "m"}}, []*Row{grid("a", 1), grid("b", -2)}},
		{Options{Height: 2, Width: 3, Dim: 4}, []*Row{grid("a", 0.1)}},
		{Options{Dim: 5, Half: true}, []*Row{regions("x", 3), regions("none", 0), regions("y", 7)}},
	} {
		f := file(t, c.o, c.rows...)
		if f.Len() != len(c.rows) || f.Regions() != (c.o.Height == 0) || f.Options().Half != c.o.Half || f.Options().Dim != c.o.Dim {
			t.Errorf("%d rows, options %+v", f.Len(), f.Options())
		}
		var got Row
		for i := len(c.rows) - 1; i >= 0; i-- { // backwards: room is reused
			if err := f.Read(i, &got); err != nil {
				t.Fatal(err)
			}
			want := *c.rows[i]
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("row %d: %v, want %v", i, got, want)
			}
		}
		if c.o.Metadata != nil && f.Options().Metadata["model"] != "m" {
			t.Errorf("metadata %v", f.Options().Metadata)
		}
	}
}

func TestWriterRefusesOtherShapes(t *testing.T) {
	w, _ := NewWriter(&bytes.Buffer{}, Options{Height: 2, Width: 3, Dim: 4})
	short := grid("a", 0)
	short.Values = short.Values[:23]
	wide := grid("a", 0)
	wide.Width = 4
	for _, r := range []*Row{short, wide, regions("a", 2)} {
		if err := w.Write(r); err == nil || !strings.Contains(err.Error(), `image "a"`) {
			t.Errorf("%+v: error %v, want one that names the image", r, err)
		}
	}
	if _, err := NewWriter(&bytes.Buffer{}, Options{Height: 2, Dim: 4}); err == nil {
		t.Error("a grid without width is taken")
	}
}

func TestOpenRefusesOtherArrays(t *testing.T) {
	var buf bytes.Buffer
	w, _ := shard.NewArrayWriter(&buf, shard.ArraySpec{Lists: []shard.ListSpec{{Name: "values", Len: 4}}})
	w.Close()
	if _, err := Open(bytes.NewReader(buf.Bytes()), int64(buf.Len())); !errors.Is(err, shard.ErrFormat) {
		t.Errorf("error %v, want ErrFormat", err)
	}
}

func TestIndex(t *testing.T) {
	o := Options{Height: 2, Width: 3, Dim: 4}
	a, b := file(t, o, grid("a", 1), grid("b", 2)), file(t, o, grid("c", 3), grid("d", 4))
	x, err := NewIndex(a, b)
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]float32{"a": 1, "b": 2, "c": 3, "d": 4} {
		f, row, ok := x.Find(id)
		var r Row
		if !ok || f.Read(row, &r) != nil || r.Values[0] != want || r.ID != id {
			t.Errorf("%s: %v, row %d, %v", id, ok, row, r.Values)
		}
	}
	if _, _, ok := x.Find("e"); ok || x.Len() != 4 {
		t.Error("an unknown image is found")
	}
	if _, err := NewIndex(a, a); err == nil || !strings.Contains(err.Error(), `"a"`) {
		t.Errorf("a repeated image: %v", err)
	}
	if _, err := NewIndex(a, file(t, Options{Height: 3, Width: 2, Dim: 4})); err == nil {
		t.Error("grids of two shapes in one index")
	}
}
