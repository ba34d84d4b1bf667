// Package prediction is the prediction record.
package prediction

// Schema is the schema id of prediction shards.
const Schema = "prediction/1"

// A Row is one decoded output.
type Row struct {
	ID      string  `parquet:"id" json:"id"` // the example's id
	Task    string  `parquet:"task,dict" json:"task"`
	Split   string  `parquet:"split,dict" json:"split"`
	Text    string  `parquet:"text" json:"text"`
	LogProb float64 `parquet:"log_prob" json:"log_prob"` // sum over its tokens
	Rank    int32   `parquet:"rank" json:"rank"`         // 0 is the best
	Tokens  []int32 `parquet:"tokens,list" json:"tokens"`
}
