package ptb

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"

	"espalier/internal/shared"
)

type row struct {
	Text, Raw, Filtered, Next, NextRaw string
	W                                  string
	RawLower                           string `json:"raw_lower"`
	RawUpper                           string `json:"raw_upper"`
	RawEOF                             string `json:"raw_eof"`
	NextRaw2                           string `json:"next_raw"`
}

func rows(t *testing.T, name string) []row {
	t.Helper()
	f, err := os.Open(shared.Dir(t, "goldens", "metrics", "ptb", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []row
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		var r row
		if err := json.Unmarshal(sc.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

func lines(t *testing.T, captions []string) []string {
	t.Helper()
	var out []string
	tok := New(func(line []byte) { out = append(out, string(line)) })
	for _, c := range captions {
		tok.feed(c)
	}
	tok.Close()
	return out
}

func TestHand(t *testing.T) {
	for _, name := range []string{"hand.jsonl", "abbrev.jsonl"} {
		bad := 0
		rs := rows(t, name)
		var low, up []string
		for _, r := range rs {
			if r.Text == "" && r.W != "" {
				r.Text = "a big " + r.W + "."
			}
			low = append(low, r.Text, "a plain next line")
			up = append(up, r.Text, "The next line")
		}
		l, u := lines(t, low), lines(t, up)
		for i, r := range rs {
			e := lines(t, []string{low[2*i]})
			for _, c := range []struct{ k, got, want string }{{"lower", l[2*i], r.RawLower}, {"upper", u[2*i], r.RawUpper}, {"eof", e[0], r.RawEOF}} {
				if c.got != c.want {
					bad++
					t.Errorf("%s %q %s:\n got %q\nwant %q", name, low[2*i], c.k, c.got, c.want)
					break
				}
			}
		}
		t.Logf("%s: %d of %d differ", name, bad, len(rs))
	}
}

func TestStreams(t *testing.T) {
	for _, name := range []string{"real.jsonl", "fuzz.jsonl"} {
		bad := 0
		rs := rows(t, name)
		var in []string
		for _, r := range rs {
			in = append(in, r.Text)
		}
		out := lines(t, in)
		for i, r := range rs {
			if out[i] != r.Raw {
				bad++
				t.Errorf("%s %q:\n got %q\nwant %q", name, r.Text, out[i], r.Raw)
			}
		}
		t.Logf("%s: %d of %d differ", name, bad, len(rs))
	}
}

func TestContext(t *testing.T) {
	rs := rows(t, "context.jsonl")
	bad := 0
	var in []string
	for _, r := range rs {
		in = append(in, r.Text, r.Next, "a plain next line")
	}
	out := lines(t, in)
	for i, r := range rs {
		if out[3*i] != r.Raw || out[3*i+1] != r.NextRaw2 {
			bad++
			t.Errorf("%q %q:\n got %q %q\nwant %q %q", r.Text, r.Next, out[3*i], out[3*i+1], r.Raw, r.NextRaw2)
		}
	}
	t.Logf("%d of %d differ", bad, len(rs))
}
