// Package tokenize turns text into token ids: the stages Train, which learns a
// vocabulary, and Encode, which applies one.
//
// A [Coder] is a vocabulary that encodes and decodes captions; public vocabulary
// files are those of [OpenFamily]. The packages below are the families of
// tokenizers.
package tokenize
