package shard

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/ipc"
)

var gridSpec = ArraySpec{
	Ints:     []string{"height", "width"},
	Lists:    []ListSpec{{Name: "values", Half: true, Len: 2 * 3 * 5, Metadata: map[string]string{"shape": "2,3,5"}}},
	Metadata: map[string]string{"b": "2", "a": "1"},
}

var regionSpec = ArraySpec{
	Ints:  []string{"count"},
	Lists: []ListSpec{{Name: "values"}, {Name: "boxes"}},
}

type arrayRow struct {
	id    string
	ints  []int32
	lists [][]float32
}

func arrayRows(spec ArraySpec, n int) []arrayRow {
	r := rand.New(rand.NewPCG(5, 6))
	rows := make([]arrayRow, n)
	for i := range rows {
		rows[i] = arrayRow{id: fmt.Sprintf("val/%d ü.jpg", i), ints: make([]int32, len(spec.Ints))}
		for j := range rows[i].ints {
			rows[i].ints[j] = int32(r.Uint32())
		}
		for _, l := range spec.Lists {
			v := make([]float32, l.Len)
			if l.Len == 0 {
				v = make([]float32, r.IntN(7))
			}
			for j := range v {
				v[j] = float32(r.NormFloat64())
				if l.Half {
					v[j] = Float(Half(v[j]))
				}
			}
			rows[i].lists = append(rows[i].lists, v)
		}
	}
	return rows
}

