package cpu

import (
	"cmp"
	"math"
	"slices"
	"unsafe"

	"espalier/trainer/kernel/elem"
	"espalier/trainer/tensor"
)

// A slab is aligned memory.
type slab struct {
	words   []float32 // starts on a 64-byte border, unless foreign
	foreign bool      // memory of the host that somebody else owns
}

// Bytes returns the length in bytes.
func (s *slab) Bytes() int { return 4 * len(s.words) }

const line = 16 // float32 in a cache line; every tensor starts on one

func newSlab(words int) *slab {
	raw := make([]float32, words+line)
	skip := 0
	for uintptr(unsafe.Pointer(&raw[skip]))%64 != 0 {
		skip++
	}
	return &slab{words: raw[skip : skip+words : skip+words]}
}

// An arena hands out memory until it is reset, and takes it back before. It
// grows by whole slabs and never moves what it has handed out. Memory is taken
// where it is free first, so that what lies behind is touched late or never.
type arena struct {
	slabs []*slab
	free  [][]span // of each slab, by place; spans that touch are one
	total int      // words of all slabs
	used  int      // words handed out
	ints  []int
}

// A span is words of a slab.
type span struct{ at, n int }

// rounded is how many words are handed out for so many.
func rounded(words int) int { return (words + line - 1) &^ (line - 1) }

func (a *arena) alloc(words int) (*slab, int) {
	words = rounded(words)
	a.used += words
	for i, list := range a.free {
		for j := range list {
			f := &list[j]
			if f.n < words {
				continue
			}
			at := f.at
			if f.at, f.n = f.at+words, f.n-words; f.n == 0 {
				a.free[i] = append(list[:j], list[j+1:]...)
			}
			return a.slabs[i], at
		}
	}
	s := newSlab(max(words, 1<<18, a.total/2))
	a.slabs, a.total = append(a.slabs, s), a.total+len(s.words)
	a.free = append(a.free, append(make([]span, 0, 64), span{words, len(s.words) - words}))
	return s, 0
}

// release takes back words from at on of a slab.
func (a *arena) release(s *slab, at, words int) {
	if words = rounded(words); words == 0 {
		return
	}
	a.used -= words
	i := slices.Index(a.slabs, s)
	if i < 0 {
		panic("cpu: released memory is not of the arena")
	}
	list := a.free[i]
	j, _ := slices.BinarySearchFunc(list, at, func(f span, at int) int { return cmp.Compare(f.at, at) })
	before := j > 0 && list[j-1].at+list[j-1].n == at
	behind := j < len(list) && at+words == list[j].at
	switch {
	case before && behind:
		list[j-1].n += words + list[j].n
		list = append(list[:j], list[j+1:]...)
	case before:
		list[j-1].n += words
	case behind:
		list[j].at, list[j].n = at, list[j].n+words
	default:
		list = slices.Insert(list, j, span{at, words})
	}
	a.free[i] = list
}

// shape copies s into memory that is reused after a reset.
func (a *arena) shape(s []int) []int {
	if len(a.ints)+len(s) > cap(a.ints) {
		a.ints = make([]int, 0, 2*cap(a.ints)+256)
	}
	at := len(a.ints)
	a.ints = append(a.ints, s...)
	return a.ints[at:len(a.ints):len(a.ints)]
}

func (a *arena) reset() {
	for i, s := range a.slabs {
		a.free[i] = append(a.free[i][:0], span{0, len(s.words)})
	}
	a.used, a.ints = 0, a.ints[:0]
}

func words(dt tensor.DType, n int) int { return (n*dt.Bytes() + 3) / 4 }

// Alloc returns a tensor of the step arena.
func (d *Device) Alloc(dt tensor.DType, shape ...int) tensor.Tensor {
	s, at := d.arena.alloc(words(dt, tensor.Size(shape)))
	d.measure()
	return tensor.Tensor{Shape: d.arena.shape(shape), DType: dt, Store: s, Off: at * 4 / dt.Bytes()}
}

// Release takes a tensor of the step back.
func (d *Device) Release(t tensor.Tensor) {
	if s, ok := t.Store.(*slab); ok {
		d.arena.release(s, t.Off*t.DType.Bytes()/4, words(t.DType, t.Len()))
	}
}

