//go:build !purego

package utf

import "espalier/trainer/kernel/cpuinfo"

//go:generate go -C ../../trainer/kernel/_asm run ./runes -pkg utf -out ../../../internal/utf/utf_amd64.s -stubs ../../../internal/utf/utf_asm_amd64.go

func valid(b []byte) int {
	if cpuinfo.AVX2 && len(b) >= 32 {
		return validAVX2(&b[0], len(b))
	}
	return 0
}

func plain(b []byte) int {
	if cpuinfo.AVX2 && len(b) >= 32 {
		return plainAVX2(&b[0], len(b))
	}
	return 0
}
