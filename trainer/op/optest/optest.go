// Package optest is the suite that any device must pass: each operation of
// package op forward against float64 loops and backward against central
// differences of those loops.
//
// Operands start at unaligned offsets between guard words, and outputs start
// as NaN, so that a write outside an output or an element left out is seen.
// [Digests] is for what the suite cannot say: that a device gives the same
// bits for another number of threads or another instruction set.
package optest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// Run runs the suite on devices made by open, which the suite closes.
func Run(t *testing.T, open func() op.Device) {
	for _, s := range []struct {
		name string
		run  func(h *harness)
	}{
		{"Memory", testMemory},
		{"Halves", testHalves},
		{"Paste", testPaste},
		{"Gemm", testGemm},
		{"GemmBatch", testGemmBatch},
		{"GemmEpilogue", testGemmEpilogue},
		{"GemmDrop", testGemmDrop},
		{"GemmSpecials", testGemmSpecials},
		{"GemmPack", testGemmPack},
		{"GemmHalf", testGemmHalf},
		{"GemmRounding", testGemmRounding},
		{"Attend", testAttend},
		{"AttendHidden", testAttendHidden},
		{"Norm", testNorm},
		{"NormORT", testNormORT},
		{"NormAdd", testNormAdd},
		{"Softmax", testSoftmax},
		{"Activate", testActivate},
		{"FinishBack", testFinishBack},
		{"Elementwise", testElementwise},
		{"LogFloor", testLogFloor},
		{"Drop", testDrop},
		{"Permute", testPermute},
		{"Embed", testEmbed},
		{"CrossEntropy", testCrossEntropy},
		{"CrossEntropySpecials", testCrossEntropySpecials},
		{"ProjectLoss", testProjectLoss},
		{"Conv", testConv},
		{"AvgPool", testAvgPool},
		{"Sums", testSums},
		{"ArgMax", testArgMax},
		{"TopK", testTopK},
		{"Adam", testAdam},
		{"SGD", testSGD},
		{"Adafactor", testAdafactor},
	} {
		t.Run(s.name, func(t *testing.T) {
			h := &harness{T: t, d: open(), r: rand.New(rand.NewPCG(1, 2))}
			s.run(h)
			if err := h.d.Err(); err != nil {
				t.Errorf("sticky error: %v", err)
			}
			if err := h.d.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
	}
}

// guard is what stands before and after each operand.
const guard = float32(-123456.75)

// A harness is one test's device and randomness.
type harness struct {
	*testing.T
	d      op.Device
	r      *rand.Rand
	at     int // varies the offset of operands
	placed []operand
}

// An operand is a tensor between guards, and what it held at first.
type operand struct {
	whole      tensor.Tensor
	front, end int
	input      []float32 // nil for an output
}

// A value is an operand's shape and numbers, as float64 for the reference and
// as a tensor of the device.
type value struct {
	shape []int
	x     []float64 // float32 numbers
	t     tensor.Tensor
}

func (h *harness) place(shape []int, x []float32, input bool) tensor.Tensor {
	h.at++
	n := len(x)
	front := 3 + (h.at*5)%17
	buf := make([]float32, front+n+19)
	for i := range buf {
		buf[i] = guard
	}
	copy(buf[front:], x)
	whole := h.d.Alloc(tensor.Float32, len(buf))
	h.d.Write(whole, buf)
	o := operand{whole: whole, front: front, end: front + n}
	if input {
		o.input = x
	}
	h.placed = append(h.placed, o)
	return whole.Slice(front, front+n).View(shape...)
}

// in makes an input of normal numbers.
func (h *harness) in(shape ...int) value {
	x := make([]float32, tensor.Size(shape))
	for i := range x {
		x[i] = float32(h.r.NormFloat64())
	}
	return h.given(x, shape...)
}

// given makes an input of given numbers.
func (h *harness) given(x []float32, shape ...int) value {
	return value{shape, widen(x), h.place(shape, x, true)}
}

// out makes an output that holds NaN.
func (h *harness) out(shape ...int) tensor.Tensor {
	x := make([]float32, tensor.Size(shape))
	for i := range x {
		x[i] = float32(math.NaN())
	}
	return h.place(shape, x, false)
}

// sum makes an output that accumulates, and what it holds at first.
func (h *harness) sum(shape ...int) (tensor.Tensor, []float64) {
	x := make([]float32, tensor.Size(shape))
	for i := range x {
		x[i] = float32(h.r.NormFloat64())
	}
	return h.place(shape, x, false), widen(x)
}

// ids makes an int32 input.
func (h *harness) ids(x []int32, shape ...int) tensor.Tensor {
	t := h.d.Alloc(tensor.Int32, shape...)
	h.d.WriteInts(t, x)
	return t
}

// done checks guards and inputs and ends the step.
func (h *harness) done(name string) {
	h.Helper()
	for _, o := range h.placed {
		got := h.read(o.whole)
		for i, v := range got {
			inside := i >= o.front && i < o.end
			if !inside && v != guard {
				h.Errorf("%s: element %d outside an operand of %d was written: %g", name, i-o.front, o.end-o.front, v)
				break
			}
			if inside && o.input != nil && math.Float32bits(v) != math.Float32bits(o.input[i-o.front]) {
				h.Errorf("%s: element %d of an input was written: %g", name, i-o.front, v)
				break
			}
		}
	}
	h.placed = h.placed[:0]
	h.d.Reset()
}

// mutable stops done from checking that t keeps its numbers: it is an input and
// an output.
func (h *harness) mutable() { h.placed[len(h.placed)-1].input = nil }

func (h *harness) read(t tensor.Tensor) []float32 {
	x := make([]float32, t.Len())
	h.d.Read(x, t)
	return x
}

// near checks got against want: within tol of max(1, |want|), NaN for NaN, the
// same infinity for an infinity.
func (h *harness) near(name string, t tensor.Tensor, want []float64, tol float64) {
	h.Helper()
	got := h.read(t)
	if len(got) != len(want) {
		h.Fatalf("%s: %d elements, want %d", name, len(got), len(want))
	}
	for i, w := range want {
		if !within(float64(got[i]), w, tol) {
			h.Errorf("%s: element %d of %v is %g, want %g", name, i, t.Shape, got[i], w)
			return
		}
	}
}

func within(got, want, tol float64) bool {
	if math.IsNaN(want) || math.IsNaN(got) {
		return math.IsNaN(want) && math.IsNaN(got)
	}
	if math.IsInf(want, 0) || math.IsInf(got, 0) {
		return got == want
	}
	return math.Abs(got-want) <= tol*max(1, math.Abs(want))
}

// same checks bits.
func (h *harness) same(name string, got, want []float32) {
	h.Helper()
	for i, w := range want {
		if math.Float32bits(got[i]) != math.Float32bits(w) {
			h.Errorf("%s: element %d is %g, want %g", name, i, got[i], w)
			return
		}
	}
}

// slope returns the gradient of sum(f() * dy) by the numbers of x, by central
// differences.
func slope(f func() []float64, x, dy []float64) []float64 {
	const step = 1e-5
	g := make([]float64, len(x))
	for i, v := range x {
		x[i] = v + step
		hi := f()
		x[i] = v - step
		lo := f()
		x[i] = v
		for j := range dy {
			g[i] += (hi[j] - lo[j]) * dy[j]
		}
		g[i] /= 2 * step
	}
	return g
}

func widen(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

func add(x, y []float64) []float64 {
	z := make([]float64, len(x))
	for i := range x {
		z[i] = x[i] + y[i]
	}
	return z
}

// none is an operand left out.
var none tensor.Tensor

// lengths are sizes around the unrolls of vector code.
var lengths = []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 48, 49, 63, 64, 65, 100, 127, 128, 129, 255, 257}

func named(format string, a ...any) string { return fmt.Sprintf(format, a...) }
