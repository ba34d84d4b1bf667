package shard

import (
	"bytes"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// twice is a row whose reference repeats its text.
type twice struct {
	N    int64    `parquet:"n"`
	Text string   `parquet:"text"`
	Refs []string `parquet:"refs,list"`
	None *string  `parquet:"none,optional"`
}

func twiceRows(n int) []twice {
	rows := make([]twice, n)
	for i := range rows {
		s := strings.Repeat(fmt.Sprintf("%d ", i*i), 1+i%40)
		rows[i] = twice{int64(i), s, []string{s}, nil}
		if i == n/2 {
			rows[i].Text = strings.Repeat("long ", 100_000) // more than a page
		}
	}
	return rows
}

func writeTwice(t *testing.T, rows []twice, batch int) ([]byte, *Writer[twice]) {
	t.Helper()
	var b bytes.Buffer
	w, err := NewWriter[twice](&b, Options{PageBytes: 256 << 10, Quick: true})
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(rows); i += batch {
		if err := w.Write(rows[i:min(i+batch, len(rows))]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), w
}

func TestAlignedPages(t *testing.T) {
	rows := twiceRows(20_000)
	want, _ := writeTwice(t, rows, 256)
	for _, batch := range []int{1, 7, 1000, len(rows)} {
		if got, _ := writeTwice(t, rows, batch); !bytes.Equal(got, want) {
			t.Errorf("batches of %d rows give other bytes", batch)
		}
	}
	f, err := parquet.OpenFile(bytes.NewReader(want), int64(len(want)))
	if err != nil {
		t.Fatal(err)
	}
	pages := 0
	for _, g := range f.RowGroups() {
		var first []int64 // rows of the pages of the first column
		for c, chunk := range g.ColumnChunks() {
			var rows []int64
			all := chunk.Pages()
			for {
				page, err := all.ReadPage()
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				rows = append(rows, page.NumRows())
			}
			all.Close()
			if c == 0 {
				first = rows
			}
			if !reflect.DeepEqual(rows, first) {
				t.Errorf("column %d has pages of %d rows, the first one of %d", c, rows, first)
			}
		}
		pages += len(first)
	}
	if pages < 10 {
		t.Errorf("%d pages", pages)
	}
	r, err := Open[twice](bytes.NewReader(want), int64(len(want)))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for row, err := range r.All() {
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(row, rows[n]) {
			t.Fatalf("row %d is not what was written", n)
		}
		n++
	}
	if n != len(rows) {
		t.Errorf("%d rows", n)
	}
}

func TestEchoGivesTheCodecsBytes(t *testing.T) {
	e := &echo{Codec: quick}
	page := func(i int) []byte { return bytes.Repeat([]byte(fmt.Sprint(i, " ")), echoLeast) }
	packed := map[int][]byte{}
	for _, i := range []int{1, 2, 1, 1, 3, 4, 1, 5} { // 1 is forgotten meanwhile
		got, err := e.Encode([]byte("old"), page(i))
		if err != nil {
			t.Fatal(err)
		}
		want, err := quick.Encode(nil, page(i))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("page %d: %d bytes, want %d (%v)", i, len(got), len(want), err)
		}
		if old, ok := packed[i]; ok && !bytes.Equal(old, got) {
			t.Errorf("page %d changed", i)
		}
		packed[i] = bytes.Clone(got)
		clear(got) // the caller's
	}
}
