package superglue

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"espalier/pipeline/shard"
	"espalier/preprocess/corpus"
	"espalier/preprocess/corpus/export"
	"espalier/preprocess/corpus/records"
)

// Query is what ReCoRD has: a sentence with a gap, which an entity of the passage
// fills. Entities and answers are unique and sorted by code point.
type Query struct {
	Passage  string   `parquet:"passage" json:"passage"`
	Query    string   `parquet:"query" json:"query"`
	Entities []string `parquet:"entities,list" json:"entities"`
	Answers  []string `parquet:"answers,list" json:"answers"`
}

// QueryMeta has the numbers that make the key of a query, and where entities
// stand in the passage.
type QueryMeta struct {
	Passage int64     `parquet:"passage" json:"passage"`
	Query   int64     `parquet:"query" json:"query"`
	Spans   [][]int64 `parquet:"spans,list" json:"spans"` // first code point and the one behind the last
}

func (m QueryMeta) key() string {
	return strconv.FormatInt(m.Passage, 10) + "_" + strconv.FormatInt(m.Query, 10)
}

// ReCoRD has queries about news texts. Answers are the row's references too.
func ReCoRD() corpus.Format[Query, QueryMeta] {
	f := &records.Records[Query, QueryMeta]{
		Corpus: Corpus, Task: "record", Layout: records.JSON{}, KeyField: "idx",
		Rows: func(el *records.Element, row func(name []byte)) {
			for _, q := range newArticle(el) {
				if q.fault.Bad() {
					row(nil)
				} else {
					row([]byte(q.meta.key()))
				}
			}
		},
		Decoder: func(*corpus.Source) func(el *records.Element, out *records.Out[Query, QueryMeta]) {
			return func(el *records.Element, out *records.Out[Query, QueryMeta]) {
				for _, q := range newArticle(el) {
					if q.fault.Bad() {
						out.Dead(q.fault)
						continue
					}
					out.Row(q.meta.key(), q.fields, q.meta).References = q.fields.Answers
				}
			}
		},
	}
	x := &export.Export[Query, QueryMeta]{
		Corpus: Corpus, Task: "record", Columns: []string{"passage", "query", "entities", "answers", "entity_spans", "idx"},
		Set: func(v export.Values, f *Query, m *QueryMeta, refs *[]string) records.Fault {
			bad := first(v.Text(0, "passage", &f.Passage), v.Text(1, "query", &f.Query), v.Texts(2, "entities", &f.Entities), v.Texts(3, "answers", &f.Answers),
				exportedSpans(v[4], &m.Spans), number(v, 5, "passage", &m.Passage), number(v, 5, "query", &m.Query))
			if !bad.Bad() {
				f.Entities, f.Answers = unique(f.Entities), unique(f.Answers)
				*refs = f.Answers
			}
			return bad
		},
		KeyOf: func(m *QueryMeta) string { return m.key() },
	}
	return layouts[Query, QueryMeta](f, x, func(el *records.Element) bool { return el.Member("query") != nil }, "")
}

// A query of a passage, or why it or its line cannot be used.
type query struct {
	fields Query
	meta   QueryMeta
	fault  records.Fault
}

