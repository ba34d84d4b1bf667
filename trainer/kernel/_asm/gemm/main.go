// Command gemm generates the inner loops of the matrix product.
//
// Every kernel computes tiles of mr rows by up to 32 columns over k steps:
//
//	for each tile: acc = 0 or c; for each l: acc[i][j] = fma(a[i][l], b[l][j], acc[i][j]); c = acc
//
// so that an element of c is one chain of fused multiply-adds over ascending l.
// The steps of a along rows and along l and of b along l are arguments: packed
// and plain operands, transposed or not, take the same loop. Packed b has whole
// vectors, so that only c is masked where columns are missing: a masked load of b
// takes the multiply-adds' place. The layout of the argument block is the struct
// call in package gemm. With -half, b is bfloat16.
package main

import (
	"flag"
	"fmt"

	"espalier/trainer/kernel/_asm/asm"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Offsets in the argument block.
const (
	offK      = 0
	offTiles  = 8
	offA      = 16
	offRS     = 24
	offCS     = 32
	offB      = 40
	offLDB    = 48
	offC      = 56
	offLDC    = 64
	offStep   = 72
	offMask   = 80
	offLoad   = 84
	offAhead  = 88
	offStride = 96
	offAtA    = 104
	offNextA  = 112
	offRest   = 120
	offFar    = 128
	offFarLD  = 136
	offFarN   = 144
)

// Of at least long steps, the last late ones come after c has been fetched for
// the store and for the next tile: fetched earlier it would be gone again.
const (
	late = 16
	long = 96
)

func main() {
	ConstraintExpr("!purego")
	half := flag.Bool("half", false, "b is bfloat16")
	flag.Parse()
	for mr := 1; mr <= 8; mr++ {
		(&kernel{isa: asm.AVX512, mr: mr, vecs: 2, masked: true, half: *half}).emit()
		if !*half {
			(&kernel{isa: asm.AVX512, mr: mr, vecs: 2, masked: true, plain: true}).emit()
		}
	}
	for mr := 1; mr <= 3; mr++ {
		(&kernel{isa: asm.AVX512, mr: mr, vecs: 8, half: *half}).emit()
	}
	for mr := 4; mr <= 6; mr++ {
		(&kernel{isa: asm.AVX512, mr: mr, vecs: 4, half: *half}).emit()
	}
	for mr := 1; mr <= 6; mr++ {
		(&kernel{isa: asm.AVX2, mr: mr, vecs: 2, half: *half}).emit()
		(&kernel{isa: asm.AVX2, mr: mr, vecs: 1, masked: true, half: *half}).emit()
	}
	for mr := 1; mr <= 3; mr++ {
		(&kernel{isa: asm.AVX2, mr: mr, vecs: 4, half: *half}).emit()
	}
	Generate()
}

// A kernel is one inner loop.
type kernel struct {
	isa    asm.ISA
	mr     int
	vecs   int  // vectors in a row of the tile
	masked bool // columns may be missing
	plain  bool // and b ends with them
	half   bool // b is bfloat16, packed: widened as it is loaded

	acc       [][]reg.VecVirtual
	p, c, ldc reg.GPVirtual
	maskZ     []reg.OpmaskVirtual // AVX-512
	maskY     reg.VecVirtual      // AVX2
	step      reg.GPVirtual
	step3     reg.GPVirtual
}

func (k *kernel) emit() {
	name := "gemm"
	switch {
	case k.half:
		name = "half"
	case k.plain:
		name = "edge"
	}
	name = fmt.Sprintf("%s%dx%d%s", name, k.mr, k.vecs*k.isa.Lanes, k.isa.Suffix)
	TEXT(name, NOSPLIT, "func(p *byte)")
	Pragma("noescape")
	Doc(fmt.Sprintf("%s computes tiles of %d rows by %d columns.", name, k.mr, k.vecs*k.isa.Lanes))
	k.p = Load(Param("p"), GP64()).(reg.GPVirtual)
	k.c, k.ldc = k.arg(offC), k.arg(offLDC)
	rs, cs, ldb := k.arg(offRS), k.arg(offCS), k.arg(offLDB)
	var rs3, rs5 reg.GPVirtual
	if k.mr >= 3 {
		rs3 = GP64()
		LEAQ(Mem{Base: rs, Index: rs, Scale: 2}, rs3)
	}
	if k.mr >= 5 {
		rs5 = GP64()
		LEAQ(Mem{Base: rs, Index: rs, Scale: 4}, rs5)
	}
	if k.vecs*k.isa.Lanes > 32 {
		k.step = k.arg(offStep)
		k.step3 = GP64()
		LEAQ(Mem{Base: k.step, Index: k.step, Scale: 2}, k.step3)
	}
	k.masks()
	k.acc = make([][]reg.VecVirtual, k.mr)
	for i := range k.acc {
		k.acc[i] = make([]reg.VecVirtual, k.vecs)
		for j := range k.acc[i] {
			k.acc[i][j] = k.isa.Vec()
		}
	}

	Label("tile")
	k.p = Load(Param("p"), GP64()).(reg.GPVirtual)
	k.start()
	pa, pb, n := GP64(), k.arg(offB), k.arg(offK)
	MOVQ(Mem{Base: k.p, Disp: offA}, pa)
	ADDQ(Mem{Base: k.p, Disp: offAtA}, pa)
	var ahead, stride reg.GPVirtual
	if k.prefetches() {
		k.far()
		ahead, stride = k.ahead()
	}
	var pa7 reg.GPVirtual
	if k.mr > 7 { // row 7
		pa7 = GP64()
		LEAQ(Mem{Base: pa, Index: rs, Scale: 8}, pa7)
		SUBQ(rs, pa7)
	}
	TESTQ(n, n)
	JE(LabelRef("store"))
	step := func() {
		k.inner(pa, pa7, rs, rs3, rs5, pb)
		if ahead != nil {
			PREFETCHT0(Mem{Base: ahead})
			PREFETCHT0(Mem{Base: ahead, Disp: 64})
			ADDQ(stride, ahead)
		}
		ADDQ(ldb, pb)
		ADDQ(cs, pa)
		if pa7 != nil {
			ADDQ(cs, pa7)
		}
	}
	if !k.prefetches() {
		Label("loop")
		step()
		DECQ(n)
		JNE(LabelRef("loop"))
	} else {
		CMPQ(n, U8(long))
		JL(LabelRef("loop"))
		SUBQ(U8(late), n)
		MOVQ(U32(late), Mem{Base: k.p, Disp: offRest})

		Label("loop")
		step()
		DECQ(n)
		JNE(LabelRef("loop"))
		Load(Param("p"), n) // n is 0 and may point meanwhile
		CMPQ(Mem{Base: n, Disp: offRest}, U8(0))
		JE(LabelRef("store"))
		MOVQ(U32(0), Mem{Base: n, Disp: offRest})
		MOVQ(ahead, Mem{Base: n, Disp: offAhead})
		MOVQ(k.c, n)
		for i := range 2 * k.mr {
			PREFETCHT0(Mem{Base: n})
			PREFETCHT0(Mem{Base: n, Disp: k.vecs*k.isa.Lanes*4 - 4})
			if i < 2*k.mr-1 {
				ADDQ(k.ldc, n)
			}
		}
		MOVQ(U32(late), n)
		JMP(LabelRef("loop"))
	}

	Label("store")
	k.finish()
	p, next := Load(Param("p"), GP64()).(reg.GPVirtual), GP64()
	MOVQ(Mem{Base: p, Disp: offNextA}, next)
	ADDQ(next, Mem{Base: p, Disp: offAtA})
	DECQ(Mem{Base: p, Disp: offTiles})
	JNE(LabelRef("tile"))
	VZEROUPPER()
	RET()
}

func (k *kernel) arg(off int) reg.GPVirtual {
	r := GP64()
	MOVQ(Mem{Base: k.p, Disp: off}, r)
	return r
}

// row is the place of row i of a.
func row(a, a7, rs, rs3, rs5 reg.GPVirtual, i int) Mem {
	switch i {
	case 7:
		return Mem{Base: a7}
	case 1, 2, 4:
		return Mem{Base: a, Index: rs, Scale: uint8(i)}
	case 3, 6:
		return Mem{Base: a, Index: rs3, Scale: uint8(i / 3)}
	case 5:
		return Mem{Base: a, Index: rs5, Scale: 1}
	}
	return Mem{Base: a}
}

// masks prepares the masks of the columns from the bits of the argument.
func (k *kernel) masks() {
	if !k.masked {
		return
	}
	if k.isa == asm.AVX2 {
		k.maskY = YMM()
		bits := YMM()
		VMOVDQU(laneBits(), bits)
		VPBROADCASTD(Mem{Base: k.p, Disp: offMask}, k.maskY)
		VPAND(bits, k.maskY, k.maskY)
		VPCMPEQD(bits, k.maskY, k.maskY)
		return
	}
	m := GP32()
	MOVL(Mem{Base: k.p, Disp: offMask}, m)
	for range k.vecs {
		r := K()
		KMOVW(m, r)
		SHRL(U8(16), m)
		k.maskZ = append(k.maskZ, r)
	}
}

var lanes Mem

// laneBits is 1, 2, 4, ... 128.
func laneBits() Mem {
	if lanes.Base == nil && lanes.Symbol.Name == "" {
		lanes = asm.Words("lanes", 1, 2, 4, 8, 16, 32, 64, 128)
	}
	return lanes
}

// at is the place of vector j of a row of b that starts at base.
func (k *kernel) at(base reg.GPVirtual, j int) Mem {
	lanes, size := k.isa.Lanes, 4
	if k.half {
		size = 2
	}
	if panel := j * lanes / 32; panel > 0 {
		m := Mem{Base: base, Index: k.step, Scale: uint8(panel), Disp: j * lanes % 32 * size}
		if panel == 3 {
			m.Index, m.Scale = k.step3, 1
		}
		return m
	}
	return Mem{Base: base, Disp: j * lanes * size}
}

// loadB loads vector j of a row of b.
func (k *kernel) loadB(base reg.GPVirtual, j int) reg.VecVirtual {
	b := k.isa.Vec()
	if k.half {
		VPMOVZXWD(k.at(base, j), b)
		VPSLLD(U8(16), b, b)
	} else if k.plain || k.maskY != nil {
		k.loadVec(k.at(base, j), b, j)
	} else {
		VMOVUPS(k.at(base, j), b)
	}
	return b
}

// prefetches reports whether the loop is long enough to fetch ahead.
func (k *kernel) prefetches() bool { return k.vecs == 2 && k.mr > 3 }

// ahead fetches the next tile's part of c as far as the second-level cache and
// returns where b is fetched from as the loop goes on, and by which stride.
func (k *kernel) ahead() (p, stride reg.GPVirtual) {
	c := GP64()
	IMUL3Q(U8(uint8(k.mr)), k.ldc, c)
	ADDQ(k.c, c)
	for i := range k.mr {
		PREFETCHT1(Mem{Base: c})
		PREFETCHT1(Mem{Base: c, Disp: k.vecs*k.isa.Lanes*4 - 4})
		if i < k.mr-1 {
			ADDQ(k.ldc, c)
		}
	}
	p, stride = GP64(), GP64()
	MOVQ(Mem{Base: k.p, Disp: offAhead}, p)
	MOVQ(Mem{Base: k.p, Disp: offStride}, stride)
	return p, stride
}

// far fetches what the argument block names beside the operands, some rows of
// 256 bytes with each tile.
func (k *kernel) far() {
	const most = 4
	rows, from := k.arg(offFarN), GP64()
	TESTQ(rows, rows)
	JE(LabelRef("near"))
	MOVQ(Mem{Base: k.p, Disp: offFar}, from)
	for r := range most {
		if r > 0 {
			ADDQ(Mem{Base: k.p, Disp: offFarLD}, from)
			DECQ(rows)
			JE(LabelRef("fetched"))
		}
		for at := 0; at < 256; at += 64 {
			PREFETCHT1(Mem{Base: from, Disp: at})
		}
	}
	ADDQ(Mem{Base: k.p, Disp: offFarLD}, from)
	DECQ(rows)
	Label("fetched")
	MOVQ(from, Mem{Base: k.p, Disp: offFar})
	MOVQ(rows, Mem{Base: k.p, Disp: offFarN})
	Label("near")
}

// start fills the accumulators with zeros, or with c.
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
	for i, row := range k.acc {
		for j, v := range row {
			k.loadVec(Mem{Base: pc, Disp: j * k.isa.Lanes * 4}, v, j)
		}
		if i < k.mr-1 {
			ADDQ(k.ldc, pc)
		}
	}
	Label("go")
}

