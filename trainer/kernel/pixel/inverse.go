package pixel

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

// Inverse multiplies the coefficients of a block, in natural order, by q in 16
// bits, transforms them into 8 rows of 8 samples at dst, stride bytes apart,
// and clears co. It is libjpeg's accurate integer transform as its vector code
// computes it: sums of two inputs wrap to 16 bits, values between the passes
// saturate to 16 bits, which only damaged files ever see.
func Inverse(dst []byte, stride int, co, q *[64]int16) {
	if stride < 0 {
		panic("pixel: negative stride")
	}
	_ = dst[7*stride+7]
	inverse(dst, stride, co, q)
}

// Flat fills a block whose first coefficient alone is not zero; v is that
// coefficient, dequantised.
func Flat(dst []byte, stride int, v int16) {
	_ = dst[7*stride+7]
	w := uint64(clamp(int32((int64(v<<2)+16)>>5)+128)) * 0x0101010101010101
	for y := range 8 {
		putUint64(dst[y*stride:], w)
	}
}

// narrow bounds the sum of magnitudes up to which nothing in the transform
// needs more than 16 bits between its steps: each coefficient contributes at
// most 4*1.39 times its size to a value between the passes.
const narrow = 32767 * 100 / 556

// inverseGeneric leaves out terms that are zero where nothing wraps, which
// changes no bit.
func inverseGeneric(dst []byte, stride int, in, q *[64]int16) {
	var block [64]int32
	co := &block
	var mask uint64
	sum := int32(0)
	for i, v := range in {
		if v != 0 {
			co[i] = int32(v * q[i])
			mask |= 1 << i
			sum += abs(co[i])
		}
	}
	clear(in[:])
	if uint32(sum) > narrow {
		inverseWide(co, mask>>8 == 0, dst, stride)
		return
	}
	const low4 = 0x0f0f0f0f0f0f0f0f
	width := 8
	if mask&^low4 == 0 {
		width = 4
	}
	if mask>>32 == 0 {
		columns4(co, mask, width)
	} else {
		columns8(co, mask, width)
	}
	if width == 4 {
		rows4(co, dst, stride)
	} else {
		rows8(co, dst, stride)
	}
}

func abs(v int32) int32 { return (v ^ v>>31) - v>>31 }

func putUint64(b []byte, v uint64) {
	_ = b[7]
	b[0], b[1], b[2], b[3] = byte(v), byte(v>>8), byte(v>>16), byte(v>>24)
	b[4], b[5], b[6], b[7] = byte(v>>32), byte(v>>40), byte(v>>48), byte(v>>56)
}

// columns8 transforms the first width columns.
func columns8(co *[64]int32, mask uint64, width int) {
	for c := range width & 15 {
		below := mask >> uint(c) & 0x0101010101010101
		if below&^1 == 0 {
			if below != 0 {
				column1(co, c)
			}
			continue
		}
		p := (*[57]int32)(co[c:])
		x0, x1, x2, x3 := p[0], p[8], p[16], p[24]
		x4, x5, x6, x7 := p[32], p[40], p[48], p[56]

		z := (x2 + x6) * fix0541
		e2 := z - x6*fix1847
		e3 := z + x2*fix0765
		e0 := (x0 + x4) << 13
		e1 := (x0 - x4) << 13
		a0, a3 := e0+e3+1<<10, e0-e3+1<<10
		a1, a2 := e1+e2+1<<10, e1-e2+1<<10

		z1 := -(x7 + x1) * fix0899
		z2 := -(x5 + x3) * fix2562
		z3, z4 := x7+x3, x5+x1
		s := (z3 + z4) * fix1175
		z3 = s - z3*fix1961
		z4 = s - z4*fix0390
		o0 := x7*fix0298 + z1 + z3
		o1 := x5*fix2053 + z2 + z4
		o2 := x3*fix3072 + z2 + z3
		o3 := x1*fix1501 + z1 + z4

		p[0], p[56] = (a0+o3)>>11, (a0-o3)>>11
		p[8], p[48] = (a1+o2)>>11, (a1-o2)>>11
		p[16], p[40] = (a2+o1)>>11, (a2-o1)>>11
		p[24], p[32] = (a3+o0)>>11, (a3-o0)>>11
	}
}

// columns4 does the same where rows 4 to 7 are zero.
func columns4(co *[64]int32, mask uint64, width int) {
	for c := range width & 15 {
		below := mask >> uint(c) & 0x0101010101010101
		if below&^1 == 0 {
			if below != 0 {
				column1(co, c)
			}
			continue
		}
		p := (*[57]int32)(co[c:])
		x0, x1, x2, x3 := p[0], p[8], p[16], p[24]

		e2 := x2 * fix0541
		e3 := x2 * (fix0541 + fix0765)
		e0 := x0<<13 + 1<<10
		a0, a3 := e0+e3, e0-e3
		a1, a2 := e0+e2, e0-e2

		s := (x3 + x1) * fix1175
		z3 := s - x3*fix1961
		z4 := s - x1*fix0390
		o0 := z3 - x1*fix0899
		o1 := z4 - x3*fix2562
		o2 := x3*(fix3072-fix2562) + z3
		o3 := x1*(fix1501-fix0899) + z4

		p[0], p[56] = (a0+o3)>>11, (a0-o3)>>11
		p[8], p[48] = (a1+o2)>>11, (a1-o2)>>11
		p[16], p[40] = (a2+o1)>>11, (a2-o1)>>11
		p[24], p[32] = (a3+o0)>>11, (a3-o0)>>11
	}
}

