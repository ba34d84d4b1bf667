package cpu

import (
	"unsafe"

	"espalier/trainer/kernel/elem"
	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

const piece = 8192 // elements of a tile of elementwise work, a multiple of 32

// A mapKind is what a mapJob does.
type mapKind uint8

const (
	mapAdd mapKind = iota
	mapMul
	mapAxpy
	mapScale
	mapCopy
	mapZero
	mapActivate
	mapActivateBack
	mapLogFloor
	mapLogFloorBack
	mapDrop
	mapFinishBack
	mapSigns
)

// A mapJob is elementwise work cut into pieces. y is repeated over x where it
// is shorter.
type mapJob struct {
	kind      mapKind
	out, x, y []float32
	alpha     float32
	f         elem.Func
	mask      elem.Mask
	bits      []uint32 // of Signs
}

// Activate applies an activation.
func (d *Device) Activate(out, x tensor.Tensor, a op.Act) {
	if a == op.None {
		d.map1(mapJob{kind: mapCopy}, out, x)
		return
	}
	d.map1(mapJob{kind: mapActivate, f: elem.Func(a)}, out, x)
}

// ActivateBack is its gradient: dx = dy * act'(x).
func (d *Device) ActivateBack(dx, dy, x tensor.Tensor, a op.Act) {
	if x.Len() != dy.Len() {
		panic("cpu: operands do not fit")
	}
	if a == op.None {
		d.map1(mapJob{kind: mapCopy}, dx, dy)
		return
	}
	d.map2(mapJob{kind: mapActivateBack, f: elem.Func(a)}, dx, dy, x)
}

// FinishBack is the gradient of an epilogue's activation and dropout.
func (d *Device) FinishBack(dx, dy, x tensor.Tensor, a op.Act, p op.Dropout) {
	if a == op.None {
		d.Drop(dx, dy, p)
		return
	}
	if a == op.ReLU && x.DType == tensor.Int32 {
		bits := words32(x)
		if len(bits) != (dy.Len()+31)/32 {
			panic("cpu: operands do not fit")
		}
		d.map1(mapJob{kind: mapFinishBack, bits: bits, mask: mask(p)}, dx, dy)
		return
	}
	if x.Len() != dy.Len() {
		panic("cpu: operands do not fit")
	}
	d.map2(mapJob{kind: mapFinishBack, f: elem.Func(a), mask: mask(p)}, dx, dy, x)
}

// Signs keeps of each element whether it is above 0.
func (d *Device) Signs(bits, x tensor.Tensor) {
	j := mapJob{kind: mapSigns, out: Floats(x), x: Floats(x), bits: words32(bits)}
	if len(j.bits) != (len(j.x)+31)/32 {
		panic("cpu: operands do not fit")
	}
	d.runMap(j)
}

// words32 is ints without signs.
func words32(t tensor.Tensor) []uint32 {
	x := ints(t)
	return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
}

// Add adds; y may be a suffix of x's shape.
func (d *Device) Add(out, x, y tensor.Tensor) { d.map2(mapJob{kind: mapAdd}, out, x, y) }

// Mul multiplies; y may be a suffix of x's shape.
func (d *Device) Mul(out, x, y tensor.Tensor) { d.map2(mapJob{kind: mapMul}, out, x, y) }

// Axpy adds alpha*x to y.
func (d *Device) Axpy(y, x tensor.Tensor, alpha float32) {
	d.map1(mapJob{kind: mapAxpy, alpha: alpha}, y, x)
}

// Scale multiplies by alpha.
func (d *Device) Scale(out, x tensor.Tensor, alpha float64) {
	d.map1(mapJob{kind: mapScale, alpha: float32(alpha)}, out, x)
}

// LogFloor is log(max(x, floor)).
func (d *Device) LogFloor(out, x tensor.Tensor, floor float32) {
	d.map1(mapJob{kind: mapLogFloor, alpha: floor}, out, x)
}

// LogFloorBack is its gradient: dy/x above the floor.
func (d *Device) LogFloorBack(dx, dy, x tensor.Tensor, floor float32) {
	if x.Len() != dy.Len() {
		panic("cpu: operands do not fit")
	}
	d.map2(mapJob{kind: mapLogFloorBack, alpha: floor}, dx, dy, x)
}

// Drop drops elements and scales the others.
func (d *Device) Drop(out, x tensor.Tensor, p op.Dropout) {
	d.map1(mapJob{kind: mapDrop, mask: mask(p)}, out, x)
}

func mask(p op.Dropout) elem.Mask {
	k0, k1, below, scale := p.Mask()
	return elem.Mask{K0: k0, K1: k1, Below: below, Scale: scale}
}

func (d *Device) map1(j mapJob, out, x tensor.Tensor) {
	j.out, j.x = Floats(out), Floats(x)
	if len(j.x) != len(j.out) {
		panic("cpu: operands do not fit")
	}
	d.runMap(j)
}

func (d *Device) map2(j mapJob, out, x, y tensor.Tensor) {
	j.out, j.x, j.y = Floats(out), Floats(x), Floats(y)
	if len(j.x) != len(j.out) || !suffix(y.Shape, x.Shape) {
		panic("cpu: operands do not fit")
	}
	d.runMap(j)
}

func (d *Device) runMap(j mapJob) {
	d.elementwise = j
	d.pool.Run(&d.elementwise, (len(j.out)+piece-1)/piece)
}

// Tile does one piece.
func (j *mapJob) Tile(_, t int) {
	lo, hi := t*piece, min((t+1)*piece, len(j.out))
	out, x := j.out[lo:hi], j.x[lo:hi]
	switch j.kind {
	case mapAxpy:
		elem.Axpy(out, x, j.alpha)
	case mapScale:
		elem.Scale(out, x, j.alpha)
	case mapCopy:
		copy(out, x)
	case mapZero:
		clear(out)
	case mapActivate:
		elem.Apply(j.f, out, x)
	case mapLogFloor:
		elem.LogFloor(out, x, j.alpha)
	case mapDrop:
		elem.Drop(out, x, uint64(lo), j.mask)
	case mapSigns:
		elem.Signs(j.bits[lo/32:(hi+31)/32], x)
	case mapFinishBack:
		for at := lo; at < hi; at += 1024 { // parts that stay in the first cache
			end := min(at+1024, hi)
			part := j.out[at:end]
			elem.Drop(part, j.x[at:end], uint64(at), j.mask)
			if j.bits != nil {
				elem.KeepSigns(part, part, j.bits[at/32:])
				continue
			}
			elem.ApplyBack(j.f, part, part, j.y[at:end])
		}
	default:
		for at := lo % len(j.y); len(out) > 0; at = 0 {
			n := min(len(out), len(j.y)-at)
			j.pair(out[:n], x[:n], j.y[at:at+n])
			out, x = out[n:], x[n:]
		}
	}
}

func (j *mapJob) pair(out, x, y []float32) {
	switch j.kind {
	case mapAdd:
		elem.Add(out, x, y)
	case mapMul:
		elem.Mul(out, x, y)
	case mapActivateBack:
		elem.ApplyBack(j.f, out, x, y)
	case mapLogFloorBack:
		elem.LogFloorBack(out, x, y, j.alpha)
	}
}

// suffix reports whether y can be repeated over x: its shape ends x's, or it
// has as many elements.
func suffix(y, x []int) bool {
	if tensor.Size(y) == tensor.Size(x) {
		return true
	}
	if len(y) > len(x) {
		return false
	}
	for i, n := range y {
		if x[len(x)-len(y)+i] != n {
			return false
		}
	}
	return true
}

const maxAxes = 8

// A permuteJob reorders axes.
type permuteJob struct {
	x, y       []float32
	n, group   int          // axes; rows of a tile
	step, size [maxAxes]int // of x along the axes of y
}

// Permute reorders axes: out's axis i is x's axis axes[i].
func (d *Device) Permute(out, x tensor.Tensor, axes []int) {
	n := len(axes)
	if n != len(x.Shape) || n != len(out.Shape) || n > maxAxes {
		panic("cpu: permutation does not fit")
	}
	j := &d.permute
	*j = permuteJob{x: words4(x), y: words4(out)}
	seen := 0
	for i, a := range axes {
		if a < 0 || a >= n || seen>>a&1 != 0 || out.Shape[i] != x.Shape[a] {
			panic("cpu: permutation does not fit")
		}
		seen |= 1 << a
		j.size[i], j.step[i] = out.Shape[i], tensor.Size(x.Shape[a+1:])
	}
	if len(j.x) == 0 {
		return
	}
	// Axes that stay side by side are one.
	for i := range n {
		if m := j.n; m > 0 && j.step[m-1] == j.size[i]*j.step[i] {
			j.size[m-1], j.step[m-1] = j.size[m-1]*j.size[i], j.step[i]
		} else {
			j.size[m], j.step[m] = j.size[i], j.step[i]
			j.n++
		}
	}
	if j.n == 0 {
		copy(j.y, j.x)
		return
	}
	rows := len(j.y) / j.size[j.n-1]
	j.group = max(1, piece/j.size[j.n-1])
	d.pool.Run(j, (rows+j.group-1)/j.group)
}

// Tile writes some rows of the output.
func (j *permuteJob) Tile(_, t int) {
	size, step := j.size[j.n-1], j.step[j.n-1]
	rows := len(j.y) / size
	for r := t * j.group; r < min((t+1)*j.group, rows); r++ {
		at := 0
		for i, q := j.n-2, r; i >= 0; i-- {
			at += q % j.size[i] * j.step[i]
			q /= j.size[i]
		}
		y := j.y[r*size:][:size]
		if step == 1 {
			copy(y, j.x[at:])
			continue
		}
		for i := range y {
			y[i] = j.x[at]
			at += step
		}
	}
}
