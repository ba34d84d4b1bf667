package cherrant

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// Operations of steps and edits.
const (
	opMatch   = 'M'
	opOrder   = 'T'
	opReplace = 'S'
	opInsert  = 'I'
	opDelete  = 'D'
)

// A step turns pieces of the source into pieces of the target.
type step struct {
	op             byte
	length         int // of opOrder, 0 of others
	from, to       int
	dstFrom, dstTo int
}

// An alignment is the table of all cheapest alignments: for each cell the
// operations that lead there, in the order T, S, I, D.
type alignment struct {
	n, m  int
	ops   []cell
	left  int // steps that may still be looked at
	steps []step
	flip  []step
}

// A cell is a set of operations: bits, and above them the number of pieces that
// change places, 0 for none.
type cell uint32

const (
	match cell = 1 << iota
	replace
	insert
	remove
	order = 4 // bits that stand below the number
)

// align fills the table.
func (f *Finder) align(src, dst []string) *alignment {
	n, m := len(src), len(dst)
	a := &alignment{n: n, m: m, ops: make([]cell, (n+1)*(m+1)), left: mostSteps}
	cost := make([]float64, (n+1)*(m+1))
	w := m + 1
	for i := 1; i <= n; i++ {
		cost[i*w], a.ops[i*w] = float64(i), remove
	}
	for j := 1; j <= m; j++ {
		cost[j], a.ops[j] = float64(j), insert
	}
	x, y, pieces := number(src, dst)
	traits := f.traits(pieces)
	balance := newBalance(len(pieces))
	for i := range n {
		for j := range m {
			at := (i+1)*w + j + 1
			if x[i] == y[j] {
				cost[at], a.ops[at] = cost[at-w-1], match
				continue
			}
			// The span that ends here may hold the same pieces on both sides, in
			// another order, as long as no step of it is free.
			moved, k := math.Inf(1), 1
			balance.reset()
			balance.add(x[i], y[j])
			for ; i-k >= 0 && j-k >= 0 && cost[(i-k+1)*w+j-k+1] != cost[(i-k)*w+j-k]; k++ {
				balance.add(x[i-k], y[j-k])
				if balance.unequal == 0 {
					moved = cost[(i-k)*w+j-k] + float64(k)
					break
				}
			}
			costs := [...]float64{cost[at-w-1] + replacing(&traits[x[i]], &traits[y[j]]), cost[at-1] + 1, cost[at-w] + 1}
			least := min(moved, costs[0], costs[1], costs[2])
			c := cell(0)
			for n, v := range costs {
				if v == least {
					c |= replace << n
				}
			}
			if moved == least {
				c |= cell(k+1) << order
			}
			cost[at], a.ops[at] = least, c
		}
	}
	return a
}

// A balance counts how often pieces stand on either side of a span.
type balance struct {
	count   []int32
	touched []int32
	unequal int
}

func newBalance(pieces int) *balance { return &balance{count: make([]int32, pieces)} }

func (b *balance) reset() {
	for _, p := range b.touched {
		b.count[p] = 0
	}
	b.touched, b.unequal = b.touched[:0], 0
}

func (b *balance) add(x, y int32) {
	b.change(x, 1)
	b.change(y, -1)
}

func (b *balance) change(p, by int32) {
	if b.count[p] == 0 {
		b.unequal++
		b.touched = append(b.touched, p)
	}
	if b.count[p] += by; b.count[p] == 0 {
		b.unequal--
	}
}

// number numbers the pieces of both sides.
func number(src, dst []string) (x, y []int32, pieces []string) {
	place := make(map[string]int32)
	of := func(list []string) []int32 {
		out := make([]int32, len(list))
		for i, p := range list {
			k, ok := place[p]
			if !ok {
				k = int32(len(pieces))
				place[p] = k
				pieces = append(pieces, p)
			}
			out[i] = k
		}
		return out
	}
	x, y = of(src), of(dst)
	return x, y, pieces
}

