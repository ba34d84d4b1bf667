// Package export reads corpora as the data sets of the Hugging Face hub export
// them: Parquet and Arrow files, and JSON objects, with classes as numbers.
package export

import (
	"math"
	"strconv"
	"strings"

	"espalier/pipeline/shard"
	"espalier/preprocess/corpus"
	"espalier/preprocess/corpus/records"
	"espalier/preprocess/corpus/table"
	"espalier/preprocess/rawjson"
)

// An Export describes the exported rows of a corpus.
type Export[F, M any] struct {
	Corpus, Task string
	// Columns must be there. Of Parquet files no others are read but that of
	// the label and the key.
	Columns []string
	// Set fills fields and meta with the values of the columns, in their order,
	// and says what is wrong with them.
	Set    func(v Values, fields *F, meta *M, refs *[]string) records.Fault
	Label  string // the column of the label, "" if there is none
	Labels *table.Labels
	// Key is the column of the native key, an integer. Rows without it are known
	// by their number, unless KeyOf makes a key of what Set filled in.
	Key   string
	KeyOf func(*M) string
}

// Values are the values of a row's columns: nil, bool, string, int64, float64,
// []any or [shard.Struct].
type Values []any

// Text returns a text.
func (v Values) Text(i int, name string, to *string) records.Fault {
	s, ok := v[i].(string)
	if !ok {
		return records.Fault{Field: name, Reason: mismatch(v[i], rawjson.Text)}
	}
	*to = s
	return records.Fault{}
}

// Integer returns an integer.
func (v Values) Integer(i int, name string, to *int64) records.Fault {
	n, ok := v[i].(int64)
	if !ok {
		reason := mismatch(v[i], rawjson.Number)
		if _, float := v[i].(float64); float {
			reason = records.NoInteger
		}
		return records.Fault{Field: name, Reason: reason}
	}
	*to = n
	return records.Fault{}
}

// Texts returns a list of texts.
func (v Values) Texts(i int, name string, to *[]string) records.Fault {
	list, ok := v[i].([]any)
	if !ok {
		return records.Fault{Field: name, Reason: mismatch(v[i], rawjson.Array)}
	}
	*to = make([]string, len(list))
	for k, x := range list {
		s, ok := x.(string)
		if !ok {
			return records.Fault{Field: name, Reason: mismatch(x, rawjson.Text)}
		}
		(*to)[k] = s
	}
	return records.Fault{}
}

// mismatch says that a value is not of the kind that is wanted.
func mismatch(v any, want rawjson.Kind) string {
	var kind rawjson.Kind
	switch v.(type) {
	case nil:
		kind = rawjson.Null
	case bool:
		kind = rawjson.Bool
	case string:
		kind = rawjson.Text
	case []any:
		kind = rawjson.Array
	case shard.Struct:
		kind = rawjson.Object
	case int64, float64:
		kind = rawjson.Number
	default: // of a table's column
		what := "value of another type"
		switch v.(type) {
		case []byte:
			what = "bytes"
		case uint64:
			what = "number of more than 63 bits"
		case shard.Decimal:
			what = "decimal number"
		case shard.Timestamp, shard.Date, shard.TimeOfDay:
			what = "time"
		}
		return what + strings.TrimPrefix(rawjson.Mismatch(rawjson.Null, want), rawjson.Null.String())
	}
	return rawjson.Mismatch(kind, want)
}

// key returns the key of a row, "" for its number.
func (x *Export[F, M]) key(v any, meta *M) (string, records.Fault) {
	if x.KeyOf != nil {
		return x.KeyOf(meta), records.Fault{}
	}
	switch v := v.(type) {
	case nil:
		return "", records.Fault{}
	case int64:
		return strconv.FormatInt(v, 10), records.Fault{}
	case float64:
		return "", records.Fault{Field: x.Key, Reason: records.NoInteger}
	}
	return "", records.Fault{Field: x.Key, Reason: mismatch(v, rawjson.Number)}
}

// label reads the value of a label: the number or the name of a class, a number.
func (x *Export[F, M]) label(v any) (table.Value, records.Fault) {
	bad := func(reason string) (table.Value, records.Fault) {
		return table.Value{}, records.Fault{Field: x.Label, Reason: reason}
	}
	switch v := v.(type) {
	case nil:
		return table.Value{}, records.Fault{}
	case string:
		if v == "" && x.Labels.Len() > 0 {
			return bad("empty label")
		}
		if value, ok := x.Labels.Named(v); ok {
			return value, records.Fault{}
		}
		return bad(records.NoLabel)
	case int64:
		if x.Labels.Len() == 0 {
			return x.label(float64(v))
		}
		switch {
		case v == -1:
			return x.Labels.None(), records.Fault{}
		case v < 0 || v >= int64(x.Labels.Len()):
			return bad(records.NoLabel)
		}
		return x.Labels.Class(int(v)), records.Fault{}
	case float64:
		if x.Labels.Len() > 0 {
			return bad(records.NoInteger)
		}
		if v == -1 {
			return x.Labels.None(), records.Fault{}
		}
		// An export of single precision holds what is nearest to the number.
		if s := table.Number(math.Abs(v)); len(s) > 10 {
			v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'f', -1, 32), 64)
		}
		value, reason := x.Labels.Parse([]byte(table.Number(v)))
		if reason != "" {
			return bad(reason)
		}
		return value, records.Fault{}
	}
	return bad(mismatch(v, rawjson.Number))
}

// row adds the row or the dead letter of some values: those of the columns, of
// the label and of the key.
func (x *Export[F, M]) row(values []any, out *records.Out[F, M]) {
	n := len(x.Columns)
	var fields F
	meta := corpus.Zero[M]()
	var refs []string
	if f := x.Set(Values(values[:n]), &fields, &meta, &refs); f.Bad() {
		out.Dead(f)
		return
	}
	var label table.Value
	if x.Label != "" {
		var f records.Fault
		if label, f = x.label(values[n]); f.Bad() {
			out.Dead(f)
			return
		}
	}
	key, f := x.key(values[n+1], &meta)
	if f.Bad() {
		out.Dead(f)
		return
	}
	r := out.Row(key, fields, meta)
	r.Label, r.LabelID, r.References = label.Text, label.ID, refs
}
