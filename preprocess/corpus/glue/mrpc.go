package glue

import (
	"bytes"
	"cmp"

	"espalier/pipeline"
	"espalier/preprocess/corpus"
	"espalier/preprocess/corpus/records"
	"espalier/preprocess/corpus/table"
	"espalier/preprocess/example"
	"espalier/preprocess/rawfile"
)

// mrpcLabels are those of MRPC, whose test labels are public.
func mrpcLabels() *table.Labels { return table.Classes("not_equivalent", "equivalent") }

// MRPC reads the files of the Microsoft Research Paraphrase Corpus: its own and
// those that GLUE's download script makes of them. A file joined to the training
// file lists the pairs of ids that GLUE takes for validation. With it, a split
// asked for selects rows; without it, all rows of the file are of one split.
func MRPC() corpus.Format[Sentences, Pair] {
	return (&table.Table[Sentences, Pair]{
		Corpus: Corpus, Task: "mrpc", CR: true,
		Mark: "BOM", // the loader's dummy files have these letters where the real ones have a byte order mark
		Text: []string{"#1 String", "#2 String"}, Set: setSentences,
		Meta: []string{"#1 ID", "#2 ID"}, SetMeta: func(p *Pair, v []string) { p.ID1, p.ID2 = v[0], v[1] },
		Label: "Quality", Labels: mrpcLabels(),
		Split: mrpcSplit,
	}).Format()
}

// mrpcSplit tells the split of rows by the list of validation pairs, if there is
// one.
func mrpcSplit(src *corpus.Source) (func(ids []string) string, error) {
	own := corpus.StandardSplit(src.Name)
	if len(src.Joined) == 0 || own != "train" && own != "" {
		split := cmp.Or(src.Split, own, "all")
		return func([]string) string { return split }, nil
	}
	held, err := readPairs(src.Joined[0])
	if err != nil {
		return nil, err
	}
	return func(ids []string) string {
		split := "train"
		if held[[2]string{ids[0], ids[1]}] {
			split = "validation"
		}
		switch {
		case src.Split == "":
			return split
		case example.SameSplit(split, src.Split):
			return src.Split
		}
		return ""
	}, nil
}

// readPairs reads a list of pairs of ids, in two columns.
func readPairs(src *corpus.Source) (map[[2]string]bool, error) {
	pairs := map[[2]string]bool{}
	lines := rawfile.NewLines(src, src.Size)
	lines.CR = true
	for l := lines.Next(); l != nil; l = lines.Next() {
		if len(l.Text) == 0 {
			continue
		}
		first, rest, found := bytes.Cut(l.Text, []byte{'\t'})
		if !found {
			return nil, &pipeline.RefusedError{File: src.Name, Line: l.N, Offset: -1, Reason: "one column where two ids are expected"}
		}
		second, _, _ := bytes.Cut(rest, []byte{'\t'})
		pairs[[2]string{string(first), string(second)}] = true
	}
	if err := lines.Err(); err != nil {
		return nil, &pipeline.RefusedError{File: src.Name, Offset: -1, Reason: err.Error()}
	}
	if len(pairs) == 0 {
		return nil, &pipeline.RefusedError{File: src.Name, Offset: -1, Reason: "empty file"}
	}
	return pairs, nil
}

// MRPCExport reads MRPC as the hub and others export it: without ids.
func MRPCExport() Format[Sentences] {
	t := &task[Sentences]{
		name: "mrpc", columns: []string{"sentence1", "sentence2"}, set: setSentences, label: "label", labels: mrpcLabels(),
	}
	x := t.export()
	json, parquet := x.JSON(), x.Table()
	csv := t.csv()
	return corpus.Standard(corpus.Either(func(src *corpus.Source) (Format[Sentences], error) {
		switch is, err := corpus.IsParquet(src); {
		case err != nil:
			return nil, err
		case is:
			return parquet, nil
		}
		if corpus.Ext(src) == ".csv" {
			return csv, nil
		}
		return json, nil
	}), "")
}

// IsExport reports whether a file of MRPC is an export.
func IsExport(src *corpus.Source) (bool, error) {
	switch corpus.Ext(src) {
	case ".csv", ".json", ".jsonl":
		return true, nil
	}
	return corpus.IsParquet(src)
}

// csv is the layout of comma-separated files, which name classes and have no
// numbers for them.
func (t *task[F]) csv() *records.Records[F, corpus.None] {
	return &records.Records[F, corpus.None]{
		Corpus: Corpus, Task: t.name, Layout: records.CSV{Want: append([]string{t.label}, t.columns...)},
		Decoder: func(*corpus.Source) func(el *records.Element, out *records.Out[F, corpus.None]) {
			texts := make([]string, len(t.columns))
			return func(el *records.Element, out *records.Out[F, corpus.None]) {
				for i, name := range t.columns {
					texts[i] = string(el.Column(name))
				}
				label, ok := t.labels.Named(string(el.Column(t.label)))
				if !ok {
					out.Dead(records.Fault{Field: t.label, Reason: records.NoLabel})
					return
				}
				var fields F
				t.set(&fields, texts)
				out.Row("", fields, corpus.None{}).Label = label.Text
			}
		},
	}
}
