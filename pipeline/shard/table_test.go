package shard

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
)

func TestTableOfOurOwnFiles(t *testing.T) {
	rows := someRows(30)
	file := write(t, Options{RowGroupRows: 7, Metadata: map[string]string{"k": "v"}}, rows)
	table, err := OpenTable(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	if table.Format() != "parquet" || table.NumRows() != 30 || table.Metadata()["k"] != "v" {
		t.Errorf("%s of %d rows, metadata %v", table.Format(), table.NumRows(), table.Metadata())
	}
	const want = `parquet, 30 rows
id     string
kind   string
n      int32
line   int64                                               nullable
x      float64
in     struct<a: int64, b: list<string>, c: string>
items  list<struct<a: int64, b: list<string>, c: string>>
ids    list<int32>
tags   map<string, string>
raw    binary
flag   bool
maybe  bool                                                nullable
metadata k = "v"
`
	if got := table.Describe(); got != want {
		t.Errorf("description\n%swant\n%s", got, want)
	}
	i := 0
	for row, err := range table.Rows() {
		if err != nil {
			t.Fatal(err)
		}
		w := rows[i]
		if row[0] != w.ID || row[2] != int64(w.N) || row[4] != w.X || !bytes.Equal(row[9].([]byte), w.Raw) {
			t.Fatalf("row %d: %v, want %+v", i, row, w)
		}
		if in := row[5].(Struct); in[0].Value != w.In.A || len(in[1].Value.([]any)) != len(w.In.B) {
			t.Fatalf("row %d: %v, want %+v", i, in, w.In)
		}
		items := row[6].([]any)
		for k, item := range w.List {
			var b []any
			for _, s := range item.B {
				b = append(b, s)
			}
			if got := items[k].(Struct); got[0].Value != item.A || !slices.Equal(got[1].Value.([]any), b) {
				t.Fatalf("row %d, item %d: %v, want %+v", i, k, got, item)
			}
		}
		if tags := row[8].(Map); len(tags) != len(w.Tags) || !slices.IsSortedFunc(tags, func(a, b Pair) int { return strings.Compare(a.Key.(string), b.Key.(string)) }) {
			t.Fatalf("row %d: tags %v, want %v in order", i, tags, w.Tags)
		}
		i++
	}
	if i != 30 {
		t.Errorf("%d rows, want 30", i)
	}
	if n, err := Check(bytes.NewReader(file), int64(len(file))); n != 30 || err != nil {
		t.Errorf("Check: %d rows, %v", n, err)
	}
}

func TestSelect(t *testing.T) {
	file := writeArrays(t, gridSpec, arrayRows(gridSpec, 3))
	table, err := OpenTable(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	two, err := table.Select("width", "id")
	if err != nil {
		t.Fatal(err)
	}
	for row, err := range two.Rows() {
		if err != nil || len(row) != 2 || row[1] != "val/0 ü.jpg" {
			t.Errorf("row %v, %v", row, err)
		}
		if got, want := string(AppendJSON(nil, two.Columns(), row)), fmt.Sprintf(`{"width":%d,"id":"val/0 ü.jpg"}`, row[0]); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		break
	}
	if _, err := table.Select("size"); err == nil || !strings.Contains(err.Error(), "id, height, width, values") {
		t.Errorf("an unknown column: %v", err)
	}
	if n, err := Check(bytes.NewReader(file), int64(len(file))); n != 3 || err != nil {
		t.Errorf("Check: %d rows, %v", n, err)
	}
}

func TestAppendJSON(t *testing.T) {
	row := []any{
		nil, true, int64(math.MinInt64), uint64(math.MaxUint64), 0.1, float64(float32(0.1)), math.NaN(), math.Inf(1), math.Inf(-1),
		math.Copysign(0, -1), 1e21, 1e-7, "a\"\\\n\t\r\x00\u2028é\xff",
		[]byte{0, 255},
		[]any{int64(1), nil},
		[]float32{0.5, float32(math.NaN())},
		Struct{{"p", "q"}, {"r", nil}},
		Map{{"k", "v"}, {int64(3), nil}},
		Timestamp(time.Unix(-1, 999e6)), Date(-1), TimeOfDay(time.Hour + time.Microsecond), Decimal("1.10"),
	}
	columns := make([]Column, len(row))
	var want []string
	for i, s := range []string{
		"null", "true", "-9223372036854775808", "18446744073709551615", "0.1", "0.10000000149011612", `"NaN"`, `"Infinity"`, `"-Infinity"`,
		"-0", "1e+21", "1e-07", `"a\"\\\n\t\r\u0000\u2028é\ufffd"`, `"AP8="`, "[1,null]", `[0.5,"NaN"]`,
		`{"p":"q","r":null}`, `{"k":"v","3":null}`, `"1969-12-31T23:59:59.999Z"`, `"1969-12-31"`, `"01:00:00.000001"`, `"1.10"`,
	} {
		columns[i].Name = fmt.Sprint("c", i)
		want = append(want, fmt.Sprintf(`"c%d":%s`, i, s))
	}
	if got, want := string(AppendJSON(nil, columns, row)), "{"+strings.Join(want, ",")+"}"; got != want {
		t.Errorf("\n%s, want\n%s", got, want)
	}
}

func TestDecimal(t *testing.T) {
	for _, c := range []struct {
		n     int64
		scale int
		want  Decimal
	}{{110, 2, "1.10"}, {-1, 2, "-0.01"}, {0, 3, "0.000"}, {-12345, 0, "-12345"}, {5, -2, "500"}, {-1234, 3, "-1.234"}} {
		if got := decimal(big.NewInt(c.n), c.scale); got != c.want {
			t.Errorf("%d with scale %d: %s, want %s", c.n, c.scale, got, c.want)
		}
	}
}

// TestLegacyLists reads the three layouts of lists that the format's
// compatibility rules know.
func TestLegacyLists(t *testing.T) {
	type bare struct {
		V []int32 `parquet:"v"` // repeated, without a list around it
	}
	var buf bytes.Buffer
	w := parquet.NewGenericWriter[bare](&buf)
	w.Write([]bare{{[]int32{1, 2}}, {nil}, {[]int32{3}}})
	w.Close()
	table, err := OpenTable(bytes.NewReader(buf.Bytes()), int64(buf.Len()))
	if err != nil {
		t.Fatal(err)
	}
	var got []any
	for row, err := range table.Rows() {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, row[0])
	}
	if fmt.Sprint(got) != "[[1 2] [] [3]]" || table.Columns()[0].Type != "list<int32>" {
		t.Errorf("%v of type %s", got, table.Columns()[0].Type)
	}
}

func TestRowsPassesOnThePanicOfItsCaller(t *testing.T) {
	file := write(t, Options{}, someRows(3))
	table, _ := OpenTable(bytes.NewReader(file), int64(len(file)))
	defer func() {
		if p := recover(); p != "mine" {
			t.Errorf("recovered %v, want the loop body's own panic", p)
		}
	}()
	for range table.Rows() {
		panic("mine")
	}
}

func TestCheckFindsDamage(t *testing.T) {
	rows := someRows(30)
	file := write(t, Options{RowGroupRows: 10}, rows)
	f, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	pages := int(f.Metadata().RowGroups[0].Columns[0].ColumnIndexOffset)
	for at := 4; at < pages; at += 97 {
		damaged := bytes.Clone(file)
		damaged[at] ^= 0x55
		_, err := Check(bytes.NewReader(damaged), int64(len(damaged)))
		if err == nil { // a byte of a page header that nothing depends on
			if got := read[outer](t, damaged); !reflect.DeepEqual(got, rows) {
				t.Errorf("byte %d changed, unnoticed", at)
			}
		} else if !errors.Is(err, ErrFormat) {
			t.Errorf("byte %d changed: error %v, want ErrFormat", at, err)
		}
	}
}

func FuzzOpenTable(f *testing.F) {
	var buf bytes.Buffer
	w, _ := NewWriter[outer](&buf, Options{})
	w.Write(someRows(3))
	w.Close()
	f.Add(buf.Bytes())
	f.Add(writeArrays(f, regionSpec, arrayRows(regionSpec, 3)))
	f.Fuzz(func(t *testing.T, file []byte) {
		table, err := OpenTable(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			return
		}
		n := 0
		var line []byte
		for row, err := range table.Rows() {
			if n++; err != nil || n > 1000 {
				return
			}
			line = AppendJSON(line[:0], table.Columns(), row)
		}
	})
}

func TestLinkedBlocksOfLZ4(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("testdata", "other", "polars-lz4.arrow"))
	if err != nil {
		t.Fatal(err)
	}
	table, err := OpenTable(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	n := int64(0)
	for row, err := range table.Rows() {
		if err != nil {
			t.Fatal(err)
		}
		if row[0] != fmt.Sprintf("row %d", n) || row[1] != n {
			t.Errorf("row %d is %v", n, row)
		}
		n++
	}
	if n != 40 {
		t.Errorf("%d rows, want 40", n)
	}
}
