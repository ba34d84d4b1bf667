// Package score is the record of one measured number: name, value, interval,
// tags.
package score

// Schema is the schema id of shards of Rows.
const Schema = "score/1"

// A Row is one measured number. Which job and run it belongs to is joined from
// the run log when read, so that two jobs share one output.
type Row struct {
	Metric  string            `parquet:"metric" json:"metric"`   // such as "bleu-4"
	Variant string            `parquet:"variant" json:"variant"` // version, tokenizer, options
	Corpus  string            `parquet:"corpus" json:"corpus"`
	Task    string            `parquet:"task" json:"task"`
	Split   string            `parquet:"split" json:"split"`
	ID      string            `parquet:"id" json:"id"`       // the example, or "" for a whole split
	Value   float64           `parquet:"value" json:"value"` // on the reference tool's own scale
	N       int64             `parquet:"n" json:"n"`         // examples behind the value
	CILow   *float64          `parquet:"ci_low,optional" json:"ci_low"`
	CIHigh  *float64          `parquet:"ci_high,optional" json:"ci_high"`
	Step    *int64            `parquet:"step,optional" json:"step"`
	Tags    map[string]string `parquet:"tags" json:"tags"` // method, shots, draw, seed, ...
}
