// Package winograd is the transforms of Winograd's convolution F(2x2, 3x3).
//
// A filter of 3 by 3 and a patch of 4 by 4 pixels become 16 numbers each for
// every pair of channels; products of the numbers at the same place, summed
// over channels, become 2 by 2 pixels of the output. That is 16 multiplications
// where the definition has 36. The sums are matrix products, one for each
// place. Transforms of pixels are additions in one stated order, so that all
// instruction sets agree to the bit.
//
// Functions only read and write what their operands name, and may run at the
// same time.
//
// Source: Lavin and Gray 2015 (arXiv 1509.09308), section 4.1.
package winograd

// Places is the number of products for each tile of the output.
const Places = 16

// Least is the number of channels, in and out, from which the transforms pay.
const Least = 16

// Filter fills part of out, [Places][n], with the transforms G g G' of filters
// lo to hi of g, [9][n], computed in float64 and rounded once.
func Filter(out, g []float32, n, lo, hi int) {
	for c := lo; c < hi; c++ {
		var t [4][3]float64 // G g
		for j := range 3 {
			t[0][j], t[1][j], t[2][j], t[3][j] = halves(float64(g[j*n+c]), float64(g[(3+j)*n+c]), float64(g[(6+j)*n+c]))
		}
		for i, r := range t {
			a, b, x, y := halves(r[0], r[1], r[2])
			for j, v := range [4]float64{a, b, x, y} {
				out[(4*i+j)*n+c] = float32(v)
			}
		}
	}
}

// halves is one column of G g. Sums of float32 numbers are exact, or nearly so,
// in float64, whatever their order.
func halves(a, b, c float64) (w, x, y, z float64) {
	return a, (a + b + c) / 2, (a - b + c) / 2, c
}

// Input transforms a patch of 4 by 4 pixels of n channels, B' d B. Pixels lie
// pixel numbers apart, and rows of them row numbers. Place p of the result goes
// to out[p*step:].
func Input(out []float32, step int, in []float32, row, pixel, n int) {
	if n == 0 {
		return
	}
	if step < 0 || row < 0 || pixel < 0 {
		panic("winograd: negative stride")
	}
	_, _ = out[15*step+n-1], in[3*row+3*pixel+n-1]
	input(out, step, in, row, pixel, n)
}

func inputGeneric(out []float32, step int, in []float32, row, pixel, n int) {
	for c := range n {
		var t [4][4]float32
		for j := range 4 {
			p := j*pixel + c
			d0, d1, d2, d3 := in[p], in[row+p], in[2*row+p], in[3*row+p]
			t[0][j], t[1][j], t[2][j], t[3][j] = d0-d2, d1+d2, d2-d1, d1-d3
		}
		for i, r := range t {
			o := 4*i*step + c
			out[o], out[o+step], out[o+2*step], out[o+3*step] = r[0]-r[2], r[1]+r[2], r[2]-r[1], r[1]-r[3]
		}
	}
}

// Output transforms the products at the 16 places, in[p*step:], back to 2 by 2
// pixels of n channels, A' m A, which go to out as Input's come from in.
func Output(out []float32, row, pixel int, in []float32, step, n int) {
	if n == 0 {
		return
	}
	if step < 0 || row < 0 || pixel < 0 {
		panic("winograd: negative stride")
	}
	_, _ = out[row+pixel+n-1], in[15*step+n-1]
	output(out, row, pixel, in, step, n)
}

func outputGeneric(out []float32, row, pixel int, in []float32, step, n int) {
	for c := range n {
		var s [2][4]float32
		for j := range 4 {
			p := j*step + c
			m0, m1, m2, m3 := in[p], in[4*step+p], in[8*step+p], in[12*step+p]
			s[0][j], s[1][j] = m0+m1+m2, m1-m2-m3
		}
		for i, r := range s {
			out[i*row+c], out[i*row+pixel+c] = r[0]+r[1]+r[2], r[1]-r[2]-r[3]
		}
	}
}
