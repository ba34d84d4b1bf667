package rawfile

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestDecoder(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"", "caf\xe9", "caf\xe9"},
		{"utf8", "caf\xc3\xa9", "café"},
		{"latin-1", "caf\xe9 \x93\xf0", "café \u0093ð"},
		{"ISO-8859-1", "\x81", "\u0081"},
		{"windows-1252", "\x93curly\x94 \x96 caf\xe9 \x80\x35 \x81", "“curly” – café €5 \u0081"},
		{"gbk", "\xd6\xd0\xce\xc4, abc", "中文, abc"},
		{"gb18030", "\x81\x39\xef\x30", "㐁"},
	} {
		d, err := NewDecoder(c.name)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if got := string(d.Text([]byte(c.in))); got != c.want {
				t.Errorf("%s: %q is %q, want %q", c.name, c.in, got, c.want)
			}
		}
	}
	d, _ := NewDecoder("gb18030")
	for _, in := range []string{"\xd6", "\xff\xff", "\x81\x30"} {
		if got := d.Text([]byte(in)); utf8.Valid(got) {
			t.Errorf("%q is taken for text: %q", in, got)
		}
	}
	if _, err := NewDecoder("utf-16"); err == nil || !strings.Contains(err.Error(), "want utf-8, latin-1") {
		t.Errorf("an encoding that is not read: %v", err)
	}
}
