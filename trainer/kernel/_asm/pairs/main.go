// Command pairs generates the inner loops of the product of two bfloat16
// matrices, and what rounds to bfloat16.
//
// A step takes two k at once: a word holds the even one's number in its low
// half, the odd one's in its high half. As VDPBF16PS has it, the odd product is
// added first, each sum is rounded to nearest even, and denormals count as zeros
// and become zeros. Processors without that instruction do the same by fused
// multiply-adds, exact products rounded once, with denormals switched off. The
// layout of the argument block is the struct pairCall in package gemm.
package main

import (
	"fmt"

	"espalier/trainer/kernel/_asm/asm"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Offsets in the argument block.
const (
	offSteps = 0
	offTiles = 8
	offA     = 16
	offRS    = 24
	offB     = 32
	offC     = 40
	offLDC   = 48
	offMask  = 56
	offLoad  = 60
	offOld   = 64 // the control word before,
	offNew   = 68 // and meanwhile
	offAhead = 72
	offStep  = 80
	offRest  = 88
)

// Of at least long steps, the last late ones come after c has been fetched for
// the store and for the next tile: fetched earlier it would be gone again.
const (
	late = 16
	long = 96
)

func main() {
	ConstraintExpr("!purego")
	for mr := 1; mr <= 8; mr++ {
		(&kernel{isa: asm.AVX512, mr: mr, native: true}).emit()
		(&kernel{isa: asm.AVX512, mr: mr}).emit()
	}
	for mr := 1; mr <= 4; mr++ {
		(&kernel{isa: asm.AVX2, mr: mr}).emit()
	}
	round(asm.AVX512)
	round(asm.AVX2)
	Generate()
}

// A kernel computes tiles of mr rows by two vectors of columns.
type kernel struct {
	isa    asm.ISA
	mr     int
	native bool // by VDPBF16PS, whose registers are fixed

	p, c, ldc gp
	acc       [][2]reg.Register
	maskZ     [2]reg.OpmaskVirtual
	maskY     [2]reg.VecVirtual
}

type gp = reg.GPVirtual

func (k *kernel) arg(off int) gp {
	r := GP64()
	MOVQ(Mem{Base: k.p, Disp: off}, r)
	return r
}

// The fixed registers: sums, then two of b, then one of a for each row.
func fixed(n int) reg.Register {
	return []reg.Register{
		reg.Z0, reg.Z1, reg.Z2, reg.Z3, reg.Z4, reg.Z5, reg.Z6, reg.Z7, reg.Z8, reg.Z9, reg.Z10, reg.Z11, reg.Z12, reg.Z13, reg.Z14, reg.Z15,
		reg.Z16, reg.Z17, reg.Z18, reg.Z19, reg.Z20, reg.Z21, reg.Z22, reg.Z23, reg.Z24, reg.Z25, reg.Z26, reg.Z27, reg.Z28, reg.Z29, reg.Z30, reg.Z31,
	}[n]
}

// dot emits VDPBF16PS x, b, acc of registers by number, which Go's assembler
// does not know.
func dot(x, b, acc int) {
	bit := func(n, i int) byte { return byte(^n>>i) & 1 } // inverted
	for _, v := range []byte{
		0x62,
		bit(acc, 3)<<7 | bit(x, 4)<<6 | bit(x, 3)<<5 | bit(acc, 4)<<4 | 2,
		byte(^b&15)<<3 | 1<<2 | 2,
		2<<5 | bit(b, 4)<<3,
		0x52,
		0xc0 | byte(acc&7)<<3 | byte(x&7),
	} {
		Instruction(&ir.Instruction{Opcode: "BYTE", Operands: []Op{Imm(uint64(v))}, ISA: []string{"AVX512BF16"}})
	}
}

func (k *kernel) vec(n int) reg.Register {
	if k.native {
		return fixed(n)
	}
	return k.isa.Vec()
}

func (k *kernel) emit() {
	suffix := k.isa.Suffix
	if k.native {
		suffix = "BF16"
	}
	name := fmt.Sprintf("pairs%dx%d%s", k.mr, 2*k.isa.Lanes, suffix)
	TEXT(name, NOSPLIT, "func(p *byte)")
	Pragma("noescape")
	Doc(fmt.Sprintf("%s computes tiles of %d rows by %d columns.", name, k.mr, 2*k.isa.Lanes))
	k.p = Load(Param("p"), GP64()).(gp)
	if !k.native { // denormals are zeros
		STMXCSR(Mem{Base: k.p, Disp: offOld})
		w := GP32()
		MOVL(Mem{Base: k.p, Disp: offOld}, w)
		ORL(U32(0x8040), w)
		MOVL(w, Mem{Base: k.p, Disp: offNew})
		LDMXCSR(Mem{Base: k.p, Disp: offNew})
	}
	k.c, k.ldc = k.arg(offC), k.arg(offLDC)
	rs, tiles, a := k.arg(offRS), k.arg(offTiles), k.arg(offA)
	rs3, rs5 := GP64(), GP64()
	LEAQ(Mem{Base: rs, Index: rs, Scale: 2}, rs3)
	LEAQ(Mem{Base: rs, Index: rs, Scale: 4}, rs5)
	k.masks()
	for i := range k.mr {
		k.acc = append(k.acc, [2]reg.Register{k.vec(2 * i), k.vec(2*i + 1)})
	}

	Label("tile")
	k.p = Load(Param("p"), GP64()).(gp)
	k.start()
	pa, pb, n := GP64(), k.arg(offB), k.arg(offSteps)
	MOVQ(a, pa)
	var pa7 gp
	if k.mr > 7 {
		pa7 = GP64()
		LEAQ(Mem{Base: pa, Index: rs, Scale: 8}, pa7)
		SUBQ(rs, pa7)
	}
	k.fetchC(k.mr, 2*k.mr, PREFETCHT1)
	ahead, step := k.arg(offAhead), k.arg(offStep)
	TESTQ(n, n)
	JE(LabelRef("store"))
	CMPQ(n, U8(long))
	JL(LabelRef("loop"))
	SUBQ(U8(late), n)
	MOVQ(U32(late), Mem{Base: k.p, Disp: offRest})
	Label("loop")
	row := func(i int) Mem {
		switch i {
		case 7:
			return Mem{Base: pa7}
		case 1, 2, 4:
			return Mem{Base: pa, Index: rs, Scale: uint8(i)}
		case 3, 6:
			return Mem{Base: pa, Index: rs3, Scale: uint8(i / 3)}
		case 5:
			return Mem{Base: pa, Index: rs5, Scale: 1}
		}
		return Mem{Base: pa}
	}
	if k.native {
		k.dots(row, pb)
	} else {
		k.adds(row, pb)
	}
	PREFETCHT0(Mem{Base: ahead})
	PREFETCHT0(Mem{Base: ahead, Disp: 64})
	ADDQ(step, ahead)
	ADDQ(U32(128), pb)
	ADDQ(U8(4), pa)
	if pa7 != nil {
		ADDQ(U8(4), pa7)
	}
	DECQ(n)
	JNE(LabelRef("loop"))
	k.p = Load(Param("p"), GP64()).(gp)
	MOVQ(Mem{Base: k.p, Disp: offRest}, n)
	TESTQ(n, n)
	JE(LabelRef("store"))
	MOVQ(U32(0), Mem{Base: k.p, Disp: offRest})
	MOVQ(ahead, Mem{Base: k.p, Disp: offAhead})
	k.fetchC(0, 2*k.mr, PREFETCHT0)
	JMP(LabelRef("loop"))

	Label("store")
	k.finish()
	for range k.mr {
		ADDQ(rs, a)
	}
	DECQ(tiles)
	JNE(LabelRef("tile"))
	if !k.native {
		k.p = Load(Param("p"), GP64()).(gp)
		LDMXCSR(Mem{Base: k.p, Disp: offOld})
	}
	VZEROUPPER()
	RET()
}

// dots is a step by VDPBF16PS.
func (k *kernel) dots(row func(int) Mem, pb gp) {
	for j := range 2 {
		VMOVDQU32(Mem{Base: pb, Disp: 64 * j}, fixed(16+j))
	}
	for i := range k.mr {
		VPBROADCASTD(row(i), fixed(18+i))
		for j := range 2 {
			dot(18+i, 16+j, 2*i+j)
		}
	}
}

// adds is a step by fused multiply-adds.
func (k *kernel) adds(row func(int) Mem, pb gp) {
	odd := asm.Bits(0xffff0000)
	var b [2][2]reg.VecVirtual // odd, even
	for j := range 2 {
		w := k.isa.Vec()
		VMOVUPS(Mem{Base: pb, Disp: 4 * j * k.isa.Lanes}, w)
		b[0][j], b[1][j] = k.isa.And(w, odd), k.isa.ShiftLeft(w, 16)
	}
	for i := range k.mr {
		w := k.isa.Vec()
		VPBROADCASTD(row(i), w)
		for half, x := range []reg.VecVirtual{k.isa.And(w, odd), k.isa.ShiftLeft(w, 16)} {
			for j := range 2 {
				VFMADD231PS(b[half][j], x, k.acc[i][j])
			}
		}
	}
}

// masks prepares the masks of the columns.
func (k *kernel) masks() {
	if k.isa == asm.AVX2 {
		bits, all := YMM(), YMM()
		VMOVDQU(lanes(), bits)
		VPBROADCASTD(Mem{Base: k.p, Disp: offMask}, all)
		for j := range 2 {
			m := YMM()
			if j > 0 {
				VPSRLD(U8(8), all, all)
			}
			VPAND(bits, all, m)
			VPCMPEQD(bits, m, m)
			k.maskY[j] = m
		}
		return
	}
	m := GP32()
	MOVL(Mem{Base: k.p, Disp: offMask}, m)
	for j := range 2 {
		k.maskZ[j] = K()
		KMOVW(m, k.maskZ[j])
		SHRL(U8(16), m)
	}
}

var laneBits Mem

// lanes is 1, 2, 4, ... 128.
func lanes() Mem {
	if laneBits.Symbol.Name == "" {
		laneBits = asm.Words("pairLanes", 1, 2, 4, 8, 16, 32, 64, 128)
	}
	return laneBits
}

// fetchC fetches rows lo to hi of c, where the first is the tile's.
func (k *kernel) fetchC(lo, hi int, fetch func(Op)) {
	c := GP64()
	MOVQ(k.c, c)
	for i := range hi {
		if i >= lo {
			fetch(Mem{Base: c})
			fetch(Mem{Base: c, Disp: 8*k.isa.Lanes - 4})
		}
		if i < hi-1 {
			ADDQ(k.ldc, c)
		}
	}
}

// start fills the sums with zeros, or with c.
func (k *kernel) start() {
	CMPL(Mem{Base: k.p, Disp: offLoad}, U8(0))
	JNE(LabelRef("load"))
	for _, row := range k.acc {
		for _, v := range row {
			if k.isa == asm.AVX512 {
				VPXORD(v, v, v)
			} else {
				VXORPS(v, v, v)
			}
		}
	}
	JMP(LabelRef("go"))
	Label("load")
	pc := GP64()
	MOVQ(k.c, pc)
	for _, row := range k.acc {
		for j, v := range row {
			m := Mem{Base: pc, Disp: 4 * j * k.isa.Lanes}
			if k.isa == asm.AVX512 {
				VMOVUPS_Z(m, k.maskZ[j], v)
			} else {
				VMASKMOVPS(m, k.maskY[j], v)
			}
		}
		ADDQ(k.ldc, pc)
	}
	Label("go")
}

// finish stores the sums and moves c to the next tile.
func (k *kernel) finish() {
	for _, row := range k.acc {
		for j, v := range row {
			m := Mem{Base: k.c, Disp: 4 * j * k.isa.Lanes}
			if k.isa == asm.AVX512 {
				VMOVUPS(v, k.maskZ[j], m)
			} else {
				VMASKMOVPS(v, k.maskY[j], m)
			}
		}
		ADDQ(k.ldc, k.c)
	}
}

// round rounds numbers to the nearest bfloat16, ties to even; a NaN becomes a
// quiet one.
func round(i asm.ISA) {
	name := "roundHalf" + i.Suffix
	TEXT(name, NOSPLIT, "func(dst *uint16, src *float32, n int)")
	Pragma("noescape")
	Doc(name + " rounds n numbers, a multiple of a vector, to bfloat16.")
	dst, src, n := Load(Param("dst"), GP64()), Load(Param("src"), GP64()), Load(Param("n"), GP64())
	Label("loop")
	CMPQ(n, U8(uint8(i.Lanes)))
	JL(LabelRef("done"))
	x := i.Copy(Mem{Base: src})
	up := i.ShiftRight(x, 16)
	if i.Lanes == 16 {
		VPANDD(asm.Bits(1), up, up)
	} else {
		VPAND(asm.Bits(1), up, up)
	}
	y := i.AddInt(i.AddInt(x, asm.Bits(0x7fff)), up)
	quiet := i.Or(x, asm.Bits(0x400000))
	y = i.ShiftRight(i.Blend(i.Cmp(asm.NaN, x, x), y, quiet), 16)
	if i.Lanes == 16 {
		VPMOVDW(y, Mem{Base: dst})
	} else {
		lo, hi := XMM(), XMM()
		VMOVUPS(y.AsX(), lo)
		VEXTRACTI128(U8(1), y, hi)
		VPACKUSDW(hi, lo, lo)
		VMOVDQU(lo, Mem{Base: dst})
	}
	ADDQ(U8(uint8(4*i.Lanes)), src)
	ADDQ(U8(uint8(2*i.Lanes)), dst)
	SUBQ(U8(uint8(i.Lanes)), n)
	JMP(LabelRef("loop"))
	Label("done")
	VZEROUPPER()
	RET()
}
