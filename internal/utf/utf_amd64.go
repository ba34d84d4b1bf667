//go:build !purego

package utf

import (
	"unsafe"

	"espalier/trainer/kernel/cpuinfo"
)

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

// short reports whether fewer than 32 bytes are UTF-8, if that is known at once:
// they are read together with what stands behind them, on the same page of memory.
func short(b []byte) (ok, known bool) {
	const page = 4096 // at least
	if !cpuinfo.AVX2 || len(b) == 0 || uintptr(unsafe.Pointer(&b[0]))%page > page-32 {
		return false, false
	}
	return shortAVX2(&b[0], len(b)), true
}
