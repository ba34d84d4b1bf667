//go:build !amd64 || purego

package pipeline

import "runtime"

// HostNumerics returns the numerics class of kernels on this machine's CPU.
func HostNumerics() string { return "portable-" + runtime.GOARCH }
