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

// A query is the loops over the keys and heads of one query; each head is dh
// columns of the rows.
type query struct {
	i        asm.ISA
	p        gp
	keys, dh gp
	mask     []asm.Mask // of the columns past the last whole 32
}

func openQuery(i asm.ISA, name, doc string) *query {
	TEXT(name+i.Suffix, NOSPLIT, "func(p *byte)")
	Pragma("noescape")
	Doc(name + i.Suffix + " " + doc)
	return &query{i: i, p: Load(Param("p"), GP64()).(gp)}
}

// tail loads dh and the masks of a head's last columns.
func (q *query) tail() {
	q.dh = q.word(offQDH)
	left := GP64()
	MOVQ(q.dh, left)
	ANDQ(U8(31), left)
	spread := q.i.Spread(left)
	for at := 0; at < 32; at += q.i.Lanes {
		q.mask = append(q.mask, q.i.First(spread, at))
	}
}

func (q *query) field(off int) Mem { return Mem{Base: q.p, Disp: off} }

func (q *query) word(off int) gp {
	r := GP64()
	MOVQ(q.field(off), r)
	return r
}

// row returns a pointer to the row of key j, given where the table begins.
func (q *query) row(slots, j gp, ld, rows Op) gp {
	r := GP64()
	MOVLQSX(Mem{Base: slots, Index: j, Scale: 4}, r)
	IMULQ(ld, r)
	ADDQ(rows, r)
	return r
}

// queryScores multiplies the query with the keys of each head: some keys with
// all heads, so that each row is read from its beginning to its end, then the
// next ones. The sum over a head's columns is that of asm.Reduce.
func queryScores(i asm.ISA) {
	q := openQuery(i, "queryScores", "fills the scores of each head; there are keys and columns.")
	q.tail()
	q.keys = q.word(offQKeys)
	group := 2
	if i.Lanes == 16 {
		group = 4
	}
	j := GP64()
	XORQ(j, j)

	Label("group")
	var rows []gp
	slots := q.word(offQSlots)
	for g := range group {
		k := GP64()
		LEAQ(Mem{Base: j, Disp: g}, k)
		if g > 0 { // past the end: the last once more
			last := GP64()
			LEAQ(Mem{Base: q.keys, Disp: -1}, last)
			CMPQ(k, last)
			CMOVQGT(last, k)
		}
		rows = append(rows, q.row(slots, k, q.field(offQLD), q.field(offQRows)))
	}
	x, s, heads := q.word(offQQuery), q.word(offQScores), q.word(offQHeads)
	LEAQ(Mem{Base: s, Index: j, Scale: 4}, s)

	Label("head")
	acc := make([][]vec, group)
	for g := range acc {
		for range 32 / i.Lanes {
			acc[g] = append(acc[g], i.Zero())
		}
	}
	n := GP64()
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
		SUBQ(I8(-128), r)
	}
	SUBQ(U8(32), n)
	JMP(LabelRef("columns"))
	Label("rest")
	TESTQ(n, n)
	JE(LabelRef("join"))
	step(true)
	for _, r := range append(rows, x) {
		LEAQ(Mem{Base: r, Index: n, Scale: 4}, r)
	}

	Label("join")
	if i.Lanes == 16 {
		sums := fourSums(acc)
		left := GP64()
		MOVQ(q.keys, left)
		SUBQ(j, left)
		CMPQ(left, U8(4))
		JL(LabelRef("few"))
		VMOVUPS(sums.AsX(), Mem{Base: s})
		JMP(LabelRef("next"))
		Label("few")
		i.StoreMasked(sums, i.First(i.Spread(left), 0), Mem{Base: s})
	} else {
		for g := range acc {
			sum := asm.Join(i, acc[g], func(i asm.ISA, a, b vec) vec { return i.Add(a, b) })
			if g > 0 {
				left := GP64()
				LEAQ(Mem{Base: j, Disp: g}, left)
				CMPQ(left, q.keys)
				JGE(LabelRef("next"))
			}
			VMOVSS(sum.AsX(), Mem{Base: s, Disp: 4 * g})
		}
	}
	Label("next")
	LEAQ(Mem{Base: s, Index: q.keys, Scale: 4}, s)
	DECQ(heads)
	JNE(LabelRef("head"))
	ADDQ(U8(uint8(group)), j)
	CMPQ(j, q.keys)
	JL(LabelRef("group"))
	VZEROUPPER()
	RET()
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
	q.tail()
	q.keys = q.word(offQKeys)
	slots, ld, rows := q.word(offQSlots), q.word(offQLD), q.word(offQRows)
	scores, heads, out, by := q.word(offQScores), q.word(offQHeads), q.word(offQOut), q.word(offQBy)
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
		r := q.row(slots, j, ld, rows)
		s := i.Vec()
		VBROADCASTSS(Mem{Base: scores, Index: j, Scale: 4}, s)
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
	LEAQ(Mem{Base: scores, Index: q.keys, Scale: 4}, scores)
	LEAQ(Mem{Base: rows, Index: q.dh, Scale: 4}, rows)
	LEAQ(Mem{Base: out, Index: q.dh, Scale: 4}, out)
	DECQ(heads)
	JNE(LabelRef("head"))
	VZEROUPPER()
	RET()
}

// Offsets in the argument block of queryPieces, the struct piecesArgs.
const (
	offPRows   = 0
	offPSlots  = 8
	offPKeys   = 16
	offPLD     = 24
	offPOut    = 32
	offPScores = 40 // of each piece,
	offPBy     = 72 // and its factor
)

// queryPieces is queryValues for some pieces of 32 columns side by side, whose
// chains keep each other company.
func queryPieces(i asm.ISA) {
	q := openQuery(i, "queryPieces", "fills pieces of 32 columns of the output; there are keys.")
	q.keys = q.word(offPKeys)
	slots, ld, rows := q.word(offPSlots), q.word(offPLD), q.word(offPRows)
	pieces := i.Lanes / 4 // 4, or 2
	acc := make([][]vec, pieces)
	var scores []gp
	for c := range acc {
		for range 32 / i.Lanes {
			acc[c] = append(acc[c], i.Zero())
		}
		scores = append(scores, q.word(offPScores+8*c))
	}
	j := GP64()
	XORQ(j, j)
	Label("keys")
	r := q.row(slots, j, ld, rows)
	for c := range acc {
		s := i.Vec()
		VBROADCASTSS(Mem{Base: scores[c], Index: j, Scale: 4}, s)
		for v, a := range acc[c] {
			VFMADD231PS(Mem{Base: r, Disp: 128*c + 4*v*i.Lanes}, s, a)
		}
	}
	INCQ(j)
	CMPQ(j, q.keys)
	JL(LabelRef("keys"))
	out := q.word(offPOut)
	for c := range acc {
		f := i.Vec()
		VBROADCASTSS(Mem{Base: q.word(offPBy + 8*c)}, f)
		for v, a := range acc[c] {
			VMOVUPS(i.Mul(a, f), Mem{Base: out, Disp: 128*c + 4*v*i.Lanes})
		}
	}
	VZEROUPPER()
	RET()
}
