// Package model is what all tokenizer families have in common: tokens, the
// interfaces that read and write ids, and the parts that Hugging Face's classes
// put around a family: tokens cut out of the text first, special ids, pairs,
// truncation, padding.
//
// Texts are strings, which may hold any bytes; each family says what it makes of
// those that are not UTF-8.
package model

// A Token is one id and the part of the text it stands for.
type Token struct {
	ID         int32
	Start, End int32  // bytes of the text
	Piece      string // the vocabulary's name of the id; for unknown text what SentencePiece prints
}

// A Tokenizer is a vocabulary and its rules. It is safe for concurrent use.
type Tokenizer interface {
	// NewEncoder returns an encoder, which one goroutine at a time may use.
	NewEncoder() Encoder
	// NewDecoder returns a decoder at the beginning of a text, for one goroutine.
	NewDecoder() Decoder
	// Decode appends the text that ids stand for. Ids that the vocabulary has not
	// are an error.
	Decode(dst []byte, ids []int32) ([]byte, error)
	// Size returns the number of ids, which are 0 to Size-1.
	Size() int
	// Piece returns the vocabulary's name of an id, "" if it has none.
	Piece(id int32) string
	// ID returns the id of a piece and whether there is one.
	ID(piece string) (int32, bool)
}

// An Encoder turns text into ids. It allocates nothing once its buffers and the
// memory of words have grown.
type Encoder interface {
	// Append appends the ids of a text.
	Append(ids []int32, text string) []int32
	// AppendTokens appends the tokens of a text: the same ids, with more work.
	AppendTokens(tokens []Token, text string) []Token
}

// A Decoder turns ids into text, an id at a time: valid UTF-8, a character when
// it is complete.
type Decoder interface {
	// Push appends the text that one more id completes.
	Push(dst []byte, id int32) ([]byte, error)
	// Flush appends what is left and goes back to the beginning of a text.
	Flush(dst []byte) []byte
}
