// Command runes generates what tells whether bytes are UTF-8, by J. Keiser and
// D. Lemire, Validating UTF-8 in less than one instruction per byte (2021): each
// byte and the one before it are looked up by half bytes, and a bit that all three
// tables have names what is wrong with the two.
package main

import (
	"strings"

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

// A checker has what the functions of a file share: tables, and constants in all
// bytes.
type checker struct {
	tables                  [3]Mem
	low, third, fourth, top Mem
	quote, escape, control  Mem
	keep                    Mem // 32 bytes of ones, then as many of zeros

	table      [3]reg.VecVirtual
	lows, tops reg.VecVirtual
}

func main() {
	ConstraintExpr("!purego")
	c := &checker{
		tables: [3]Mem{twice("firstHigh", firstHigh), twice("firstLow", firstLow), twice("secondHigh", secondHigh)},
		low:    all("low", 0x0f), third: all("third", 0xe0-0x80), fourth: all("fourth", 0xf0-0x80), top: all("top", 0x80),
		quote: all("quote", '"'), escape: all("escape", '\\'), control: all("control", 0x1f),
	}
	c.keep = GLOBL("keep", RODATA|NOPTR)
	DATA(0, String(strings.Repeat("\xff", 32)+strings.Repeat("\x00", 32)))
	c.blocks("validAVX2", "validAVX2 returns how many of n bytes, in blocks of 32, hold nothing that is not UTF-8, but for a rune that may end early.", false)
	c.blocks("plainAVX2", "plainAVX2 is validAVX2 for texts without quotes, backslashes and control characters. Before the first of those it may end within a block.", true)
	c.short()
	Generate()
}

// begin loads what stays in registers.
func (c *checker) begin() {
	for i := range c.tables {
		c.table[i] = YMM()
		VMOVDQU(c.tables[i], c.table[i])
	}
	c.lows, c.tops = YMM(), YMM()
	VMOVDQU(c.low, c.lows)
	VMOVDQU(c.top, c.tops)
}

// blocks generates what looks at block after block.
func (c *checker) blocks(name, doc string, plain bool) {
	TEXT(name, NOSPLIT, "func(b *byte, n int) int")
	Doc(doc)
	Pragma("noescape")
	b, n := Load(Param("b"), GP64()), Load(Param("n"), GP64())
	c.begin()
	before := YMM()
	VPXOR(before, before, before)
	done := GP64()
	XORQ(done, done)
	SUBQ(Imm(32), n)
	loop, end, ends := name+"_loop", name+"_end", name+"_ends"
	Label(loop)
	CMPQ(done, n)
	JGT(LabelRef(end))
	x := YMM()
	VMOVDQU(Mem{Base: b, Index: done, Scale: 1}, x)
	found := YMM()
	if plain {
		t := YMM()
		VPCMPEQB(c.quote, x, found)
		VPCMPEQB(c.escape, x, t)
		VPOR(t, found, found)
		VPMINUB(c.control, x, t)
		VPCMPEQB(t, x, t)
		VPOR(t, found, found)
	}
	wrong := c.wrong(x, before)
	if plain {
		bad := YMM()
		VPOR(wrong, found, bad)
		VPTEST(bad, bad)
		JNZ(LabelRef(ends))
	} else {
		VPTEST(wrong, wrong)
		JNZ(LabelRef(end))
	}
	VMOVDQA(x, before)
	ADDQ(Imm(32), done)
	JMP(LabelRef(loop))
	if plain {
		// Up to what was found, that included, nothing may be wrong: a rune that it
		// cuts is.
		Label(ends)
		at, zero, right := GP32(), YMM(), GP32()
		VPMOVMSKB(found, at)
		TESTL(at, at)
		JZ(LabelRef(end))
		VPXOR(zero, zero, zero)
		VPCMPEQB(zero, wrong, zero)
		VPMOVMSKB(zero, right)
		NOTL(right)
		upTo := GP32()
		MOVL(at, upTo)
		DECL(upTo)
		XORL(at, upTo) // the lowest bit and those below it
		TESTL(right, upTo)
		JNZ(LabelRef(end))
		BSFL(at, at)
		ADDQ(at.As64(), done)
	}
	Label(end)
	VZEROUPPER()
	Store(done, ReturnIndex(0))
	RET()
}

// short generates what looks at fewer than 32 bytes.
func (c *checker) short() {
	TEXT("shortAVX2", NOSPLIT, "func(b *byte, n int) bool")
	Doc("shortAVX2 reports whether n bytes are UTF-8, fewer than 32 of them. It reads 32, all on one page of memory.")
	Pragma("noescape")
	b, n := Load(Param("b"), GP64()), Load(Param("n"), GP64())
	c.begin()
	x, before := YMM(), YMM()
	VMOVDQU(Mem{Base: b}, x)
	keep := GP64()
	LEAQ(c.keep, keep)
	ADDQ(Imm(32), keep)
	SUBQ(n, keep)
	VPAND(Mem{Base: keep}, x, x) // zeros follow, so that no rune ends early
	VPXOR(before, before, before)
	wrong := c.wrong(x, before)
	VPTEST(wrong, wrong)
	VZEROUPPER()
	ok := GP8()
	SETEQ(ok)
	Store(ok, ReturnIndex(0))
	RET()
}

// wrong tells which bytes of x, behind those before it, are not UTF-8.
func (c *checker) wrong(x, before reg.VecVirtual) reg.VecVirtual {
	// The bytes one, two and three before each.
	across := YMM()
	VPERM2I128(Imm(0x21), x, before, across)
	one, two, three := YMM(), YMM(), YMM()
	VPALIGNR(Imm(15), across, x, one)
	VPALIGNR(Imm(14), across, x, two)
	VPALIGNR(Imm(13), across, x, three)
	half, wrong, t := YMM(), YMM(), YMM()
	VPSRLW(Imm(4), one, half)
	VPAND(c.lows, half, half)
	VPSHUFB(half, c.table[0], wrong)
	VPAND(c.lows, one, half)
	VPSHUFB(half, c.table[1], t)
	VPAND(t, wrong, wrong)
	VPSRLW(Imm(4), x, half)
	VPAND(c.lows, half, half)
	VPSHUFB(half, c.table[2], t)
	VPAND(t, wrong, wrong)
	// The third and fourth bytes of a rune follow one that follows.
	VPSUBUSB(c.third, two, two)
	VPSUBUSB(c.fourth, three, three)
	VPOR(three, two, two)
	VPAND(c.tops, two, two)
	VPXOR(two, wrong, wrong)
	return wrong
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
