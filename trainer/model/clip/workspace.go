package clip

import (
	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// A workspace is a device whose Alloc takes memory that done has given back,
// before it takes new: a network needs what is alive at one time, not the sum
// of all its layers. It belongs to one tower.
type workspace struct {
	op.Device
	free []tensor.Tensor // kept, flat
	lent map[tensor.Storage]tensor.Tensor
	mid  tensor.DType // of what goes from convolution to convolution
}

func newWorkspace(dev op.Device) *workspace {
	return &workspace{Device: dev, lent: map[tensor.Storage]tensor.Tensor{}, mid: tensor.Float32}
}

// Alloc returns the smallest tensor that is free and large enough. It is valid
// until done or reclaim. Integers come from the arena.
func (w *workspace) Alloc(dt tensor.DType, shape ...int) tensor.Tensor {
	if dt == tensor.Int32 {
		return w.Device.Alloc(dt, shape...)
	}
	n, best := tensor.Size(shape), -1
	for i, t := range w.free {
		if t.DType == dt && t.Len() >= n && (best < 0 || t.Len() < w.free[best].Len()) {
			best = i
		}
	}
	var flat tensor.Tensor
	if best < 0 {
		flat = w.Keep(dt, n)
	} else {
		flat = w.free[best]
		w.free = append(w.free[:best], w.free[best+1:]...)
	}
	w.lent[flat.Store] = flat
	return flat.Slice(0, n).View(shape...)
}

// done gives tensors of Alloc back. Others are left alone.
func (w *workspace) done(ts ...tensor.Tensor) {
	for _, t := range ts {
		if flat, ok := w.lent[t.Store]; ok {
			delete(w.lent, t.Store)
			w.free = append(w.free, flat)
		}
	}
}

// reclaim gives everything back. Which tensor is taken next depends on lengths
// alone, so the order does not matter.
func (w *workspace) reclaim() {
	for store, flat := range w.lent {
		delete(w.lent, store)
		w.free = append(w.free, flat)
	}
}

// close frees the memory.
func (w *workspace) close() {
	w.reclaim()
	for _, t := range w.free {
		w.Free(t)
	}
	w.free = nil
}
