package plain

import (
	"math"
	"testing"

	"espalier/trainer/op"
	"espalier/trainer/op/optest"
	"espalier/trainer/tensor"
)

func TestDevice(t *testing.T) {
	for _, rounds := range []bool{false, true} {
		t.Run(New(rounds).Numerics(), func(t *testing.T) {
			optest.Run(t, func() op.Device { return New(rounds) })
		})
	}
}

// A device keeps what float32 numbers cannot hold, unless it rounds.
func TestFloats(t *testing.T) {
	for _, rounds := range []bool{false, true} {
		d := New(rounds)
		x := d.Alloc(tensor.Float32, 1)
		d.Write(x, []float32{1})
		d.Scale(x, x, 1.0/3)
		want := 1.0 / 3
		if rounds {
			want = float64(float32(want))
		}
		if got := Floats(x)[0]; got != want {
			t.Errorf("rounds=%v: %v, want %v", rounds, got, want)
		}
	}
}

// What was given back cannot be used without notice.
func TestSpoilsReleased(t *testing.T) {
	d := New(false)
	x, y := d.Alloc(tensor.Float32, 2), d.Alloc(tensor.Float32, 2)
	d.Zero(x)
	d.Zero(y)
	d.Release(x)
	if v := Floats(x); !math.IsNaN(v[0]) || !math.IsNaN(v[1]) {
		t.Errorf("released memory holds %v", v)
	}
	d.Reset()
	if v := Floats(y); !math.IsNaN(v[0]) {
		t.Errorf("memory of the last step holds %v", v)
	}
}

func TestIDBeyondTable(t *testing.T) {
	d := New(false)
	table, out, ids := d.Keep(tensor.Float32, 3, 2), d.Alloc(tensor.Float32, 1, 2), d.Alloc(tensor.Int32, 1)
	d.WriteInts(ids, []int32{3})
	d.Gather(out, table, ids, 1)
	if d.Err() != errID {
		t.Errorf("error %v, want %v", d.Err(), errID)
	}
}

func TestCloseTwice(t *testing.T) {
	d := New(false)
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if err := d.Close(); err != errClosed {
		t.Errorf("second close: %v, want %v", err, errClosed)
	}
}
