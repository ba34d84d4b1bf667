package finish

import "math"

// Columns is the width of a tile.
const Columns = 32

// Tile finishes a tile of a product, cols columns of each row of x, whose rows
// lie Columns numbers apart: y = x + bias + residual, each step rounded, and no
// less than 0 if relu; a NaN stays one. Rows of y, and of the residual, lie ldy
// apart; residual may be nil, or y.
func Tile(y []float32, ldy int, x, bias, residual []float32, rows, cols int, relu bool) {
	if rows == 0 || cols == 0 {
		return
	}
	_, _, _ = y[(rows-1)*ldy+cols-1], x[(rows-1)*Columns+cols-1], bias[cols-1]
	if residual != nil {
		_ = residual[(rows-1)*ldy+cols-1]
	}
	if cols == Columns && tile(y, ldy, x, bias, residual, floor(relu), rows) {
		return
	}
	tileGeneric(y, ldy, x, bias, residual, rows, cols, relu)
}

func tileGeneric(y []float32, ldy int, x, bias, residual []float32, rows, cols int, relu bool) {
	for r := range rows {
		for c := range cols {
			v := x[r*Columns+c] + bias[c]
			if residual != nil {
				v = float32(v) + residual[r*ldy+c]
			}
			if relu {
				v = positive(v)
			}
			y[r*ldy+c] = v
		}
	}
}

// TileHalf is Tile that rounds to the nearest bfloat16, denormals to zeros of
// their sign; the residual is bfloat16 too.
func TileHalf(y []uint16, ldy int, x, bias []float32, residual []uint16, rows, cols int, relu bool) {
	if rows == 0 || cols == 0 {
		return
	}
	_, _, _ = y[(rows-1)*ldy+cols-1], x[(rows-1)*Columns+cols-1], bias[cols-1]
	if residual != nil {
		_ = residual[(rows-1)*ldy+cols-1]
	}
	if cols == Columns && tileHalf(y, ldy, x, bias, residual, floor(relu), rows) {
		return
	}
	tileHalfGeneric(y, ldy, x, bias, residual, rows, cols, relu)
}

func tileHalfGeneric(y []uint16, ldy int, x, bias []float32, residual []uint16, rows, cols int, relu bool) {
	for r := range rows {
		for c := range cols {
			v := x[r*Columns+c] + bias[c]
			if residual != nil {
				v = float32(v) + math.Float32frombits(uint32(residual[r*ldy+c])<<16)
			}
			if relu {
				v = positive(v)
			}
			y[r*ldy+c] = half1(v)
		}
	}
}

// Half rounds x to the nearest bfloat16, ties to even; denormals become zeros of
// their sign, as a product that rounds takes them, and a NaN stays one.
func Half(y []uint16, x []float32) {
	y = y[:len(x)]
	n := half(y, x)
	for i, v := range x[n:] {
		y[n+i] = half1(v)
	}
}

func half1(v float32) uint16 {
	switch b := math.Float32bits(v); {
	case b&0x7fffffff > 0x7f800000:
		return uint16(b>>16) | 0x40
	case b&0x7f800000 == 0:
		return uint16(b >> 16 & 0x8000)
	default:
		return uint16((b + 0x7fff + b>>16&1) >> 16)
	}
}

func floor(relu bool) float32 {
	if relu {
		return 0
	}
	return float32(math.Inf(-1))
}
