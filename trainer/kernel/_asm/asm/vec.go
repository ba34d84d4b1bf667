package asm

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A Vec is a vector register.
type Vec = reg.VecVirtual

// A Mask says which lanes are meant: an opmask with AVX-512, all bits of a lane
// of a vector with AVX2.
type Mask struct {
	k reg.OpmaskVirtual
	y Vec
}

var (
	consts = map[uint32]Mem{}
	pins   = map[uint32]Vec{}
)

// Pin loads constants of the function that comes into registers: a load of 64
// bytes takes as long as an operation. AVX2 has too few registers, and loads of
// 32 bytes that take half as long.
func (i ISA) Pin(words ...uint32) {
	clear(pins)
	if i.Lanes == 16 {
		for _, w := range words {
			v := i.Vec()
			VMOVUPS(mem(w), v)
			pins[w] = v
		}
	}
}

// Unpin ends the function of Pin.
func Unpin() { clear(pins) }

// Bits is a constant of 16 equal 32-bit words.
func Bits(w uint32) Op {
	if v, ok := pins[w]; ok {
		return v
	}
	return mem(w)
}

func mem(w uint32) Mem {
	m, ok := consts[w]
	if !ok {
		m = GLOBL(fmt.Sprintf("w%08x", w), RODATA|NOPTR)
		for i := range 16 {
			DATA(4*i, U32(w))
		}
		consts[w] = m
	}
	return m
}

// F is a constant of 16 equal numbers.
func F(v float64) Op { return Bits(math.Float32bits(float32(v))) }

var index Mem

// Index is a constant of the words 0, 1, ... 31.
func Index() Mem {
	if index.Symbol.Name == "" {
		index = GLOBL("index", RODATA|NOPTR)
		for i := range 32 {
			DATA(4*i, U32(uint32(i)))
		}
	}
	return index
}

// IndexFrom is the part of Index that starts at word i.
func IndexFrom(i int) Mem {
	m := Index()
	m.Disp += 4 * i
	return m
}

// Arithmetic. The second operand may be memory; results are new registers.

func (i ISA) Add(a Vec, b Op) Vec { d := i.Vec(); VADDPS(b, a, d); return d }
func (i ISA) Sub(a Vec, b Op) Vec { d := i.Vec(); VSUBPS(b, a, d); return d }
func (i ISA) Mul(a Vec, b Op) Vec { d := i.Vec(); VMULPS(b, a, d); return d }
func (i ISA) Div(a Vec, b Op) Vec { d := i.Vec(); VDIVPS(b, a, d); return d }
func (i ISA) Sqrt(a Op) Vec       { d := i.Vec(); VSQRTPS(a, d); return d }

// Min and Max return b where either is NaN.
func (i ISA) Min(a Vec, b Op) Vec { d := i.Vec(); VMINPS(b, a, d); return d }
func (i ISA) Max(a Vec, b Op) Vec { d := i.Vec(); VMAXPS(b, a, d); return d }

func (i ISA) And(a Vec, b Op) Vec { d := i.Vec(); VANDPS(b, a, d); return d }
func (i ISA) Or(a Vec, b Op) Vec  { d := i.Vec(); VORPS(b, a, d); return d }
func (i ISA) Xor(a Vec, b Op) Vec { d := i.Vec(); VXORPS(b, a, d); return d }

// Copy returns a copy, or a load.
func (i ISA) Copy(a Op) Vec { d := i.Vec(); VMOVUPS(a, d); return d }

// Zero returns zeros.
func (i ISA) Zero() Vec { d := i.Vec(); VXORPS(d, d, d); return d }

// Fma replaces acc by acc*x + c: a step of Horner's rule.
func (i ISA) Fma(acc, x Vec, c Op) Vec { VFMADD213PS(c, x, acc); return acc }

// FmaAdd replaces acc by acc + x*y.
func (i ISA) FmaAdd(acc, x Vec, y Op) Vec { VFMADD231PS(y, x, acc); return acc }

// FmaSub replaces acc by acc - x*y.
func (i ISA) FmaSub(acc, x Vec, y Op) Vec { VFNMADD231PS(y, x, acc); return acc }

// Poly returns the polynomial with coefficients from the highest power down.
func (i ISA) Poly(x Vec, c ...float64) Vec {
	acc := i.Copy(F(c[0]))
	for _, v := range c[1:] {
		i.Fma(acc, x, F(v))
	}
	return acc
}

// Round rounds to the nearest whole number, ties to even.
func (i ISA) Round(a Vec) Vec {
	d := i.Vec()
	if i.Lanes == 16 {
		VRNDSCALEPS(U8(8), a, d)
	} else {
		VROUNDPS(U8(8), a, d)
	}
	return d
}

