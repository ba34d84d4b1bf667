package cpu

import (
	"fmt"

	"espalier/trainer/tensor"
)

func (d *Device) checkEmbed(rows, table, id tensor.Tensor) (n int) {
	if len(table.Shape) != 2 || rows.Len() != id.Len()*table.Shape[1] {
		panic("cpu: rows, table and ids do not fit")
	}
	for _, t := range ints(id) {
		if int(t) >= table.Shape[0] {
			d.fail(fmt.Errorf("cpu: id %d in a table of %d rows", t, table.Shape[0]))
			break
		}
	}
	return table.Shape[1]
}

// Gather fills out with scale times the rows that ids name.
func (d *Device) Gather(out, table, ids32 tensor.Tensor, scale float32) {
	n := d.checkEmbed(out, table, ids32)
	ys, ts, ids := Floats(out), Floats(table), ints(ids32)
	d.span(len(ids), 16, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			y := ys[i*n:][:n]
			if id := int(ids[i]); id < 0 || id >= table.Shape[0] {
				clear(y)
			} else {
				for j, v := range ts[id*n:][:n] {
					y[j] = scale * v
				}
			}
		}
	})
}

// ScatterAdd adds scale*dout to the rows that ids name, in the order of ids.
func (d *Device) ScatterAdd(dtable, dout, ids32 tensor.Tensor, scale float32) {
	n := d.checkEmbed(dout, dtable, ids32)
	xs, ts, ids := Floats(dout), Floats(dtable), ints(ids32)
	d.span(n, 64, func(lo, hi int) {
		for i, t := range ids {
			if id := int(t); id >= 0 && id < dtable.Shape[0] {
				y := ts[id*n:][:n]
				for j := lo; j < hi; j++ {
					y[j] += float32(scale * xs[i*n+j])
				}
			}
		}
	})
}
