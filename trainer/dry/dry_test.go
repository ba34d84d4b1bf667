package dry

import (
	"testing"

	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

func TestPeak(t *testing.T) {
	d := New()
	step := func() {
		d.Reset()
		d.Alloc(tensor.Float32, 3, 5)
		d.Alloc(tensor.Int32, 17)
		d.Alloc(tensor.Float32, 0)
	}
	step()
	if got := d.PeakBytes(); got != 64+128 {
		t.Errorf("a step takes %d bytes, want 192", got)
	}
	half := d.Keep(tensor.BFloat16, 33, 40)
	packed := d.Pack(half, true) // 40 by 33: two panels of 32 columns
	step()
	if got, want := d.PeakBytes(), int64(192+2*33*40+2*40*64); got != want {
		t.Errorf("with kept tensors %d bytes, want %d", got, want)
	}
	d.Free(packed)
	d.Free(tensor.Tensor{})
	step()
	d.Alloc(tensor.Float32, 1000)
	if got, want := d.PeakBytes(), int64(192+2*33*40+2*40*64); got != want {
		t.Errorf("after a tensor was freed %d bytes, want %d", got, want)
	}
	x := []float32{1}
	d.Gemm(half, half, half, op.Gemm{})
	d.Read(x, half)
	if x[0] != 0 || d.Err() != nil || d.Close() != nil {
		t.Errorf("read %v", x)
	}
}
