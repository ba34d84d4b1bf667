package chars

import (
	"slices"
	"sort"
	"unicode/utf8"
)

// Hangul syllables are composed by arithmetic (Unicode, section 3.12).
const (
	hangulBase  = 0xAC00
	hangulCount = 11172
	leadBase    = 0x1100
	leadCount   = 19
	vowelBase   = 0x1161
	vowelCount  = 21
	tailBase    = 0x11A7
	tailCount   = 28
)

// A Normalizer writes text in NFD and NFC. Its buffers are reused: one goroutine
// at a time.
type Normalizer struct {
	Fast bool // as the fast classes do it, whose tables are older

	t     *Table
	runes []rune
	class []uint8
	fresh []bool

	changes []int32
}

// NewNormalizer returns a normalizer.
func NewNormalizer(fast bool) *Normalizer { return &Normalizer{Fast: fast, t: Load()} }

// AppendNFD appends the canonical decomposition of s.
func (n *Normalizer) AppendNFD(dst []byte, s string) []byte {
	if n.plain(s, Decomposes|Combines) {
		return append(dst, s...)
	}
	n.decompose(s)
	for _, r := range n.runes {
		dst = utf8.AppendRune(dst, r)
	}
	return dst
}

// NFD returns the canonical decomposition of s and which of its runes are the
// first, or only, one that a rune of s became. Both are valid until the next
// call.
func (n *Normalizer) NFD(s string) (runes []rune, fresh []bool) {
	n.decompose(s)
	return n.runes, n.fresh
}

// AppendNFC appends the canonical composition of s.
func (n *Normalizer) AppendNFC(dst []byte, s string) []byte {
	if n.plain(s, Composes) {
		return append(dst, s...)
	}
	n.decompose(s)
	n.compose()
	for _, r := range n.runes {
		dst = utf8.AppendRune(dst, r)
	}
	return dst
}

// plain reports whether no character of s has one of the properties.
func (n *Normalizer) plain(s string, p Props) bool {
	for _, r := range s {
		if r >= 0xC0 && n.t.Of(r)&p != 0 {
			return false
		}
	}
	return true
}

// decompose sets the normalizer's runes to those of s, decomposed and in
// canonical order.
func (n *Normalizer) decompose(s string) {
	n.runes, n.class, n.fresh = n.runes[:0], n.class[:0], n.fresh[:0]
	marks := 0 // runes with a class at the end
	for _, r := range s {
		marks = n.decomposeOne(r, marks)
	}
	n.order(marks)
}

// decomposeOne appends what a rune becomes behind marks runes with a class and
// returns how many of them there are then.
func (n *Normalizer) decomposeOne(r rune, marks int) int {
	p := Props(0)
	if r >= 0xC0 {
		p = n.t.Of(r)
	}
	decomposes := Decomposes
	if n.Fast {
		decomposes = FastDecomposes
	}
	first := len(n.runes)
	switch {
	case p&decomposes == 0:
		marks = n.put(r, p, marks)
	case hangulBase <= r && r < hangulBase+hangulCount:
		k := r - hangulBase
		marks = n.put(leadBase+k/(vowelCount*tailCount), 0, marks)
		marks = n.put(vowelBase+k%(vowelCount*tailCount)/tailCount, 0, marks)
		if k%tailCount > 0 {
			marks = n.put(tailBase+k%tailCount, 0, marks)
		}
	default:
		k := sort.Search(len(decomposed), func(k int) bool { return decomposed[k].r >= r })
		for _, d := range decomposed[k].to {
			marks = n.put(d, n.t.Of(d), marks)
		}
	}
	n.fresh[first] = true
	return marks
}

// put appends a rune behind marks runes with a class and returns how many of
// them there are now. A run of them is put in order when it ends.
func (n *Normalizer) put(r rune, p Props, marks int) int {
	class := uint8(0)
	if p&Combines != 0 && (!n.Fast || p&fastReorders != 0) {
		class = classOf(r)
	}
	if class != 0 {
		marks++
	} else {
		n.order(marks)
		marks = 0
	}
	n.runes, n.class, n.fresh = append(n.runes, r), append(n.class, class), append(n.fresh, false)
	return marks
}

// order sorts the last runes by class, those of one class as they are.
func (n *Normalizer) order(marks int) {
	if marks < 2 {
		return
	}
	from := len(n.runes) - marks
	runes, class, fresh := n.runes[from:], n.class[from:], n.fresh[from:]
	if slices.IsSorted(class) {
		return
	}
	if marks > 32 { // hostile text must not take quadratic time
		by := make([]int, marks)
		for i := range by {
			by[i] = i
		}
		slices.SortStableFunc(by, func(a, b int) int { return int(class[a]) - int(class[b]) })
		r, c, f := slices.Clone(runes), slices.Clone(class), slices.Clone(fresh)
		for i, k := range by {
			runes[i], class[i], fresh[i] = r[k], c[k], f[k]
		}
		return
	}
	for i := 1; i < marks; i++ {
		for j := i; j > 0 && class[j-1] > class[j]; j-- {
			runes[j-1], runes[j] = runes[j], runes[j-1]
			class[j-1], class[j] = class[j], class[j-1]
			fresh[j-1], fresh[j] = fresh[j], fresh[j-1]
		}
	}
}

