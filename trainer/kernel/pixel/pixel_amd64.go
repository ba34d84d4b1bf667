//go:build !purego

package pixel

import "espalier/trainer/kernel/cpuinfo"

//go:generate go -C ../_asm run ./pixel -pkg pixel -out ../pixel/pixel_amd64.s -stubs ../pixel/pixel_asm_amd64.go

func inverse(dst []byte, stride int, co, q *[64]int16) {
	if !cpuinfo.AVX2 {
		inverseGeneric(dst, stride, co, q)
		return
	}
	inverseAVX2(&dst[0], stride, &co[0], &q[0])
}

func doubleRow(out, s []byte) {
	if !cpuinfo.AVX2 || len(s) < least {
		doubleRowGeneric(out, s)
		return
	}
	doubleRowAVX2(&out[0], &s[0], len(s))
}

func doubleRows(out, s, near []byte) {
	if !cpuinfo.AVX2 || len(s) < least {
		doubleRowsGeneric(out, s, near)
		return
	}
	doubleRowsAVX2(&out[0], &s[0], &near[0], len(s))
}

func colours(out, y, b, r []byte) {
	if !cpuinfo.AVX2 || len(y) < least {
		coloursGeneric(out, y, b, r)
		return
	}
	coloursAVX2(&out[0], &y[0], &b[0], &r[0], len(y))
}

func across(out, row []byte, t *Taps) {
	if !cpuinfo.AVX2 || len(row) < t.Reach {
		acrossGeneric(out, row, t)
		return
	}
	acrossAVX2(&out[0], &row[0], &t.First[0], &t.Weight[0], len(t.First), t.Pairs)
}

func down(out, in []byte, stride int, weight []int32) {
	if !cpuinfo.AVX2 || len(out) < least {
		downGeneric(out, in, stride, weight)
		return
	}
	downAVX2(&out[0], &in[0], stride, &weight[0], len(weight), len(out))
}
