package jobs

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"espalier/tokenize"
	"espalier/tokenize/word"
	"espalier/trainer"
)

// The example of spec/acort.md 8.3, with the capitals and full stops of raw
// captions.
func TestCIDErValidator(t *testing.T) {
	references := [][]string{
		{"A man riding a wave on a surfboard.", "A surfer rides a large wave in the ocean"},
		{"a dog sitting on a couch", "a brown dog is sitting on a sofa", "The dog sits on the couch."},
		{"two zebras standing in a field", "a pair of zebras\nin a grassy field."},
	}
	texts := []string{"a man riding a wave in the ocean", "a dog sitting on a couch with a", "two giraffes standing in a grassy field"}
	got, err := Tools().Validators["cider/1"](texts, references)
	if err != nil || math.Abs(got-3.847516) > 1e-6 {
		t.Errorf("CIDEr %g, %v; want 3.847516", got, err)
	}
}

func TestCaptionDetokenizer(t *testing.T) {
	var counter word.Counter
	for range 3 {
		counter.Add("a man rides a wave")
	}
	words, err := counter.Vocab(100)
	if err != nil {
		t.Fatal(err)
	}
	c, err := tokenize.NewRadix(words, 3, 20)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var text strings.Builder
	if err := c.Words().Write(&text); err != nil {
		t.Fatal(err)
	}
	vocab := `{"kind":"radix","size":6,"pad":0,"bos":4,"eos":5,"unk":-1,"base":3,"digits":2,"max_len":20}`
	for name, body := range map[string]string{tokenize.WordFile: text.String(), tokenize.VocabFile: vocab} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(body), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{"caption/1": "a wave", "published/1": "a wave a"} {
		decode, err := Tools().Detokenizers[name](trainer.Folder(dir))
		if err != nil {
			t.Fatal(err)
		}
		ids, _ := c.Append(nil, "a wave")
		ids = append(ids[1:len(ids)-1], 1, 5) // half a word before EOS
		if got := decode(ids); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
