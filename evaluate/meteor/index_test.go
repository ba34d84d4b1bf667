package meteor

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

func everything([]byte) bool { return true }

// The index gives what the table gives, is made once, and anew if it is bad.
func TestIndexOfParaphrases(t *testing.T) {
	table := filepath.Join(own(t, "0.5\nin front of\nbefore\n0.2\nunseen\nwords\n0.1\nin front of\nahead of\n0.1\nbefore\nin front of\n"), "paraphrase-en.gz")
	read := func(cache string, known func([]byte) bool) *Paraphrases {
		t.Helper()
		p, err := readParaphrases(t.Context(), table, cache, known)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	some := func(w []byte) bool { return string(w) != "unseen" && string(w) != "ahead" }
	cache := t.TempDir()
	for _, known := range []func([]byte) bool{everything, some} {
		want := read("", known)
		for range 2 {
			if got := read(cache, known); !reflect.DeepEqual(got, want) {
				t.Errorf("from the index %v, from the table %v", got, want)
			}
		}
	}
	if p := read(cache, some); len(p.of["in front of"]) != 1 || p.of["unseen"] != nil || p.longest != 3 {
		t.Errorf("known words: %v", p.of)
	}
	path, err := indexPath(cache, table)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for n := range whole {
		bad := append([]byte(nil), whole...)
		bad[n] ^= 0x55
		if err := os.WriteFile(path, bad, 0o666); err != nil {
			t.Fatal(err)
		}
		p := &Paraphrases{of: make(map[string][][]string)}
		if p.readIndex(t.Context(), path, everything) == nil {
			t.Errorf("byte %d changed: the index is taken", n)
		}
		if err := os.WriteFile(path, whole[:n], 0o666); err != nil {
			t.Fatal(err)
		}
		if p.readIndex(t.Context(), path, everything) == nil {
			t.Errorf("cut at byte %d: the index is taken", n)
		}
	}
	if got := read(cache, everything); !reflect.DeepEqual(got, read("", everything)) {
		t.Error("a bad index was not made anew")
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != string(whole) {
		t.Errorf("the index made anew differs, %v", err)
	}
	if got := read(filepath.Join(table, "no folder"), everything); !reflect.DeepEqual(got, read("", everything)) {
		t.Error("without a cache the table reads otherwise")
	}
}
