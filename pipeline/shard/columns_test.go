package shard

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// eachWriter runs a test for the columns and for the module's writer, with small
// pages.
func eachWriter(t *testing.T, f func(t *testing.T, o Options)) {
	for name, quick := range map[string]bool{"columns": true, "module": false} {
		t.Run(name, func(t *testing.T) {
			f(t, Options{PageBytes: 64 << 10, RowGroupRows: 3000, Quick: quick, Metadata: map[string]string{"b": "2", "a": "1"}})
		})
	}
}

func TestEachWriter(t *testing.T) {
	rows := someRows(10_000)
	eachWriter(t, func(t *testing.T, o Options) {
		file := write(t, o, rows[:1], rows[1:4000], rows[4000:])
		got := read[outer](t, file)
		if len(got) != len(rows) {
			t.Fatalf("%d rows", len(got))
		}
		for i := range rows {
			if !reflect.DeepEqual(canonical(got[i]), canonical(rows[i])) {
				t.Fatalf("row %d is %+v, want %+v", i, got[i], rows[i])
			}
		}
		if again := write(t, o, rows); !bytes.Equal(again, file) {
			t.Error("other batches give other bytes")
		}
		r, err := Open[outer](bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Fatal(err)
		}
		for k, want := range o.Metadata {
			if v, _ := r.Metadata(k); v != want {
				t.Errorf("metadata %s is %q", k, v)
			}
		}
		if r.RowGroups() != 4 {
			t.Errorf("%d row groups", r.RowGroups())
		}
	})
}

// canonical has no list or map that is empty and not nil.
func canonical(r outer) outer {
	in := func(v *inner) {
		if len(v.B) == 0 {
			v.B = nil
		}
	}
	in(&r.In)
	list := make([]inner, 0)
	for _, v := range r.List {
		in(&v)
		list = append(list, v)
	}
	r.List = list
	if len(r.IDs) == 0 {
		r.IDs = nil
	}
	if len(r.Tags) == 0 {
		r.Tags = nil
	}
	return r
}

// TestSameSchema holds the columns' footer against that of the module.
func TestSameSchema(t *testing.T) {
	rows := someRows(10)
	footer := func(quick bool) *format.FileMetaData {
		file := write(t, Options{PageBytes: 1 << 20, Quick: quick}, rows)
		f, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Fatal(err)
		}
		return f.Metadata()
	}
	got, want := footer(true), footer(false)
	if !reflect.DeepEqual(got.Schema, want.Schema) {
		t.Errorf("schema %+v, want %+v", got.Schema, want.Schema)
	}
	if got.CreatedBy != want.CreatedBy || got.Version != want.Version || got.NumRows != want.NumRows || !reflect.DeepEqual(got.ColumnOrders, want.ColumnOrders) {
		t.Errorf("%+v", got)
	}
	for i, c := range got.RowGroups[0].Columns {
		w := want.RowGroups[0].Columns[i].MetaData
		if m := c.MetaData; m.Type != w.Type || m.NumValues != w.NumValues || !reflect.DeepEqual(m.PathInSchema, w.PathInSchema) || m.Statistics.NullCount != w.Statistics.NullCount {
			t.Errorf("column %v: %+v, want %+v", w.PathInSchema, m, w)
		}
	}
}

// TestDictionaries writes texts of which few are different, at first, for a
// while, or never.
func TestDictionaries(t *testing.T) {
	type row struct {
		Few     string   `parquet:"few"`
		Maybe   *string  `parquet:"maybe,optional"`
		First   string   `parquet:"first"` // few are different in the first group
		Later   string   `parquet:"later"` // and here in the first page
		All     string   `parquet:"all"`
		Empty   string   `parquet:"empty"`
		Answers []string `parquet:"answers,list"`
	}
	r := rand.New(rand.NewPCG(3, 4))
	rows := make([]row, 9000)
	words := []string{"yes", "no", "", "maybe", strings.Repeat("long ", 100)}
	for i := range rows {
		rows[i] = row{Few: words[r.IntN(5)], First: words[r.IntN(3)], Later: words[r.IntN(3)], All: fmt.Sprint("all ", i)}
		if i >= 3000 {
			rows[i].First = fmt.Sprint("first ", i)
		}
		if i >= 1000 {
			rows[i].Later = fmt.Sprint("later ", i)
		}
		if i%3 == 0 {
			rows[i].Maybe = &words[r.IntN(5)]
		}
		for range r.IntN(4) {
			rows[i].Answers = append(rows[i].Answers, words[r.IntN(5)])
		}
	}
	eachWriter(t, func(t *testing.T, o Options) {
		file := write(t, o, rows)
		got := read[row](t, file)
		for i := range rows {
			if !reflect.DeepEqual(got[i], rows[i]) && (len(got[i].Answers) > 0 || len(rows[i].Answers) > 0) {
				t.Fatalf("row %d is %+v, want %+v", i, got[i], rows[i])
			}
		}
		if !o.Quick {
			return
		}
		f, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Fatal(err)
		}
		for g, want := range []map[string]bool{
			{"few": true, "maybe": true, "first": true, "later": true, "all": false, "empty": true, "answers": true},
			{"few": true, "maybe": true, "first": false, "later": false, "all": false, "empty": true, "answers": true},
		} {
			for _, c := range f.Metadata().RowGroups[g].Columns {
				name := c.MetaData.PathInSchema[0]
				if got := c.MetaData.DictionaryPageOffset > 0; got != want[name] {
					t.Errorf("group %d, column %s has a dictionary: %v", g, name, got)
				}
			}
		}
	})
}