func writeArrays(t testing.TB, spec ArraySpec, rows []arrayRow) []byte {
	t.Helper()
	var buf bytes.Buffer
	w, err := NewArrayWriter(&buf, spec)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if err := w.Write(r.id, r.ints, r.lists...); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func TestArraysRoundTrip(t *testing.T) {
	for name, c := range map[string]struct {
		spec ArraySpec
		n    int
	}{"grid": {gridSpec, 1000}, "regions": {regionSpec, 1000}, "empty": {gridSpec, 0}, "one": {regionSpec, 1}} {
		rows := arrayRows(c.spec, c.n)
		file := writeArrays(t, c.spec, rows)
		a, err := OpenArrays(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if a.Len() != c.n {
			t.Fatalf("%s: %d rows, want %d", name, a.Len(), c.n)
		}
		if got, want := fmt.Sprint(*a.Spec()), fmt.Sprint(c.spec); got != want {
			t.Errorf("%s: spec %s, want %s", name, got, want)
		}
		for _, i := range rand.New(rand.NewPCG(1, 1)).Perm(c.n) {
			want := rows[i]
			if a.ID(i) != want.id {
				t.Fatalf("%s: id of row %d is %q, want %q", name, i, a.ID(i), want.id)
			}
			for j, v := range want.ints {
				if got := a.Int(j, i); got != v {
					t.Fatalf("%s: row %d, integer %d: %d, want %d", name, i, j, got, v)
				}
			}
			for j, v := range want.lists {
				got := make([]float32, a.ListLen(j, i))
				if err := a.ReadList(j, i, got); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(got, v) {
					t.Fatalf("%s: row %d, list %d: %v, want %v", name, i, j, got, v)
				}
			}
		}
	}
}

// TestArraysAreArrow reads a file with the module's own reader.
func TestArraysAreArrow(t *testing.T) {
	rows := arrayRows(gridSpec, 70)
	file := writeArrays(t, gridSpec, rows)
	r, err := ipc.NewFileReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	f := r.Schema().Field(3)
	if got, want := f.Type.String(), "fixed_size_list<item: float16>[30]"; got != want {
		t.Errorf("type %s, want %s", got, want)
	}
	if shape, _ := f.Metadata.GetValue("shape"); shape != "2,3,5" || f.Nullable {
		t.Errorf("shape %q, nullable %v", shape, f.Nullable)
	}
	if r.Schema().Metadata().String() != `["a": "1", "b": "2"]` {
		t.Errorf("schema metadata %s", r.Schema().Metadata())
	}
	n := 0
	for i := range r.NumRecords() {
		rec, err := r.Record(i)
		if err != nil {
			t.Fatal(err)
		}
		values := rec.Column(3).(*array.FixedSizeList).ListValues().(*array.Float16)
		for j := range int(rec.NumRows()) {
			if got := rec.Column(0).(*array.String).Value(j); got != rows[n].id {
				t.Fatalf("row %d: id %q", n, got)
			}
			for k, want := range rows[n].lists[0] {
				if got := values.Value(30*j + k).Float32(); got != want {
					t.Fatalf("row %d, number %d: %g, want %g", n, k, got, want)
				}
			}
			n++
		}
	}
	if n != 70 {
		t.Errorf("%d rows, want 70", n)
	}
}

func TestArrayBatchesAreBounded(t *testing.T) {
	spec := ArraySpec{Lists: []ListSpec{{Name: "values", Len: 100_000}}}
	row := arrayRow{id: "x", lists: [][]float32{make([]float32, 100_000)}}
	file := writeArrays(t, spec, slices.Repeat([]arrayRow{row}, 25))
	a, err := OpenArrays(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	if len(a.batches) != 3 || a.batches[0].rows != 10 {
		t.Errorf("%d batches, the first of %d rows; want 3 of 10, 10 and 5 of 400 kB", len(a.batches), a.batches[0].rows)
	}
}

func TestArraysReadInOnePread(t *testing.T) {
	rows := arrayRows(gridSpec, 500)
	file := writeArrays(t, gridSpec, rows)
	c := &calls{r: bytes.NewReader(file)}
	a, err := OpenArrays(c, int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	c.sizes = nil
	dst := make([]float32, 30)
	for _, i := range []int{499, 3, 250} {
		if err := a.ReadList(0, i, dst); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(c.sizes, []int{60, 60, 60}) {
		t.Errorf("reads of %v bytes, want three of 60", c.sizes)
	}
	if n := testing.AllocsPerRun(100, func() { a.ReadList(0, 7, dst) }); n > 2 { // the recorder's own growth
		t.Errorf("%v allocations a row", n)
	}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			dst := make([]float32, 30)
			for i := g; i < 500; i += 4 {
				if err := a.ReadList(0, i, dst); err != nil || !slices.Equal(dst, rows[i].lists[0]) {
					t.Errorf("row %d read concurrently: %v, %v", i, dst, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

type calls struct {
	r     *bytes.Reader
	mu    sync.Mutex
	sizes []int
}

func (c *calls) ReadAt(p []byte, off int64) (int, error) {
	c.mu.Lock()
	c.sizes = append(c.sizes, len(p))
	c.mu.Unlock()
	return c.r.ReadAt(p, off)
}

func TestArrayWriterRefuses(t *testing.T) {
	var buf bytes.Buffer
	w, _ := NewArrayWriter(&buf, gridSpec)
	good := arrayRows(gridSpec, 3)
	for _, c := range []struct {
		err  error
		want string
	}{
		{w.Write("a\xff", good[0].ints, good[0].lists...), "row 0, column id: not valid UTF-8"},
		{w.Write("a", good[0].ints, make([]float32, 29)), "row 0, column values: 29 numbers, want 30"},
		{w.Write("a", nil, good[0].lists...), "a row of 0 integers and 1 lists, want 2 and 1"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("error %v, want %q", c.err, c.want)
		}
	}
	for _, r := range good {
		if err := w.Write(r.id, r.ints, r.lists...); err != nil {
			t.Fatal(err)
		}
	}
	w.Close()
	if !bytes.Equal(buf.Bytes(), writeArrays(t, gridSpec, good)) {
		t.Error("a refused row left a trace")
	}
}

func TestOpenArraysRefuses(t *testing.T) {
	file := writeArrays(t, regionSpec, arrayRows(regionSpec, 20))
	other := func(fields ...arrow.Field) []byte {
		var buf bytes.Buffer
		w, err := ipc.NewFileWriter(&position{w: &buf}, ipc.WithSchema(arrow.NewSchema(fields, nil)))
		if err != nil {
			t.Fatal(err)
		}
		w.Close()
		return buf.Bytes()
	}
	id := arrow.Field{Name: "id", Type: arrow.BinaryTypes.String}
	cut := bytes.Clone(file[:len(file)-1])
	long := bytes.Clone(file)
	copy(long[len(long)-10:], []byte{0xff, 0xff, 0xff, 0x7f})
	for _, c := range []struct {
		file []byte
		want string
	}{
		{nil, "too few"},
		{cut, "magic at the end"},
		{long, "a footer of 2147483647 bytes"},
		{other(arrow.Field{Name: "key", Type: arrow.BinaryTypes.String}), "want the utf8 column id first"},
		{other(id, arrow.Field{Name: "n", Type: arrow.PrimitiveTypes.Int64}), "want int32 columns"},
		{other(id, arrow.Field{Name: "v", Type: arrow.ListOf(arrow.PrimitiveTypes.Float64)}), "want float16 or float32"},
		{other(id, arrow.Field{Name: "v", Type: arrow.ListOf(arrow.PrimitiveTypes.Int32)}), "want lists of numbers"},
	} {
		_, err := OpenArrays(bytes.NewReader(c.file), int64(len(c.file)))
		if !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want one with %q", err, c.want)
		}
	}
}

func FuzzOpenArrays(f *testing.F) {
	f.Add(writeArrays(f, gridSpec, arrayRows(gridSpec, 3)))
	f.Add(writeArrays(f, regionSpec, arrayRows(regionSpec, 4)))
	f.Fuzz(func(t *testing.T, file []byte) {
		a, err := OpenArrays(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			return
		}
		for i := range min(a.Len(), 100) {
			_ = a.ID(i)
			for j := range a.Spec().Lists {
				if n := a.ListLen(j, i); n <= len(file) {
					a.ReadList(j, i, make([]float32, n))
				} else if a.Spec().Lists[j].Len == 0 || n > math.MaxInt32 {
					t.Fatalf("a list of %d numbers in a file of %d bytes", n, len(file))
				}
			}
		}
	})
}
