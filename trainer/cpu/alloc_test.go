package cpu

import (
	"testing"

	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// TestStepAllocatesNothing runs a step of about every operation again and
// again: after the first few, nothing comes from the Go heap.
func TestStepAllocatesNothing(t *testing.T) {
	for _, threads := range []int{1, 3} {
		d := New(threads)
		const b, n, c, heads, v = 4, 37, 64, 2, 211
		f := tensor.Float32
		bnc, rows, shape4, shapeV, lseShape := []int{b, n, c}, []int{b * n}, []int{1, heads, n, n}, []int{b * n, v}, []int{b, heads, n}
		w, dw, m1, m2 := d.Keep(f, c, c), d.Keep(f, c, c), d.Keep(f, c, c), d.Keep(f, c, c)
		out, table, dtable := d.Keep(f, v, c), d.Keep(f, v, c), d.Keep(f, v, c)
		gain, shift, dgain := d.Keep(f, c), d.Keep(f, c), d.Keep(f, c)
		ids, img, filter, conv := d.Keep(tensor.Int32, b, n), d.Keep(f, 1, 9, 9, c), d.Keep(f, 3, 3, c, c), d.Keep(f, 1, 9, 9, c)
		pool, total, top, topIDs := d.Keep(f, 1, 4, 4, c), d.Keep(f, 1), d.Keep(f, b*n, 3), d.Keep(tensor.Int32, b*n, 3)
		packed, axes, stats := d.Pack(w, true), []int{1, 0, 2}, []int{b * n, 2}
		nbc := []int{n, b, c}
		host := make([]float32, 1)
		flat := ids.View(b * n)
		step := func() {
			d.Reset()
			x, y, z, q := d.Alloc(f, bnc...), d.Alloc(f, bnc...), d.Alloc(f, bnc...), d.Alloc(f, bnc...)
			st, lse, bias := d.Alloc(f, stats...), d.Alloc(f, lseShape...), d.Alloc(f, shape4...)
			logits, loss, lseV, perm := d.Alloc(f, shapeV...), d.Alloc(f, rows...), d.Alloc(f, rows...), d.Alloc(f, nbc...)
			d.Zero(bias)
			d.Gather(x, table, ids, 2)
			drop := op.Dropout{P: 0.1, Key: 3}
			d.Norm(y, st, x, gain, shift, op.Norm{Kind: op.StdNorm, Eps: 1e-6})
			d.Gemm(q, y, w, op.Gemm{Epilogue: op.Epilogue{Bias: shift, Act: op.ReLU, Residual: x, Pre: z}})
			d.Gemm(q, y, packed, op.Gemm{TransB: true})
			d.Attend(z, lse, q, y, x, op.Attention{Heads: heads, Scale: 0.1, Causal: true, Bias: bias, Dropout: drop})
			d.Drop(z, z, drop)
			d.Add(z, z, x)
			d.Gemm(logits, z, out, op.Gemm{TransB: true})
			d.CrossEntropy(loss, lseV, logits, ids, op.CrossEntropy{Smoothing: 0.1})
			d.CrossEntropyBack(logits, loss, lseV, logits, ids, op.CrossEntropy{Smoothing: 0.1})
			d.Gemm(z, logits, out, op.Gemm{})
			d.Gemm(out, logits, z, op.Gemm{TransA: true, Accumulate: true, Alpha: 0.5})
			d.Permute(perm, z, axes)
			d.AttendBack(x, q, y, bias, z, z, lse, x, z, z, op.Attention{Heads: heads, Scale: 0.1, Causal: true, Bias: bias})
			d.NormBack(x, dgain, dgain, y, z, gain, st, op.Norm{Kind: op.LayerNorm})
			d.ScatterAdd(dtable, x, ids, 1)
			d.SumRows(dgain, x)
			d.ActivateBack(x, y, z, op.GELUErf)
			d.Softmax(logits, logits)
			d.TopK(top, topIDs, logits)
			d.ArgMax(flat, logits)
			d.Conv(conv, img, filter, op.Conv{Pad: 1, Epilogue: op.Epilogue{Bias: shift, Residual: conv}})
			d.AvgPool(pool, conv, 2)
			d.SumSquares(total, dw)
			d.Adam(w, dw, m1, m2, op.Adam{Rate: 1e-3, Beta1: 0.9, Beta2: 0.98, Eps: 1e-9, Step: 1})
			d.SGD(w, dw, m1, op.SGD{Rate: 1e-3, Momentum: 0.9})
			d.Adafactor(w, dw, gain, dgain, m1, op.Adafactor{Rate: 1e-3, Decay: 0.8, Step: 2, Beta1: 0.9, Eps: 1e-3})
			d.Read(host, total)
		}
		for range 4 {
			step()
		}
		if got := testing.AllocsPerRun(20, step); got != 0 {
			t.Errorf("threads=%d: a step allocates %g times, want 0", threads, got)
		}
		if err := d.Err(); err != nil {
			t.Error(err)
		}
		d.Close()
	}
}
