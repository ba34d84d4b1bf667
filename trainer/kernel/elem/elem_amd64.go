//go:build !purego

package elem

import "espalier/trainer/kernel/cpuinfo"

//go:generate go -C ../_asm run ./elem -pkg elem -out ../elem/elem_amd64.s -stubs ../elem/elem_asm_amd64.go

func add(out, x, y []float32) {
	switch {
	case cpuinfo.AVX512:
		addAVX512(&out[0], &x[0], &y[0], len(out))
	case cpuinfo.AVX2:
		addAVX2(&out[0], &x[0], &y[0], len(out))
	default:
		addGeneric(out, x, y)
	}
}

func mul(out, x, y []float32) {
	switch {
	case cpuinfo.AVX512:
		mulAVX512(&out[0], &x[0], &y[0], len(out))
	case cpuinfo.AVX2:
		mulAVX2(&out[0], &x[0], &y[0], len(out))
	default:
		mulGeneric(out, x, y)
	}
}

func axpy(y, x []float32, alpha float32) {
	switch {
	case cpuinfo.AVX512:
		axpyAVX512(&y[0], &x[0], len(y), alpha)
	case cpuinfo.AVX2:
		axpyAVX2(&y[0], &x[0], len(y), alpha)
	default:
		axpyGeneric(y, x, alpha)
	}
}

func scale(out, x []float32, alpha float32) {
	switch {
	case cpuinfo.AVX512:
		scaleAVX512(&out[0], &x[0], len(out), alpha)
	case cpuinfo.AVX2:
		scaleAVX2(&out[0], &x[0], len(out), alpha)
	default:
		scaleGeneric(out, x, alpha)
	}
}

func signs(bits []uint32, x []float32) {
	switch {
	case cpuinfo.AVX512:
		signsAVX512(&bits[0], &x[0], len(bits))
	case cpuinfo.AVX2:
		signsAVX2(&bits[0], &x[0], len(bits))
	default:
		signsGeneric(bits, x[:32*len(bits)])
	}
}

func keepSigns(out, dy []float32, bits []uint32) {
	switch n := 32 * len(bits); {
	case cpuinfo.AVX512:
		keepSignsAVX512(&out[0], &dy[0], &bits[0], len(bits))
	case cpuinfo.AVX2:
		keepSignsAVX2(&out[0], &dy[0], &bits[0], len(bits))
	default:
		keepSignsGeneric(out[:n], dy[:n], bits)
	}
}

func logFloor(out, x []float32, floor float32) {
	switch {
	case cpuinfo.AVX512:
		logFloorAVX512(&out[0], &x[0], len(out), floor)
	case cpuinfo.AVX2:
		logFloorAVX2(&out[0], &x[0], len(out), floor)
	default:
		logFloorGeneric(out, x, floor)
	}
}

func logFloorBack(out, dy, x []float32, floor float32) {
	switch {
	case cpuinfo.AVX512:
		logFloorBackAVX512(&out[0], &dy[0], &x[0], len(out), floor)
	case cpuinfo.AVX2:
		logFloorBackAVX2(&out[0], &dy[0], &x[0], len(out), floor)
	default:
		logFloorBackGeneric(out, dy, x, floor)
	}
}

func drop(out, x []float32, from uint32, m Mask) {
	switch {
	case cpuinfo.AVX512:
		dropAVX512(&out[0], &x[0], len(out), int(from), int(m.K0), int(m.K1), int(m.Below), m.Scale)
	case cpuinfo.AVX2:
		dropAVX2(&out[0], &x[0], len(out), int(from), int(m.K0), int(m.K1), int(m.Below), m.Scale)
	default:
		dropGeneric(out, x, from, m)
	}
}

func apply(f Func, out, x []float32) {
	if !cpuinfo.AVX2 {
		applyGeneric(f, out, x)
		return
	}
	y, p, n, wide := &out[0], &x[0], len(out), cpuinfo.AVX512
	switch {
	case f == ReLU && wide:
		reluAVX512(y, p, n)
	case f == ReLU:
		reluAVX2(y, p, n)
	case f == GELUTanh && wide:
		geluTanhAVX512(y, p, n)
	case f == GELUTanh:
		geluTanhAVX2(y, p, n)
	case f == GELUErf && wide:
		geluErfAVX512(y, p, n)
	case f == GELUErf:
		geluErfAVX2(y, p, n)
	case f == QuickGELU && wide:
		quickGELUAVX512(y, p, n)
	case f == QuickGELU:
		quickGELUAVX2(y, p, n)
	case f == SiLU && wide:
		siluAVX512(y, p, n)
	case f == SiLU:
		siluAVX2(y, p, n)
	case f == Tanh && wide:
		tanhAVX512(y, p, n)
	case f == Tanh:
		tanhAVX2(y, p, n)
	case f == Sigmoid && wide:
		sigmoidAVX512(y, p, n)
	case f == Sigmoid:
		sigmoidAVX2(y, p, n)
	default:
		panic("elem: unknown activation")
	}
}

func applyBack(f Func, out, dy, x []float32) {
	if !cpuinfo.AVX2 {
		applyBackGeneric(f, out, dy, x)
		return
	}
	d, g, p, n, wide := &out[0], &dy[0], &x[0], len(out), cpuinfo.AVX512
	switch {
	case f == ReLU && wide:
		reluBackAVX512(d, g, p, n)
	case f == ReLU:
		reluBackAVX2(d, g, p, n)
	case f == GELUTanh && wide:
		geluTanhBackAVX512(d, g, p, n)
	case f == GELUTanh:
		geluTanhBackAVX2(d, g, p, n)
	case f == GELUErf && wide:
		geluErfBackAVX512(d, g, p, n)
	case f == GELUErf:
		geluErfBackAVX2(d, g, p, n)
	case f == QuickGELU && wide:
		quickGELUBackAVX512(d, g, p, n)
	case f == QuickGELU:
		quickGELUBackAVX2(d, g, p, n)
	case f == SiLU && wide:
		siluBackAVX512(d, g, p, n)
	case f == SiLU:
		siluBackAVX2(d, g, p, n)
	case f == Tanh && wide:
		tanhBackAVX512(d, g, p, n)
	case f == Tanh:
		tanhBackAVX2(d, g, p, n)
	case f == Sigmoid && wide:
		sigmoidBackAVX512(d, g, p, n)
	case f == Sigmoid:
		sigmoidBackAVX2(d, g, p, n)
	default:
		panic("elem: unknown activation")
	}
}
