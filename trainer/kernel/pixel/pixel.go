// Package pixel is loops over the bytes of pictures: what a JPEG decoder does
// with blocks and rows, and the two passes of a resize.
//
// All of it is integer arithmetic, so that the plain loops and the assembly
// agree to the bit on every machine. Functions only read and write what their
// operands name, and may run at the same time.
package pixel

// WeightBits is the number of fractional bits of the weights of a resize.
const WeightBits = 22

// least is the length from which the vector loops take whole vectors.
const least = 32

// DoubleRow fills out with s at twice the width: inside the row, each sample
// becomes two, (3s + before + 1) >> 2 and (3s + behind + 2) >> 2; the outermost
// two are the outermost samples. len(out) is 2*len(s), len(s) at least 2.
func DoubleRow(out, s []byte) {
	n := len(s)
	if n < 2 || len(out) != 2*n {
		panic("pixel: DoubleRow of rows that do not fit")
	}
	out[0], out[1] = s[0], byte((3*int(s[0])+int(s[1])+2)>>2)
	out[2*n-2], out[2*n-1] = byte((3*int(s[n-1])+int(s[n-2])+1)>>2), s[n-1]
	doubleRow(out, s)
}

func doubleRowGeneric(out, s []byte) {
	for i := 1; i < len(s)-1; i++ {
		c := 3 * int32(s[i])
		out[2*i], out[2*i+1] = byte((c+int32(s[i-1])+1)>>2), byte((c+int32(s[i+1])+2)>>2)
	}
}

// DoubleRows fills out with the row between s and near, a quarter of the way to
// near, at twice the width: c = 3s + near, then (3c + before + 8) >> 4 and
// (3c + behind + 7) >> 4, where the outermost c stand for what is beyond them.
// len(near) is len(s), at least 2, and len(out) twice that.
func DoubleRows(out, s, near []byte) {
	n := len(s)
	if n < 2 || len(out) != 2*n || len(near) != n {
		panic("pixel: DoubleRows of rows that do not fit")
	}
	at := func(i int) int { return 3*int(s[i]) + int(near[i]) }
	out[0], out[1] = byte((4*at(0)+8)>>4), byte((3*at(0)+at(1)+7)>>4)
	out[2*n-2], out[2*n-1] = byte((3*at(n-1)+at(n-2)+8)>>4), byte((4*at(n-1)+7)>>4)
	doubleRows(out, s, near)
}

func doubleRowsGeneric(out, s, near []byte) {
	n := len(s)
	near, out = near[:n], out[:2*n]
	prev, cur := int32(0), 3*int32(s[0])+int32(near[0])
	for i := 1; i < n; i++ {
		next := 3*int32(s[i]) + int32(near[i])
		if i > 1 {
			out[2*i-2] = byte((3*cur + prev + 8) >> 4)
			out[2*i-1] = byte((3*cur + next + 7) >> 4)
		}
		prev, cur = cur, next
	}
}

// Contributions of chroma to red and blue, and to green times 2^16.
var redOf, blueOf, greenOfBlue, greenOfRed = func() (r, b, gb, gr [256]int32) {
	for i := range int32(256) {
		v := i - 128
		r[i] = (91881*v + 32768) >> 16
		b[i] = (116130*v + 32768) >> 16
		gb[i] = -22554*v + 32768
		gr[i] = -46802 * v
	}
	return
}()

// Colours fills out with red, green and blue of luma y and chroma b and r, as
// libjpeg rounds them. All rows have the same number of samples; out has three
// bytes for each.
func Colours(out, y, b, r []byte) {
	if len(out) != 3*len(y) || len(b) != len(y) || len(r) != len(y) {
		panic("pixel: Colours of rows that do not fit")
	}
	colours(out, y, b, r)
}

