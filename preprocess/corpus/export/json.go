package export

import (
	"strconv"

	"espalier/pipeline/shard"
	"espalier/preprocess/corpus"
	"espalier/preprocess/corpus/records"
	"espalier/preprocess/rawjson"
)

// JSON returns the format of exported JSON objects: one a line, or an array.
func (x *Export[F, M]) JSON() *records.Records[F, M] {
	return &records.Records[F, M]{
		Corpus: x.Corpus, Task: x.Task, Layout: records.JSON{}, KeyField: x.Key,
		Rows: func(el *records.Element, row func(name []byte)) {
			if x.KeyOf != nil {
				row(x.name(el))
				return
			}
			key := el.Member(x.Key)
			if string(key) == "null" || len(key) == 0 {
				key = nil
			}
			row(key)
		},
		Decoder: func(*corpus.Source) func(el *records.Element, out *records.Out[F, M]) {
			var p rawjson.Parser
			values := make([]any, len(x.Columns)+2)
			return func(el *records.Element, out *records.Out[F, M]) {
				p.Reset(el.Bytes)
				clear(values)
				if f := x.object(&p, values); f.Bad() {
					out.Dead(f)
					return
				}
				x.row(values, out)
			}
		},
	}
}

// name is the key that is made of a row's values, nil if the row cannot be used.
func (x *Export[F, M]) name(el *records.Element) []byte {
	var p rawjson.Parser
	p.Reset(el.Bytes)
	values := make([]any, len(x.Columns)+2)
	if f := x.object(&p, values); f.Bad() {
		return nil
	}
	var fields F
	var meta M
	var refs []string
	if f := x.Set(Values(values[:len(x.Columns)]), &fields, &meta, &refs); f.Bad() {
		return nil
	}
	return []byte(x.KeyOf(&meta))
}

// object reads one object into the values of its row.
func (x *Export[F, M]) object(p *rawjson.Parser, values []any) records.Fault {
	if !p.Begin(rawjson.Object) {
		k := p.Kind()
		if p.Skip(); p.Err() != nil || k == rawjson.Invalid {
			return records.Fault{Reason: "not JSON"}
		}
		return records.Fault{Reason: rawjson.Mismatch(k, rawjson.Object)}
	}
	has := make([]bool, len(x.Columns))
	for name, ok := p.Member(); ok; name, ok = p.Member() {
		field := string(name)
		switch i := x.place(field); {
		case i < 0:
			p.Skip()
		default:
			values[i] = valueOf(p)
			if i < len(has) {
				has[i] = true
			}
		}
		if err := p.Err(); err != nil {
			if err.Reason == rawjson.EndsEarly {
				field = ""
			}
			return records.Fault{Field: field, Reason: err.Reason}
		}
	}
	p.End()
	if err := p.Err(); err != nil {
		return records.Fault{Reason: err.Reason}
	}
	for i, name := range x.Columns {
		if !has[i] {
			return records.Fault{Field: name, Reason: records.Missing}
		}
	}
	return records.Fault{}
}

// place returns the place of a column's value, -1 for one that nobody wants.
func (x *Export[F, M]) place(name string) int {
	for i, c := range x.Columns {
		if c == name {
			return i
		}
	}
	switch {
	case name == x.Label && name != "":
		return len(x.Columns)
	case name == x.Key && name != "":
		return len(x.Columns) + 1
	}
	return -1
}

// valueOf reads the next value, whatever it is.
func valueOf(p *rawjson.Parser) any {
	switch p.Kind() {
	case rawjson.Text:
		b, _ := p.Text()
		return string(b)
	case rawjson.Number:
		b, _ := p.Number()
		if n, ok := rawjson.Integer(b); ok {
			return n
		}
		x, err := strconv.ParseFloat(string(b), 64)
		if err != nil {
			return nil
		}
		return x
	case rawjson.Bool:
		v, _ := p.Bool()
		return v
	case rawjson.Array:
		list := []any{}
		p.Begin(rawjson.Array)
		for p.Item() {
			list = append(list, valueOf(p))
		}
		return list
	case rawjson.Object:
		s := shard.Struct{}
		p.Begin(rawjson.Object)
		for name, ok := p.Member(); ok; name, ok = p.Member() {
			f := shard.Field{Name: string(name)}
			f.Value = valueOf(p)
			s = append(s, f)
		}
		return s
	}
	p.Skip()
	return nil
}
