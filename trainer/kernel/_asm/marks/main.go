// Command marks generates what finds the structure of JSON.
package main

import (
	"bytes"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func main() {
	ConstraintExpr("!purego")
	quotes, escapes, blanks := all("quotes", '"'), all("escapes", '\\'), all("blanks", ' ')
	opens, ends := all("opens", '{'), all("ends", '}')

	TEXT("marksAVX2", NOSPLIT, "func(b *[64]byte) (quote, escape, open, end uint64)")
	Doc("marksAVX2 tells the quotes, backslashes, opening and closing brackets of b.")
	b := Mem{Base: Load(Param("b"), GP64())}
	x := []reg.VecVirtual{YMM(), YMM()}
	for i := range x {
		VMOVDQU(b.Offset(32*i), x[i])
	}
	found := func(c Mem, name string) {
		var half [2]reg.GPVirtual
		for i := range x {
			y := YMM()
			VPCMPEQB(c, x[i], y)
			half[i] = GP64()
			VPMOVMSKB(y, half[i].As32())
		}
		SHLQ(Imm(32), half[1])
		ORQ(half[1], half[0])
		Store(half[0], Return(name))
	}
	found(quotes, "quote")
	found(escapes, "escape")
	// The brackets of a kind differ in the bit of a blank.
	for i := range x {
		VPOR(blanks, x[i], x[i])
	}
	found(opens, "open")
	found(ends, "end")
	VZEROUPPER()
	RET()
	Generate()
}

// all returns a vector of equal bytes.
func all(name string, c byte) Mem {
	m := GLOBL(name, RODATA|NOPTR)
	DATA(0, String(bytes.Repeat([]byte{c}, 32)))
	return m
}
