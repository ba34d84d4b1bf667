package cli

import (
	"slices"
	"testing"

	"espalier/tokenize/model"
)

// Tokens may share a character, or have an empty place at the beginning.
func TestCountChars(t *testing.T) {
	text := "é😀b"
	tokens := []model.Token{{Start: 0, End: 0}, {Start: 0, End: 2}, {Start: 2, End: 6}, {Start: 2, End: 6}, {Start: 6, End: 7}, {Start: 0, End: 0}}
	countChars(tokens, text)
	want := []model.Token{{Start: 0, End: 0}, {Start: 0, End: 1}, {Start: 1, End: 2}, {Start: 1, End: 2}, {Start: 2, End: 3}, {Start: 0, End: 0}}
	if !slices.Equal(tokens, want) {
		t.Errorf("%+v, want %+v", tokens, want)
	}
}