// Reset ends a step.
func (d *Device) Reset() { d.arena.reset() }

// Keep returns a long-lived tensor of zeros.
func (d *Device) Keep(dt tensor.DType, shape ...int) tensor.Tensor {
	s := newSlab(words(dt, tensor.Size(shape)))
	d.kept += int64(s.Bytes())
	d.measure()
	return tensor.Tensor{Shape: append([]int(nil), shape...), DType: dt, Store: s}
}

// Free gives a kept or packed tensor back.
func (d *Device) Free(t tensor.Tensor) {
	if s, ok := t.Store.(*slab); t.Store != nil && !(ok && s.foreign) {
		d.kept -= int64(t.Store.Bytes())
	}
}

// PeakBytes returns the most memory in use at once.
func (d *Device) PeakBytes() int64 { return d.peak }

func (d *Device) measure() { d.peak = max(d.peak, d.kept+4*int64(d.arena.used)) }

// Floats returns the elements of a float32 tensor of a CPU device, not a copy.
func Floats(t tensor.Tensor) []float32 {
	if t.DType != tensor.Float32 {
		panic("cpu: not a float32 tensor")
	}
	n := t.Len()
	return t.Store.(*slab).words[t.Off : t.Off+n : t.Off+n]
}

// floats is Floats, and nil for the zero Tensor.
func floats(t tensor.Tensor) []float32 {
	if t.Store == nil {
		return nil
	}
	return Floats(t)
}

func ints(t tensor.Tensor) []int32 {
	if t.DType != tensor.Int32 {
		panic("cpu: not an int32 tensor")
	}
	n := t.Len()
	if n == 0 {
		return nil
	}
	w := t.Store.(*slab).words[t.Off : t.Off+n]
	return unsafe.Slice((*int32)(unsafe.Pointer(unsafe.SliceData(w))), n)
}

// halves returns the elements of a bfloat16 or float16 tensor.
func halves(t tensor.Tensor) []uint16 {
	if t.DType.Bytes() != 2 {
		panic("cpu: not a 16-bit tensor")
	}
	w := t.Store.(*slab).words
	if len(w) == 0 {
		return nil
	}
	all := unsafe.Slice((*uint16)(unsafe.Pointer(unsafe.SliceData(w))), 2*len(w))
	return all[t.Off : t.Off+t.Len()]
}

// Write fills dst, converting to its dtype.
func (d *Device) Write(dst tensor.Tensor, src []float32) {
	if len(src) != dst.Len() {
		panic("cpu: write of another length")
	}
	switch dst.DType {
	case tensor.Float32:
		copy(Floats(dst), src)
	case tensor.Int32:
		for i, y := 0, ints(dst); i < len(y); i++ {
			y[i] = int32(src[i])
		}
	case tensor.BFloat16:
		for i, y := 0, halves(dst); i < len(y); i++ {
			y[i] = toBF16(src[i])
		}
	case tensor.Float16:
		for i, y := 0, halves(dst); i < len(y); i++ {
			y[i] = toF16(src[i])
		}
	}
}

// WriteInts fills an int32 tensor.
func (d *Device) WriteInts(dst tensor.Tensor, src []int32) {
	if len(src) != dst.Len() {
		panic("cpu: write of another length")
	}
	copy(ints(dst), src)
}

// Read copies src out, converting from its dtype.
func (d *Device) Read(dst []float32, src tensor.Tensor) {
	if len(dst) != src.Len() {
		panic("cpu: read of another length")
	}
	switch src.DType {
	case tensor.Float32:
		copy(dst, Floats(src))
	case tensor.Int32:
		for i, v := range ints(src) {
			dst[i] = float32(v)
		}
	case tensor.BFloat16:
		for i, v := range halves(src) {
			dst[i] = math.Float32frombits(uint32(v) << 16)
		}
	case tensor.Float16:
		for i, v := range halves(src) {
			dst[i] = fromF16(v)
		}
	}
}

// ReadInts copies an int32 tensor out.
func (d *Device) ReadInts(dst []int32, src tensor.Tensor) {
	if len(dst) != src.Len() {
		panic("cpu: read of another length")
	}
	copy(dst, ints(src))
}

