package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

// ErrDamaged says that a manifest or a file is not what was committed.
var ErrDamaged = errors.New("store: damaged")

// A sealed file is a JSON object whose last member, "sum", is the SHA-256 of
// all bytes before it: a truncated or altered manifest is never believed. The
// sum is over the text, so that a program that knows fewer members still can
// check it.
const (
	sealHead = `,"sum":"`
	sealTail = "\"}\n"
	sealLen  = len(sealHead) + 2*sha256.Size + len(sealTail)
)

// seal returns the text of v with its sum. Short records are indented, long
// ones are not.
func seal(v any, entries int) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	if entries <= 1000 {
		var b bytes.Buffer
		if err := json.Indent(&b, text, "", " "); err != nil {
			return nil, err
		}
		text = b.Bytes()
	}
	text = bytes.TrimRight(bytes.TrimSuffix(text, []byte("}")), "\n")
	sum := sha256.Sum256(text)
	text = append(text, sealHead...)
	text = hex.AppendEncode(text, sum[:])
	return append(text, sealTail...), nil
}

// unseal checks the sum and decodes the record.
func unseal(text []byte, v any) error {
	if len(text) < sealLen {
		return ErrDamaged
	}
	body, end := text[:len(text)-sealLen], text[len(text)-sealLen:]
	sum := sha256.Sum256(body)
	want := append(append([]byte(sealHead), hex.EncodeToString(sum[:])...), sealTail...)
	if !bytes.Equal(end, want) {
		return ErrDamaged
	}
	return json.Unmarshal(text, v)
}

// readSealed reads a sealed file. Fs.ErrNotExist says that there is none;
// ErrDamaged that what is there cannot be believed.
func readSealed(path string, v any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := unseal(text, v); err != nil {
		return fmt.Errorf("%w: %s", ErrDamaged, path)
	}
	return nil
}
