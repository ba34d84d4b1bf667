// Command pack generates the loops that lay b out in panels of 32 columns.
package main

import (
	"espalier/trainer/kernel/_asm/asm"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func main() {
	ConstraintExpr("!purego")
	for _, isa := range []asm.ISA{asm.AVX512, asm.AVX2} {
		rows(isa)
		wide(isa)
		turn(isa)
	}
	fetchRows()
	Generate()
}

// rows copies k rows of 32 numbers, or of fewer.
func rows(isa asm.ISA) {
	for _, partly := range []bool{false, true} {
		name, signature, doc := "packRows", "func(dst, src *float32, ld, k int)", "copies k rows of 32 numbers, ld bytes apart, side by side, and fetches 8 rows ahead"
		if partly {
			name, signature, doc = "packPart", "func(dst, src *float32, ld, k, cols int)", "copies k rows of up to 32 numbers, ld bytes apart, 128 bytes apart"
		}
		TEXT(name+isa.Suffix, NOSPLIT, signature)
		Pragma("noescape")
		Doc(name + isa.Suffix + " " + doc + ". k is not 0.")
		dst, src := Load(Param("dst"), GP64()), Load(Param("src"), GP64())
		ld, k := Load(Param("ld"), GP64()), Load(Param("k"), GP64())
		ahead := GP64()
		LEAQ(Mem{Base: src, Index: ld, Scale: 8}, ahead)
		var masks []asm.Mask
		if partly {
			left := isa.Spread(Load(Param("cols"), GP64()).(reg.GPVirtual))
			for at := 0; at < 32; at += isa.Lanes {
				masks = append(masks, isa.First(left, at))
			}
		}
		Label("loop")
		PREFETCHT0(Mem{Base: ahead})
		PREFETCHT0(Mem{Base: ahead, Disp: 64})
		ADDQ(ld, ahead)
		for at := 0; at < 32; at += isa.Lanes {
			from := Mem{Base: src, Disp: 4 * at}
			v := isa.Vec()
			if partly {
				v = isa.LoadMasked(from, masks[at/isa.Lanes])
			} else {
				VMOVUPS(from, v)
			}
			VMOVUPS(v, Mem{Base: dst, Disp: 4 * at})
		}
		ADDQ(ld, src)
		ADDQ(U32(128), dst)
		DECQ(k)
		JNE(LabelRef("loop"))
		VZEROUPPER()
		RET()
	}
}

// wide copies k rows of four panels.
func wide(isa asm.ISA) {
	TEXT("packWide"+isa.Suffix, NOSPLIT, "func(dst, src *float32, ld, k, far, panel int)")
	Pragma("noescape")
	Doc("packWide" + isa.Suffix + " is packRows of four panels at once, panel bytes apart, while what lies far bytes ahead is fetched. k is not 0.")
	dst, src := Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	ld, k := Load(Param("ld"), GP64()), Load(Param("k"), GP64())
	far, panel := Load(Param("far"), GP64()), Load(Param("panel"), GP64())
	ahead, panel3 := GP64(), GP64()
	LEAQ(Mem{Base: src, Index: far, Scale: 1}, ahead)
	LEAQ(Mem{Base: panel, Index: panel, Scale: 2}, panel3)
	Label("loop")
	for p := range 4 {
		PREFETCHT0(Mem{Base: ahead, Disp: 128 * p})
		PREFETCHT0(Mem{Base: ahead, Disp: 128*p + 64})
		to := Mem{Base: dst}
		switch p {
		case 1, 2:
			to.Index, to.Scale = panel, uint8(p)
		case 3:
			to.Index, to.Scale = panel3, 1
		}
		for at := 0; at < 32; at += isa.Lanes {
			v := isa.Vec()
			VMOVUPS(Mem{Base: src, Disp: 128*p + 4*at}, v)
			to.Disp = 4 * at
			VMOVUPS(v, to)
		}
	}
	ADDQ(ld, src)
	ADDQ(ld, ahead)
	ADDQ(U32(128), dst)
	DECQ(k)
	JNE(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// turn transposes lanes columns, each contiguous, over blocks of lanes steps.
func turn(isa asm.ISA) {
	TEXT("packTurn"+isa.Suffix, NOSPLIT, "func(dst, src *float32, ld, cols, blocks int)")
	Pragma("noescape")
	Doc("packTurn" + isa.Suffix + " lays up to one vector of columns that are each contiguous, ld bytes apart, side by side, for blocks of as many steps; columns past cols repeat the last. As many columns further on are fetched. cols and blocks are not 0.")
	dst, src := Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	ld, n, cols := Load(Param("ld"), GP64()), Load(Param("blocks"), GP64()), Load(Param("cols"), GP64())
	p, step, zero, far := GP64(), GP64(), GP64(), GP64()
	XORQ(zero, zero)
	IMUL3Q(U8(uint8(isa.Lanes)), ld, far)
	Label("loop")
	MOVQ(src, p)
	MOVQ(ld, step)
	var r []reg.VecVirtual
	for i := range isa.Lanes {
		v := isa.Vec()
		VMOVUPS(Mem{Base: p}, v)
		PREFETCHT0(Mem{Base: p, Index: far, Scale: 1})
		CMPQ(cols, U8(uint8(i+1)))
		CMOVQEQ(zero, step)
		ADDQ(step, p)
		r = append(r, v)
	}
	for i, v := range asm.Transpose(isa, r) {
		VMOVUPS(v, Mem{Base: dst, Disp: 128 * i})
	}
	ADDQ(U32(uint32(4*isa.Lanes)), src)
	ADDQ(U32(uint32(128*isa.Lanes)), dst)
	DECQ(n)
	JNE(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// fetchRows fetches rows into the second-level cache.
func fetchRows() {
	TEXT("fetchRows", NOSPLIT, "func(x *float32, ld, rows, n int)")
	Pragma("noescape")
	Doc("fetchRows fetches rows of n numbers, ld bytes apart, into the second-level cache. Neither is 0.")
	x, ld, rows, n := Load(Param("x"), GP64()), Load(Param("ld"), GP64()), Load(Param("rows"), GP64()), Load(Param("n"), GP64())
	at := GP64()
	Label("row")
	XORQ(at, at)
	Label("line")
	PREFETCHT1(Mem{Base: x, Index: at, Scale: 4})
	ADDQ(U8(16), at)
	CMPQ(at, n)
	JL(LabelRef("line"))
	ADDQ(ld, x)
	DECQ(rows)
	JNE(LabelRef("row"))
	RET()
}
