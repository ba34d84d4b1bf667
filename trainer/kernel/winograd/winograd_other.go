//go:build !amd64 || purego

package winograd

func input(out []float32, step int, in []float32, row, pixel, n int) {
	inputGeneric(out, step, in, row, pixel, n)
}

func output(out []float32, row, pixel int, in []float32, step, n int) {
	outputGeneric(out, row, pixel, in, step, n)
}

func inputHalf(_ []uint16, _ int, _ []uint16, _, _, _ int) int { return 0 }

func outputHalf(_ []uint16, _, _ int, _ []float32, _ int, _ []float32, _ int) int {
	return 0
}
