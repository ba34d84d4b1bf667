package cli

import (
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/pflag"
)

// TestHelpFitsOneScreen holds the promise of -h: 24 lines of 100 columns that
// end with an example.
func TestHelpFitsOneScreen(t *testing.T) {
	texts := map[string]string{"": overview()}
	for _, g := range groups() {
		for _, v := range withSubs(g.verbs) {
			f := pflag.NewFlagSet(v.name, pflag.ContinueOnError)
			f.SetOutput(io.Discard)
			f.SortFlags = false
			if v.setup(f) == nil {
				t.Errorf("%s does nothing", v.name)
			}
			texts[v.name] = v.help(f)
			if last := lastLine(texts[v.name]); !strings.HasPrefix(last, "example: espalier "+v.name) && !strings.HasPrefix(last, "         espalier "+v.name) {
				t.Errorf("help of %s ends with %q, want an example of it", v.name, last)
			}
			if strings.HasSuffix(v.short, ".") || v.short == "" {
				t.Errorf("%s is described as %q", v.name, v.short)
			}
		}
	}
	for name, text := range texts {
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		most := 24
		if name == "" {
			most = 40 // the list of verbs
		}
		if len(lines) > most {
			t.Errorf("help of %q has %d lines, want at most %d:\n%s", name, len(lines), most, text)
		}
		for _, l := range lines {
			if utf8.RuneCountInString(l) > 100 {
				t.Errorf("help of %q has a line of %d columns: %s", name, utf8.RuneCountInString(l), l)
			}
		}
	}
}

func withSubs(verbs []verb) (out []verb) {
	for _, v := range verbs {
		out = append(append(out, v), v.subs...)
	}
	return out
}

func lastLine(s string) string {
	s = strings.TrimSuffix(s, "\n")
	return s[strings.LastIndexByte(s, '\n')+1:]
}

func TestTable(t *testing.T) {
	tab := newTable("stage", " rows", "why")
	tab.add("äb", "1000", "x")
	tab.add("encode", "7", "")
	var b strings.Builder
	if err := tab.write(&b); err != nil {
		t.Fatal(err)
	}
	want := "stage   rows  why\näb      1000  x\nencode     7\n"
	if b.String() != want {
		t.Errorf("table is\n%s, want\n%s", b.String(), want)
	}
}

func TestFormats(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{seconds(0), "0s"},
		{seconds(59.4), "59s"},
		{seconds(59.6), "1m00s"},
		{seconds(726), "12m06s"},
		{seconds(3 * 3600), "3h00m"},
		{seconds(100*3600 + 61), "100h01m"},
		{bytesText(0), "0 B"},
		{bytesText(999), "999 B"},
		{bytesText(1000), "1.0 kB"},
		{bytesText(9949), "9.9 kB"},
		{bytesText(9950), "10 kB"},
		{bytesText(999_600), "1.0 MB"},
		{bytesText(812_000_000), "812 MB"},
		{bytesText(1 << 62), "4.6 EB"},
		{rate(0.123), "0.123"},
		{rate(12.34), "12.3"},
		{rate(999), "999"},
		{rate(3123), "3.12k"},
		{rate(2.5e6), "2.5M"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
