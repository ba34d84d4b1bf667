package meteor

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// contents are a table's phrases, in no order, with their paraphrases.
func contents(p *Paraphrases) map[string][]string {
	var words []string
	for w := range p.vocabulary {
		words = append(words, string(w))
	}
	out := make(map[string][]string)
	var visit func(node uint32, phrase []string)
	visit = func(node uint32, phrase []string) {
		for list := range p.phrases(node) {
			var to []string
			for id := range list {
				to = append(to, words[id])
			}
			key := strings.Join(phrase, " ")
			out[key] = append(out[key], strings.Join(to, " "))
		}
		for id, w := range words {
			if n := p.child(node, uint32(id)); n != 0 {
				visit(n, append(phrase[:len(phrase):len(phrase)], w))
			}
		}
	}
	visit(0, nil)
	return out
}

// The index holds what the table holds, whatever its order; blanks are those of
// Java, and so are the ends of lines.
func TestIndexOfParaphrases(t *testing.T) {
	_, own := small(t)
	var long strings.Builder // of several blocks, with many words
	for i := range 30_000 {
		a, b := strings.Repeat("x", i%7)+string(rune('a'+i%26))+string(rune(0x100+i%5000)), string(rune(0x4e00+i%9000))
		long.WriteString("0.1\n" + a + " of the\n" + b + " it\n0.2\n" + b + "\n" + a + "\n")
	}
	for name, text := range map[string]string{
		"own": own, "none": "", "long": long.String(), "ends": "",
		"again":  "0.5\na b\nc\n0.5\nd\ne f\n0.5\na b\nd\n0.5\na\ng\n0.5\na b\nc\n0.5\na b c\nx",
		"words":  "0.5\n" + strings.Repeat("a b ", 200) + "\n" + strings.Repeat("c d ", 300) + "\n0.5\n" + strings.Repeat("e", 3000) + "\n" + strings.Repeat("f", 5000) + "\n0.5\nline\n" + strings.Repeat("g", blockSize) + "\n",
		"blanks": "0.5\n\ta  b \n c\fd\t\n0.5\na\u00a0b\nc\n",
	} {
		if name == "ends" {
			text = strings.ReplaceAll("0.5\na b\nc\n0.5\nd\ne f\n", "\n", "\r\n") + "0.1\rh\ri\r"
		}
		path := filepath.Join(t.TempDir(), "paraphrase-en.gz")
		pack(t, path, text)
		want := map[string][]string{}
		if name != "none" {
			plain := readPlain(t, strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u00a0", "NBSP").Replace(text))
			want = plain.of
		}
		if name == "blanks" {
			want["a\u00a0b"] = want["aNBSPb"]
			delete(want, "aNBSPb")
		}
		for _, cache := range []string{"", t.TempDir(), filepath.Join(path, "no folder")} {
			for range 2 {
				p, err := readParaphrases(t.Context(), path, cache)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if name == "long" {
					checkLong(t, p, want)
				} else if got := contents(p); !reflect.DeepEqual(got, want) {
					t.Errorf("%s: index %v, table %v", name, got, want)
				}
			}
		}
	}
}

// checkLong looks the phrases of a large table up.
func checkLong(t *testing.T, p *Paraphrases, want map[string][]string) {
	t.Helper()
	var words []string
	ids := make(map[string]uint32)
	for w := range p.vocabulary {
		ids[string(w)] = uint32(len(words))
		words = append(words, string(w))
	}
	for phrase, lists := range want {
		node := uint32(0)
		for _, w := range strings.Fields(phrase) {
			if node = p.child(node, ids[w]); node == 0 {
				t.Fatalf("%q is missing", phrase)
			}
		}
		var got []string
		for list := range p.phrases(node) {
			var to []string
			for id := range list {
				to = append(to, words[id])
			}
			got = append(got, strings.Join(to, " "))
		}
		if !reflect.DeepEqual(got, lists) {
			t.Fatalf("%q: %q, want %q", phrase, got, lists)
		}
	}
}

// A bad index is made anew.
func TestBadIndex(t *testing.T) {
	path := filepath.Join(t.TempDir(), "paraphrase-en.gz")
	pack(t, path, "0.5\nin front of\nbefore\n0.2\nunseen\nwords\n")
	cache := t.TempDir()
	first, err := readParaphrases(t.Context(), path, cache)
	if err != nil {
		t.Fatal(err)
	}
	index, err := indexPath(cache, path)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(index)
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n < len(whole); n += 1 + n/100 {
		bad := append([]byte(nil), whole...)
		bad[n] ^= 0x55
		if _, err := openIndex(bad); err == nil {
			t.Errorf("byte %d changed: the index is taken", n)
		}
	}
	for n := range min(len(whole), 1000) {
		if _, err := openIndex(whole[:n]); err == nil {
			t.Errorf("cut at byte %d: the index is taken", n)
		}
		if _, err := openIndex(whole[:len(whole)-1-n%len(whole)]); err == nil {
			t.Errorf("%d bytes short: the index is taken", n+1)
		}
	}
	if err := os.WriteFile(index, whole[:100], 0o666); err != nil {
		t.Fatal(err)
	}
	again, err := readParaphrases(t.Context(), path, cache)
	if err != nil || !reflect.DeepEqual(first, again) {
		t.Errorf("anew: %v, %v", again, err)
	}
	if got, err := os.ReadFile(index); err != nil || string(got) != string(whole) {
		t.Errorf("the index made anew differs, %v", err)
	}
}

func TestBadTables(t *testing.T) {
	read := func(write func(path string)) error {
		path := filepath.Join(t.TempDir(), "paraphrase-en.gz")
		write(path)
		_, err := readParaphrases(t.Context(), path, "")
		return err
	}
	for text, want := range map[string]string{
		"0.5\na\n":         "line 2: the table ends within a pair",
		"0.5\na\nb\n0.5\n": "line 4: the table ends within a pair",
		"0.5\na\n \n":      "line 3: a phrase without words",
		"0.5\n\nb\n":       "line 2: a phrase without words",
	} {
		if err := read(func(path string) { pack(t, path, text) }); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v, want %s", text, err, want)
		}
	}
	if err := read(func(path string) {
		if err := os.WriteFile(path, []byte("no gzip"), 0o666); err != nil {
			t.Fatal(err)
		}
	}); err == nil {
		t.Error("a file that is not packed was taken")
	}
	if err := read(func(path string) {
		pack(t, path, strings.Repeat("0.5\na b\nc d\n", 1000))
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b[:len(b)-9], 0o666); err != nil {
			t.Fatal(err)
		}
	}); err == nil {
		t.Error("a file that is cut short was taken")
	}
}
