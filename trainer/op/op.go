// Package op names what a device computes, forward and backward.
//
// A [Device] is a value that is passed down; two of them may live in one
// process. Operands are [tensor.Tensor] handles of that device, float32 unless
// said otherwise. Operations may run later than the call: their errors are
// sticky and read with Err, and Read waits for what it reads. A device is used
// from one goroutine at a time. Misuse (shapes that do not fit) panics with a
// constant string.
//
// Gradients: parameter gradients (named dw, dbias, dgain, dshift, dtable)
// accumulate into their tensor; activation gradients overwrite. A zero Tensor
// for an optional gradient means that it is not wanted and costs nothing.
//
// Empty operands (a dimension of 0) are legal everywhere: sums over nothing are
// 0. A panic is kept for misuse by the program; data that are out of range (an
// id beyond its table) make the sticky error.
//
// Bits: each output element is accumulated in one order that depends neither
// on the thread count nor on the vector width.
package op

import "espalier/trainer/tensor"

// A Device allocates memory and computes.
type Device interface {
	Memory
	Matmul
	Attend
	Normalise
	Map
	Embed
	Loss
	Convolve
	Reduce
	Update

	Name() string     // such as "cpu"
	Numerics() string // numerics class, such as "amd64"
	Err() error       // the first error since the device was made
	Close() error
}

// Memory owns tensors. Step tensors come from an arena that Reset empties and
// that Release gives memory back to, so that a steady-state step allocates
// nothing; kept tensors live until freed.
type Memory interface {
	// Alloc and Keep copy the shape: a caller may reuse its slice, and passing
	// an existing one (x.Shape...) allocates nothing from the Go heap.
	Alloc(dt tensor.DType, shape ...int) tensor.Tensor // from the arena, contents undefined
	Release(t tensor.Tensor)                           // gives back all of a tensor that Alloc returned, or a view of it; the zero Tensor is legal
	Reset()                                            // ends a step: every arena tensor is invalid
	Keep(dt tensor.DType, shape ...int) tensor.Tensor  // long-lived, zeroed
	Free(t tensor.Tensor)                              // gives a kept or packed tensor back; the zero Tensor is legal
	Write(dst tensor.Tensor, src []float32)            // len(src) = dst.Len(); converts to dst's dtype
	WriteInts(dst tensor.Tensor, src []int32)
	Read(dst []float32, src tensor.Tensor) // converts from src's dtype
	ReadInts(dst []int32, src tensor.Tensor)
	Copy(dst, src tensor.Tensor) // same length; converts between float dtypes
	// Paste copies src into dst from index at of the given axis on; all other
	// dimensions agree. PasteAdd adds it, of float32. Cut is the reverse: it fills
	// dst from there. Together they are concatenation, splitting and the gradients
	// of both.
	Paste(dst, src tensor.Tensor, axis, at int)
	PasteAdd(dst, src tensor.Tensor, axis, at int)
	Cut(dst, src tensor.Tensor, axis, at int)
	Zero(dst tensor.Tensor)
	PeakBytes() int64 // most arena and kept memory in use at once
}

// An Act is an activation function.
type Act uint8

// Activations. GELUTanh is the tanh form, GELUErf the exact one, QuickGELU is
// x*sigmoid(1.702x) as CLIP uses.
const (
	None Act = iota
	ReLU
	GELUTanh
	GELUErf
	QuickGELU
	SiLU
	Tanh
	Sigmoid
)

// An Epilogue is applied to each output element before it is stored:
// y = drop(act(alpha*x + bias)) + residual, or act(alpha*x + bias + residual)
// where ActLast is set, as ResNets have it. The residual may be the output
// itself.
type Epilogue struct {
	Bias     tensor.Tensor // [n], optional
	Act      Act
	Drop     Dropout       // by the index in the output; not with ActLast
	Residual tensor.Tensor // shape of the output, optional
	ActLast  bool
	Pre      tensor.Tensor // shape of the output, optional: receives what act sees, which backward passes need
}

// Gemm says how a matrix product is made.
type Gemm struct {
	TransA, TransB bool
	Alpha          float32 // 0 means 1
	Accumulate     bool    // add to what c holds; the epilogue must be empty
	Epilogue
}

