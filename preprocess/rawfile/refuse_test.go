package rawfile

import (
	"errors"
	"strings"
	"testing"

	"espalier/pipeline"
)

func TestRefuse(t *testing.T) {
	long := strings.Repeat("x", 70_000)
	pointer := "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n"
	for _, c := range []struct{ text, want string }{
		{"a\nb\n", ""},
		{"a\r\nb\r\n", ""},
		{"a", ""},
		{"a\r", ""},
		{"a\rb\n", ""},
		{long + "\r\nb\r\n", ""},
		{"a\r" + long + "\n", ""},
		{"", "empty file"},
		{"\xff\xfea\x00", "UTF-16 byte order mark"},
		{"a\rb\r", "lines end in CR alone"},
		{"a\r" + long, "lines end in CR alone"},
		{pointer, "a pointer of Git LFS, not the file"},
		{pointer + long, ""},
		{"version https://git-lfs.github.com/spec/v2\noid\n", ""},
	} {
		r, size := strings.NewReader(c.text), int64(len(c.text))
		err := errors.Join(RefuseLines(r, size, "x"), RefusePointer(r, size, "x"))
		var refused *pipeline.RefusedError
		switch {
		case c.want == "" && err == nil:
		case c.want == "" || !errors.As(err, &refused) || refused.Reason != c.want || refused.File != "x":
			t.Errorf("%.20q: %v, want %q", c.text, err, c.want)
		}
	}
}