// Copy copies src to dst, converting between float dtypes.
func (d *Device) Copy(dst, src tensor.Tensor) {
	switch {
	case dst.Len() != src.Len():
		panic("cpu: copy of another length")
	case dst.DType != src.DType && dst.DType == tensor.Float32:
		d.Read(Floats(dst), src)
	case dst.DType != src.DType:
		d.Write(dst, Floats(src))
	case dst.DType == tensor.Float32:
		d.runMap(mapJob{kind: mapCopy, out: Floats(dst), x: Floats(src)})
	case dst.DType == tensor.Int32:
		copy(ints(dst), ints(src))
	default:
		copy(halves(dst), halves(src))
	}
}

// Zero fills t with zeros.
func (d *Device) Zero(t tensor.Tensor) {
	switch t.DType {
	case tensor.Float32:
		x := Floats(t)
		d.runMap(mapJob{kind: mapZero, out: x, x: x})
	case tensor.Int32:
		clear(ints(t))
	default:
		clear(halves(t))
	}
}

// Paste copies src into dst from index at of an axis on.
func (d *Device) Paste(dst, src tensor.Tensor, axis, at int) {
	outer, whole, part, off := region(dst.Shape, src.Shape, axis, at)
	d.copyRuns(&runsJob{y: words4(dst)[off:], x: words4(src), stepY: whole, stepX: part, runs: outer, part: part})
}

// PasteAdd adds src to dst from index at of an axis on.
func (d *Device) PasteAdd(dst, src tensor.Tensor, axis, at int) {
	outer, whole, part, off := region(dst.Shape, src.Shape, axis, at)
	d.copyRuns(&runsJob{y: Floats(dst)[off:], x: Floats(src), stepY: whole, stepX: part, runs: outer, part: part, add: true})
}

// Cut fills dst from index at of an axis of src on.
func (d *Device) Cut(dst, src tensor.Tensor, axis, at int) {
	outer, whole, part, off := region(src.Shape, dst.Shape, axis, at)
	d.copyRuns(&runsJob{y: words4(dst), x: words4(src)[off:], stepY: part, stepX: whole, runs: outer, part: part})
}

// A runsJob copies runs of elements from x to y, or adds them.
type runsJob struct {
	y, x         []float32
	stepY, stepX int // from one run to the next
	runs, part   int
	tile         int // runs of a tile of the pool
	add          bool
}

// copyWords is how many elements make a tile of copies.
const copyWords = 1 << 15

func (d *Device) copyRuns(j *runsJob) {
	if j.part == 0 || j.runs == 0 {
		return
	}
	j.tile = max(1, copyWords/j.part)
	tiles := (j.runs + j.tile - 1) / j.tile
	if tiles == 1 {
		j.Tile(0, 0)
		return
	}
	d.pool.Run(j, tiles)
}

// Tile does some runs.
func (j *runsJob) Tile(_, t int) {
	for i := t * j.tile; i < min((t+1)*j.tile, j.runs); i++ {
		y, x := j.y[i*j.stepY:][:j.part], j.x[i*j.stepX:][:j.part]
		if j.add {
			elem.Add(y, y, x)
		} else {
			copy(y, x)
		}
	}
}

// region says where a part lies in a whole along an axis: outer runs, their
// lengths, and the offset of the part in the first.
func region(whole, part []int, axis, at int) (outer, wholeRun, partRun, off int) {
	if len(whole) != len(part) || axis < 0 || axis >= len(whole) || at < 0 || at+part[axis] > whole[axis] {
		panic("cpu: part lies outside the whole")
	}
	for i := range whole {
		if i != axis && whole[i] != part[i] {
			panic("cpu: part and whole differ in another axis")
		}
	}
	inner := tensor.Size(whole[axis+1:])
	return tensor.Size(whole[:axis]), whole[axis] * inner, part[axis] * inner, at * inner
}

// words4 returns the elements of a tensor of 4-byte elements, bits as they are.
func words4(t tensor.Tensor) []float32 {
	if t.DType.Bytes() != 4 {
		panic("cpu: not a tensor of 4-byte elements")
	}
	n := t.Len()
	return t.Store.(*slab).words[t.Off : t.Off+n : t.Off+n]
}