// Matmul is the family of matrix products.
type Matmul interface {
	// Gemm computes c = epilogue(alpha * op(a) * op(b)). Operands are [m,k],
	// [k,n], [m,n] after op, or have the same leading batch dimensions. Where b
	// is a 2-D matrix, the leading dimensions of a and c count as rows. Where c
	// is 2-D, TransA is set and TransB is not, the leading dimensions of a and b
	// count as k, which is how the gradient of a weight is summed.
	// c may not overlap a or b. Each element of c is one chain of fused
	// multiply-adds over ascending k.
	Gemm(c, a, b tensor.Tensor, g Gemm)
	// Pack lays a frozen matrix out for Gemm once and for all. The result may be
	// given as b wherever the same matrix and trans would be; it has b's shape,
	// does not follow later changes of b, and lives until freed. A bfloat16
	// matrix stays one: products with it, packed or not, are those with its
	// numbers in float32, to the bit.
	Pack(b tensor.Tensor, trans bool) tensor.Tensor
	// PackRounding lays out a frozen bfloat16 matrix likewise, for products that
	// round a to bfloat16 too, where a is not transposed. They are not those of
	// float32: k is taken in pairs, the product of the odd one is added first,
	// then that of the even one, each sum rounded to nearest even, denormals
	// counting as zeros and becoming zeros, as the instruction VDPBF16PS does.
	// Every device and processor of a numerics class gives the same bits.
	PackRounding(b tensor.Tensor, trans bool) tensor.Tensor
}

// Dropout says which elements survive. Element i (row-major index in the
// tensor it applies to) is kept if hash(Key, i) >= P, and scaled by 1/(1-P).
// The hash is a function of Key and i alone, so masks do not depend on order,
// threads or resumption. P = 0 switches it off; P >= 1 drops everything.
// See [Dropout.Mask] for the hash.
type Dropout struct {
	P   float32
	Key uint64 // made from (seed, step, place) by the caller
}

// Attention says how attention is computed: per head,
// softmax(mask(scale * q k') + bias) with dropout, times v.
type Attention struct {
	Heads  int
	Scale  float32
	Causal bool // query i sees key j only if j <= i + Past
	Past   int
	// Mask, [b, tk]: where it is 0 the scaled score is replaced by MaskValue
	// before the bias is added. Causal hiding works the same way.
	Mask      tensor.Tensor
	MaskValue float32 // 0 means -1e9
	// Bias is added to the scores: [b or 1, heads or 1, tq or 1, tk].
	Bias    tensor.Tensor
	Dropout Dropout // on the probabilities; index ((b*heads+h)*tq+i)*tk+j
	// Keys is how many rows of k and v, from the first, are keys, so that a
	// cache longer than what it holds needs no copy; 0 means all. Mask and Bias
	// then have Keys columns, and dk and dv are 0 in the other rows.
	Keys int
	// Slots, int32 [b, keys], is for one query (tq = 1) on a cache of which many
	// rows of the batch share parts: k and v are [1, slots, heads*dh], key j of
	// batch row i is their row Slots[i, j]. Mask is then [b, keys], Bias has keys
	// columns, Group and Keys are not used, and there is no lse, dropout or
	// gradient.
	Slots tensor.Tensor
	// Group is how many consecutive rows of q's batch share one row of k, v and
	// Mask (5 captions of one image); 0 means 1.
	Group int
}

// Attend is the family of fused attention. q is [b, tq, heads*dh], k and v are
// [b/group, tk, heads*dh], out has q's shape. Score matrices never exist
// beyond a tile.
type Attend interface {
	// Attend fills out and, if not zero, lse [b, heads, tq], which AttendBack
	// needs. A row whose scores are all -Inf gives zeros.
	Attend(out, lse, q, k, v tensor.Tensor, a Attention)
	// AttendBack fills dq, dk and dv; dbias (shape of a.Bias) accumulates. k and
	// v may be one tensor; dk and dv must not be.
	AttendBack(dq, dk, dv, dbias, dout, out, lse, q, k, v tensor.Tensor, a Attention)
}

// A NormKind is a way to normalise a row.
type NormKind uint8

// Norms. LayerNorm divides by sqrt(var + eps) with divisor n; StdNorm by
// (std + eps) with divisor n-1, as ORT does; RMSNorm by sqrt(mean(x²) + eps)
// without centring.
const (
	LayerNorm NormKind = iota
	StdNorm
	RMSNorm
)

// Norm says how rows (the last axis) are normalised.
type Norm struct {
	Kind NormKind
	Eps  float64
	Add  bool // NormBack adds to dx, where a residual joins
}

// Normalise is the family of row normalisations: out = gain*norm(x) + shift.
type Normalise interface {
	// Norm fills out and, if not zero, stats [rows, 2], which NormBack needs.
	// shift may be zero.
	Norm(out, stats, x, gain, shift tensor.Tensor, n Norm)
	// NormBack fills dx, or adds to it; dgain and dshift accumulate. The deviation of a
	// constant row has gradient 0.
	NormBack(dx, dgain, dshift, dy, x, gain, stats tensor.Tensor, n Norm)
	// Softmax over the last axis; LogSoftmax likewise.
	Softmax(out, x tensor.Tensor)
	LogSoftmax(out, x tensor.Tensor)
}