// Floor rounds down.
func (i ISA) Floor(a Vec) Vec {
	d := i.Vec()
	if i.Lanes == 16 {
		VRNDSCALEPS(U8(9), a, d)
	} else {
		VROUNDPS(U8(9), a, d)
	}
	return d
}

// Whole numbers.

func (i ISA) AddInt(a Vec, b Op) Vec { d := i.Vec(); VPADDD(b, a, d); return d }
func (i ISA) SubInt(a Vec, b Op) Vec { d := i.Vec(); VPSUBD(b, a, d); return d }
func (i ISA) MulInt(a Vec, b Op) Vec { d := i.Vec(); VPMULLD(b, a, d); return d }

func (i ISA) ShiftLeft(a Vec, n uint8) Vec   { d := i.Vec(); VPSLLD(U8(n), a, d); return d }
func (i ISA) ShiftRight(a Vec, n uint8) Vec  { d := i.Vec(); VPSRLD(U8(n), a, d); return d }
func (i ISA) ShiftSigned(a Vec, n uint8) Vec { d := i.Vec(); VPSRAD(U8(n), a, d); return d }

func (i ISA) ToInt(a Vec) Vec   { d := i.Vec(); VCVTPS2DQ(a, d); return d }
func (i ISA) FromInt(a Vec) Vec { d := i.Vec(); VCVTDQ2PS(a, d); return d }

// Predicates of Cmp: ordered and quiet, false where either is NaN, but for NE,
// which is true there.
const (
	EQ  = 0x00
	LT  = 0x11
	LE  = 0x12
	NE  = 0x04
	GE  = 0x1d
	GT  = 0x1e
	NaN = 0x03 // either is NaN
)

// Cmp compares lanes.
func (i ISA) Cmp(pred uint8, a Vec, b Op) Mask {
	if i.Lanes == 16 {
		k := K()
		VCMPPS(U8(pred), b, a, k)
		return Mask{k: k}
	}
	y := YMM()
	VCMPPS(U8(pred), b, a, y)
	return Mask{y: y}
}

// Greater compares signed whole numbers.
func (i ISA) Greater(a Vec, b Op) Mask {
	if i.Lanes == 16 {
		k := K()
		VPCMPGTD(b, a, k)
		return Mask{k: k}
	}
	y := YMM()
	VPCMPGTD(b, a, y)
	return Mask{y: y}
}

// AtLeast compares unsigned whole numbers.
func (i ISA) AtLeast(a, b Vec) Mask {
	if i.Lanes == 16 {
		k := K()
		VPCMPUD(U8(5), b, a, k)
		return Mask{k: k}
	}
	y := YMM()
	VPMAXUD(b, a, y)
	VPCMPEQD(y, a, y)
	return Mask{y: y}
}

// Blend takes yes where the mask is set.
func (i ISA) Blend(m Mask, no Vec, yes Op) Vec {
	d := i.Vec()
	if i.Lanes == 16 {
		VBLENDMPS(yes, no, m.k, d)
	} else {
		VBLENDVPS(m.y, yes, no, d)
	}
	return d
}

// Keep takes a where the mask is set and 0 elsewhere.
func (i ISA) Keep(m Mask, a Vec) Vec {
	d := i.Vec()
	if i.Lanes == 16 {
		VMOVAPS_Z(a, m.k, d)
	} else {
		VANDPS(m.y, a, d)
	}
	return d
}

// First returns the mask of lanes below rem, counted from the vector's lane
// from: rem holds the number of elements left in each lane.
func (i ISA) First(rem Vec, from int) Mask { return i.Greater(rem, IndexFrom(from)) }

// Spread copies a 64-bit register's low word to every lane.
func (i ISA) Spread(r reg.GPVirtual) Vec {
	d := i.Vec()
	if i.Lanes == 16 {
		VPBROADCASTD(r.As32(), d)
		return d
	}
	x := XMM()
	VMOVD(r.As32(), x)
	VPBROADCASTD(x, d)
	return d
}

// Scalar copies an argument to every lane.
func (i ISA) Scalar(name string) Vec {
	b, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	d := i.Vec()
	VBROADCASTSS(b.Addr, d)
	return d
}

// LoadMasked loads lanes of the mask, zeros elsewhere.
func (i ISA) LoadMasked(m Mem, k Mask) Vec {
	d := i.Vec()
	if i.Lanes == 16 {
		VMOVUPS_Z(m, k.k, d)
	} else {
		VMASKMOVPS(m, k.y, d)
	}
	return d
}

// StoreMasked stores lanes of the mask.
func (i ISA) StoreMasked(v Vec, k Mask, m Mem) {
	if i.Lanes == 16 {
		VMOVUPS(v, k.k, m)
	} else {
		VMASKMOVPS(v, k.y, m)
	}
}
