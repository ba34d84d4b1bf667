// Package tokens is the token-sequence record and its special ids.
package tokens

// Schema is the schema id of token shards.
const Schema = "tokens/1"

// A Row is one encoded example: for captions one row a caption.
type Row struct {
	ID     string  `parquet:"id" json:"id"` // the example's id
	Task   string  `parquet:"task,dict" json:"task"`
	Split  string  `parquet:"split,dict" json:"split"`
	N      int32   `parquet:"n" json:"n"`                // which of the example's targets this is, from 0
	Input  []int32 `parquet:"input,list" json:"input"`   // source ids; empty for captions
	Target []int32 `parquet:"target,list" json:"target"` // target ids, special tokens included
	Image  string  `parquet:"image" json:"image"`        // the example's image, "" if none
}

// MaskedSchema is the schema id of token shards with masks.
const MaskedSchema = "tokens-masked/1"

// A Masked is a Row with what else BERT's kin read: a value for each of Input's
// ids.
type Masked struct {
	Row
	Types     []int32 `parquet:"types,list" json:"types"`         // 1 for the second text
	Special   []int32 `parquet:"special,list" json:"special"`     // 1 for special ids and padding
	Attention []int32 `parquet:"attention,list" json:"attention"` // 0 for padding
}

// A Vocab says what a trainer must know of a token space. It is the JSON file
// vocab.json beside the vocabulary itself.
type Vocab struct {
	Kind string `json:"kind"` // "word", "radix"; of a public vocabulary its class or type
	Size int    `json:"size"` // rows of the embedding
	Pad  int32  `json:"pad"`
	BOS  int32  `json:"bos"`
	EOS  int32  `json:"eos"`
	Unk  int32  `json:"unk"` // -1 if no single id
	// Radix only.
	Base   int `json:"base,omitempty"`
	Digits int `json:"digits,omitempty"`
	MaxLen int `json:"max_len"` // longest sequence with BOS and EOS
	// Public vocabularies only: behaviours of the class, between commas.
	Variants string `json:"variants,omitempty"`
}
