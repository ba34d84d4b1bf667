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
		{pointer + long, "a pointer of Git LFS, not the file"},
		{"PK\x03\x04\x14\x00", "a zip archive in the place of a file"},
		{"\x1f\x8b\x08\x00", "a gzip stream in a gzip stream"},
		{"BZh91AY&SY\x00", "packed by bzip2, which is not read"},
		{"BZh is no word\n", ""},
		{"\xfd7zXZ\x00\x00", "packed by xz, which is not read"},
		{"\x28\xb5\x2f\xfd\x04", "packed by zstd, which is not read"},
		{"7z\xbc\xaf\x27\x1c\x00", "packed by 7-Zip, which is not read"},
		{"Rar!\x1a\x07\x01", "packed by RAR, which is not read"},
		{"version https://git-lfs.github.com/spec/v2\noid\n", ""},
	} {
		r, size := strings.NewReader(c.text), int64(len(c.text))
		err := errors.Join(RefuseLines(r, size, "x"), RefuseForeign(r, size, "x"))
		var refused *pipeline.RefusedError
		switch {
		case c.want == "" && err == nil:
		case c.want == "" || !errors.As(err, &refused) || refused.Reason != c.want || refused.File != "x":
			t.Errorf("%.20q: %v, want %q", c.text, err, c.want)
		}
	}
}
