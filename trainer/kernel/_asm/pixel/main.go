// Command pixel generates loops over the bytes of pictures.
package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"espalier/trainer/kernel/_asm/asm"
)

func main() {
	ConstraintExpr("!purego")
	inverse()
	double(true)
	double(false)
	colours()
	across()
	down()
	Generate()
}

// begin starts a function and loads its arguments.
func begin(name, doc, signature string, args ...string) map[string]reg.GPVirtual {
	TEXT(name+"AVX2", NOSPLIT, "func("+signature+")")
	Pragma("noescape")
	Doc(name + "AVX2 " + doc)
	regs := map[string]reg.GPVirtual{}
	for _, a := range args {
		regs[a] = Load(Param(a), GP64()).(reg.GPVirtual)
	}
	return regs
}

// overlapped emits body for places from, from+step, ... to, of which to is the
// last; from is not above to.
func overlapped(at, to reg.GPVirtual, step int, body func()) {
	Label("loop")
	body()
	CMPQ(at, to)
	JGE(LabelRef("done"))
	ADDQ(U32(uint32(step)), at)
	CMPQ(at, to)
	CMOVQGT(to, at)
	JMP(LabelRef("loop"))
	Label("done")
	VZEROUPPER()
	RET()
}

var tables int

// repeated is a constant of bytes, repeated to 32.
func repeated(b ...byte) Mem {
	tables++
	m := GLOBL(fmt.Sprintf("bytes%d", tables), RODATA|NOPTR)
	for i := range 32 {
		DATA(i, U8(b[i%len(b)]))
	}
	return m
}

// words is a constant of 16-bit words, repeated to 32 bytes.
func words(w ...int) Mem {
	var b []byte
	for _, v := range w {
		b = append(b, byte(v), byte(v>>8))
	}
	return repeated(b...)
}

// double emits the inside of a row of doubled width. Both: two rows weigh 3 to
// 1, and sums are of 16 parts; else one row, and of 4.
func double(both bool) {
	name, doc, sig := "doubleRow", "doubles the inside of a row.", "out, s *byte, n int"
	args := []string{"out", "s", "n"}
	if both {
		name, doc, sig = "doubleRows", "doubles the inside of a row between two.", "out, s, near *byte, n int"
		args = append(args, "near")
	}
	a := begin(name, doc, sig, args...)
	at, last := GP64(), a["n"]
	SUBQ(U8(17), last)
	MOVQ(U32(1), at)
	even, odd, shift := words(1), words(2), uint8(2)
	if both {
		even, odd, shift = words(8), words(7), 4
	}
	evens, odds := YMM(), YMM()
	VMOVDQU(even, evens)
	VMOVDQU(odd, odds)
	overlapped(at, last, 16, func() {
		var c [3]reg.VecVirtual
		for i := range c {
			place := Mem{Base: a["s"], Index: at, Scale: 1, Disp: i - 1}
			c[i] = YMM()
			VPMOVZXBW(place, c[i])
			if both {
				place.Base = a["near"]
				t := YMM()
				VPMOVZXBW(place, t)
				VPADDW(c[i], t, t)
				VPADDW(c[i], c[i], c[i])
				VPADDW(c[i], t, c[i])
			}
		}
		three := YMM()
		VPADDW(c[1], c[1], three)
		VPADDW(c[1], three, three)
		VPADDW(three, c[0], c[0])
		VPADDW(three, c[2], c[2])
		VPADDW(evens, c[0], c[0])
		VPADDW(odds, c[2], c[2])
		VPSRLW(U8(shift), c[0], c[0])
		VPSRLW(U8(shift), c[2], c[2])
		VPSLLW(U8(8), c[2], c[2])
		VPOR(c[0], c[2], c[2])
		VMOVDQU(c[2], Mem{Base: a["out"], Index: at, Scale: 2})
	})
}

// colours emits luma and chroma to red, green and blue: y plus the nearest
// number to 1.402 r and so on, with factors of 16 fractional bits.
func colours() {
	a := begin("colours", "fills out with red, green and blue.", "out, y, b, r *byte, n int", "out", "y", "b", "r", "n")
	at, last := GP64(), a["n"]
	XORQ(at, at)
	SUBQ(U8(16), last)
	bias, kr, kb, kg := words(128), words(26345), words(-14942), words(-22554, 18734)
	half := repeated(0, 0x80, 0, 0)
	var spread [3][3]Mem
	for part := range 3 {
		for c := range 3 {
			var b [16]byte
			for i := range b {
				b[i] = 0x80
				if p := 16*part + i; p%3 == c {
					b[i] = byte(p / 3)
				}
			}
			spread[part][c] = repeated(b[:]...)
		}
	}
	overlapped(at, last, 16, func() {
		load := func(from string) reg.VecVirtual {
			v := YMM()
			VPMOVZXBW(Mem{Base: a[from], Index: at, Scale: 1}, v)
			return v
		}
		y, b, r := load("y"), load("b"), load("r")
		VPSUBW(bias, b, b)
		VPSUBW(bias, r, r)
		// scaled is (k*x + 2^15) >> 16.
		scaled := func(x reg.VecVirtual, k Mem) reg.VecVirtual {
			high, low := YMM(), YMM()
			VPMULHW(k, x, high)
			VPMULLW(k, x, low)
			VPSRLW(U8(15), low, low)
			VPADDW(low, high, high)
			return high
		}
		red, blue := scaled(r, kr), scaled(b, kb)
		VPADDW(r, red, red)
		VPADDW(y, red, red)
		VPADDW(b, blue, blue)
		VPADDW(b, blue, blue)
		VPADDW(y, blue, blue)
		low, high := YMM(), YMM()
		VPUNPCKLWD(r, b, low)
		VPUNPCKHWD(r, b, high)
		for _, v := range []reg.VecVirtual{low, high} {
			VPMADDWD(kg, v, v)
			VPADDD(half, v, v)
			VPSRAD(U8(16), v, v)
		}
		green := YMM()
		VPACKSSDW(high, low, green)
		VPSUBW(r, green, green)
		VPADDW(y, green, green)
		var c [3]reg.VecVirtual
		for i, v := range []reg.VecVirtual{red, green, blue} {
			VPACKUSWB(v, v, v)
			VPERMQ(U8(0x88), v, v)
			c[i] = v
		}
		offset := GP64()
		LEAQ(Mem{Base: at, Index: at, Scale: 2}, offset)
		for part := range 3 {
			sum := XMM()
			VPSHUFB(spread[part][0], c[0].AsX(), sum)
			for i := 1; i < 3; i++ {
				t := XMM()
				VPSHUFB(spread[part][i], c[i].AsX(), t)
				VPOR(t, sum, sum)
			}
			VMOVDQU(sum, Mem{Base: a["out"], Index: offset, Scale: 1, Disp: 16 * part})
		}
	})
}

