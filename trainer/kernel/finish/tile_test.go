package finish

import (
	"math"
	"math/rand/v2"
	"testing"

	"espalier/trainer/kernel/cpuinfo"
)

// runTiles calls the functions on tiles of many sizes and returns all that they
// write, what lies around it included.
func runTiles() (floats []float32, halves []uint16) {
	r := rand.New(rand.NewPCG(5, 6))
	take := func(n int) []float32 {
		x := make([]float32, n)
		for i := range x {
			switch x[i] = float32(r.NormFloat64()); r.IntN(30) {
			case 0:
				x[i] = nan
			case 1:
				x[i] = inf
			case 2:
				x[i] = -inf
			case 3:
				x[i] = math.Float32frombits(r.Uint32() & 0x807fffff) // denormal
			case 4:
				x[i] = float32(math.Copysign(0, -1))
			}
		}
		return x
	}
	for _, cols := range []int{1, 7, 31, 32} {
		for _, rows := range []int{0, 1, 2, 8, 13} {
			for _, relu := range []bool{false, true} {
				ldy := cols + r.IntN(5)
				x, bias, residual := take(rows*Columns), take(cols), take(rows*ldy+40)
				for _, res := range [][]float32{nil, residual} {
					y := take(rows*ldy + 40)
					Tile(y, ldy, x, bias, res, rows, cols, relu)
					floats = append(floats, y...)
				}
				y := take(rows*ldy + 40) // the residual is the output
				Tile(y, ldy, x, bias, y, rows, cols, relu)
				floats = append(floats, y...)
				h := make([]uint16, rows*ldy+40)
				TileHalf(h, ldy, x, bias, nil, rows, cols, relu)
				halves = append(halves, h...)
				res := make([]uint16, len(h))
				Half(res, take(len(h)))
				TileHalf(h, ldy, x, bias, res, rows, cols, relu)
				halves = append(halves, h...)
				TileHalf(res, ldy, x, bias, res, rows, cols, relu)
				halves = append(halves, res...)
			}
		}
	}
	for n := range 70 {
		h := make([]uint16, n+40)
		Half(h, take(n))
		halves = append(halves, h...)
	}
	return floats, halves
}

func TestTileBits(t *testing.T) {
	restore := cpuinfo.Limit(cpuinfo.Portable)
	floats, halves := runTiles()
	restore()
	check := func(name string) {
		f, h := runTiles()
		for i, v := range f {
			if w := floats[i]; math.Float32bits(v) != math.Float32bits(w) && (v == v || w == w) {
				t.Fatalf("%s: number %d is %g, portable %g", name, i, v, w)
			}
		}
		isNaN := func(h uint16) bool { return h&0x7fff > 0x7f80 }
		for i, v := range h {
			if w := halves[i]; v != w && !(isNaN(v) && isNaN(w)) {
				t.Fatalf("%s: bfloat16 number %d is %04x, portable %04x", name, i, v, w)
			}
		}
	}
	for _, l := range cpuinfo.Levels() {
		restore := cpuinfo.Limit(l)
		check(l.String())
		if cpuinfo.BF16 {
			cpuinfo.BF16 = false
			check(l.String() + " without bfloat16")
			cpuinfo.BF16 = true
		}
		restore()
	}
}

func TestTileValues(t *testing.T) {
	x := make([]float32, 2*Columns)
	x[0], x[1], x[Columns], x[Columns+1] = 1, -3, 2, nan
	y := []float32{9, 9, 9, 9, 9}
	Tile(y, 3, x, []float32{0.5, 1}, []float32{1, 1, 7, -4, 1}, 2, 2, true)
	if y[0] != 2.5 || y[1] != 0 || y[2] != 9 || y[3] != 0 || y[4] == y[4] {
		t.Errorf("Tile gives %v", y)
	}
	var h [4]uint16
	Half(h[:], []float32{1, 1 + 1.0/256, 1 + 3.0/256, 1e-40})
	if h != [4]uint16{0x3f80, 0x3f80, 0x3f82, 0} {
		t.Errorf("Half gives %04x", h)
	}
}
