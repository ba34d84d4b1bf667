//go:build !purego

package attend

import (
	"unsafe"

	"espalier/trainer/kernel/cpuinfo"
)

//go:generate go -C ../_asm run ./attend -pkg attend -out ../attend/attend_amd64.s -stubs ../attend/attend_asm_amd64.go

// args is the argument block of the loops; _asm/attend has its offsets. Steps
// and ld are in bytes.
type args struct {
	x, y         *float32
	ld           int
	rows, n      int
	see, seeStep int
	mask         *float32
	bias         *float32
	biasStep     int
	dbias        *float32
	dbiasStep    int
	a, b         *float32 // of the first row
	scale        float32
	hidden       float32
}

func (r *Rows) args() args {
	a := args{
		x: &r.X[0], ld: 4 * r.LD, rows: r.M, n: r.N, see: r.See, seeStep: r.SeeStep,
		biasStep: 4 * r.BiasStep, dbiasStep: 4 * r.BiasStep, scale: r.Scale, hidden: r.Hidden,
	}
	if r.Mask != nil {
		a.mask = &r.Mask[0]
	}
	if r.Bias != nil {
		a.bias = &r.Bias[0]
	}
	return a
}

func (r *Rows) softmax(top, sum []float32) {
	if !cpuinfo.AVX2 {
		r.softmaxGeneric(top, sum)
		return
	}
	a := r.args()
	a.a, a.b = &top[0], &sum[0]
	p, wide := (*byte)(unsafe.Pointer(&a)), cpuinfo.AVX512
	switch mask, bias := r.Mask != nil, r.Bias != nil; {
	case mask && bias && wide:
		softmaxMaskBiasAVX512(p)
	case mask && bias:
		softmaxMaskBiasAVX2(p)
	case mask && wide:
		softmaxMaskAVX512(p)
	case mask:
		softmaxMaskAVX2(p)
	case bias && wide:
		softmaxBiasAVX512(p)
	case bias:
		softmaxBiasAVX2(p)
	case wide:
		softmaxAVX512(p)
	default:
		softmaxAVX2(p)
	}
}

func (r *Rows) gradient(dp, lse, delta, dbias []float32) {
	if !cpuinfo.AVX2 {
		r.gradientGeneric(dp, lse, delta, dbias)
		return
	}
	a := r.args()
	a.y, a.a, a.b = &dp[0], &lse[0], &delta[0]
	if dbias != nil {
		a.dbias = &dbias[0]
	}
	p, wide := (*byte)(unsafe.Pointer(&a)), cpuinfo.AVX512
	switch mask, bias := r.Mask != nil, r.Bias != nil; {
	case mask && dbias != nil && wide:
		gradientMaskBiasSumAVX512(p)
	case mask && dbias != nil:
		gradientMaskBiasSumAVX2(p)
	case dbias != nil && wide:
		gradientBiasSumAVX512(p)
	case dbias != nil:
		gradientBiasSumAVX2(p)
	case mask && bias && wide:
		gradientMaskBiasAVX512(p)
	case mask && bias:
		gradientMaskBiasAVX2(p)
	case mask && wide:
		gradientMaskAVX512(p)
	case mask:
		gradientMaskAVX2(p)
	case bias && wide:
		gradientBiasAVX512(p)
	case bias:
		gradientBiasAVX2(p)
	case wide:
		gradientAVX512(p)
	default:
		gradientAVX2(p)
	}
}

func scaleRows(x, by []float32, ld, n int) {
	if !cpuinfo.AVX2 {
		scaleRowsGeneric(x, by, ld, n)
		return
	}
	a := args{x: &x[0], a: &by[0], ld: 4 * ld, rows: len(by), n: n}
	if p := (*byte)(unsafe.Pointer(&a)); cpuinfo.AVX512 {
		scaleRowsAVX512(p)
	} else {
		scaleRowsAVX2(p)
	}
}

func dotRows(out, x, y []float32, ld, n int) {
	if !cpuinfo.AVX2 {
		dotRowsGeneric(out, x, y, ld, n)
		return
	}
	a := args{x: &x[0], y: &y[0], a: &out[0], ld: 4 * ld, rows: len(out), n: n}
	if p := (*byte)(unsafe.Pointer(&a)); cpuinfo.AVX512 {
		dotRowsAVX512(p)
	} else {
		dotRowsAVX2(p)
	}
}

func copyRows(dst, src []float32, ld, from, rows, n int) {
	if !cpuinfo.AVX2 {
		copyRowsGeneric(dst, src, ld, from, rows, n)
		return
	}
	a := args{x: &dst[0], y: &src[0], ld: 4 * ld, biasStep: 4 * from, rows: rows, n: n}
	if p := (*byte)(unsafe.Pointer(&a)); cpuinfo.AVX512 {
		copyRowsAVX512(p)
	} else {
		copyRowsAVX2(p)
	}
}