// across emits the resampling of a row of three-byte pixels, two taps at a
// time.
func across() {
	a := begin("across", "resamples a row of pixels of three bytes.", "out, row *byte, first, weight *int32, n, pairs int", "out", "row", "first", "weight", "n", "pairs")
	spread := repeated(0, 1, 2, 2, 3, 4, 5, 5)
	pixels, start := XMM(), XMM()
	VMOVDQU(spread, pixels)
	VMOVDQU(asm.Bits(1<<21), start)
	Label("output")
	in, left := GP64(), GP64()
	MOVLQSX(Mem{Base: a["first"]}, in)
	ADDQ(U8(4), a["first"])
	LEAQ(Mem{Base: in, Index: in, Scale: 2}, in)
	ADDQ(a["row"], in)
	MOVQ(a["pairs"], left)
	sum := YMM()
	VMOVDQA(start, sum.AsX()) // the upper half becomes 0
	Label("pair")
	v := YMM()
	VMOVQ(Mem{Base: in}, v.AsX())
	VPSHUFB(pixels, v.AsX(), v.AsX())
	VPMOVZXBD(v.AsX(), v)
	VPMULLD(Mem{Base: a["weight"]}, v, v)
	VPADDD(v, sum, sum)
	ADDQ(U8(6), in)
	ADDQ(U8(32), a["weight"])
	DECQ(left)
	JNZ(LabelRef("pair"))
	top := XMM()
	VEXTRACTI128(U8(1), sum, top)
	VPADDD(top, sum.AsX(), top)
	VPSRAD(U8(22), top, top)
	VPACKSSDW(top, top, top)
	VPACKUSWB(top, top, top)
	rgb := GP32()
	VMOVD(top, rgb)
	DECQ(a["n"])
	JZ(LabelRef("last"))
	MOVL(rgb, Mem{Base: a["out"]}) // the fourth byte is written again by the next
	ADDQ(U8(3), a["out"])
	JMP(LabelRef("output"))
	Label("last")
	MOVW(rgb.As16(), Mem{Base: a["out"]})
	SHRL(U8(16), rgb)
	MOVB(rgb.As8(), Mem{Base: a["out"], Disp: 2})
	VZEROUPPER()
	RET()
}

// down emits weighted sums of rows.
func down() {
	a := begin("down", "resamples columns.", "out, in *byte, stride int, weight *int32, taps, n int", "out", "in", "stride", "weight", "taps", "n")
	at, last := GP64(), a["n"]
	XORQ(at, at)
	SUBQ(U8(32), last)
	order := asm.Words("order", 0, 4, 1, 5, 2, 6, 3, 7)
	ordered := YMM()
	VMOVDQU(order, ordered)
	overlapped(at, last, 32, func() {
		var sum [4]reg.VecVirtual
		for i := range sum {
			sum[i] = YMM()
			VMOVDQU(asm.Bits(1<<21), sum[i])
		}
		in, tap := GP64(), GP64()
		LEAQ(Mem{Base: a["in"], Index: at, Scale: 1}, in)
		XORQ(tap, tap)
		Label("tap")
		w := YMM()
		VPBROADCASTD(Mem{Base: a["weight"], Index: tap, Scale: 4}, w)
		for i := range sum {
			v := YMM()
			VPMOVZXBD(Mem{Base: in, Disp: 8 * i}, v)
			VPMULLD(w, v, v)
			VPADDD(v, sum[i], sum[i])
		}
		ADDQ(a["stride"], in)
		INCQ(tap)
		CMPQ(tap, a["taps"])
		JNE(LabelRef("tap"))
		for i := range sum {
			VPSRAD(U8(22), sum[i], sum[i])
		}
		VPACKSSDW(sum[1], sum[0], sum[0])
		VPACKSSDW(sum[3], sum[2], sum[2])
		VPACKUSWB(sum[2], sum[0], sum[0])
		VPERMD(sum[0], ordered, sum[0])
		VMOVDQU(sum[0], Mem{Base: a["out"], Index: at, Scale: 1})
	})
}