// Map is the family of elementwise work. out may be x or y (dx: dy or x)
// itself, save in Permute.
type Map interface {
	Activate(out, x tensor.Tensor, a Act)
	// ActivateBack: dx = dy * act'(x), x before the activation.
	ActivateBack(dx, dy, x tensor.Tensor, a Act)
	// FinishBack: dx = drop(dy) * act'(x), the gradient of an [Epilogue] but for
	// its residual. x is what act saw; with ReLU it may be drop(act(x)); with
	// None it may be zero; with ReLU it may also be what Signs made of it.
	FinishBack(dx, dy, x tensor.Tensor, a Act, d Dropout)
	// Signs: bit i%32 of the int32 i/32 of bits says whether x[i] > 0; bits has
	// as many int32 as that takes.
	Signs(bits, x tensor.Tensor)
	// Add, Mul: y has x's shape, or a suffix of it (then it is repeated).
	Add(out, x, y tensor.Tensor)
	Mul(out, x, y tensor.Tensor)
	// Axpy: y += alpha*x.
	Axpy(y, x tensor.Tensor, alpha float32)
	Scale(out, x tensor.Tensor, alpha float64)
	// LogFloor: out = log(max(x, floor)); its gradient is dy/x where x > floor,
	// else 0.
	LogFloor(out, x tensor.Tensor, floor float32)
	LogFloorBack(dx, dy, x tensor.Tensor, floor float32)
	Drop(out, x tensor.Tensor, d Dropout) // its own backward
	// Permute reorders axes: out's axis i is x's axis axes[i].
	Permute(out, x tensor.Tensor, axes []int)
}

// Embed is the family of table look-ups. ids is int32 of any shape, out has one
// axis more, table is [rows, n]; a negative id gives a zero row and takes no
// gradient.
type Embed interface {
	Gather(out, table, ids tensor.Tensor, scale float32)
	// ScatterAdd adds scale*dout to dtable's rows, in the order of ids.
	ScatterAdd(dtable, dout, ids tensor.Tensor, scale float32)
}

// CrossEntropy says how a loss is made of logits.
type CrossEntropy struct {
	Smoothing float32 // 1-s on the target, s/(V-1) elsewhere, as KL divergence
}

// Loss is the family of losses over logits [rows, V] and int32 targets [rows]
// (any shape with that many elements); a negative target is left out.
type Loss interface {
	// CrossEntropy fills loss [rows] (0 where left out) and lse [rows].
	CrossEntropy(loss, lse, logits, targets tensor.Tensor, c CrossEntropy)
	// CrossEntropyBack fills dlogits (which may be logits itself); weight [rows]
	// is the gradient of each row's loss. Rows left out get zeros.
	CrossEntropyBack(dlogits, weight, lse, logits, targets tensor.Tensor, c CrossEntropy)
	// ProjectLoss is CrossEntropy of the logits x*op(w) + bias, x [rows, n],
	// which are made in parts and never stored whole. Sums over classes are
	// made in parts of 2048.
	ProjectLoss(loss, lse, x tensor.Tensor, p Projection, targets tensor.Tensor, c CrossEntropy)
	// ProjectLossBack fills dx and adds to dw and dbias, each if not zero.
	ProjectLossBack(dx, dw, dbias, weight, lse, x tensor.Tensor, p Projection, targets tensor.Tensor, c CrossEntropy)
}

// A Projection makes logits of V classes of rows of n.
type Projection struct {
	W     tensor.Tensor // [n, V], or [V, n] if Trans; not packed
	Trans bool
	Bias  tensor.Tensor // [V], optional
}

// Conv says how an NHWC convolution is made.
type Conv struct {
	Stride, Pad int // 0 stride means 1
	Epilogue
}

// Convolve is the family of image work, forward only. x is [n,h,w,c], w is
// [kh,kw,c,out], out [n, (h+2*Pad-kh)/Stride+1, (w+2*Pad-kw)/Stride+1, out].
type Convolve interface {
	Conv(out, x, w tensor.Tensor, c Conv)
	// PackConv lays frozen filters out for Conv once and for all; see Pack.
	PackConv(w tensor.Tensor) tensor.Tensor
	// PackConvRounding lays float32 filters out likewise, for convolutions that
	// round x and the filters to bfloat16 (see PackRounding) before or after a
	// linear transform of both, and sum in float32; x, out and the residual may
	// then be bfloat16. A matrix [kh*kw*c, out] of PackRounding, viewed as filters, is the
	// same without transforms. Every device and processor of a numerics class
	// gives the same bits.
	PackConvRounding(w tensor.Tensor) tensor.Tensor
	AvgPool(out, x tensor.Tensor, size int) // stride = size, no padding, floor; x and out may be bfloat16
}

// Reduce is the family of sums, in one stated order.
type Reduce interface {
	Sum(out, x tensor.Tensor)          // all of x into out [1]
	SumRows(dbias, x tensor.Tensor)    // column sums of [rows, n], accumulating into [n]
	SumSquares(out, x tensor.Tensor)   // into out [1], for norms
	ArgMax(ids, x tensor.Tensor)       // int32 [rows]: the first maximum of each row; a NaN never wins
	TopK(values, ids, x tensor.Tensor) // [rows, k] of [rows, n], k <= n: descending, ties by lower index
}