func (k *kernel) loadVec(m Mem, v reg.VecVirtual, j int) {
	switch {
	case k.maskZ != nil:
		VMOVUPS_Z(m, k.maskZ[j], v)
	case k.maskY != nil:
		VMASKMOVPS(m, k.maskY, v)
	default:
		VMOVUPS(m, v)
	}
}

// inner is one step of k.
func (k *kernel) inner(pa, pa7, rs, rs3, rs5, pb reg.GPVirtual) {
	if k.mr == 1 && k.maskZ == nil && k.maskY == nil && !k.half {
		x := k.isa.Vec()
		VBROADCASTSS(Mem{Base: pa}, x)
		for j, v := range k.acc[0] {
			VFMADD231PS(k.at(pb, j), x, v)
		}
		return
	}
	if k.vecs > 2 { // many columns, few rows: a stays in registers
		var xs []reg.VecVirtual
		for i := range k.mr {
			x := k.isa.Vec()
			VBROADCASTSS(row(pa, pa7, rs, rs3, rs5, i), x)
			xs = append(xs, x)
		}
		for j := range k.vecs {
			b := k.loadB(pb, j)
			for i, x := range xs {
				VFMADD231PS(b, x, k.acc[i][j])
			}
		}
		return
	}
	var bs []reg.VecVirtual
	for j := range k.vecs {
		bs = append(bs, k.loadB(pb, j))
	}
	for i := range k.mr {
		x := k.isa.Vec()
		VBROADCASTSS(row(pa, pa7, rs, rs3, rs5, i), x)
		for j, b := range bs {
			VFMADD231PS(b, x, k.acc[i][j])
		}
	}
}

// finish stores the accumulators and moves c to the next tile.
func (k *kernel) finish() {
	for _, row := range k.acc {
		for j, v := range row {
			m := Mem{Base: k.c, Disp: j * k.isa.Lanes * 4}
			switch {
			case k.maskZ != nil:
				VMOVUPS(v, k.maskZ[j], m)
			case k.maskY != nil:
				VMASKMOVPS(v, k.maskY, m)
			default:
				VMOVUPS(v, m)
			}
		}
		ADDQ(k.ldc, k.c)
	}
}
