//go:build !purego

package cpuinfo

import "golang.org/x/sys/cpu"

func init() {
	x := &cpu.X86
	AVX2 = x.HasAVX && x.HasAVX2 && x.HasFMA
	AVX512 = AVX2 && x.HasAVX512F && x.HasAVX512BW && x.HasAVX512DQ && x.HasAVX512VL
	BF16 = AVX512 && x.HasAVX512BF16
}
