package cli

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// TestEachLine reads the same lines plain and packed, with one worker and more.
func TestEachLine(t *testing.T) {
	var text, want bytes.Buffer
	for n := range 60000 {
		fmt.Fprintf(&text, "line %d\r\n", n)
		fmt.Fprintf(&want, "[line %d]", n)
	}
	text.WriteString("\nlast")
	want.WriteString("[][last]")
	var gz, zs bytes.Buffer
	z := gzip.NewWriter(&gz)
	s, err := zstd.NewWriter(&zs)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []io.WriteCloser{z, s} {
		if _, err := w.Write(text.Bytes()); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	echo := func(dst []byte, line string) ([]byte, error) { return fmt.Appendf(dst, "[%s]", line), nil }
	for name, file := range map[string][]byte{"plain": text.Bytes(), "gzip": gz.Bytes(), "zstd": zs.Bytes()} {
		for workers := 1; workers <= 3; workers++ {
			var out bytes.Buffer
			writers := make([]lineWriter, workers)
			for i := range writers {
				writers[i] = echo
			}
			if err := eachLine(t.Context(), name, bytes.NewReader(file), &out, writers); err != nil || out.String() != want.String() {
				t.Errorf("%s, %d workers: %d bytes, %v, want %d", name, workers, out.Len(), err, want.Len())
			}
		}
	}
}

func TestEachLineErrors(t *testing.T) {
	text := strings.Repeat("good\n", 90000) + "bad\n" + strings.Repeat("good\n", 90000)
	for workers := 1; workers <= 3; workers++ {
		writers := make([]lineWriter, workers)
		for i := range writers {
			writers[i] = func(dst []byte, line string) ([]byte, error) {
				if line == "bad" {
					return dst, errors.New("is bad")
				}
				return append(dst, '.'), nil
			}
		}
		var out bytes.Buffer
		err := eachLine(t.Context(), "f", strings.NewReader(text), &out, writers)
		if err == nil || err.Error() != "f:90001: is bad" || out.Len() != 90000 {
			t.Errorf("%d workers: %v after %d lines", workers, err, out.Len())
		}
	}
}
