package attend

import (
	"math"
	"math/rand/v2"
	"testing"

	"espalier/trainer/kernel/cpuinfo"
)

// TestLevels holds every instruction set to the plain twins, bit for bit: each
// element takes the same few roundings everywhere.
func TestLevels(t *testing.T) {
	for _, l := range cpuinfo.Levels() {
		t.Run(l.String(), func(t *testing.T) {
			defer cpuinfo.Limit(l)()
			r := rand.New(rand.NewPCG(1, 1))
			for n := range 140 {
				for _, front := range []int{0, 5} {
					bufs := make([][]float32, 5)
					for i := range bufs {
						bufs[i] = make([]float32, front+n+40)
						for j := range bufs[i] {
							bufs[i][j] = float32(r.NormFloat64())
						}
					}
					x, mask, bias, out, want := bufs[0][front:][:n:n], bufs[1][front:][:n:n], bufs[2][front:][:n:n], bufs[3][front:][:n:n], make([]float32, n)
					for i := range mask {
						mask[i] = float32(r.IntN(2))
					}
					after := append([]float32(nil), bufs[3]...)
					for bits := range 4 {
						m, b := mask, bias
						if bits&1 == 0 {
							m = nil
						}
						if bits&2 == 0 {
							b = nil
						}
						top, wantTop := Scores(out, x, m, b, 0.3, -7), scoresGeneric(want, x, m, b, 0.3, -7)
						same(t, "Scores", append(out[:n:n], top), append(want[:n:n], wantTop))
					}
					Grad(out, x, bias, 0.3)
					gradGeneric(want, x, bias, 0.3)
					same(t, "Grad", out, want)
					Hide(out, x, mask, 0.3)
					hideGeneric(want, x, mask, 0.3)
					same(t, "Hide", out, want)
					copy(after[front:], out)
					same(t, "guards", bufs[3], after)
				}
			}
		})
	}
}

func same(t *testing.T, name string, got, want []float32) {
	t.Helper()
	for i, w := range want {
		if math.Float32bits(got[i]) != math.Float32bits(w) {
			t.Fatalf("%s: n=%d: element %d is %g, want %g", name, len(want), i, got[i], w)
		}
	}
}
