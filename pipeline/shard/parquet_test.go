package shard

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

type inner struct {
	A int64    `parquet:"a"`
	B []string `parquet:"b,list"`
	C *string  `parquet:"c,optional"`
}

type outer struct {
	ID    string            `parquet:"id"`
	Kind  string            `parquet:"kind,dict"`
	N     int32             `parquet:"n"`
	Line  *int64            `parquet:"line,optional"`
	X     float64           `parquet:"x"`
	In    inner             `parquet:"in"`
	List  []inner           `parquet:"items,list"`
	IDs   []int32           `parquet:"ids,list"`
	Tags  map[string]string `parquet:"tags"`
	Raw   []byte            `parquet:"raw"`
	Flag  bool              `parquet:"flag"`
	Maybe *bool             `parquet:"maybe,optional"`
}

// narrow has some of outer's columns, in another order.
type narrow struct {
	Tags map[string]string `parquet:"tags"`
	Line *int64            `parquet:"line,optional"`
	ID   string            `parquet:"id"`
	In   struct {
		B []string `parquet:"b,list"`
	} `parquet:"in"`
}

func someRows(n int) []outer {
	r := rand.New(rand.NewPCG(1, 2))
	word := func() string { return strings.Repeat("wör", r.IntN(4)) + fmt.Sprint(r.IntN(1000)) }
	words := func() []string {
		s := make([]string, r.IntN(4))
		for i := range s {
			s[i] = word()
		}
		return s
	}
	in := func() inner {
		v := inner{A: r.Int64(), B: words()}
		if r.IntN(2) == 0 {
			w := word()
			v.C = &w
		}
		return v
	}
	rows := make([]outer, n)
	for i := range rows {
		row := outer{
			ID: fmt.Sprintf("a/b/c/%d", i), Kind: []string{"x", "y"}[r.IntN(2)], N: int32(i) - 5, X: r.NormFloat64(),
			In: in(), IDs: make([]int32, r.IntN(5)), Tags: map[string]string{}, Raw: []byte{0xff, byte(i)}, Flag: i%3 == 0,
			List: make([]inner, r.IntN(3)),
		}
		for j := range row.IDs {
			row.IDs[j] = int32(r.Uint32())
		}
		for j := range row.List {
			row.List[j] = in()
		}
		for range r.IntN(6) {
			row.Tags[word()] = word()
		}
		if i%2 == 0 {
			l, b := int64(i), i%4 == 0
			row.Line, row.Maybe = &l, &b
		}
		rows[i] = row
	}
	rows[n/2].X = math.Inf(-1)
	return rows
}

