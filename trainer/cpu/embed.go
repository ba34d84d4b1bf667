package cpu

import (
	"fmt"

	"espalier/trainer/kernel/elem"
	"espalier/trainer/tensor"
)

// An embedJob copies rows of a table out, or adds rows to it.
type embedJob struct {
	rows, table []float32
	ids         []int32
	n, count    int // row length, rows of the table
	scale       float32
	tile        int // rows of a tile of a gather
	add         bool
}

// Rows of a tile of a gather, columns of a tile of a scatter.
const (
	gatherRows     = 16
	scatterColumns = 256
)

func (d *Device) planEmbed(rows, table, ids tensor.Tensor, scale float32) *embedJob {
	if len(table.Shape) != 2 || rows.Len() != ids.Len()*table.Shape[1] {
		panic("cpu: rows, table and ids do not fit")
	}
	j := &d.embed
	*j = embedJob{rows: Floats(rows), table: Floats(table), ids: ints(ids), n: table.Shape[1], count: table.Shape[0], scale: scale}
	for _, t := range j.ids {
		if int(t) >= j.count {
			d.fail(fmt.Errorf("cpu: id %d in a table of %d rows", t, j.count))
			break
		}
	}
	return j
}

// Gather fills out with scale times the rows that ids name.
func (d *Device) Gather(out, table, ids tensor.Tensor, scale float32) {
	j := d.planEmbed(out, table, ids, scale)
	j.tile = d.shareOr(len(j.ids), gatherRows)
	d.pool.Run(j, (len(j.ids)+j.tile-1)/j.tile)
}

// ScatterAdd adds scale*dout to the rows that ids name, in the order of ids.
func (d *Device) ScatterAdd(dtable, dout, ids tensor.Tensor, scale float32) {
	j := d.planEmbed(dout, dtable, ids, scale)
	j.add = true
	d.pool.Run(j, (j.n+scatterColumns-1)/scatterColumns)
}

// Tile does some rows of a gather or some columns of a scatter.
func (j *embedJob) Tile(_, t int) {
	if j.add {
		lo, hi := t*scatterColumns, min((t+1)*scatterColumns, j.n)
		for i, id := range j.ids {
			if id >= 0 && int(id) < j.count {
				elem.Axpy(j.table[int(id)*j.n:][lo:hi], j.rows[i*j.n:][lo:hi], j.scale)
			}
		}
		return
	}
	for i := t * j.tile; i < min((t+1)*j.tile, len(j.ids)); i++ {
		y, id := j.rows[i*j.n:][:j.n], int(j.ids[i])
		switch {
		case id < 0 || id >= j.count:
			clear(y)
		case j.scale == 1:
			copy(y, j.table[id*j.n:])
		default:
			elem.Scale(y, j.table[id*j.n:][:j.n], j.scale)
		}
	}
}
