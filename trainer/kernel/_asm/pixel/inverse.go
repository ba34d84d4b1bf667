package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"espalier/trainer/kernel/_asm/asm"
)

// Constants of the accurate integer transform, round(c * 2^13).
const (
	fix0298 = 2446
	fix0390 = 3196
	fix0541 = 4433
	fix0765 = 6270
	fix0899 = 7373
	fix1175 = 9633
	fix1501 = 12299
	fix1847 = 15137
	fix1961 = 16069
	fix2053 = 16819
	fix2562 = 20995
	fix3072 = 25172
)

// Pairs of factors, of the even part and of the odd one.
var (
	even2, even3              Mem
	low, high, o0, o1, o2, o3 Mem
)

// inverse emits the inverse transform of a block.
func inverse() {
	a := begin("inverse", "dequantises and transforms a block, and clears it.", "dst *byte, stride int, co, q *int16", "dst", "stride", "co", "q")
	even2 = words(fix0541, fix0541-fix1847)
	even3 = words(fix0541+fix0765, fix0541)
	low = words(fix1175-fix1961, fix1175)
	high = words(fix1175, fix1175-fix0390)
	o0 = words(fix0298-fix0899, -fix0899)
	o1 = words(fix2053-fix2562, -fix2562)
	o2 = words(-fix2562, fix3072-fix2562)
	o3 = words(-fix0899, fix1501-fix0899)

	row := func(p reg.GPVirtual, r int) Mem { return Mem{Base: p, Disp: 16 * r} }
	var x [8]reg.VecVirtual
	below := XMM()
	for r := range x {
		x[r] = XMM()
		VMOVDQU(row(a["co"], r), x[r])
		switch r {
		case 0:
		case 1:
			VMOVDQA(x[r], below)
		default:
			VPOR(x[r], below, below)
		}
	}
	zero := YMM()
	VPXOR(zero, zero, zero)
	for r := 0; r < 8; r += 2 {
		VMOVDQU(zero, row(a["co"], r))
	}
	for r := range x {
		VPMULLW(row(a["q"], r), x[r], x[r])
	}
	VPTEST(below, below)
	JZ(LabelRef("flat"))
	mid := packed(pass(x, 10), 11)
	var y [8]reg.VecVirtual
	for c := range 4 {
		y[c], y[4+c] = XMM(), XMM()
		VMOVDQA(mid[c].AsX(), y[c])
		VEXTRACTI128(U8(1), mid[c], y[4+c])
	}
	Label("rows")
	out := packed(pass(y, 17), 18)
	VPACKSSWB(out[1], out[0], out[0]) // rows 0, 1 and 4, 5
	VPACKSSWB(out[3], out[2], out[2]) // rows 2, 3 and 6, 7
	offset := asm.Bits(0x80808080)
	VPXOR(offset, out[0], out[0])
	VPXOR(offset, out[2], out[2])
	for half := range 2 {
		for _, v := range []reg.VecVirtual{out[0], out[2]} {
			p := XMM()
			if half == 0 {
				VMOVDQA(v.AsX(), p)
			} else {
				VEXTRACTI128(U8(1), v, p)
			}
			VMOVQ(p, Mem{Base: a["dst"]})
			VPEXTRQ(U8(1), p, Mem{Base: a["dst"], Index: a["stride"], Scale: 1})
			LEAQ(Mem{Base: a["dst"], Index: a["stride"], Scale: 2}, a["dst"])
		}
	}
	VZEROUPPER()
	RET()

	// Only the first row is not zero: columns are constant.
	Label("flat")
	VPSLLW(U8(2), x[0], x[0])
	for c := range y {
		t := XMM()
		VPSRLDQ(U8(uint8(2*c)), x[0], t)
		VPBROADCASTW(t, y[c])
	}
	JMP(LabelRef("rows"))
}

// pair interleaves the words of a and b.
func pair(a, b reg.VecVirtual) reg.VecVirtual {
	l, h := YMM(), XMM()
	VPUNPCKLWD(b, a, l.AsX())
	VPUNPCKHWD(b, a, h)
	VINSERTI128(U8(1), h, l, l)
	return l
}

func times(p reg.VecVirtual, k Mem) reg.VecVirtual {
	d := YMM()
	VPMADDWD(k, p, d)
	return d
}

// scaled is w*2^13 + 2^round, w sign-extended.
func scaled(w reg.VecVirtual, round uint8) reg.VecVirtual {
	zero := XMM()
	VPXOR(zero, zero, zero)
	d := pair(zero, w)
	VPSRAD(U8(3), d, d)
	VPADDD(asm.Bits(1<<round), d, d)
	return d
}

// pass is the 8-point transform of vectors of 8 words, not yet shifted. Sums of
// two inputs wrap to 16 bits, as in the vector code that libjpeg-turbo runs.
func pass(x [8]reg.VecVirtual, round uint8) [8]reg.VecVirtual {
	sum, diff := XMM(), XMM()
	VPADDW(x[4], x[0], sum)
	VPSUBW(x[4], x[0], diff)
	p := pair(x[2], x[6])
	e0, e1, e2, e3 := scaled(sum, round), scaled(diff, round), times(p, even2), times(p, even3)
	add := func(a, b reg.VecVirtual) reg.VecVirtual { d := YMM(); VPADDD(b, a, d); return d }
	sub := func(a, b reg.VecVirtual) reg.VecVirtual { d := YMM(); VPSUBD(b, a, d); return d }
	a0, a3, a1, a2 := add(e0, e3), sub(e0, e3), add(e1, e2), sub(e1, e2)

	s3, s4 := XMM(), XMM()
	VPADDW(x[7], x[3], s3)
	VPADDW(x[5], x[1], s4)
	s := pair(s3, s4)
	z3, z4 := times(s, low), times(s, high)
	p71, p53 := pair(x[7], x[1]), pair(x[5], x[3])
	q0, q3 := add(times(p71, o0), z3), add(times(p71, o3), z4)
	q1, q2 := add(times(p53, o1), z4), add(times(p53, o2), z3)
	return [8]reg.VecVirtual{
		add(a0, q3), add(a1, q2), add(a2, q1), add(a3, q0),
		sub(a3, q0), sub(a2, q1), sub(a1, q2), sub(a0, q3),
	}
}

// packed shifts, saturates to words and transposes: vector c of the result
// holds columns c and c+4.
func packed(v [8]reg.VecVirtual, shift uint8) [4]reg.VecVirtual {
	for i := range v {
		VPSRAD(U8(shift), v[i], v[i])
	}
	for i := range 4 {
		VPACKSSDW(v[4+i], v[i], v[i])
	}
	unpack := func(f, g func(...Op), a, b reg.VecVirtual) (l, h reg.VecVirtual) {
		l, h = YMM(), YMM()
		f(b, a, l)
		g(b, a, h)
		return l, h
	}
	u0, u1 := unpack(VPUNPCKLWD, VPUNPCKHWD, v[0], v[1])
	u2, u3 := unpack(VPUNPCKLWD, VPUNPCKHWD, v[2], v[3])
	w0, w1 := unpack(VPUNPCKLDQ, VPUNPCKHDQ, u0, u2)
	w2, w3 := unpack(VPUNPCKLDQ, VPUNPCKHDQ, u1, u3)
	var t [4]reg.VecVirtual
	t[0], t[1] = unpack(VPUNPCKLQDQ, VPUNPCKHQDQ, w0, w2)
	t[2], t[3] = unpack(VPUNPCKLQDQ, VPUNPCKHQDQ, w1, w3)
	return t
}
