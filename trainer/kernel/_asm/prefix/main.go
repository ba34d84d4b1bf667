// Command prefix generates what writes prefix codes: of two streams at once,
// because each code has to wait for the one before it.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Offsets in a stream.
const (
	offAcc = 0
	offN   = 8
	offAt  = 16
)

// A lane is a stream.
type lane struct {
	stream, dst, limit string // parameters
	acc, n, to, src    reg.GPVirtual
}

func main() {
	ConstraintExpr("!purego")
	TEXT("putFives", NOSPLIT, "func(table *[256]uint64, a, b *[3]uint64, da, db *byte, la, lb int, sa, sb *byte, i int) int")
	Doc("putFives writes the last bytes of sa[:i] and sb[:i], five at a time, as long as neither stream has written", "more than la or lb bytes. It returns how many are left.")
	Pragma("noescape")
	lanes := []*lane{{stream: "a", dst: "da", limit: "la"}, {stream: "b", dst: "db", limit: "lb"}}
	for _, l := range lanes {
		from := Mem{Base: Load(Param(l.stream), GP64())}
		l.acc, l.n, l.to = GP64(), GP64(), GP64()
		MOVQ(from.Offset(offAcc), l.acc)
		MOVQ(from.Offset(offN), l.n)
		MOVQ(from.Offset(offAt), l.to)
		ADDQ(param(l.dst), l.to)
		at := GP64()
		MOVQ(param(l.dst), at)
		ADDQ(at, param(l.limit)) // the place from which no more may be written
		l.src = Load(Param("s"+l.stream), GP64()).(reg.GPVirtual)
	}
	table, i := Load(Param("table"), GP64()), Load(Param("i"), GP64())

	Label("loop")
	CMPQ(i, Imm(5))
	JLT(LabelRef("end"))
	for _, l := range lanes {
		CMPQ(l.to, param(l.limit))
		JGT(LabelRef("end"))
	}
	SUBQ(Imm(5), i)
	for k := 4; k >= 0; k-- {
		for _, l := range lanes {
			b := GP64()
			MOVBQZX(Mem{Base: l.src, Index: i, Scale: 1, Disp: k}, b)
			MOVQ(Mem{Base: table, Index: b, Scale: 8}, reg.RCX)
			SHRQ(reg.CL, l.acc)
			ORQ(reg.RCX, l.acc)
			ADDQ(reg.RCX, l.n)
		}
	}
	for _, l := range lanes {
		v := GP64()
		MOVQ(l.n, reg.RCX)
		NEGQ(reg.RCX)
		MOVQ(l.acc, v)
		SHRQ(reg.CL, v)
		MOVQ(v, Mem{Base: l.to})
		ANDQ(Imm(63), l.n)
		MOVQ(l.n, v)
		SHRQ(Imm(3), v)
		ADDQ(v, l.to)
		ANDQ(Imm(7), l.n)
	}
	JMP(LabelRef("loop"))

	Label("end")
	for _, l := range lanes {
		to := Mem{Base: Load(Param(l.stream), GP64())}
		MOVQ(l.acc, to.Offset(offAcc))
		MOVQ(l.n, to.Offset(offN))
		SUBQ(param(l.dst), l.to)
		MOVQ(l.to, to.Offset(offAt))
	}
	Store(i, ReturnIndex(0))
	RET()
	Generate()
}

// param is the place of a parameter.
func param(name string) Mem {
	b, err := Param(name).Resolve()
	if err != nil {
		panic("prefix: " + err.Error())
	}
	return b.Addr
}
