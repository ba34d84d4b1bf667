// Package cpuinfo says which instruction sets the kernels use.
//
// AVX2 and AVX512 are set once at start. Tests turn them off with [Limit], as
// GODEBUG=cpu.avx512f=off and cpu.avx2=off do for a whole process; nothing else
// writes them, and nothing may while kernels run.
package cpuinfo

import "runtime"

// AVX2 covers AVX, AVX2 and FMA; AVX512 those and AVX512F, BW, DQ and VL.
var AVX2, AVX512 bool

// BF16 is AVX512_BF16 on top of AVX512.
var BF16 bool

// A Level is a set of instruction sets.
type Level int

// Levels, each holding those before it.
const (
	Portable Level = iota
	LevelAVX2
	LevelAVX512
)

func (l Level) String() string { return [...]string{"portable", "avx2", "avx512"}[l] }

// Best returns the level in use.
func Best() Level {
	switch {
	case AVX512:
		return LevelAVX512
	case AVX2:
		return LevelAVX2
	}
	return Portable
}

// Levels returns every level up to the one in use.
func Levels() []Level {
	var all []Level
	for l := Portable; l <= Best(); l++ {
		all = append(all, l)
	}
	return all
}

// Limit turns off what is above a level and returns what turns it on again.
func Limit(l Level) (restore func()) {
	a, b, c := AVX2, AVX512, BF16
	AVX2, AVX512, BF16 = a && l >= LevelAVX2, b && l >= LevelAVX512, c && l >= LevelAVX512
	return func() { AVX2, AVX512, BF16 = a, b, c }
}

// Numerics returns the numerics class of what the kernels compute: "amd64" with
// AVX2 and FMA, where all levels and thread counts agree to the bit, else
// "portable-" and the architecture.
func Numerics() string {
	if AVX2 {
		return "amd64"
	}
	return "portable-" + runtime.GOARCH
}
