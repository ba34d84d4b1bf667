package corpus

import (
	"fmt"
	"strings"
	"testing"
)

func TestSlab(t *testing.T) {
	var s Slab
	var texts []string
	var lists [][]string
	var refs []*string
	var ints []*int64
	buf := []byte{}
	for i := range 3000 {
		buf = fmt.Appendf(buf[:0], "%d%s", i, strings.Repeat("x", i))
		texts = append(texts, s.Text(buf))
		l := s.List(i % 90)
		for k := range l {
			l[k] = fmt.Sprint(i)
		}
		lists = append(lists, append(l, "more")[:len(l)])
		refs = append(refs, s.Ref(texts[i]))
		ints = append(ints, s.Int(int64(i)))
	}
	for i, got := range texts {
		if want := fmt.Sprintf("%d%s", i, strings.Repeat("x", i)); got != want || *refs[i] != want || *ints[i] != int64(i) {
			t.Fatalf("text %d is %.20q, %.20q, %d", i, got, *refs[i], *ints[i])
		}
		for _, x := range lists[i] {
			if x != fmt.Sprint(i) {
				t.Fatalf("list %d holds %q", i, x)
			}
		}
	}
}
