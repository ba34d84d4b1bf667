package example

// TextSchema is the schema id of text shards.
const TextSchema = "text/1"

// A Text is an example rendered by a template: what a model reads and what it is
// to write. An example may have several.
type Text struct {
	ID         string   `parquet:"id" json:"id"` // of the example
	Corpus     string   `parquet:"corpus,dict" json:"corpus"`
	Task       string   `parquet:"task,dict" json:"task"`
	Split      string   `parquet:"split,dict" json:"split"`
	Template   string   `parquet:"template,dict" json:"template"`
	Version    int32    `parquet:"version" json:"version"` // of the template
	Part       int32    `parquet:"part" json:"part"`       // which of the example's texts
	Source     string   `parquet:"source" json:"source"`
	Target     string   `parquet:"target" json:"target"`
	Label      *string  `parquet:"label,optional" json:"label"`
	References []string `parquet:"references,list" json:"references"`
	Image      *string  `parquet:"image,optional" json:"image"`
}
