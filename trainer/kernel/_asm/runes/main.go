// Command runes generates what tells whether bytes are UTF-8, by J. Keiser and
// D. Lemire, Validating UTF-8 in less than one instruction per byte (2021): each
// byte and the one before it are looked up by half bytes, and a bit that all three
// tables have names what is wrong with the two.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// What may be wrong with two bytes.
const (
	short     = 1 << iota // a first byte and none that follows
	long                  // one that follows, and nothing before it
	overlong3             // E0 and less than A0
	large                 // F4 and more than 8F
	surrogate             // ED and more than 9F
	overlong2             // C0 or C1
	large1000             // F5 and more; overlong4 too, F0 and less than 90
	two                   // two that follow: right if a longer rune has begun
	overlong4 = large1000
	any       = short | long | two // of a first byte whose low half does not matter
)

var (
	firstHigh = [16]byte{
		long, long, long, long, long, long, long, long, two, two, two, two,
		short | overlong2, short, short | overlong3 | surrogate, short | large | large1000 | overlong4,
	}
	firstLow = [16]byte{
		any | overlong3 | overlong2 | overlong4, any | overlong2, any, any, any | large,
		any | large | large1000, any | large | large1000, any | large | large1000, any | large | large1000,
		any | large | large1000, any | large | large1000, any | large | large1000, any | large | large1000,
		any | large | large1000 | surrogate, any | large | large1000, any | large | large1000,
	}
	secondHigh = [16]byte{
		short, short, short, short, short, short, short, short,
		long | overlong2 | two | overlong3 | large1000 | overlong4,
		long | overlong2 | two | overlong3 | large,
		long | overlong2 | two | surrogate | large,
		long | overlong2 | two | surrogate | large,
		short, short, short, short,
	}
)

func main() {
	ConstraintExpr("!purego")
	tables := []Mem{twice("firstHigh", firstHigh), twice("firstLow", firstLow), twice("secondHigh", secondHigh)}
	low, third, fourth, top := all("low", 0x0f), all("third", 0xe0-0x80), all("fourth", 0xf0-0x80), all("top", 0x80)
	quote, escape, control := all("quote", '"'), all("escape", '\\'), all("control", 0x1f)
	for _, f := range []struct {
		name, doc string
		plain     bool
	}{
		{"validAVX2", "validAVX2 returns how many of n bytes, in blocks of 32, hold nothing that is not UTF-8, but for a rune that may end early.", false},
		{"plainAVX2", "plainAVX2 is validAVX2 for blocks without quotes, backslashes and control characters.", true},
	} {
		TEXT(f.name, NOSPLIT, "func(b *byte, n int) int")
		Doc(f.doc)
		Pragma("noescape")
		b, n := Load(Param("b"), GP64()), Load(Param("n"), GP64())
		var table [3]reg.VecVirtual
		for i := range tables {
			table[i] = YMM()
			VMOVDQU(tables[i], table[i])
		}
		lows, tops := YMM(), YMM()
		VMOVDQU(low, lows)
		VMOVDQU(top, tops)
		before := YMM()
		VPXOR(before, before, before)
		done := GP64()
		XORQ(done, done)
		SUBQ(Imm(32), n)
		loop, end := f.name+"_loop", f.name+"_end"
		Label(loop)
		CMPQ(done, n)
		JGT(LabelRef(end))
		x := YMM()
		VMOVDQU(Mem{Base: b, Index: done, Scale: 1}, x)
		bad := YMM()
		if f.plain {
			found, t := YMM(), YMM()
			VPCMPEQB(quote, x, found)
			VPCMPEQB(escape, x, t)
			VPOR(t, found, found)
			VPMINUB(control, x, t)
			VPCMPEQB(t, x, t)
			VPOR(t, found, found)
			VMOVDQA(found, bad)
		}
		// The bytes one, two and three before each.
		across := YMM()
		VPERM2I128(Imm(0x21), x, before, across)
		one, two, three := YMM(), YMM(), YMM()
		VPALIGNR(Imm(15), across, x, one)
		VPALIGNR(Imm(14), across, x, two)
		VPALIGNR(Imm(13), across, x, three)
		half, wrong, t := YMM(), YMM(), YMM()
		VPSRLW(Imm(4), one, half)
		VPAND(lows, half, half)
		VPSHUFB(half, table[0], wrong)
		VPAND(lows, one, half)
		VPSHUFB(half, table[1], t)
		VPAND(t, wrong, wrong)
		VPSRLW(Imm(4), x, half)
		VPAND(lows, half, half)
		VPSHUFB(half, table[2], t)
		VPAND(t, wrong, wrong)
		// The third and fourth bytes of a rune follow one that follows.
		VPSUBUSB(third, two, two)
		VPSUBUSB(fourth, three, three)
		VPOR(three, two, two)
		VPAND(tops, two, two)
		VPXOR(two, wrong, wrong)
		if f.plain {
			VPOR(bad, wrong, wrong)
		}
		VPTEST(wrong, wrong)
		JNZ(LabelRef(end))
		VMOVDQA(x, before)
		ADDQ(Imm(32), done)
		JMP(LabelRef(loop))
		Label(end)
		VZEROUPPER()
		Store(done, ReturnIndex(0))
		RET()
	}
	Generate()
}

// twice returns a table in both halves of a vector.
func twice(name string, t [16]byte) Mem {
	m := GLOBL(name, RODATA|NOPTR)
	DATA(0, String(string(t[:])+string(t[:])))
	return m
}

// all returns a vector of equal bytes.
func all(name string, c byte) Mem {
	m := GLOBL(name, RODATA|NOPTR)
	var v [32]byte
	for i := range v {
		v[i] = c
	}
	DATA(0, String(v[:]))
	return m
}
