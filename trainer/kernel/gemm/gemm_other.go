//go:build !amd64 || purego

package gemm

func wideColumns(int) int { return Panel }

func (s *slice) tile(mr, tiles, cols, a, b, c int) { s.tileGeneric(mr, tiles, cols, a, b, c) }

func packPanel(dst, b []float32, at, step, col, k, cols int) {
	packPanelGeneric(dst, b, at, step, col, k, cols)
}

func pairRows() int { return 4 }

func (p *Rounded) tile(mr, tiles, _, i, j, cols, l, d, pairs int) {
	p.tileGeneric(mr, tiles, i, j, cols, l, d, pairs)
}

func roundHalf([]uint16, []float32) int { return 0 }

func packWide(_, _ []float32, _, _ int) bool { return false }

func fetch(_ []float32, _, _, _ int) {}