// farLengths is the difference of lengths above which only the first of the
// cheapest alignments counts.
const farLengths = 10

// each visits the alignments, from the last cell back to the first: those that
// begin with the first of a cell's operations come first.
func (a *alignment) each(first bool, visit func([]step)) {
	first = first || a.n-a.m > farLengths || a.m-a.n > farLengths
	var walk func(i, j int)
	walk = func(i, j int) {
		if i+j == 0 {
			a.flip = append(a.flip[:0], a.steps...)
			slices.Reverse(a.flip)
			a.left -= len(a.flip)
			visit(a.flip)
			return
		}
		c := a.ops[i*(a.m+1)+j]
		depth := len(a.steps)
		try := func(s step) bool {
			a.steps = append(a.steps[:depth], s)
			walk(s.from, s.dstFrom)
			return !first && a.left > 0
		}
		switch more := true; {
		case c&match != 0:
			try(step{op: opMatch, from: i - 1, to: i, dstFrom: j - 1, dstTo: j})
		default:
			if n := int(c >> order); n > 0 {
				more = try(step{op: opOrder, length: n, from: i - n, to: i, dstFrom: j - n, dstTo: j})
			}
			if more && c&replace != 0 {
				more = try(step{op: opReplace, from: i - 1, to: i, dstFrom: j - 1, dstTo: j})
			}
			if more && c&insert != 0 {
				more = try(step{op: opInsert, from: i, to: i, dstFrom: j - 1, dstTo: j})
			}
			if more && c&remove != 0 {
				try(step{op: opDelete, from: i - 1, to: i, dstFrom: j, dstTo: j})
			}
		}
		a.steps = a.steps[:depth]
	}
	walk(a.n, a.m)
	if first {
		a.left = 1 // there is nothing more
	}
}

// marks are those that count as punctuation when costs are found.
const marks = "！？｡＂＃＄％＆＇（）＊＋，－／：；＜＝＞＠［＼］＾＿｀｛｜｝～｟｠｢｣､、〃》「」『』【】〔〕〖〗〘〙〚〛〜〝〞〟〰〾〿–—‘'‛“”„‟…‧﹏" + asciiMarks

const asciiMarks = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"

// traits are what the cost of replacing a piece looks at.
type traits struct {
	class   string // of meaning, "" if unknown
	mark    bool
	han     rune // the piece, if it is a Chinese character
	sounds  []uint16
	confuse map[rune]bool
}

func (f *Finder) traits(pieces []string) []traits {
	out := make([]traits, len(pieces))
	for i, p := range pieces {
		t := traits{class: f.Tables.classes[p], mark: strings.Contains(marks, p)}
		if r, n := utf8.DecodeRuneInString(p); n == len(p) && r >= firstHan && r <= lastHan {
			t.han, t.sounds, t.confuse = r, sounds(r), f.Tables.confusions[r]
		}
		out[i] = t
	}
	return out
}

// replacing returns the cost of replacing one piece by another.
func replacing(x, y *traits) float64 {
	cost := meaning(x, y)/6 + writing(x, y)
	switch {
	case x.mark && y.mark:
		return cost
	case !x.mark && !y.mark:
		return cost + 0.25
	}
	return cost + 0.499
}

// meaning compares classes: their first letter, their second, and two digits.
func meaning(x, y *traits) float64 {
	if x.class == "" || y.class == "" {
		return 4
	}
	differ := 0
	for _, part := range [][2]int{{0, 1}, {1, 2}, {2, 4}} {
		if x.class[part[0]:part[1]] != y.class[part[0]:part[1]] {
			differ++
		}
	}
	return float64(2 * differ)
}

// writing tells characters that sound or look alike from others.
func writing(x, y *traits) float64 {
	if x.han != 0 && y.han != 0 {
		if x.confuse[y.han] || y.confuse[x.han] {
			return 0
		}
		for _, s := range x.sounds {
			if slices.Contains(y.sounds, s) {
				return 0
			}
		}
	}
	return 0.5
}
