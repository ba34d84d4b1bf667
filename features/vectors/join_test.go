package vectors

import (
	"bytes"
	"strings"
	"testing"
)

func written(t *testing.T, rows map[string]float32) *File {
	t.Helper()
	var b bytes.Buffer
	o := Options{Height: 1, Width: 1, Dim: 1}
	w, err := NewWriter(&b, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"a", "b", "c"} {
		if v, ok := rows[id]; ok {
			if err := w.Write(&Row{ID: id, Height: 1, Width: 1, Count: 1, Dim: 1, Values: []float32{v}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := Open(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestJoinIndex(t *testing.T) {
	one, same, other := written(t, map[string]float32{"a": 1, "b": 2}), written(t, map[string]float32{"b": 2, "c": 3}), written(t, map[string]float32{"b": 5})
	x, err := JoinIndex(one, same)
	if err != nil || x.Len() != 3 || x.Most() != 1 {
		t.Fatalf("%v, %d images", err, x.Len())
	}
	for id, want := range map[string]float32{"a": 1, "b": 2, "c": 3} {
		f, row, ok := x.Find(id)
		got := []float32{0}
		if !ok {
			t.Errorf("no %s", id)
		} else if err := f.ReadValues(row, got); err != nil || got[0] != want {
			t.Errorf("%s: %v, %v, want %v", id, got, err, want)
		}
	}
	if _, err := JoinIndex(one, other); err == nil || !strings.Contains(err.Error(), `image "b" has features twice, and they differ`) {
		t.Errorf("other features: %v", err)
	}
	if _, err := NewIndex(one, same); err == nil || !strings.Contains(err.Error(), `image "b" has features twice`) {
		t.Errorf("no join: %v", err)
	}
}
