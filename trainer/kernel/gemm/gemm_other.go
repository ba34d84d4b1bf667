//go:build !amd64 || purego

package gemm

func wideColumns(rows int) int { return Panel }

func (p *Product) tile(mr, tiles, i, j, cols, l, d, at, ldb, next int, load bool) {
	p.tileGeneric(mr, tiles, i, j, cols, l, d, at, ldb, load)
}

func packPanel(dst, b []float32, at, step, col, k, cols int) {
	packPanelGeneric(dst, b, at, step, col, k, cols)
}
