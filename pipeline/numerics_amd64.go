//go:build !purego

package pipeline

import "golang.org/x/sys/cpu"

// HostNumerics returns the numerics class of kernels on this machine's CPU.
// AVX2 and AVX-512 agree to the last bit, so they share one class.
func HostNumerics() string {
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		return "amd64"
	}
	return "portable-amd64"
}