// TestMethods writes texts that repeat, that do not, and noise.
func TestMethods(t *testing.T) {
	type row struct {
		Words   string `parquet:"words"`
		Chinese string `parquet:"chinese"`
		Noise   []byte `parquet:"noise"`
		N       int64  `parquet:"n"`
		Wild    int64  `parquet:"wild"`
	}
	r := rand.New(rand.NewPCG(5, 6))
	vocabulary := make([]string, 500)
	for i := range vocabulary {
		b := make([]byte, 6+r.IntN(9))
		for k := range b {
			b[k] = byte('a' + r.IntN(26))
		}
		vocabulary[i] = string(b) + " "
	}
	rows := make([]row, 3000)
	for i := range rows {
		var words, chinese strings.Builder
		for range 20 {
			words.WriteString(vocabulary[r.IntN(500)])
			chinese.WriteRune(rune(0x4e00 + r.IntN(3000)))
		}
		rows[i] = row{words.String(), chinese.String(), make([]byte, 50), int64(i), r.Int64() - r.Int64()}
		for k := range rows[i].Noise {
			rows[i].Noise[k] = byte(r.Uint32())
		}
	}
	c, err := newColumns[row]()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := errors.Join(c.begin(&b, Options{}), c.add(rows), c.close()); err != nil {
		t.Fatal(err)
	}
	if got := read[row](t, b.Bytes()); !reflect.DeepEqual(got, rows) {
		t.Error("other rows come back")
	}
	for i, want := range []method{{told: true, searched: 1}, {told: true, coded: true}} {
		if got := c.leaves[i].method; got != want {
			t.Errorf("column %v: %+v", c.leaves[i].path, got)
		}
	}
	for i, packed := range []bool{true, true, false, false, false} {
		m := c.footer.RowGroups[0].Columns[i].MetaData
		if got := m.TotalCompressedSize < m.TotalUncompressedSize; got != packed {
			t.Errorf("column %v is compressed: %v", c.leaves[i].path, got)
		}
	}
}

// TestOtherKinds writes what only the module's writer knows.
func TestOtherKinds(t *testing.T) {
	type row struct {
		Small int8   `parquet:"small"`
		Text  string `parquet:"text"`
	}
	if _, err := newColumns[row](); err == nil {
		t.Error("columns know int8")
	}
	rows := []row{{1, "a"}, {-1, "b"}}
	if got := read[row](t, write(t, Options{PageBytes: 1 << 20, Quick: true}, rows)); !reflect.DeepEqual(got, rows) {
		t.Errorf("%+v", got)
	}
}

func TestColumnsRefuseRows(t *testing.T) {
	o := Options{PageBytes: 1 << 20, Quick: true}
	var b bytes.Buffer
	w, err := NewWriter[twice](&b, o)
	if err != nil {
		t.Fatal(err)
	}
	good := twiceRows(50)
	bad := append(append([]twice{}, good...), twice{Text: "\xff"})
	var refused *RowError
	if err := w.Write(bad); !errors.As(err, &refused) || refused.Row != 50 || refused.Column != "text" {
		t.Errorf("%v", err)
	}
	if err := errors.Join(w.Write(good), w.Close()); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b.Bytes(), write(t, o, good)) {
		t.Error("a refused batch leaves something behind")
	}
}

// TestFullDisk has every write fail once.
func TestFullDisk(t *testing.T) {
	rows := twiceRows(3000)
	all := write(t, Options{PageBytes: 64 << 10, Quick: true, RowGroupRows: 1000}, rows)
	for room := 0; room < len(all); room += len(all)/50 + 1 {
		w, err := NewWriter[twice](&limited{room}, Options{PageBytes: 64 << 10, Quick: true, RowGroupRows: 1000})
		if err == nil {
			err = w.Write(rows)
		}
		if err == nil {
			err = w.Close()
		}
		if !errors.Is(err, errFull) {
			t.Fatalf("room for %d of %d bytes: %v", room, len(all), err)
		}
	}
}

var errFull = errors.New("full")

type limited struct{ room int }

func (l *limited) Write(b []byte) (int, error) {
	if l.room -= len(b); l.room < 0 {
		return 0, errFull
	}
	return len(b), nil
}

// TestLent writes files whose columns have the memory of others: of the same
// rows, and of other types.
func TestLent(t *testing.T) {
	o := Options{PageBytes: 64 << 10, RowGroupRows: 3000, Quick: true}
	rows := someRows(5000)
	want := write(t, o, rows)
	type other struct {
		A []string `parquet:"a,list"`
		B int64    `parquet:"b"`
		C *string  `parquet:"c,optional"`
	}
	word := "a word"
	for i := range 3 {
		kept := write(t, o, rows)
		list := make([]other, 5000)
		for k := range list {
			list[k] = other{A: []string{word, fmt.Sprint(k, i)}, B: int64(k)}
			if k%3 == 0 {
				list[k].C = &word
			}
		}
		if got := read[other](t, write(t, o, list)); !reflect.DeepEqual(got, list) {
			t.Fatalf("round %d: other rows come back differently", i)
		}
		if !bytes.Equal(kept, want) {
			t.Fatalf("round %d: the bytes depend on what was written before", i)
		}
	}
}