func write[T any](t *testing.T, o Options, batches ...[]T) []byte {
	t.Helper()
	var buf bytes.Buffer
	w, err := NewWriter[T](&buf, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range batches {
		if err := w.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func read[T any](t *testing.T, file []byte) []T {
	t.Helper()
	r, err := Open[T](bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	var rows []T
	for row, err := range r.All() {
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	return rows
}

func TestRoundTrip(t *testing.T) {
	rows := someRows(1000)
	file := write(t, Options{RowGroupRows: 300, Metadata: map[string]string{"schema": "outer/1", "a": "b"}}, rows)
	r, err := Open[outer](bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	if r.NumRows() != 1000 || r.RowGroups() != 4 || r.GroupRows(3) != 100 {
		t.Errorf("%d rows in %d groups, the last of %d; want 1000, 4, 100", r.NumRows(), r.RowGroups(), r.GroupRows(3))
	}
	if v, _ := r.Metadata("schema"); v != "outer/1" {
		t.Errorf("metadata schema = %q", v)
	}
	got := read[outer](t, file)
	if len(got) != len(rows) {
		t.Fatalf("%d rows, want %d", len(got), len(rows))
	}
	for i := range rows {
		if !reflect.DeepEqual(got[i], rows[i]) {
			t.Fatalf("row %d:\n%+v, want\n%+v", i, got[i], rows[i])
		}
	}
	last, err := r.ReadGroup(3)
	if err != nil || !reflect.DeepEqual(last, rows[900:]) {
		t.Errorf("ReadGroup(3) differs: %v", err)
	}
}

func TestNarrowStructReadsItsColumnsOnly(t *testing.T) {
	rows := someRows(500)
	file := write(t, Options{RowGroupRows: 200}, rows)
	for i, got := range read[narrow](t, file) {
		var want narrow
		want.Tags, want.Line, want.ID, want.In.B = rows[i].Tags, rows[i].Line, rows[i].ID, rows[i].In.B
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("row %d: %+v, want %+v", i, got, want)
		}
	}
	type idOnly struct {
		ID string `parquet:"id"`
	}
	c := &counter{ReaderAt: bytes.NewReader(file)}
	r, err := Open[idOnly](c, int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	c.n = 0
	for i := range r.RowGroups() {
		if _, err := r.ReadGroup(i); err != nil {
			t.Fatal(err)
		}
	}
	if c.n > len(file)/4 {
		t.Errorf("reading one column of twelve took %d of %d bytes", c.n, len(file))
	}
}

type counter struct {
	io.ReaderAt
	n int
}

func (c *counter) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.ReaderAt.ReadAt(p, off)
	c.n += n
	return n, err
}

func TestSameBytesWhateverTheBatches(t *testing.T) {
	rows := someRows(3000)
	rows[7].Raw = make([]byte, 3<<20) // a page of its own
	o := Options{RowGroupRows: 1000, Metadata: map[string]string{"k1": "v", "k2": "v", "k3": "v"}}
	want := sha256.Sum256(write(t, o, rows))
	for _, n := range []int{1, 3, 64, 100, 2999} {
		var batches [][]outer
		for at := 0; at < len(rows); at += n {
			batches = append(batches, rows[at:min(at+n, len(rows))])
		}
		if got := sha256.Sum256(write(t, o, batches...)); got != want {
			t.Errorf("batches of %d give other bytes", n)
		}
	}
	// Row groups close by bytes too, at the same rows.
	o.RowGroupBytes = 10_000
	a, b := write(t, o, rows), write(t, o, rows[:1], rows[1:1500], rows[1500:])
	if !bytes.Equal(a, b) {
		t.Error("row groups closed by bytes depend on the batches")
	}
	r, err := Open[outer](bytes.NewReader(a), int64(len(a)))
	if err != nil {
		t.Fatal(err)
	}
	if r.RowGroups() < 20 {
		t.Errorf("%d row groups of about 10 kB, want more", r.RowGroups())
	}
}

func TestWriterKeepsNoReference(t *testing.T) {
	row := someRows(1)
	ids := []int32{1, 2, 3}
	raw := []byte("raw")
	row[0].IDs, row[0].Raw = ids, raw
	want := write(t, Options{}, row, row)
	var buf bytes.Buffer
	w, _ := NewWriter[outer](&buf, Options{})
	for range 2 {
		if err := w.Write(row); err != nil {
			t.Fatal(err)
		}
		ids[0], raw[0] = 99, 'x'
		copyIDs, copyRaw := []int32{1, 2, 3}, []byte("raw")
		row[0].IDs, row[0].Raw = copyIDs, copyRaw
		ids, raw = copyIDs, copyRaw
	}
	w.Close()
	if !bytes.Equal(buf.Bytes(), want) {
		t.Error("a slice changed after Write changed the file")
	}
}

func TestWriteRefusesBadText(t *testing.T) {
	bad := "a\xffb"
	for _, c := range []struct {
		column string
		set    func(*outer)
	}{
		{"id", func(o *outer) { o.ID = bad }},
		{"in.b[1]", func(o *outer) { o.In.B = []string{"", bad} }},
		{"in.c", func(o *outer) { o.In.C = &bad }},
		{"items[0].b[0]", func(o *outer) { o.List = []inner{{B: []string{bad}}} }},
		{"tags.k", func(o *outer) { o.Tags = map[string]string{"k": bad} }},
		{"tags.(key)", func(o *outer) { o.Tags = map[string]string{bad: "v"} }},
	} {
		rows := someRows(4)
		var buf bytes.Buffer
		w, _ := NewWriter[outer](&buf, Options{})
		if err := w.Write(rows[:1]); err != nil {
			t.Fatal(err)
		}
		spoilt := someRows(4)
		c.set(&spoilt[2])
		err := w.Write(spoilt[1:])
		var re *RowError
		if !errors.As(err, &re) || re.Row != 2 || re.Column != c.column {
			t.Errorf("%s: error %v", c.column, err)
		}
		if w.Rows() != 1 {
			t.Errorf("%d rows written, want 1: a refused call writes nothing", w.Rows())
		}
		if err := w.Write(rows[1:]); err != nil {
			t.Errorf("after a refused row: %v", err)
		}
		w.Close()
		if want := write(t, Options{}, rows); !bytes.Equal(buf.Bytes(), want) {
			t.Error("a refused row left a trace")
		}
	}
}

func TestEmptyFile(t *testing.T) {
	file := write[outer](t, Options{})
	if got := read[outer](t, file); len(got) != 0 {
		t.Errorf("%d rows, want none", len(got))
	}
}

func TestOpenRefuses(t *testing.T) {
	file := write(t, Options{}, someRows(100))
	type missing struct {
		ID    string `parquet:"id"`
		Title string `parquet:"title"`
	}
	type other struct {
		ID int64 `parquet:"id"`
	}
	type nullable struct {
		ID *string `parquet:"id,optional"`
	}
	open := func(f []byte, size int64) error {
		_, err := Open[outer](bytes.NewReader(f), size)
		return err
	}
	long := bytes.Clone(file)
	copy(long[len(long)-8:], []byte{0xff, 0xff, 0xff, 0x7f})
	_, e1 := Open[missing](bytes.NewReader(file), int64(len(file)))
	_, e2 := Open[other](bytes.NewReader(file), int64(len(file)))
	_, e3 := Open[nullable](bytes.NewReader(file), int64(len(file)))
	for _, c := range []struct {
		err  error
		want string
	}{
		{e1, "no column title"},
		{e2, "column id is"},
		{e3, "column id is"},
		{open(nil, 0), "too few"},
		{open(file[:100], 100), "no Parquet footer"},
		{open(long, int64(len(long))), "a footer of 2147483647 bytes"},
	} {
		if !errors.Is(c.err, ErrFormat) || !strings.Contains(fmt.Sprint(c.err), c.want) {
			t.Errorf("error %v, want one with %q", c.err, c.want)
		}
	}
}

func TestMapsAreInKeyOrder(t *testing.T) {
	rows := someRows(50)
	want := write(t, Options{}, rows)
	for range 5 {
		if !bytes.Equal(write(t, Options{}, someRows(50)), want) {
			t.Fatal("equal maps give other bytes")
		}
	}
}

// TestCreatedBy holds the one string of the footer that the module would fill
// with its own version.
func TestCreatedBy(t *testing.T) {
	file := write(t, Options{}, someRows(1))
	f, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := f.Metadata().CreatedBy, "espalier version 1.0.0(build 1)"; got != want {
		t.Errorf("created by %q, want %q", got, want)
	}
}

func FuzzOpen(f *testing.F) {
	var buf bytes.Buffer
	w, _ := NewWriter[outer](&buf, Options{RowGroupRows: 10})
	w.Write(someRows(25))
	w.Close()
	f.Add(buf.Bytes())
	f.Add(buf.Bytes()[:buf.Len()-9])
	f.Fuzz(func(t *testing.T, file []byte) {
		r, err := Open[narrow](bytes.NewReader(file), int64(len(file)))
		if err != nil {
			return
		}
		n := 0
		for _, err := range r.All() {
			if n++; err != nil || n > 1<<16 {
				return
			}
		}
	})
}

func BenchmarkWrite(b *testing.B) {
	rows := someRows(5000)
	b.ReportAllocs()
	for b.Loop() {
		w, _ := NewWriter[outer](io.Discard, Options{})
		if err := errors.Join(w.Write(rows), w.Close()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(rows)), "ns/row")
}

func BenchmarkReadGroup(b *testing.B) {
	var buf bytes.Buffer
	rows := someRows(5000)
	w, _ := NewWriter[outer](&buf, Options{})
	if err := errors.Join(w.Write(rows), w.Close()); err != nil {
		b.Fatal(err)
	}
	r, err := Open[outer](bytes.NewReader(buf.Bytes()), int64(buf.Len()))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := r.ReadGroup(0); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(rows)), "ns/row")
}