// column1 does it for a column whose first value alone is not zero.
func column1(co *[64]int32, c int) {
	p := (*[57]int32)(co[c:])
	v := p[0] << 2
	p[0], p[8], p[16], p[24] = v, v, v, v
	p[32], p[40], p[48], p[56] = v, v, v, v
}

// rows8 transforms all rows into samples.
func rows8(co *[64]int32, dst []byte, stride int) {
	for r := range 8 {
		p := (*[8]int32)(co[r*8:])
		x0, x1, x2, x3 := p[0], p[1], p[2], p[3]
		x4, x5, x6, x7 := p[4], p[5], p[6], p[7]

		z := (x2 + x6) * fix0541
		e2 := z - x6*fix1847
		e3 := z + x2*fix0765
		e0 := (x0 + x4) << 13
		e1 := (x0 - x4) << 13
		const half = 1<<17 + 128<<18
		a0, a3 := e0+e3+half, e0-e3+half
		a1, a2 := e1+e2+half, e1-e2+half

		z1 := -(x7 + x1) * fix0899
		z2 := -(x5 + x3) * fix2562
		z3, z4 := x7+x3, x5+x1
		s := (z3 + z4) * fix1175
		z3 = s - z3*fix1961
		z4 = s - z4*fix0390
		o0 := x7*fix0298 + z1 + z3
		o1 := x5*fix2053 + z2 + z4
		o2 := x3*fix3072 + z2 + z3
		o3 := x1*fix1501 + z1 + z4

		q := (*[8]byte)(dst[r*stride:])
		q[0], q[7] = sample(a0+o3), sample(a0-o3)
		q[1], q[6] = sample(a1+o2), sample(a1-o2)
		q[2], q[5] = sample(a2+o1), sample(a2-o1)
		q[3], q[4] = sample(a3+o0), sample(a3-o0)
	}
}

// rows4 does the same where columns 4 to 7 are zero.
func rows4(co *[64]int32, dst []byte, stride int) {
	for r := range 8 {
		p := (*[8]int32)(co[r*8:])
		x0, x1, x2, x3 := p[0], p[1], p[2], p[3]

		e2 := x2 * fix0541
		e3 := x2 * (fix0541 + fix0765)
		e0 := x0<<13 + 1<<17 + 128<<18
		a0, a3 := e0+e3, e0-e3
		a1, a2 := e0+e2, e0-e2

		s := (x3 + x1) * fix1175
		z3 := s - x3*fix1961
		z4 := s - x1*fix0390
		o0 := z3 - x1*fix0899
		o1 := z4 - x3*fix2562
		o2 := x3*(fix3072-fix2562) + z3
		o3 := x1*(fix1501-fix0899) + z4

		q := (*[8]byte)(dst[r*stride:])
		q[0], q[7] = sample(a0+o3), sample(a0-o3)
		q[1], q[6] = sample(a1+o2), sample(a1-o2)
		q[2], q[5] = sample(a2+o1), sample(a2-o1)
		q[3], q[4] = sample(a3+o0), sample(a3-o0)
	}
}

// sample rounds to a byte; half and the offset 128 have been added.
func sample(v int32) byte {
	v >>= 18
	if uint32(v) > 255 {
		v = ^(v >> 31)
	}
	return byte(v)
}

// inverseWide is the transform of blocks of any size. Flat says that only the
// first row may not be zero.
func inverseWide(co *[64]int32, flat bool, dst []byte, stride int) {
	if flat {
		for c := range 8 {
			v := wrap16(co[c] << 2)
			for r := range 8 {
				co[r*8+c] = v
			}
		}
	} else {
		for c := range 8 {
			p := co[c:]
			y := butterflies([8]int32{p[0], p[8], p[16], p[24], p[32], p[40], p[48], p[56]})
			for r, v := range y {
				p[8*r] = min(max((v+1<<10)>>11, -32768), 32767)
			}
		}
	}
	for r := range 8 {
		y := butterflies([8]int32(co[r*8 : r*8+8]))
		for x, v := range y {
			v = min(max((v+1<<17)>>18, -128), 127)
			dst[r*stride+x] = byte(v + 128)
		}
	}
}

func wrap16(v int32) int32 { return int32(int16(v)) }

func butterflies(x [8]int32) [8]int32 {
	e2 := x[2]*fix0541 + x[6]*(fix0541-fix1847)
	e3 := x[2]*(fix0541+fix0765) + x[6]*fix0541
	e0, e1 := wrap16(x[0]+x[4])<<13, wrap16(x[0]-x[4])<<13
	a0, a3, a1, a2 := e0+e3, e0-e3, e1+e2, e1-e2
	s3, s4 := wrap16(x[7]+x[3]), wrap16(x[5]+x[1])
	z3 := s3*(fix1175-fix1961) + s4*fix1175
	z4 := s3*fix1175 + s4*(fix1175-fix0390)
	o0 := x[7]*(fix0298-fix0899) - x[1]*fix0899 + z3
	o1 := x[5]*(fix2053-fix2562) - x[3]*fix2562 + z4
	o2 := x[3]*(fix3072-fix2562) - x[5]*fix2562 + z3
	o3 := x[1]*(fix1501-fix0899) - x[7]*fix0899 + z4
	return [8]int32{a0 + o3, a1 + o2, a2 + o1, a3 + o0, a3 - o0, a2 - o1, a1 - o2, a0 - o3}
}
