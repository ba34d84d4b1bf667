package unigram

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"espalier/tokenize/spm"
)

// By hand: "ab" stands 3+2 times, the mark before it 3 times; "abc" 2 times.
func TestLearn(t *testing.T) {
	pieces, err := Learn(map[string]int64{"ab": 3, "cabc": 2, "d": 1}, 11)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range pieces {
		got = append(got, fmt.Sprintf("%s %.4f", p.Text, p.Score))
	}
	// Characters: the mark, a, b, c, d. Joined: ab (5), then mark+ab (3), then
	// abc (2) before mark+c (2). Uses of 3+2*3+2=11: the words are [mark+ab],
	// [mark c abc], [mark d].
	want := []string{
		"<pad> 0.0000", "</s> 0.0000", "<unk> 0.0000",
		"▁ab -1.2993", "▁ -1.2993", "abc -1.7047", "c -1.7047", "d -2.3979", "a -3.0910", "ab -3.0910", "b -3.0910",
	}
	slices.Sort(got[3:])
	slices.Sort(want[3:])
	if !slices.Equal(got, want) {
		t.Errorf("pieces %q, want %q", got, want)
	}

	m, err := spm.Parse(spm.Marshal(spm.Unigram, pieces))
	if err != nil {
		t.Fatal(err)
	}
	if m.Pad != 0 || m.EOS != 1 || m.Unk != 2 || m.BOS != -1 || !slices.Equal(m.Pieces, pieces) {
		t.Errorf("read back: pad %d, eos %d, unk %d, bos %d, %d pieces", m.Pad, m.EOS, m.Unk, m.BOS, len(m.Pieces))
	}
	u, err := New(m)
	if err != nil {
		t.Fatal(err)
	}
	ids := u.NewEncoder().Append(nil, "  cabc  ab é d")
	var parts []string
	for _, id := range ids {
		parts = append(parts, m.Pieces[id].Text)
	}
	if got := strings.Join(parts, " "); got != "▁ c abc ▁ab ▁ <unk> ▁ d" {
		t.Errorf("encoded as %q", got)
	}
	if got, err := u.Decode(nil, ids[:4]); string(got) != "cabc ab" || err != nil {
		t.Errorf("decoded as %q", got)
	}
}

func TestLearnNothing(t *testing.T) {
	for _, x := range []struct {
		counts map[string]int64
		size   int
		want   string
	}{
		{nil, 10, "unigram: no words to learn from"},
		{map[string]int64{"abc": 1}, 6, "unigram: size 6, want at least 7: there are 4 characters"},
	} {
		if _, err := Learn(x.counts, x.size); err == nil || err.Error() != x.want {
			t.Errorf("%v, %d: %v, want %s", x.counts, x.size, err, x.want)
		}
	}
}
