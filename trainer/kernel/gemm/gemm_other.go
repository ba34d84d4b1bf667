//go:build !amd64 || purego

package gemm

func wideColumns(int) int { return Panel }

func (s *slice) tile(mr, tiles, cols, a, b, c int) { s.tileGeneric(mr, tiles, cols, a, b, c) }

func packPanel(dst, b []float32, at, step, col, k, cols int) {
	packPanelGeneric(dst, b, at, step, col, k, cols)
}