// newArticle reads a line of ReCoRD.
func newArticle(el *records.Element) []query {
	var text string
	var spans [][]int64
	var queries []query
	var answers []string
	var one query
	var start, end, idx int64
	var name string
	var bad records.Fault

	entity := records.NewObject(records.Integer("start", &start), records.Integer("end", &end))
	passage := records.NewObject(records.Text("text", &text),
		records.Each("entities", entity, func() { spans = [][]int64{} }, func(i int, f records.Fault) {
			if f.Bad() && !bad.Bad() {
				bad = f
				bad.Where = fmt.Sprintf(".passage.entities[%d]", i)
			}
			spans = append(spans, []int64{start, end + 1})
		}))
	answer := records.NewObject(records.Text("text", &name))
	readAnswers := records.Each("answers", answer, func() { answers = []string{} }, func(i int, f records.Fault) {
		if f.Bad() && !one.fault.Bad() {
			one.fault = f
			one.fault.Where = fmt.Sprintf(".answers[%d]", i)
		}
		answers = append(answers, name)
	})
	item := records.NewObject(records.Text("query", &one.fields.Query), records.Integer("idx", &one.meta.Query), records.Optional(readAnswers))
	line := records.NewObject(records.Integer("idx", &idx), records.Nested("passage", true, passage),
		records.Each("qas", item, func() { queries = nil }, func(i int, f records.Fault) {
			q := query{fields: Query{Query: one.fields.Query, Answers: unique(answers)}, meta: QueryMeta{Query: one.meta.Query}, fault: f}
			if !f.Bad() {
				q.fault = one.fault
			}
			if q.fault.Bad() {
				q.fault.Where = fmt.Sprintf(".qas[%d]%s", i, q.fault.Where)
			}
			one.fault = records.Fault{}
			queries = append(queries, q)
		}))
	fault := line.Read(el.Bytes)
	if !fault.Bad() {
		fault = bad
	}
	var entities []string
	if !fault.Bad() {
		entities, fault = cut(text, spans)
	}
	if fault.Bad() {
		return []query{{fault: fault}}
	}
	for i := range queries {
		q := &queries[i]
		q.fields.Passage, q.fields.Entities = text, entities
		q.meta.Passage, q.meta.Spans = idx, spans
	}
	return queries
}

// cut sorts spans of code points and returns the texts that stand there, unique
// and sorted.
func cut(text string, spans [][]int64) ([]string, records.Fault) {
	slices.SortFunc(spans, func(a, b []int64) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	at := make([]int, 0, len(text)+1) // where code points begin
	for i := range text {
		at = append(at, i)
	}
	at = append(at, len(text))
	names := make([]string, 0, len(spans))
	for _, s := range spans {
		if s[0] < 0 || s[1] <= s[0] || s[1] >= int64(len(at)) {
			return nil, records.Fault{Field: "entities", Where: ".passage.entities", Reason: fmt.Sprintf("a span from %d to %d in a passage of %d characters", s[0], s[1]-1, utf8.RuneCountInString(text))}
		}
		names = append(names, text[at[s[0]]:at[s[1]]])
	}
	return unique(names), records.Fault{}
}

// unique sorts texts by code point and drops those that are there twice.
func unique(list []string) []string {
	out := slices.Clone(list)
	slices.Sort(out)
	if out = slices.Compact(out); out == nil {
		out = []string{}
	}
	return out
}

// exportedSpans reads the exported places of entities: lists of starts and ends,
// or a list of objects.
func exportedSpans(v any, to *[][]int64) records.Fault {
	bad := records.Fault{Field: "entity_spans", Reason: "no lists of starts and ends"}
	*to = [][]int64{}
	switch v := v.(type) {
	case shard.Struct:
		starts, _ := memberOf(v, "start").([]any)
		ends, _ := memberOf(v, "end").([]any)
		if len(starts) != len(ends) {
			return bad
		}
		for i := range starts {
			a, ok1 := starts[i].(int64)
			b, ok2 := ends[i].(int64)
			if !ok1 || !ok2 {
				return bad
			}
			*to = append(*to, []int64{a, b})
		}
	case []any:
		for _, x := range v {
			s, _ := x.(shard.Struct)
			a, ok1 := memberOf(s, "start").(int64)
			b, ok2 := memberOf(s, "end").(int64)
			if !ok1 || !ok2 {
				return bad
			}
			*to = append(*to, []int64{a, b})
		}
	default:
		return bad
	}
	slices.SortFunc(*to, func(a, b []int64) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	return records.Fault{}
}

func memberOf(s shard.Struct, name string) any {
	for _, f := range s {
		if f.Name == name {
			return f.Value
		}
	}
	return nil
}
