package sample

import "math/rand/v2"

const (
	tile     = 256 // noise repeats after so many pixels
	tileMask = tile - 1
)

// Noise holds tiles of smooth random values from 0 to 255.
type noise struct {
	soft  []uint8 // clouds: large forms with finer ones on them
	fine  []uint8 // grain of a few pixels
	speck []uint8 // one value a pixel
}

func newNoise() *noise {
	r := rand.New(rand.NewPCG(1, 2)) // the same for all seeds: scenes look at other places of it
	n := &noise{
		soft:  fractal(r, []int{64, 32, 16, 8, 4}, []int{120, 70, 36, 18, 10}),
		fine:  fractal(r, []int{8, 4, 2}, []int{100, 90, 66}),
		speck: make([]uint8, tile*tile),
	}
	for i := range n.speck {
		n.speck[i] = uint8(r.IntN(256))
	}
	return n
}

// fractal adds up lattices of random values, of given cell sizes and weights,
// and stretches the sum to 0..255.
func fractal(r *rand.Rand, cells, weights []int) []uint8 {
	sum := make([]int, tile*tile)
	for k, cell := range cells {
		n := tile / cell
		lattice := make([]int, n*n)
		for i := range lattice {
			lattice[i] = r.IntN(256)
		}
		ease := make([]int, cell) // 3t^2 - 2t^3, times 256
		for i := range ease {
			t := (2*i + 1) * 128 / cell
			ease[i] = t * t * (3*256 - 2*t) >> 16
		}
		for y := range tile {
			y0, fy := y/cell, ease[y%cell]
			y1 := (y0 + 1) % n
			for x := range tile {
				x0, fx := x/cell, ease[x%cell]
				x1 := (x0 + 1) % n
				top := lattice[y0*n+x0]*(256-fx) + lattice[y0*n+x1]*fx
				low := lattice[y1*n+x0]*(256-fx) + lattice[y1*n+x1]*fx
				sum[y*tile+x] += weights[k] * (top*(256-fy) + low*fy) >> 16
			}
		}
	}
	lo, hi := sum[0], sum[0]
	for _, v := range sum {
		lo, hi = min(lo, v), max(hi, v)
	}
	out := make([]uint8, tile*tile)
	for i, v := range sum {
		out[i] = uint8((v - lo) * 255 / (hi - lo))
	}
	return out
}

// pick returns the value of a tile at a place, from -128 to 127.
func pick(t []uint8, x, y int) int { return int(t[(y&tileMask)*tile+x&tileMask]) - 128 }
