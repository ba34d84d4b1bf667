package gemm

// Pack packs panels p0 to p1 of a k by n matrix whose element (l, j) is
// b[l*step + j*col] into dst, which holds all panels. What pads the last one
// does not matter: columns do not mix.
func Pack(dst, b []float32, step, col, k, n, p0, p1 int) {
	for p := p0; p < p1; p++ {
		if col == 1 && k > 0 && p+widePanels <= p1 && (p+widePanels)*Panel <= n &&
			packWide(dst[p*Panel*k:][:widePanels*Panel*k], b[p*Panel:], step, k) {
			p += widePanels - 1
			continue
		}
		cols := min(Panel, n-p*Panel)
		packPanel(dst[p*Panel*k:][:Panel*k], b, p*Panel*col, step, col, k, cols)
	}
}

// widePanels is how many panels packWide fills side by side.
const widePanels = 4

// packPanelGeneric fills one panel from b[at:].
func packPanelGeneric(dst, b []float32, at, step, col, k, cols int) {
	for l := range k {
		y := dst[l*Panel:][:Panel]
		for j := range cols {
			y[j] = b[at+l*step+j*col]
		}
	}
}

// PackHalf is Pack of bfloat16.
func PackHalf(dst, b []uint16, step, col, k, n, p0, p1 int) {
	for p := p0; p < p1; p++ {
		cols := min(Panel, n-p*Panel)
		for l := range k {
			y := dst[(p*k+l)*Panel:][:Panel]
			for j := range cols {
				y[j] = b[l*step+(p*Panel+j)*col]
			}
		}
	}
}
