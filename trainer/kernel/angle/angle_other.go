//go:build !amd64 || purego

package angle

func sincos(sin, cos []float32, x []float64) { sincosGeneric(sin, cos, x) }
