//go:build !amd64 || purego

package peak

func multiplyAdd(n int) float64 { return multiplyAddGeneric(n) }

func read(x []float32) { readGeneric(x) }
