// Command attend generates the loops over rows of attention scores. The layout
// of the argument block is the struct args in package attend.
package main

import (
	"espalier/trainer/kernel/_asm/asm"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

type (
	vec = asm.Vec
	gp  = reg.GPVirtual
)

// Offsets in the argument block.
const (
	offX         = 0
	offY         = 8
	offLD        = 16
	offRows      = 24
	offN         = 32
	offSee       = 40
	offSeeStep   = 48
	offMask      = 56
	offBias      = 64
	offBiasStep  = 72
	offDBias     = 80
	offDBiasStep = 88
	offA         = 96 // per row
	offB         = 104
	offScale     = 112
	offHidden    = 116
)

func main() {
	ConstraintExpr("!purego")
	for _, i := range []asm.ISA{asm.AVX512, asm.AVX2} {
		copyRows(i)
		for _, c := range []form{{"", false, false, false}, {"Mask", true, false, false}, {"Bias", false, true, false}, {"MaskBias", true, true, false}} {
			softmax(i, c)
		}
		for _, c := range []form{
			{"", false, false, false},
			{"Mask", true, false, false},
			{"Bias", false, true, false},
			{"MaskBias", true, true, false},
			{"BiasSum", false, true, true},
			{"MaskBiasSum", true, true, true},
		} {
			gradient(i, c)
		}
		scaleRows(i)
		dotRows(i)
		queryScores(i)
		queryValues(i)
		queryPieces(i)
	}
	Generate()
}

// A form says which operands there are.
type form struct {
	name             string
	mask, bias, sums bool
}

// A rowLoop is a function that does one row after the other.
type rowLoop struct {
	i     asm.ISA
	p     gp          // the argument block
	ptr   map[int]gp  // pointers that step from row to row, by offset
	steps map[int]int // offsets of their steps, in bytes
	rows  gp
	see   gp
}

// open starts the function. steps names the pointers that move and the offsets
// of their steps; step 0 is 4 bytes.
func open(i asm.ISA, name, doc string, steps map[int]int, order []int) *rowLoop {
	TEXT(name+i.Suffix, NOSPLIT, "func(p *byte)")
	Pragma("noescape")
	Doc(name + i.Suffix + " " + doc)
	l := &rowLoop{i: i, ptr: map[int]gp{}, steps: steps}
	l.p = Load(Param("p"), GP64()).(gp)
	for _, off := range order {
		l.ptr[off] = l.word(off)
	}
	l.rows = l.word(offRows)
	return l
}

func (l *rowLoop) word(off int) gp {
	r := GP64()
	MOVQ(Mem{Base: l.p, Disp: off}, r)
	return r
}

// scalar spreads a float32 of the argument block.
func (l *rowLoop) scalar(off int) vec {
	v := l.i.Vec()
	VBROADCASTSS(Mem{Base: l.p, Disp: off}, v)
	return v
}

// next moves to the next row, or ends the function.
func (l *rowLoop) next(order []int) {
	for _, off := range order {
		if step := l.steps[off]; step == 0 {
			ADDQ(U8(4), l.ptr[off])
		} else {
			ADDQ(Mem{Base: l.p, Disp: step}, l.ptr[off])
		}
	}
	if l.see != nil {
		ADDQ(Mem{Base: l.p, Disp: offSeeStep}, l.see)
	}
	DECQ(l.rows)
	JNE(LabelRef("row"))
	VZEROUPPER()
	RET()
}

// across emits a loop over a row in steps of some groups of vectors: body is
// called for each group with its place, and for the part at the end with the
// mask of the lanes that exist.
func (l *rowLoop) across(name string, groups int, body func(at gp, g int, tail *asm.Mask), after func()) {
	at, n := GP64(), l.word(offN)
	XORQ(at, at)
	width := groups * l.i.Lanes
	Label(name)
	CMPQ(n, U8(uint8(width)))
	JL(LabelRef(name + "Tail"))
	for g := range groups {
		body(at, g, nil)
	}
	after()
	ADDQ(U8(uint8(width)), at)
	SUBQ(U8(uint8(width)), n)
	JMP(LabelRef(name))
	Label(name + "Tail")
	TESTQ(n, n)
	JE(LabelRef(name + "Done"))
	for g := range groups {
		m := l.i.First(l.i.Spread(n), g*l.i.Lanes)
		body(at, g, &m)
	}
	Label(name + "Done")
}

func (l *rowLoop) place(off int, at gp, g int) Mem {
	return Mem{Base: l.ptr[off], Index: at, Scale: 4, Disp: 4 * g * l.i.Lanes}
}

func (l *rowLoop) load(m Mem, tail *asm.Mask) vec {
	if tail != nil {
		return l.i.LoadMasked(m, *tail)
	}
	return l.i.Copy(m)
}

func (l *rowLoop) store(v vec, m Mem, tail *asm.Mask) {
	if tail != nil {
		l.i.StoreMasked(v, *tail, m)
	} else {
		VMOVUPS(v, m)
	}
}

// score is scale*x, or hidden, plus the bias. It returns the masks of what is
// seen as well. Without left the row sees all keys but for the mask's.
func (l *rowLoop) score(c form, at gp, g int, tail *asm.Mask, scale, hidden, left vec) (v vec, seen []asm.Mask) {
	v = l.i.Mul(l.load(l.place(offX, at, g), tail), scale)
	if c.mask {
		m := l.i.Cmp(asm.NE, l.load(l.place(offMask, at, g), tail), asm.F(0))
		v, seen = l.i.Blend(m, hidden, v), append(seen, m)
	}
	if left != nil {
		m := l.i.First(left, g*l.i.Lanes)
		v, seen = l.i.Blend(m, hidden, v), append(seen, m)
	}
	if c.bias {
		v = l.i.Add(v, l.load(l.place(offBias, at, g), tail))
	}
	return v, seen
}

// hiding emits a loop twice: for rows that do not see all keys, with how many
// are left to see in each lane, and for those that do.
func (l *rowLoop) hiding(loop func(name string, left vec)) {
	CMPQ(l.see, Mem{Base: l.p, Disp: offN})
	JGE(LabelRef("all"))
	loop("", l.i.Spread(l.see))
	JMP(LabelRef("seen"))
	Label("all")
	loop("All", nil)
	Label("seen")
}

// fetch fetches the next row of operands into the cache, a part with each
// vector.
func (l *rowLoop) fetch(at gp, g int, tail *asm.Mask, offs ...int) {
	if tail != nil || g*l.i.Lanes%16 != 0 {
		return
	}
	for _, off := range offs {
		if l.ptr[off] != nil {
			p := GP64()
			MOVQ(l.ptr[off], p)
			ADDQ(Mem{Base: l.p, Disp: l.steps[off]}, p)
			PREFETCHT0(Mem{Base: p, Index: at, Scale: 4, Disp: 4 * g * l.i.Lanes})
		}
	}
}

// softmax makes scores of products, then their exponentials from the row's
// maximum, and gives the maximum and the sum.
func softmax(i asm.ISA, c form) {
	order := []int{offX, offA, offB}
	steps := map[int]int{offX: offLD}
	if c.mask {
		order = append(order, offMask)
	}
	moving := append([]int(nil), order[:3]...)
	if c.bias {
		order, moving = append(order, offBias), append(moving, offBias)
		steps[offBias] = offBiasStep
	}
	l := open(i, "softmax"+c.name, "turns rows of products into exponentials of scores.", steps, order)
	l.see = l.word(offSee)
	scale, hidden := l.scalar(offScale), l.scalar(offHidden)
	i.PinExp()
	defer asm.Unpin()
	groups := asm.VirtualLanes / i.Lanes

	Label("row")
	acc := fill(i, groups, asm.Bits(0xff800000))
	l.hiding(func(name string, left vec) {
		l.across("scores"+name, groups, func(at gp, g int, tail *asm.Mask) {
			v, _ := l.score(c, at, g, tail, scale, hidden, left)
			l.store(v, l.place(offX, at, g), tail)
			if tail != nil {
				v = i.Blend(*tail, i.Copy(asm.Bits(0xff800000)), v)
			}
			VMAXPS(acc[g], v, acc[g]) // acc where v is NaN
		}, func() {
			if left != nil {
				VPSUBD(words(i, asm.VirtualLanes), left, left)
			}
		})
	})
	most := asm.Join(i, acc, func(i asm.ISA, a, b vec) vec { return i.Max(a, b) })
	lowest := XMM()
	VMOVSS(asm.Bits(0xff7fffff), lowest) // so that -Inf less the maximum is not NaN
	VMAXSS(lowest, most.AsX(), lowest)
	VMOVSS(lowest, Mem{Base: l.ptr[offA]})
	top := i.Vec()
	VBROADCASTSS(lowest, top)

	sums := fill(i, groups, asm.F(0))
	l.across("exp", groups, func(at gp, g int, tail *asm.Mask) {
		l.fetch(at, g, tail, offX, offBias)
		e := i.ExpNeg(i.Sub(l.load(l.place(offX, at, g), tail), top))
		l.store(e, l.place(offX, at, g), tail)
		if tail != nil {
			e = i.Keep(*tail, e)
		}
		VADDPS(e, sums[g], sums[g])
	}, func() {})
	VMOVSS(asm.Join(i, sums, func(i asm.ISA, a, b vec) vec { return i.Add(a, b) }).AsX(), Mem{Base: l.ptr[offB]})
	l.next(moving)
}

func fill(i asm.ISA, n int, m Op) []vec {
	var v []vec
	for range n {
		v = append(v, i.Copy(m))
	}
	return v
}

func words(i asm.ISA, w uint32) vec { return i.Copy(asm.Bits(w)) }

// gradient turns products into probabilities by the row's lse, and the
// gradients of probabilities into those of products.
func gradient(i asm.ISA, c form) {
	order := []int{offX, offY, offA, offB}
	steps := map[int]int{offX: offLD, offY: offLD}
	if c.mask {
		order = append(order, offMask)
	}
	moving := append([]int(nil), order[:4]...)
	if c.bias {
		order, moving = append(order, offBias), append(moving, offBias)
		steps[offBias] = offBiasStep
	}
	if c.sums {
		order, moving = append(order, offDBias), append(moving, offDBias)
		steps[offDBias] = offDBiasStep
	}
	l := open(i, "gradient"+c.name, "turns rows of products into probabilities and of their gradients into those of products.", steps, order)
	l.see = l.word(offSee)
	scale, hidden := l.scalar(offScale), l.scalar(offHidden)
	i.PinExp()
	defer asm.Unpin()

	Label("row")
	lse, delta := i.Vec(), i.Vec()
	VBROADCASTSS(Mem{Base: l.ptr[offA]}, lse)
	VBROADCASTSS(Mem{Base: l.ptr[offB]}, delta)
	l.hiding(func(name string, left vec) {
		l.across("columns"+name, 1, func(at gp, g int, tail *asm.Mask) {
			l.fetch(at, g, tail, offX, offY, offBias, offDBias)
			v, seen := l.score(c, at, g, tail, scale, hidden, left)
			p := i.ExpNeg(i.Sub(v, lse))
			l.store(p, l.place(offX, at, g), tail)
			d := i.Mul(p, i.Sub(l.load(l.place(offY, at, g), tail), delta))
			if c.sums {
				m := l.place(offDBias, at, g)
				l.store(i.Add(d, l.load(m, tail)), m, tail)
			}
			d = i.Mul(d, scale)
			for _, m := range seen {
				d = i.Keep(m, d)
			}
			l.store(d, l.place(offY, at, g), tail)
		}, func() {
			if left != nil {
				VPSUBD(words(i, uint32(i.Lanes)), left, left)
			}
		})
	})
	l.next(moving)
}

func scaleRows(i asm.ISA) {
	order := []int{offX, offA}
	l := open(i, "scaleRows", "multiplies each row by a number of its own.", map[int]int{offX: offLD}, order)
	Label("row")
	by := i.Vec()
	VBROADCASTSS(Mem{Base: l.ptr[offA]}, by)
	l.across("columns", 1, func(at gp, g int, tail *asm.Mask) {
		m := l.place(offX, at, g)
		l.store(i.Mul(l.load(m, tail), by), m, tail)
	}, func() {})
	l.next(order)
}

func dotRows(i asm.ISA) {
	order := []int{offX, offY, offA}
	l := open(i, "dotRows", "adds up the products of two matrices' rows.", map[int]int{offX: offLD, offY: offLD}, order)
	groups := asm.VirtualLanes / i.Lanes
	Label("row")
	acc := fill(i, groups, asm.F(0))
	l.across("columns", groups, func(at gp, g int, tail *asm.Mask) {
		i.FmaAdd(acc[g], l.load(l.place(offX, at, g), tail), l.load(l.place(offY, at, g), tail))
	}, func() {})
	VMOVSS(asm.Join(i, acc, func(i asm.ISA, a, b vec) vec { return i.Add(a, b) }).AsX(), Mem{Base: l.ptr[offA]})
	l.next(order)
}

// copyRows copies rows, and fetches the places of those to come: a store alone
// would wait for its line.
func copyRows(i asm.ISA) {
	order := []int{offX, offY}
	l := open(i, "copyRows", "copies rows to places some way apart.", map[int]int{offX: offLD, offY: offBiasStep}, order)
	ahead := GP64()
	MOVQ(Mem{Base: l.p, Disp: offLD}, ahead)
	SHLQ(U8(3), ahead)
	Label("row")
	l.across("columns", 1, func(at gp, g int, tail *asm.Mask) {
		p := GP64()
		LEAQ(Mem{Base: l.ptr[offX], Index: ahead, Scale: 1}, p)
		PREFETCHT0(Mem{Base: p, Index: at, Scale: 4})
		l.store(l.load(l.place(offY, at, g), tail), l.place(offX, at, g), tail)
	}, func() {})
	l.next(order)
}
