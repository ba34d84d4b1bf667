package report

import (
	"strings"
	"testing"
)

func TestAddTimes(t *testing.T) {
	p := &page{Title: "x", Main: &set{}, Sets: []*set{{}}}
	html, err := renderPage(p)
	if err != nil {
		t.Fatal(err)
	}
	md, err := renderMarkdown(p)
	if err != nil {
		t.Fatal(err)
	}
	times := []Time{{"train[method=a<b]", 0.25, 1, 3e6}, {"long", 3725.4, 2, 2e9}}
	newHTML, newMD, err := AddTimes(html, md, times)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"train[method=a&lt;b]", "0.2s", "1h2m5s", "2000 MB", `id="times"`, `href="#times"`} {
		if !strings.Contains(string(newHTML), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	for _, want := range []string{"| train[method=a&lt;b] | 0.2s | 1 | 3 MB |", "| long | 1h2m5s | 2 | 2000 MB |\n\n## " + chainTitle} {
		if !strings.Contains(string(newMD), want) {
			t.Errorf("the Markdown does not say %q: %s", want, newMD)
		}
	}
	if _, _, err := AddTimes([]byte("another page"), md, times); err != errNoPlace {
		t.Errorf("error %v, want %v", err, errNoPlace)
	}
	if got := TimesTable(times); !strings.Contains(got, "long                   1h2m5s     2      2000 MB") {
		t.Errorf("table\n%s", got)
	}
}
