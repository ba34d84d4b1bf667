//go:build !amd64 || purego

package elem

func add(out, x, y []float32) { addGeneric(out, x, y) }

func mul(out, x, y []float32) { mulGeneric(out, x, y) }

func axpy(y, x []float32, alpha float32) { axpyGeneric(y, x, alpha) }

func scale(out, x []float32, alpha float32) { scaleGeneric(out, x, alpha) }

func signs(bits []uint32, x []float32) { signsGeneric(bits, x[:32*len(bits)]) }

func keepSigns(out, dy []float32, bits []uint32) {
	n := 32 * len(bits)
	keepSignsGeneric(out[:n], dy[:n], bits)
}

func logFloor(out, x []float32, floor float32) { logFloorGeneric(out, x, floor) }

func logFloorBack(out, dy, x []float32, floor float32) { logFloorBackGeneric(out, dy, x, floor) }

func drop(out, x []float32, from uint32, m Mask) { dropGeneric(out, x, from, m) }

func apply(f Func, out, x []float32) { applyGeneric(f, out, x) }

func applyBack(f Func, out, dy, x []float32) { applyBackGeneric(f, out, dy, x) }
