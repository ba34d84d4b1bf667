// Command pool generates what a thread does that waits a moment.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

func main() {
	ConstraintExpr("!purego")
	TEXT("pause", NOSPLIT, "func(n int)")
	Doc("pause lets the core's other thread run for n moments. n is not 0.")
	n := Load(Param("n"), GP64())
	Label("loop")
	PAUSE()
	DECQ(n)
	JNE(LabelRef("loop"))
	RET()
	Generate()
}
