package asm

import (
	"fmt"
	"strings"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A Loop describes a function over vectors of n numbers.
type Loop struct {
	Name, Doc string
	Out, In   []string // pointer arguments; an output may be an input too
	Scalars   []string // float32 arguments
	Words     []string // 64-bit arguments
	Lazy      bool     // the body loads the scalars itself, by ISA.Scalar
	Exp       bool     // the body takes exponentials
}

func (l *Loop) signature(more ...string) string {
	var ptrs []string
	for _, p := range append(append([]string(nil), l.Out...), l.In...) {
		if !strings.Contains(strings.Join(ptrs, " ")+" ", p+" ") {
			ptrs = append(ptrs, p)
		}
	}
	args := []string{strings.Join(ptrs, ", ") + " *float32", "n int"}
	for _, w := range l.Words {
		args = append(args, w+" int")
	}
	for _, s := range l.Scalars {
		args = append(args, s+" float32")
	}
	return fmt.Sprintf("func(%s)", strings.Join(append(args, more...), ", "))
}

// open starts the function and returns the pointers and n.
func (l *Loop) open(i ISA, more ...string) (ptr map[string]reg.GPVirtual, n reg.GPVirtual) {
	TEXT(l.Name+i.Suffix, NOSPLIT, l.signature(more...))
	Pragma("noescape")
	Doc(l.Name + i.Suffix + " " + l.Doc)
	ptr = map[string]reg.GPVirtual{}
	for _, p := range append(append([]string(nil), l.Out...), l.In...) {
		if ptr[p] == nil {
			ptr[p] = Load(Param(p), GP64()).(reg.GPVirtual)
		}
	}
	n = Load(Param("n"), GP64()).(reg.GPVirtual)
	if Unpin(); l.Exp {
		i.PinExp()
	}
	return ptr, n
}

// Map emits out[i] = body(in[i]) for a vector at a time, masked at the end.
func (l *Loop) Map(i ISA, body func(in []Vec, scalars []Vec) []Vec) {
	l.MapIndexed(i, func(_ Vec, in, scalars []Vec) []Vec { return body(in, scalars) }, false)
}

// MapIndexed is Map with the vector of element numbers, if wanted; they start
// at the argument from.
func (l *Loop) MapIndexed(i ISA, body func(index Vec, in, scalars []Vec) []Vec, indexed bool) {
	ptr, n := l.open(i)
	var scalars []Vec
	for _, s := range l.Scalars {
		if !l.Lazy {
			scalars = append(scalars, i.Scalar(s))
		}
	}
	var number Vec
	if indexed {
		number = i.AddInt(i.Spread(Load(Param("from"), GP64()).(reg.GPVirtual)), Index())
	}
	at := GP64()
	XORQ(at, at)
	place := func(p string) Mem { return Mem{Base: ptr[p], Index: at, Scale: 4} }

	Label("loop")
	CMPQ(n, U8(uint8(i.Lanes)))
	JL(LabelRef("tail"))
	var in []Vec
	for _, p := range l.In {
		in = append(in, i.Copy(place(p)))
	}
	for k, v := range body(number, in, scalars) {
		VMOVUPS(v, place(l.Out[k]))
	}
	if indexed {
		step := i.Copy(Bits(uint32(i.Lanes)))
		VPADDD(step, number, number)
	}
	ADDQ(U8(uint8(i.Lanes)), at)
	SUBQ(U8(uint8(i.Lanes)), n)
	JMP(LabelRef("loop"))

	Label("tail")
	TESTQ(n, n)
	JE(LabelRef("done"))
	m := i.First(i.Spread(n), 0)
	in = in[:0]
	for _, p := range l.In {
		in = append(in, i.LoadMasked(place(p), m))
	}
	for k, v := range body(number, in, scalars) {
		i.StoreMasked(v, m, place(l.Out[k]))
	}
	Label("done")
	VZEROUPPER()
	RET()
}

// VirtualLanes is how many partial results a reduction keeps: element j goes to
// lane j mod 32 at every vector width, and the lanes are joined as a tree:
// lane j with j+16, then j+8, j+4, j+2, j+1.
const VirtualLanes = 32

// A Reduction says how lanes are started, joined and fed.
type Reduction struct {
	Start Op // of a lane: the neutral element
	Join  func(i ISA, a, b Vec) Vec
	// Term updates accumulators acc with a vector of the inputs and returns
	// vectors of l.Out. For elements missing at the end the inputs are 0, and
	// pad(v) is Start in their lanes; elsewhere it is v.
	Term func(in, scalars, acc []Vec, pad func(v Vec) Vec) (out []Vec)
	// Results is how many accumulators there are; they go to the array res.
	Results int
}

// Reduce emits a reduction over n elements; the results go to res[0:Results].
// Outputs of Term are stored to l.Out.
func (l *Loop) Reduce(i ISA, r Reduction) {
	ptr, n := l.open(i, "res *float32")
	groups := VirtualLanes / i.Lanes
	var scalars []Vec
	for _, s := range l.Scalars {
		scalars = append(scalars, i.Scalar(s))
	}
	acc := make([][]Vec, groups)
	for g := range acc {
		for range r.Results {
			acc[g] = append(acc[g], i.Copy(r.Start))
		}
	}
	at := GP64()
	XORQ(at, at)
	place := func(p string, g int) Mem {
		return Mem{Base: ptr[p], Index: at, Scale: 4, Disp: 4 * g * i.Lanes}
	}

	Label("loop")
	CMPQ(n, U8(VirtualLanes))
	JL(LabelRef("tail"))
	for g := range groups {
		var in []Vec
		for _, p := range l.In {
			in = append(in, i.Copy(place(p, g)))
		}
		for k, v := range r.Term(in, scalars, acc[g], func(v Vec) Vec { return v }) {
			VMOVUPS(v, place(l.Out[k], g))
		}
	}
	ADDQ(U8(VirtualLanes), at)
	SUBQ(U8(VirtualLanes), n)
	JMP(LabelRef("loop"))

	Label("tail")
	TESTQ(n, n)
	JE(LabelRef("join"))
	for g := range groups {
		m := i.First(i.Spread(n), g*i.Lanes)
		var in []Vec
		for _, p := range l.In {
			in = append(in, i.LoadMasked(place(p, g), m))
		}
		pad := func(v Vec) Vec { return i.Blend(m, i.Copy(r.Start), v) }
		for k, v := range r.Term(in, scalars, acc[g], pad) {
			i.StoreMasked(v, m, place(l.Out[k], g))
		}
	}

	Label("join")
	res := Load(Param("res"), GP64())
	for k := range r.Results {
		var lanes []Vec
		for g := range groups {
			lanes = append(lanes, acc[g][k])
		}
		v := Join(i, lanes, r.Join)
		VMOVSS(v.AsX(), Mem{Base: res, Disp: 4 * k})
	}
	VZEROUPPER()
	RET()
}

// Join joins the virtual lanes in acc as a tree and returns a register whose
// first lane holds the result.
func Join(i ISA, acc []Vec, join func(i ISA, a, b Vec) Vec) Vec {
	acc = append([]Vec(nil), acc...)
	for h := len(acc) / 2; h > 0; h /= 2 {
		for g := range h {
			acc[g] = join(i, acc[g], acc[g+h])
		}
	}
	v := acc[0]
	if i.Lanes == 16 {
		upper, low := YMM(), YMM()
		VEXTRACTF64X4(U8(1), v, upper)
		VMOVUPS(v.AsY(), low)
		v = join(AVX2, low, upper)
	}
	x4 := XMM()
	if i.Lanes == 16 {
		VEXTRACTF32X4(U8(1), v.AsY(), x4)
	} else {
		VEXTRACTF128(U8(1), v.AsY(), x4)
	}
	v = join(AVX2, v, x4.AsY().(Vec))
	for _, shuffle := range []uint8{0x4e, 0xb1} { // lanes 2 3 0 1, then 1 0 3 2
		s := YMM()
		VPERMILPS(U8(shuffle), v.AsY(), s)
		v = join(AVX2, v, s)
	}
	return v
}

// Columns emits a loop over rows for each group of columns, whose accumulators
// stay in registers: the outputs are arrays of n columns that accumulate, the
// inputs matrices of rows rows, ld bytes apart. Stats, if named, is an array of
// two numbers a row.
func (l *Loop) Columns(i ISA, stats string, body func(in, row, acc []Vec)) {
	in := l.In
	if stats != "" {
		l.In = append(append([]string(nil), in...), stats)
	}
	l.Words = []string{"ld", "rows"}
	ptr, n := l.open(i)
	ld := Load(Param("ld"), GP64()).(reg.GPVirtual)
	at := GP64()
	XORQ(at, at)

	emit := func(name string, vecs int, m *Mask) {
		acc := make([][]Vec, vecs)
		off := func(p reg.GPVirtual, g int) Mem { return Mem{Base: p, Index: at, Scale: 4, Disp: 4 * g * i.Lanes} }
		load := func(p Mem) Vec {
			if m != nil {
				return i.LoadMasked(p, *m)
			}
			return i.Copy(p)
		}
		for g := range acc {
			for _, o := range l.Out {
				acc[g] = append(acc[g], load(off(ptr[o], g)))
			}
		}
		p := map[string]reg.GPVirtual{}
		for _, s := range l.In {
			p[s] = GP64()
			MOVQ(ptr[s], p[s])
		}
		rows := Load(Param("rows"), GP64()).(reg.GPVirtual)
		Label(name)
		var row []Vec
		if stats != "" {
			for k := range 2 {
				v := i.Vec()
				VBROADCASTSS(Mem{Base: p[stats], Disp: 4 * k}, v)
				row = append(row, v)
			}
			ADDQ(U8(8), p[stats])
		}
		for g := range acc {
			var x []Vec
			for _, s := range in {
				x = append(x, load(off(p[s], g)))
			}
			body(x, row, acc[g])
		}
		for _, s := range in {
			ADDQ(ld, p[s])
		}
		DECQ(rows)
		JNE(LabelRef(name))
		for g := range acc {
			for k, o := range l.Out {
				if m != nil {
					i.StoreMasked(acc[g][k], *m, off(ptr[o], g))
				} else {
					VMOVUPS(acc[g][k], off(ptr[o], g))
				}
			}
		}
	}
	const wide = 4
	Label("wide")
	CMPQ(n, U8(uint8(wide*i.Lanes)))
	JL(LabelRef("narrow"))
	emit("wideRows", wide, nil)
	ADDQ(U8(uint8(wide*i.Lanes)), at)
	SUBQ(U8(uint8(wide*i.Lanes)), n)
	JMP(LabelRef("wide"))
	Label("narrow")
	CMPQ(n, U8(uint8(i.Lanes)))
	JL(LabelRef("tail"))
	emit("narrowRows", 1, nil)
	ADDQ(U8(uint8(i.Lanes)), at)
	SUBQ(U8(uint8(i.Lanes)), n)
	JMP(LabelRef("narrow"))
	Label("tail")
	TESTQ(n, n)
	JE(LabelRef("done"))
	m := i.First(i.Spread(n), 0)
	emit("tailRows", 1, &m)
	Label("done")
	VZEROUPPER()
	RET()
}
