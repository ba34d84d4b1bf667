//go:build !purego

package rawjson

import "espalier/trainer/kernel/cpuinfo"

//go:generate go -C ../../trainer/kernel/_asm run ./marks -pkg rawjson -out ../../../preprocess/rawjson/marks_amd64.s -stubs ../../../preprocess/rawjson/marks_asm_amd64.go

func marks(b *[block]byte) (quote, escape, open, end uint64) {
	if cpuinfo.AVX2 {
		return marksAVX2(b)
	}
	return marksGeneric(b)
}
