// Package example is the canonical example record.
package example

// Schema is the schema id of example shards.
const Schema = "example/1"

// A Row is one example. F and M are declared once by the corpus package: the
// corpus's raw source fields under their public names with their own types,
// and what it knows beside them.
type Row[F, M any] struct {
	ID         string   `parquet:"id" json:"id"` // corpus/task/split/key, stable across runs
	Corpus     string   `parquet:"corpus,dict" json:"corpus"`
	Task       string   `parquet:"task,dict" json:"task"`
	Split      string   `parquet:"split,dict" json:"split"`
	Key        string   `parquet:"key" json:"key"`            // the corpus's own id
	N          int64    `parquet:"n" json:"n"`                // 0-based data row in the raw file
	Line       *int64   `parquet:"line,optional" json:"line"` // 1-based physical line where the record ends; null for JSON documents
	Fields     F        `parquet:"fields" json:"fields"`
	Label      *string  `parquet:"label,optional" json:"label"` // numbers as the reference prints them
	LabelID    *int64   `parquet:"label_id,optional" json:"label_id"`
	References []string `parquet:"references,list" json:"references"`
	Image      *string  `parquet:"image,optional" json:"image"` // the image's path relative to the corpus root
	Meta       M        `parquet:"meta" json:"meta"`
}

// A Head is what every example has, whatever its corpus: what stages read that
// do not look into fields.
type Head struct {
	ID         string   `parquet:"id" json:"id"`
	Corpus     string   `parquet:"corpus,dict" json:"corpus"`
	Task       string   `parquet:"task,dict" json:"task"`
	Split      string   `parquet:"split,dict" json:"split"`
	Key        string   `parquet:"key" json:"key"`
	Label      *string  `parquet:"label,optional" json:"label"`
	References []string `parquet:"references,list" json:"references"`
	Image      *string  `parquet:"image,optional" json:"image"`
}

// A Marked is what stages read of examples that bear marks, such as "unseen" on
// images of data/sample that show what train does not. Only examples read with
// marks have the column.
type Marked struct {
	ID    string `parquet:"id" json:"id"`
	Split string `parquet:"split,dict" json:"split"`
	Meta  struct {
		Marks []string `parquet:"marks,list" json:"marks"`
	} `parquet:"meta" json:"meta"`
}