func coloursGeneric(out, ys, bs, rs []byte) {
	bs, rs = bs[:len(ys)], rs[:len(ys)]
	out = out[:3*len(ys)]
	for x, v := range ys {
		p := out[3*x : 3*x+3 : 3*x+3]
		p[0], p[1], p[2] = Colour(v, bs[x], rs[x])
	}
}

// Colour is Colours of one pixel.
func Colour(y, b, r byte) (red, green, blue byte) {
	v := int32(y)
	return clamp(v + redOf[r]), clamp(v + (greenOfBlue[b]+greenOfRed[r])>>16), clamp(v + blueOf[b])
}

func clamp(v int32) byte {
	if uint32(v) > 255 {
		v = ^(v >> 31)
	}
	return byte(v)
}

// Taps are the source pixels and weights of each output pixel of a row of
// pixels of three bytes.
type Taps struct {
	First  []int32 // first source pixel of each output
	Weight []int32 // Pairs*8 of each output: each weight of a tap four times
	Pairs  int     // of taps of each output; weights beyond an output's taps are 0
	Reach  int     // bytes of a row, from its first on, that vector loops read
}

// NewTaps returns the Taps of outputs whose weights lie in rows of size.
func NewTaps(first, weight []int32, size int) *Taps {
	t := &Taps{First: first, Pairs: (size + 1) / 2}
	t.Weight = make([]int32, len(first)*t.Pairs*8)
	for i, f := range first {
		t.Reach = max(t.Reach, 3*(int(f)+2*t.Pairs)+2)
		for j, w := range weight[i*size:][:size] {
			for k := range 4 {
				t.Weight[(i*t.Pairs*2+j)*4+k] = w
			}
		}
	}
	return t
}

// Across fills out, three bytes for each of t's outputs, with weighted sums of
// a row's pixels: (2^21 + sum of weight*byte) >> 22, clamped to a byte. It is
// fast where row goes on beyond the taps, up to t.Reach; what stands there does
// not count.
func Across(out, row []byte, t *Taps) {
	if len(out) != 3*len(t.First) || len(t.Weight) != 8*t.Pairs*len(t.First) {
		panic("pixel: Across of a row that does not fit")
	}
	if len(t.First) == 0 || t.Pairs == 0 {
		return
	}
	across(out, row, t)
}

func acrossGeneric(out, row []byte, t *Taps) {
	for i, first := range t.First {
		var a, b, c int32 = 1 << (WeightBits - 1), 1 << (WeightBits - 1), 1 << (WeightBits - 1)
		weights := t.Weight[i*t.Pairs*8:][:t.Pairs*8]
		s := row[3*int(first):]
		for j := 0; j < len(weights); j += 4 {
			w := weights[j]
			if w == 0 {
				s = s[min(3, len(s)):]
				continue
			}
			a += w * int32(s[0])
			b += w * int32(s[1])
			c += w * int32(s[2])
			s = s[3:]
		}
		d := out[3*i : 3*i+3 : 3*i+3]
		d[0], d[1], d[2] = clamp(a>>WeightBits), clamp(b>>WeightBits), clamp(c>>WeightBits)
	}
}

// Down fills out with weighted sums of rows: (2^21 + sum of weight[k] *
// in[k*stride+x]) >> 22, clamped to a byte.
func Down(out, in []byte, stride int, weight []int32) {
	n := len(out)
	if n == 0 || len(weight) == 0 {
		return
	}
	_ = in[(len(weight)-1)*stride+n-1]
	down(out, in, stride, weight)
}

func downGeneric(out, in []byte, stride int, weight []int32) {
	const block = 256 // sums that stay in the first-level cache
	var acc [block]int32
	for at := 0; at < len(out); at += block {
		n := min(block, len(out)-at)
		sum := acc[:n]
		for x := range sum {
			sum[x] = 1 << (WeightBits - 1)
		}
		for k, w := range weight {
			for x, v := range in[k*stride+at:][:n] {
				sum[x] += w * int32(v)
			}
		}
		for x, a := range sum {
			out[at+x] = clamp(a >> WeightBits)
		}
	}
}