func classOf(r rune) uint8 {
	k := sort.Search(len(combining), func(k int) bool { return combining[k][1] >= r })
	if k < len(combining) && combining[k][0] <= r {
		return uint8(combining[k][2])
	}
	return 0
}

// compose joins the normalizer's runes (Unicode, D117).
func (n *Normalizer) compose() {
	out := 0
	starter := -1    // where the last starter is
	last := uint8(0) // class of the rune before, if it was kept
	for i, r := range n.runes {
		class := n.class[i]
		if starter >= 0 && (out == starter+1 || last != 0 && last < class) {
			if c, ok := n.pair(n.runes[starter], r); ok {
				n.runes[starter] = c
				continue
			}
		}
		if class == 0 {
			starter = out
		}
		last = class
		n.runes[out], n.class[out] = r, class
		out++
	}
	n.runes, n.class = n.runes[:out], n.class[:out]
}

// pair returns the character that two make.
func (n *Normalizer) pair(a, b rune) (rune, bool) {
	switch {
	case leadBase <= a && a < leadBase+leadCount && vowelBase <= b && b < vowelBase+vowelCount:
		return hangulBase + ((a-leadBase)*vowelCount+b-vowelBase)*tailCount, true
	case hangulBase <= a && a < hangulBase+hangulCount && (a-hangulBase)%tailCount == 0 && tailBase < b && b < tailBase+tailCount:
		return a + b - tailBase, true
	}
	k := sort.Search(len(composed), func(k int) bool {
		c := &composed[k]
		return c[0] > a || c[0] == a && c[1] >= b
	})
	if k == len(composed) || composed[k][0] != a || composed[k][1] != b {
		return 0, false
	}
	c := composed[k][2]
	if n.Fast && n.t.Of(c)&FastDecomposes == 0 {
		return 0, false
	}
	return c, true
}

// A Form is a normal form of Unicode.
type Form struct {
	Compat  bool // NFKD or NFKC
	Compose bool // NFC or NFKC
}

// Holds reports whether a text is in a normal form for sure; most text is.
func (n *Normalizer) Holds(s string, f Form) bool {
	look := Decomposes | Combines
	if f.Compose {
		look = Composes
	}
	for _, r := range s {
		if r >= 0xA0 && (n.t.Of(r)&look != 0 || f.Compat && compatOf(r) != "") {
			return false
		}
	}
	return true
}

// Changes returns a text in a normal form and, for each character, how it came
// to be: 0, it took the place of one; 1, it was added; -n, it took the place of
// one and n more behind it. Both are valid until the next call.
func (n *Normalizer) Changes(s string, f Form) ([]rune, []int32) {
	if f.Compat {
		n.decomposeCompat(s)
	} else {
		n.decompose(s)
	}
	n.changes = n.changes[:0]
	for _, fresh := range n.fresh {
		if fresh {
			n.changes = append(n.changes, 0)
		} else {
			n.changes = append(n.changes, 1)
		}
	}
	if !f.Compose {
		return n.runes, n.changes
	}
	out, starter, last := 0, -1, uint8(0)
	for i, r := range n.runes {
		class, change := n.class[i], n.changes[i]
		if starter >= 0 && (out == starter+1 || last != 0 && last < class) {
			if c, ok := n.pair(n.runes[starter], r); ok {
				n.runes[starter] = c
				n.changes[starter] += change - 1
				continue
			}
		}
		if class == 0 {
			starter = out
		}
		last = class
		n.runes[out], n.class[out], n.changes[out] = r, class, change
		out++
	}
	return n.runes[:out], n.changes[:out]
}

func compatOf(r rune) string {
	k := sort.Search(len(compat), func(k int) bool { return compat[k].r >= r })
	if k < len(compat) && compat[k].r == r {
		return compat[k].to
	}
	return ""
}

// decomposeCompat is decompose for compatibility decompositions: what they
// become is decomposed already.
func (n *Normalizer) decomposeCompat(s string) {
	n.runes, n.class, n.fresh = n.runes[:0], n.class[:0], n.fresh[:0]
	marks := 0
	for _, r := range s {
		if to := compatOf(r); r >= 0xA0 && to != "" {
			first := len(n.runes)
			for _, d := range to {
				marks = n.put(d, n.t.Of(d), marks)
			}
			n.fresh[first] = true
			continue
		}
		marks = n.decomposeOne(r, marks)
	}
	n.order(marks)
}
