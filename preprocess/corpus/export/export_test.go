package export

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"espalier/preprocess/corpus"
	"espalier/preprocess/corpus/records"
	"espalier/preprocess/corpus/table"
)

type fields struct {
	Text string `parquet:"text" json:"text"`
}

var pairs = &Export[fields, corpus.None]{
	Corpus: "c", Task: "t", Columns: []string{"text"}, Label: "label", Labels: table.Classes("no", "yes"), Key: "idx",
	Set: func(v Values, f *fields, _ *corpus.None, _ *[]string) records.Fault {
		return v.Text(0, "text", &f.Text)
	},
}

// outcome reads a Parquet file of one row and says what came of it.
func outcome[R any](t *testing.T, row R) string {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[R](&b)
	if _, err := w.Write([]R{row}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	src := &corpus.Source{ReaderAt: bytes.NewReader(b.Bytes()), Size: int64(b.Len()), Name: "x.parquet", Split: "s"}
	for rec, err := range pairs.Table().Read(t.Context(), src, nil) {
		switch {
		case err != nil:
			return err.Error()
		case rec.Dead != nil:
			return rec.Dead.Field + ": " + rec.Dead.Reason
		}
		return fmt.Sprintf("%s %s %s", rec.Row.Key, rec.Row.Fields.Text, *rec.Row.Label)
	}
	return "nothing"
}

func TestTypesOfColumns(t *testing.T) {
	now := time.Unix(0, 0)
	for _, c := range []struct{ what, got, want string }{
		{"int8", outcome(t, struct {
			Text  string `parquet:"text"`
			Label int8   `parquet:"label"`
			Idx   int16  `parquet:"idx"`
		}{"a", 1, 7}), "7 a yes"},
		{"uint8 and uint16", outcome(t, struct {
			Text  string `parquet:"text"`
			Label uint8  `parquet:"label"`
			Idx   uint16 `parquet:"idx"`
		}{"a", 1, 7}), "7 a yes"},
		{"uint32 and uint64", outcome(t, struct {
			Text  string `parquet:"text"`
			Label uint32 `parquet:"label"`
			Idx   uint64 `parquet:"idx"`
		}{"a", 0, 7}), "7 a no"},
		{"a large uint64", outcome(t, struct {
			Text  string `parquet:"text"`
			Label uint32 `parquet:"label"`
			Idx   uint64 `parquet:"idx"`
		}{"a", 0, 1 << 63}), "idx: number of more than 63 bits where a number is expected"},
		{"bytes", outcome(t, struct {
			Text  []byte `parquet:"text"`
			Label int8   `parquet:"label"`
		}{[]byte("a"), 1}), "text: bytes where text is expected"},
		{"time", outcome(t, struct {
			Text  string    `parquet:"text"`
			Label time.Time `parquet:"label,timestamp"`
		}{"a", now}), "label: time where a number is expected"},
		{"float", outcome(t, struct {
			Text  string  `parquet:"text"`
			Label float32 `parquet:"label"`
		}{"a", 1}), "label: number is no integer"},
		{"decimal", outcome(t, struct {
			Text  string `parquet:"text"`
			Label int64  `parquet:"label,decimal(2:10)"`
		}{"a", 100}), "label: decimal number where a number is expected"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %s, want %s", c.what, c.got, c.want)
		}
	}
}

func TestTablesThatCannotBeRead(t *testing.T) {
	for magic, want := range map[string]string{"PARE": "encrypted", "FEA1\x00\x00\x00\x00": "neither Parquet nor Arrow"} {
		b := []byte(magic + strings.Repeat("\x00", 20) + "\x08\x00\x00\x00" + magic[:4])
		src := &corpus.Source{ReaderAt: bytes.NewReader(b), Size: int64(len(b)), Name: "x.parquet"}
		if is, err := corpus.IsParquet(src); !is || err != nil {
			t.Errorf("%q: %t, %v", magic, is, err)
		}
		if _, err := pairs.Table().Plan(t.Context(), src, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", magic, err)
		}
	}
}
