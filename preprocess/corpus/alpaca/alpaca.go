// Package alpaca reads instructions with their answers: Alpaca's alpaca_data.json
// and sets in its layout, its seed tasks, and Dolly.
//
// A row is an instruction, perhaps with an input, and its output, which is the
// reference. Empty inputs and outputs are values.
package alpaca

import (
	"fmt"

	"espalier/preprocess/corpus"
	"espalier/preprocess/corpus/records"
	"espalier/preprocess/rawjson"
)

// Fields are the source fields of Alpaca's layout.
type Fields struct {
	Instruction string `parquet:"instruction" json:"instruction"`
	Input       string `parquet:"input" json:"input"`
	Output      string `parquet:"output" json:"output"`
}

// Format reads files in Alpaca's layout; their task is the name of the set.
func Format(task string) *records.Records[Fields, corpus.None] {
	return &records.Records[Fields, corpus.None]{
		Corpus: "alpaca", Task: task, Layout: records.JSON{}, SplitOf: train,
		Decoder: func(*corpus.Source) func(*records.Element, *records.Out[Fields, corpus.None]) {
			var f Fields
			object := records.NewObject(records.Text("instruction", &f.Instruction), records.Text("input", &f.Input), records.Text("output", &f.Output))
			return func(el *records.Element, out *records.Out[Fields, corpus.None]) {
				if fault := object.Read(el.Bytes); fault.Bad() {
					out.Dead(fault)
					return
				}
				out.Row("", f, corpus.None{}).References = []string{f.Output}
			}
		},
	}
}

func train(src *corpus.Source) string {
	if s := records.SplitOfName(src.Name); s != "all" {
		return s
	}
	return "train" // there is no other
}

// SeedMeta is what the seed tasks say beside their instances.
type SeedMeta struct {
	Name             string `parquet:"name" json:"name"`
	IsClassification bool   `parquet:"is_classification" json:"is_classification"`
}

// Seeds reads the seed tasks of Self-Instruct, seed_tasks.jsonl: a row is an
// instance of a task.
var Seeds = &records.Records[Fields, SeedMeta]{
	Corpus: "alpaca", Task: "seed", Layout: records.JSON{}, SplitOf: train, KeyField: "id",
	Rows: func(el *records.Element, row func([]byte)) {
		if el.Kind() != rawjson.Object {
			return
		}
		var p rawjson.Parser
		id, i := el.Member("id"), 0
		for range records.Items(&p, el.Member("instances")) {
			row(fmt.Appendf(nil, "%s_%d", id, i))
			i++
		}
	},
	Decoder: func(*corpus.Source) func(*records.Element, *records.Out[Fields, SeedMeta]) {
		var (
			f         Fields
			m         SeedMeta
			id        string
			instances []byte
			p         rawjson.Parser
		)
		task := records.NewObject(records.Filled("id", &id), records.Text("name", &m.Name), records.Text("instruction", &f.Instruction), records.Bool("is_classification", &m.IsClassification), records.Value("instances", &instances))
		instance := records.NewObject(records.Text("input", &f.Input), records.Text("output", &f.Output))
		return func(el *records.Element, out *records.Out[Fields, SeedMeta]) {
			fault := task.Read(el.Bytes)
			if k := records.KindOf(instances); !fault.Bad() && k != rawjson.Array {
				fault = records.Fault{Field: "instances", Reason: rawjson.Mismatch(k, rawjson.Array)}
			}
			if fault.Bad() {
				out.Lost(fault)
				return
			}
			i := 0
			for item := range records.Items(&p, instances) {
				if fault := instance.Read(item); fault.Bad() {
					fault.Where = fmt.Sprintf(".instances[%d]", i)
					out.Dead(fault)
				} else {
					out.Row(fmt.Sprintf("%s_%d", id, i), f, m).References = []string{f.Output}
				}
				i++
			}
		}
	},
}

// DollyFields are the source fields of Dolly.
type DollyFields struct {
	Instruction string `parquet:"instruction" json:"instruction"`
	Context     string `parquet:"context" json:"context"`
	Response    string `parquet:"response" json:"response"`
}

// DollyMeta is what Dolly says beside an instruction.
type DollyMeta struct {
	Category *string `parquet:"category,optional" json:"category"`
}

// Dolly reads databricks-dolly-15k.
var Dolly = &records.Records[DollyFields, DollyMeta]{
	Corpus: "dolly", Task: "dolly", Layout: records.JSON{}, SplitOf: train,
	Decoder: func(*corpus.Source) func(*records.Element, *records.Out[DollyFields, DollyMeta]) {
		var (
			f DollyFields
			m DollyMeta
		)
		object := records.NewObject(records.Text("instruction", &f.Instruction), records.Text("context", &f.Context), records.Text("response", &f.Response), records.OptionalText("category", &m.Category))
		return func(el *records.Element, out *records.Out[DollyFields, DollyMeta]) {
			if fault := object.Read(el.Bytes); fault.Bad() {
				out.Dead(fault)
				return
			}
			out.Row("", f, m).References = []string{f.Response}
		}
	},
}
