// Package leak finds what splits have in common: rows whose text is the same,
// to the byte or but for case, punctuation and blanks, and images that rows of
// several splits show.
//
// A [Finder] sees all rows twice. The first time it keeps sixteen bytes for each
// thing compared; the second time it keeps what occurs in more than one split.
// It is not safe for concurrent use.
package leak

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"
	"unicode"
)

// Schema is the schema id of tables of leaks.
const Schema = "leak/1"

// Kinds of leaks.
const (
	Exact      = "exact"      // all bytes of the text
	Normalised = "normalised" // the text but for case, punctuation and blanks
	Image      = "image"      // the image
)

// Kinds lists the kinds in the order of reports.
var Kinds = []string{Exact, Normalised, Image}

// A Leak is a row that has a twin in another split.
type Leak struct {
	Kind    string `parquet:"kind,dict" json:"kind"`
	Split   string `parquet:"split,dict" json:"split"`
	ID      string `parquet:"id" json:"id"`
	Against string `parquet:"against,dict" json:"against"` // the other split
	Twin    string `parquet:"twin" json:"twin"`            // the twin's id; of several the smallest
	Twins   int64  `parquet:"twins" json:"twins"`
}

// A Row is what is compared of an example.
type Row struct {
	ID, Split string
	Text      string // "" if only images are compared
	Image     string // "" if it has none
}

// Normal returns a text without what normalised duplicates may differ in: letters
// are lower case, digits and letters stay, of what stands between them one blank
// is left.
func Normal(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	gap, fresh := false, true
	for _, r := range s {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r):
			if gap && !fresh {
				b.WriteByte(' ')
			}
			gap, fresh = false, false
			b.WriteRune(unicode.ToLower(r))
		case r == Between: // two texts are not one
			gap, fresh = false, true
			b.WriteRune(r)
		default:
			gap = true
		}
	}
	return b.String()
}

// Between stands between the texts of a row.
const Between = '\x1f'

// A key is the digest of something that is compared.
type key [16]byte

func keyOf(kind, s string) key {
	sum := sha256.Sum256([]byte(kind + "\x00" + s))
	return key(sum[:16])
}

// keys calls do with what a row is compared by.
func (r *Row) keys(do func(kind int, k key)) {
	if r.Text != "" {
		do(0, keyOf(Exact, r.Text))
		if n := Normal(r.Text); strings.Trim(n, string(Between)) != "" {
			do(1, keyOf(Normalised, n))
		}
	}
	if r.Image != "" {
		do(2, keyOf(Image, r.Image))
	}
}

// A seen is one thing compared: the first bytes of its key, and its split.
type seen struct {
	hash  uint64
	split int32
}

// A Finder finds leaks.
type Finder struct {
	splits []string
	rows   []int64 // of each split
	seen   []seen
	shared map[uint64]bool
	met    map[key][]int32 // rows of kept, by what they are compared by
	kept   []keptRow
}

type keptRow struct {
	id    string
	split int32
	keys  [3]key // zero if not shared
}

// split returns the number of a split.
func (f *Finder) split(name string) int32 {
	i := slices.Index(f.splits, name)
	if i < 0 {
		i = len(f.splits)
		f.splits, f.rows = append(f.splits, name), append(f.rows, 0)
	}
	return int32(i)
}

// First sees a row for the first time.
func (f *Finder) First(r Row) {
	n := f.split(r.Split)
	f.rows[n]++
	r.keys(func(_ int, k key) {
		f.seen = append(f.seen, seen{binary.LittleEndian.Uint64(k[:]), n})
	})
}

// Turn ends the first pass.
func (f *Finder) Turn() {
	slices.SortFunc(f.seen, func(a, b seen) int { return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.split, b.split)) })
	f.shared = map[uint64]bool{}
	for i := 1; i < len(f.seen); i++ {
		if a, b := f.seen[i-1], f.seen[i]; a.hash == b.hash && a.split != b.split {
			f.shared[a.hash] = true
		}
	}
	f.seen, f.met = nil, map[key][]int32{}
}

// Second sees a row for the second time.
func (f *Finder) Second(r Row) {
	k := keptRow{id: r.ID, split: f.split(r.Split)}
	any := false
	r.keys(func(kind int, x key) {
		if f.shared[binary.LittleEndian.Uint64(x[:])] {
			k.keys[kind], any = x, true
		}
	})
	if !any {
		return
	}
	n := int32(len(f.kept))
	f.kept = append(f.kept, k)
	for _, x := range k.keys {
		if x != (key{}) {
			f.met[x] = append(f.met[x], n)
		}
	}
}

// Splits returns the names of the splits in byte order, and how many rows each
// has.
func (f *Finder) Splits() ([]string, map[string]int64) {
	rows := map[string]int64{}
	for i, name := range f.splits {
		rows[name] = f.rows[i]
	}
	return slices.Sorted(slices.Values(f.splits)), rows
}

// Leaks calls do with every row that has a twin in another split, once for each
// such split and kind, in the order in which the rows were seen. A row with an
// exact twin in a split is not told again as normalised.
func (f *Finder) Leaks(do func(Leak) error) error {
	others := slices.Sorted(slices.Values(f.splits))
	for i := range f.kept {
		k := &f.kept[i]
		exact := map[string]bool{}
		for kind, x := range k.keys {
			if x == (key{}) {
				continue
			}
			for _, other := range others {
				n := int32(slices.Index(f.splits, other))
				if n == k.split || kind == 1 && exact[other] {
					continue
				}
				l := Leak{Kind: Kinds[kind], Split: f.splits[k.split], ID: k.id, Against: other}
				for _, m := range f.met[x] {
					if t := &f.kept[m]; t.split == n {
						if l.Twins++; l.Twins == 1 || t.id < l.Twin {
							l.Twin = t.id
						}
					}
				}
				if l.Twins == 0 {
					continue
				}
				exact[other] = exact[other] || kind == 0
				if err := do(l); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
