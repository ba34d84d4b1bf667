package asm

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// The normal distribution by tables: for y = |x| in segment n = floor(2.5y), a
// polynomial of t = 2.5y - n in [0, 1), 16 constants for each power from 0 up.
// They are Chebyshev fits; the last segment, from 6 on, is 0.

// normalTail is 1 - Phi(y).
var normalTail = [][16]uint32{
	{0x3f000000, 0x3eb06c90, 0x3e58f09f, 0x3deba9a6, 0x3d60753a, 0x3cba5e7d, 0x3c064ef6, 0x3b2773f8, 0x3a342105, 0x3926d652, 0x3804d69f, 0x36b59d1a, 0x3554f480, 0x33d5fb0e, 0x32381f34, 0x00000000},
	{0xbe236813, 0xbe16d7ce, 0xbded5090, 0xbd9f13c7, 0xbd35bbc5, 0xbcb0eb3e, 0xbc12c403, 0xbb4f7f78, 0xba79fb86, 0xb98050cc, 0xb8607f39, 0xb72757fe, 0xb5d495d3, 0xb4661de8, 0xb2d44086, 0x00000000},
	{0xb61b0227, 0x3c40fe28, 0x3c97da30, 0x3c98b717, 0x3c68a77b, 0x3c0d90a0, 0x3b8cea5e, 0x3ae860fc, 0x3a1fe8a3, 0x3938903f, 0x38333ba6, 0x3712cb2e, 0x35cb23b5, 0x346dcdb6, 0x32ebbbd1, 0x00000000},
	{0x3b8bbe80, 0x3b59b97d, 0x3a93df2a, 0xba6ef468, 0xbaf326a2, 0xbae3861f, 0xba956a6d, 0xba173c85, 0xb974f122, 0xb8a1c1bd, 0xb7b03215, 0xb69f6e61, 0xb570def7, 0xb41872d5, 0xb2a21c6b, 0x00000000},
	{0xb785dee6, 0xba004315, 0xba213725, 0xb9cbd023, 0xb88986c8, 0x3909ab2a, 0x392c418f, 0x38edf708, 0x386bef3c, 0x37b4d2e0, 0x36dd68d3, 0x35dc7823, 0x34b4815c, 0x3374d130, 0x320a3a9a, 0x00000000},
	{0xb8bfb8a5, 0xb7e6ff46, 0x382ae9da, 0x3882c24d, 0x38279122, 0x3707bc86, 0xb71b6bbf, 0xb73d53d0, 0xb6ed9d89, 0xb65235bd, 0xb58e714e, 0xb4994c3a, 0xb3859827, 0xb23ed312, 0xb0e12cbe, 0x00000000},
}

// slopeTail is 1 - Phi(y) - y*phi(y).
var slopeTail = [][16]uint32{
	{0x3effffff, 0x3e4a0130, 0xbca300d8, 0xbdf191a6, 0xbdfb3c84, 0xbdae8e02, 0xbd3a91f2, 0xbca0a140, 0xbbe37945, 0xbb05f03e, 0xba040755, 0xb8dacdee, 0xb798d8e3, 0xb63464a1, 0xb4b41f39, 0x00000000},
	{0xbea367eb, 0xbe8ac63a, 0xbe215f7c, 0xbd322bc3, 0x3ccb870e, 0x3d30ea47, 0x3d09f5bd, 0x3c977a28, 0x3c00bf5a, 0x3b2fce6a, 0x3a4474e5, 0x39359822, 0x380bccd6, 0x36b41b1a, 0x3542caa1, 0x00000000},
	{0xb79932bd, 0x3d39339b, 0x3d7f17b1, 0x3d43864e, 0x3ca7a35c, 0x36f295c7, 0xbbf81085, 0xbbdf3ecb, 0xbb79b864, 0xbacefc54, 0xba06a2ef, 0xb90d2cf4, 0xb7f2389a, 0xb6ab9838, 0xb54a07a5, 0x00000000},
	{0x3c8c0a8e, 0x3c3da5e4, 0xb914f643, 0xbc08c91d, 0xbc101d13, 0xbb980813, 0xba41dc9a, 0x3a6f3270, 0x3a7a24fb, 0x3a0b3be7, 0x395c2835, 0x3885b9af, 0x37812df4, 0x364a33ea, 0x3501b2b0, 0x00000000},
	{0xb9048ff6, 0xbb3bdd12, 0xbb4281a9, 0xba7ca343, 0x3a5c03b1, 0x3a9fd21d, 0x3a3216fc, 0x3901af47, 0xb8d3eb13, 0xb8da5626, 0xb8603fc5, 0xb7a08dfb, 0xb6aecf4a, 0xb5964537, 0xb4502ed5, 0x00000000},
	{0xba0a5bbe, 0xb84aa507, 0x39c03522, 0x39ba44c9, 0x38be14f5, 0xb8caac42, 0xb8e686c8, 0xb848f48c, 0xb6329757, 0x3721de21, 0x36eac958, 0x364567ac, 0x356e27d7, 0x345c9fc0, 0x332209cd, 0x00000000},
}

var tables = map[string]Mem{}

// table is 16 words in the data section.
func table(name string, w [16]uint32) Mem {
	m, ok := tables[name]
	if !ok {
		m = Words(name, w[:]...)
		tables[name] = m
	}
	return m
}

// lookup takes from a table of 16 words; index holds 0 to 15, high the same
// shifted left by 28 bits.
func (i ISA) lookup(m Mem, index, high Vec) Vec {
	d := i.Vec()
	VPERMPS(m, index, d)
	if i.Lanes == 16 {
		return d
	}
	e := i.Vec()
	m.Disp += 32
	VPERMPS(m, index, e)
	VBLENDVPS(high, e, d, d)
	return d
}

// Normal returns the normal distribution function at x, within 1e-7.
func (i ISA) Normal(x Vec) Vec { return i.tail("normal", normalTail, x) }

// NormalSlope returns the slope of x times the normal distribution function,
// within 2e-7.
func (i ISA) NormalSlope(x Vec) Vec {
	return i.Blend(i.Cmp(NaN, x, x), i.tail("slope", slopeTail, x), x)
}

// tail returns the tabled function of |x|, or 1 less it where x is not below 0.
func (i ISA) tail(name string, t [][16]uint32, x Vec) Vec {
	f := i.Min(i.Mul(i.And(x, Bits(0x7fffffff)), F(2.5)), F(15)) // 15 where x is NaN
	n := i.Floor(f)
	f = i.Sub(f, n)
	index := i.ToInt(n)
	var high Vec
	if i.Lanes == 8 {
		high = i.ShiftLeft(index, 28)
	}
	last := len(t) - 1
	q := i.lookup(table(fmt.Sprint(name, last), t[last]), index, high)
	for k := last - 1; k >= 0; k-- {
		i.Fma(q, f, i.lookup(table(fmt.Sprint(name, k), t[k]), index, high))
	}
	return i.Blend(i.Cmp(LT, x, F(0)), i.Sub(i.Copy(F(1)), q), q)
}
