package evaluate

import (
	"encoding/json"
	"io"
	"math"
	"strings"

	"espalier/pipeline/score"
	"espalier/pipeline/shard"
)

// Rows returns the result as score records: the values of the whole set and,
// if each is true, those of every example.
func (r *Result) Rows(head score.Row, each bool) []score.Row {
	var out []score.Row
	row := head
	if row.Tags == nil {
		row.Tags = map[string]string{}
	}
	for _, v := range r.Values {
		row.Metric, row.Variant, row.Value, row.N = v.Metric, v.Variant, v.Value, v.N
		row.ID, row.CILow, row.CIHigh = "", v.CILow, v.CIHigh
		out = append(out, row)
	}
	if !each {
		return out
	}
	row.CILow, row.CIHigh, row.N = nil, nil, 1
	for i, id := range r.IDs {
		for k, v := range r.Values {
			if math.IsNaN(r.Each[i][k]) {
				continue
			}
			row.ID, row.Metric, row.Variant, row.Value = id, v.Metric, v.Variant, r.Each[i][k]
			out = append(out, row)
		}
	}
	return out
}

// WriteRows writes score records as a Parquet file.
func WriteRows(w io.Writer, rows []score.Row) error {
	p, err := shard.NewWriter[score.Row](w, shard.Options{})
	if err != nil {
		return err
	}
	if err := p.Write(rows); err != nil {
		return err
	}
	return p.Close()
}

// WriteExamples writes every example's scores: as score records if name ends
// in .parquet, else as JSON lines, one object an example, with its id and its
// scores by the metrics' names.
func (r *Result) WriteExamples(w io.Writer, name string) error {
	if strings.HasSuffix(name, ".parquet") {
		return WriteRows(w, r.Rows(score.Row{}, true)[len(r.Values):])
	}
	var line []byte
	for i, id := range r.IDs {
		line = append(line[:0], `{"id":`...)
		b, err := json.Marshal(id)
		if err != nil {
			return err
		}
		line = append(line, b...)
		for k, v := range r.Values {
			if math.IsNaN(r.Each[i][k]) {
				continue
			}
			name, err := json.Marshal(v.Metric)
			if err != nil {
				return err
			}
			b, err := json.Marshal(r.Each[i][k])
			if err != nil {
				return err
			}
			line = append(append(append(append(line, ','), name...), ':'), b...)
		}
		line = append(line, "}\n"...)
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
	return nil
}
