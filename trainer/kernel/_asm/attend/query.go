package main

import (
	"espalier/trainer/kernel/_asm/asm"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// Offsets in the argument block of one query's loops, the struct queryArgs.
const (
	offQQuery  = 0
	offQRows   = 8
	offQSlots  = 16
	offQKeys   = 24
	offQHeads  = 32
	offQDH     = 40
	offQLD     = 48
	offQScores = 56
	offQOut    = 64
	offQBy     = 72
)

// A query is a loop over heads, each dh columns of the rows.
type query struct {
	i                            asm.ISA
	p, rows, slots, keys, ld, dh gp
	scores, heads                gp
	mask                         []asm.Mask // of the columns past the last whole 32
}

func openQuery(i asm.ISA, name, doc string) *query {
	TEXT(name+i.Suffix, NOSPLIT, "func(p *byte)")
	Pragma("noescape")
	Doc(name + i.Suffix + " " + doc)
	q := &query{i: i, p: Load(Param("p"), GP64()).(gp)}
	q.rows, q.slots, q.keys, q.ld = q.word(offQRows), q.word(offQSlots), q.word(offQKeys), q.word(offQLD)
	q.dh, q.scores, q.heads = q.word(offQDH), q.word(offQScores), q.word(offQHeads)
	left := GP64()
	MOVQ(q.dh, left)
	ANDQ(U8(31), left)
	spread := i.Spread(left)
	for at := 0; at < 32; at += i.Lanes {
		q.mask = append(q.mask, i.First(spread, at))
	}
	return q
}

func (q *query) word(off int) gp {
	r := GP64()
	MOVQ(Mem{Base: q.p, Disp: off}, r)
	return r
}

// row returns a pointer to the head's columns of the row of key j.
func (q *query) row(j gp) gp {
	r := GP64()
	MOVLQSX(Mem{Base: q.slots, Index: j, Scale: 4}, r)
	IMULQ(q.ld, r)
	ADDQ(q.rows, r)
	return r
}

// next moves to the next head, whose scores lie behind this one's.
func (q *query) next(label string, more ...gp) {
	LEAQ(Mem{Base: q.scores, Index: q.keys, Scale: 4}, q.scores)
	for _, r := range append(more, q.rows) {
		LEAQ(Mem{Base: r, Index: q.dh, Scale: 4}, r)
	}
	DECQ(q.heads)
	JNE(LabelRef(label))
	VZEROUPPER()
	RET()
}

// queryScores multiplies the query with the keys of each head. The sum over a
// head's columns is that of asm.Reduce.
func queryScores(i asm.ISA) {
	q := openQuery(i, "queryScores", "fills the scores of each head; there are keys and columns.")
	at := q.word(offQQuery)
	group := 2
	if i.Lanes == 16 {
		group = 4
	}
	Label("head")
	j := GP64()
	XORQ(j, j)

	Label("group")
	var rows []gp
	for g := range group {
		k := GP64()
		LEAQ(Mem{Base: j, Disp: g}, k)
		if g > 0 { // past the end: the last once more
			last := GP64()
			LEAQ(Mem{Base: q.keys, Disp: -1}, last)
			CMPQ(k, last)
			CMOVQGT(last, k)
		}
		rows = append(rows, q.row(k))
	}
	acc := make([][]vec, group)
	for g := range acc {
		for range 32 / i.Lanes {
			acc[g] = append(acc[g], i.Zero())
		}
	}
	x, n := GP64(), GP64()
	MOVQ(at, x)
	MOVQ(q.dh, n)
	step := func(masked bool) {
		for v := range 32 / i.Lanes {
			load := func(p gp) vec {
				m := Mem{Base: p, Disp: 4 * v * i.Lanes}
				if masked {
					return i.LoadMasked(m, q.mask[v])
				}
				return i.Copy(m)
			}
			a := load(x)
			for g, r := range rows {
				i.FmaAdd(acc[g][v], a, load(r))
			}
		}
	}
	Label("columns")
	CMPQ(n, U8(32))
	JL(LabelRef("rest"))
	step(false)
	for _, r := range append(rows, x) {
		ADDQ(U32(128), r)
	}
	SUBQ(U8(32), n)
	JMP(LabelRef("columns"))
	Label("rest")
	TESTQ(n, n)
	JE(LabelRef("join"))
	step(true)

	Label("join")
	if i.Lanes == 16 {
		sums := fourSums(acc)
		left := GP64()
		MOVQ(q.keys, left)
		SUBQ(j, left)
		CMPQ(left, U8(4))
		JL(LabelRef("few"))
		VMOVUPS(sums.AsX(), Mem{Base: q.scores, Index: j, Scale: 4})
		ADDQ(U8(4), j)
		CMPQ(j, q.keys)
		JL(LabelRef("group"))
		JMP(LabelRef("done"))
		Label("few")
		i.StoreMasked(sums, i.First(i.Spread(left), 0), Mem{Base: q.scores, Index: j, Scale: 4})
		Label("done")
		q.next("head", at)
		return
	}
	for g := range acc {
		sum := asm.Join(i, acc[g], func(i asm.ISA, a, b vec) vec { return i.Add(a, b) })
		VMOVSS(sum.AsX(), Mem{Base: q.scores, Index: j, Scale: 4})
		INCQ(j)
		if g < group-1 {
			CMPQ(j, q.keys)
			JE(LabelRef("done"))
		}
	}
	CMPQ(j, q.keys)
	JL(LabelRef("group"))
	Label("done")
	q.next("head", at)
}

// fourSums joins the lanes of four keys as asm.Join does, side by side, and
// returns their sums in the first four lanes.
func fourSums(acc [][]vec) vec {
	i := asm.AVX512
	shuffle := func(imm uint8, a, b vec) vec {
		d := i.Vec()
		VSHUFF32X4(U8(imm), b, a, d)
		return d
	}
	turn := func(imm uint8, a vec) vec {
		d := i.Vec()
		VPERMILPS(U8(imm), a, d)
		return d
	}
	var key [4]vec
	for g := range key {
		key[g] = i.Add(acc[g][0], acc[g][1])
	}
	var pair [2]vec
	for g := range pair { // quarters 0 and 2 of each key, then 1 and 3
		a, b := key[2*g], key[2*g+1]
		pair[g] = i.Add(shuffle(0x44, a, b), shuffle(0xee, a, b))
	}
	v := i.Add(shuffle(0x88, pair[0], pair[1]), shuffle(0xdd, pair[0], pair[1]))
	v = i.Add(v, turn(0x4e, v))
	v = i.Add(v, turn(0xb1, v))
	d := i.Vec()
	VPERMPS(v, i.Copy(asm.Words("firsts", 0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12)), d)
	return d
}

// queryValues adds up the rows by the scores of each head. An element is one
// chain of fused multiply-adds over the keys, and then multiplied by the head's
// own factor.
func queryValues(i asm.ISA) {
	q := openQuery(i, "queryValues", "fills the output of each head; there are keys and columns.")
	out, by := q.word(offQOut), q.word(offQBy)
	Label("head")
	c, left := GP64(), GP64() // bytes into the head, columns left
	XORQ(c, c)
	MOVQ(q.dh, left)
	chunk := func(name string, masked bool) {
		var acc []vec
		for range 32 / i.Lanes {
			acc = append(acc, i.Zero())
		}
		j := GP64()
		XORQ(j, j)
		Label(name + "Keys")
		r := q.row(j)
		s := i.Vec()
		VBROADCASTSS(Mem{Base: q.scores, Index: j, Scale: 4}, s)
		for v, a := range acc {
			m := Mem{Base: r, Index: c, Scale: 1, Disp: 4 * v * i.Lanes}
			switch {
			case masked:
				i.FmaAdd(a, s, i.LoadMasked(m, q.mask[v]))
			default:
				VFMADD231PS(m, s, a)
			}
		}
		INCQ(j)
		CMPQ(j, q.keys)
		JL(LabelRef(name + "Keys"))
		f := i.Vec()
		VBROADCASTSS(Mem{Base: by}, f)
		for v, a := range acc {
			m := Mem{Base: out, Index: c, Scale: 1, Disp: 4 * v * i.Lanes}
			if y := i.Mul(a, f); masked {
				i.StoreMasked(y, q.mask[v], m)
			} else {
				VMOVUPS(y, m)
			}
		}
	}
	Label("chunk")
	CMPQ(left, U8(32))
	JL(LabelRef("part"))
	chunk("whole", false)
	ADDQ(U32(128), c)
	SUBQ(U8(32), left)
	JMP(LabelRef("chunk"))
	Label("part")
	TESTQ(left, left)
	JE(LabelRef("next"))
	chunk("part", true)
	Label("next")
	ADDQ(U8(4), by)
	q.next("head", out)
}
