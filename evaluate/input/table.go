package input

import (
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"espalier/pipeline"
	"espalier/pipeline/shard"
)

// readTable reads a Parquet or Arrow table. A column "rank" other than 0 marks
// predictions that are not the best: they are left out.
func readTable(f *file, src *Source, format string, role Role, yield func(record) error) error {
	t, err := shard.OpenTable(f, f.size)
	if err != nil {
		return &pipeline.RefusedError{File: src.Path, Offset: -1, Reason: err.Error()}
	}
	have := make(map[string]bool)
	names := ""
	for _, c := range t.Columns() {
		have[c.Name] = true
		names += " " + c.Name
	}
	pick := func(list []string, flag string) (string, error) {
		for _, n := range list {
			if have[n] {
				return n, nil
			}
		}
		return "", Place{File: src.Path, Offset: -1}.refuse(list[0], "no such column; the columns are%s (%s names another)", names, flag)
	}
	id, err := pick(src.idNames(format), "--id-field")
	if err != nil {
		return err
	}
	flag := "--pred-field"
	if role == References {
		flag = "--ref-field"
	}
	text, err := pick(src.textNames(role), flag)
	if err != nil {
		return err
	}
	columns := []string{id, text}
	rank, split := -1, -1
	if role == Predictions && have["rank"] {
		rank = len(columns)
		columns = append(columns, "rank")
	}
	if src.Split != "" && have["split"] {
		split = len(columns)
		columns = append(columns, "split")
	}
	attributes := make([]int, len(src.Attributes))
	kept := false
	for i, name := range src.Attributes {
		attributes[i] = -1
		if have[name] {
			attributes[i], kept = len(columns), true
			columns = append(columns, name)
		}
	}
	if t, err = t.Select(columns...); err != nil {
		return err
	}
	n := int64(0)
	for row, err := range t.Rows() {
		place := Place{File: src.Path, Offset: -1}
		if err != nil {
			return place.refuse("", "row %d: %v", n, err)
		}
		n++
		if rank >= 0 && fmt.Sprint(row[rank]) != "0" || split >= 0 && row[split] != src.Split {
			continue
		}
		r := record{place: place}
		var ok bool
		if r.id, ok = cell(row[0]); !ok {
			return place.refuse(id, "row %d: %T where a number or text is expected", n-1, row[0])
		}
		if !utf8.ValidString(r.id) {
			return place.refuse(id, "row %d: not valid UTF-8", n-1)
		}
		if list, isList := row[1].([]any); isList {
			r.texts = []string{}
			for _, v := range list {
				s, ok := cell(v)
				if !ok {
					return place.refuse(text, "row %d: %T in a list where text is expected", n-1, v)
				}
				r.texts = append(r.texts, s)
			}
			if len(list) == 0 && text != answersField {
				r.texts = nil
			}
		} else {
			s, ok := cell(row[1])
			if !ok {
				return place.refuse(text, "row %d: %T where text is expected", n-1, row[1])
			}
			r.texts = []string{s}
		}
		if slices.ContainsFunc(r.texts, func(s string) bool { return !utf8.ValidString(s) }) {
			return place.refuse(text, "row %d: not valid UTF-8", n-1)
		}
		if kept {
			r.attributes = make([]string, len(attributes))
			for i, k := range attributes {
				if k < 0 {
					continue
				}
				if v, ok := cell(row[k]); ok && utf8.ValidString(v) {
					r.attributes[i] = v
				}
			}
		}
		if err := yield(r); err != nil {
			return err
		}
	}
	return nil
}

// cell returns a value as text.
func cell(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case int64:
		return strconv.FormatInt(v, 10), true
	case uint64:
		return strconv.FormatUint(v, 10), true
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64), true
	case bool:
		return strconv.FormatBool(v), true
	}
	return "", false
}
