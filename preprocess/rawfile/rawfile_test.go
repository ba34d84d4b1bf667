package rawfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/gzip"

	"espalier/pipeline"
)

func gz(t testing.TB, s string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, s); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

func TestOpen(t *testing.T) {
	long := strings.Repeat("0123456789", 300_000)
	for name, c := range map[string]struct {
		in   []byte
		want string
	}{
		"plain":          {[]byte("plain text"), "plain text"},
		"empty":          {nil, ""},
		"one byte":       {[]byte{0x1f}, "\x1f"},
		"one member":     {gz(t, "abc"), "abc"},
		"two members":    {join(gz(t, "abc"), gz(t, "def")), "abcdef"},
		"zero padded":    {join(gz(t, "abc"), make([]byte, 512)), "abc"},
		"padded between": {join(gz(t, "abc"), make([]byte, 3), gz(t, "def")), "abcdef"},
		"long":           {gz(t, long), long},
	} {
		dir := t.TempDir()
		p, err := Open(t.Context(), name, bytes.NewReader(c.in), int64(len(c.in)), dir)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, err := io.ReadAll(io.NewSectionReader(p, 0, p.Size))
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %d bytes, %v, want %d", name, len(got), err, len(c.want))
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("%s: %d scratch files left", name, len(left))
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	z := gz(t, "some text that is long enough to be cut")
	bad := bytes.Clone(z)
	bad[len(bad)-6] ^= 1 // in the checksum
	broken := bytes.Clone(z)
	broken[10] = 0xff // the block type
	for name, c := range map[string]struct {
		in   []byte
		want string
	}{
		"cut":                 {z[:len(z)/2], "gzip ends early"},
		"header only":         {z[:10], "gzip ends early"},
		"two bytes":           {z[:2], "gzip ends early"},
		"checksum":            {bad, "gzip checksum is wrong"},
		"damaged":             {broken, "gzip stream is damaged"},
		"garbage after":       {join(z, []byte("EOF")), "data after the gzip member"},
		"garbage after zeros": {join(z, []byte{0}, []byte("x")), "data after the gzip member"},
	} {
		dir := t.TempDir()
		_, err := Open(t.Context(), "x.gz", bytes.NewReader(c.in), int64(len(c.in)), dir)
		var r *pipeline.RefusedError
		if !errors.As(err, &r) || r.File != "x.gz" || r.Reason != c.want || r.Line != 0 || r.Offset != -1 {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("%s: %d scratch files left", name, len(left))
		}
	}
}

func TestLines(t *testing.T) {
	long := strings.Repeat("x", 1_200_000)
	in := "\xef\xbb\xbfone\r\n\ntwo\rstill\u2028two\n" + long + "\nlast\r"
	want := []struct {
		offset    int64
		raw, text string
	}{
		{0, "\xef\xbb\xbfone", "one"},
		{8, "", ""},
		{9, "two\rstill\u2028two", "two\rstill\u2028two"},
		{25, long, long},
		{25 + 1_200_001, "last", "last"},
	}
	l := NewLines(strings.NewReader(in), int64(len(in)))
	i := 0
	for x := l.Next(); x != nil; x = l.Next() {
		if w := want[i]; x.N != int64(i+1) || x.Offset != w.offset || string(x.Raw) != w.raw || string(x.Text) != w.text {
			t.Errorf("line %d: offset %d, %d bytes %.20q", x.N, x.Offset, len(x.Raw), x.Raw)
		}
		i++
	}
	if l.Err() != nil || i != len(want) {
		t.Errorf("%d lines, %v", i, l.Err())
	}
	if NewLines(strings.NewReader(""), 0).Next() != nil {
		t.Error("an empty file has a line")
	}
}

func TestLinesEndedByCR(t *testing.T) {
	in := "\xef\xbb\xbfa\rb\r\n\r\rc\n\r\nd\xef\xbb\xbf\r"
	want := "1@0:a 2@5:b 3@8: 4@9: 5@10:c 6@12: 7@14:d\xef\xbb\xbf"
	for size := 1; size < 8; size++ { // reads that end anywhere
		l := NewLines(strings.NewReader(in), int64(len(in)))
		l.CR = true
		l.r = iotest.OneByteReader(l.r)
		l.buf = make([]byte, 0, size)
		var got []string
		ends := []int64{}
		for x := l.Next(); x != nil; x = l.Next() {
			got = append(got, fmt.Sprintf("%d@%d:%s", x.N, x.Offset, x.Text))
			ends = append(ends, l.End())
		}
		if s := strings.Join(got, " "); l.Err() != nil || s != want {
			t.Errorf("got %q, %v", s, l.Err())
		}
		if !slices.Equal(ends, []int64{5, 8, 9, 10, 12, 14, 19}) {
			t.Errorf("lines end before %v", ends)
		}
	}
	// The same from a line's start on.
	l := NewLinesAt(strings.NewReader(in), 8, 14, 3)
	l.CR = true
	var got []string
	for x := l.Next(); x != nil; x = l.Next() {
		got = append(got, fmt.Sprintf("%d@%d:%s", x.N, x.Offset, x.Text))
	}
	if s := strings.Join(got, " "); s != "3@8: 4@9: 5@10:c 6@12:" {
		t.Errorf("a section has %q", s)
	}
}
