//go:build !purego

package gemm

import "unsafe"

// run calls the inner loop for mr rows and up to cols columns, with vectors of
// so many bits. With edge b, too, has no more columns than the mask. It is a
// switch, not a table, so that c stays on the stack.
func (c *call) run(mr, cols, bits int, half, edge bool) {
	p := (*byte)(unsafe.Pointer(c))
	switch {
	case edge && bits == 512:
		run512Edge(p, mr)
	case half && bits == 512:
		run512Half(p, mr, cols)
	case half:
		run256Half(p, mr, cols)
	case bits == 512:
		run512(p, mr, cols)
	default:
		run256(p, mr, cols)
	}
}

func run512(p *byte, mr, cols int) {
	if cols > Panel {
		switch mr {
		case 1:
			gemm1x128AVX512(p)
		case 2:
			gemm2x128AVX512(p)
		case 3:
			gemm3x128AVX512(p)
		case 4:
			gemm4x64AVX512(p)
		case 5:
			gemm5x64AVX512(p)
		case 6:
			gemm6x64AVX512(p)
		}
		return
	}
	switch mr {
	case 1:
		gemm1x32AVX512(p)
	case 2:
		gemm2x32AVX512(p)
	case 3:
		gemm3x32AVX512(p)
	case 4:
		gemm4x32AVX512(p)
	case 5:
		gemm5x32AVX512(p)
	case 6:
		gemm6x32AVX512(p)
	case 7:
		gemm7x32AVX512(p)
	case 8:
		gemm8x32AVX512(p)
	}
}

func run512Edge(p *byte, mr int) {
	switch mr {
	case 1:
		edge1x32AVX512(p)
	case 2:
		edge2x32AVX512(p)
	case 3:
		edge3x32AVX512(p)
	case 4:
		edge4x32AVX512(p)
	case 5:
		edge5x32AVX512(p)
	case 6:
		edge6x32AVX512(p)
	case 7:
		edge7x32AVX512(p)
	case 8:
		edge8x32AVX512(p)
	}
}

func run512Half(p *byte, mr, cols int) {
	if cols > Panel {
		switch mr {
		case 1:
			half1x128AVX512(p)
		case 2:
			half2x128AVX512(p)
		case 3:
			half3x128AVX512(p)
		case 4:
			half4x64AVX512(p)
		case 5:
			half5x64AVX512(p)
		case 6:
			half6x64AVX512(p)
		}
		return
	}
	switch mr {
	case 1:
		half1x32AVX512(p)
	case 2:
		half2x32AVX512(p)
	case 3:
		half3x32AVX512(p)
	case 4:
		half4x32AVX512(p)
	case 5:
		half5x32AVX512(p)
	case 6:
		half6x32AVX512(p)
	case 7:
		half7x32AVX512(p)
	case 8:
		half8x32AVX512(p)
	}
}

func run256(p *byte, mr, cols int) {
	switch 100*mr + cols {
	case 108:
		gemm1x8AVX2(p)
	case 208:
		gemm2x8AVX2(p)
	case 308:
		gemm3x8AVX2(p)
	case 408:
		gemm4x8AVX2(p)
	case 508:
		gemm5x8AVX2(p)
	case 608:
		gemm6x8AVX2(p)
	case 116:
		gemm1x16AVX2(p)
	case 216:
		gemm2x16AVX2(p)
	case 316:
		gemm3x16AVX2(p)
	case 416:
		gemm4x16AVX2(p)
	case 516:
		gemm5x16AVX2(p)
	case 616:
		gemm6x16AVX2(p)
	case 132:
		gemm1x32AVX2(p)
	case 232:
		gemm2x32AVX2(p)
	case 332:
		gemm3x32AVX2(p)
	}
}

func run256Half(p *byte, mr, cols int) {
	switch 100*mr + cols {
	case 108:
		half1x8AVX2(p)
	case 208:
		half2x8AVX2(p)
	case 308:
		half3x8AVX2(p)
	case 408:
		half4x8AVX2(p)
	case 508:
		half5x8AVX2(p)
	case 608:
		half6x8AVX2(p)
	case 116:
		half1x16AVX2(p)
	case 216:
		half2x16AVX2(p)
	case 316:
		half3x16AVX2(p)
	case 416:
		half4x16AVX2(p)
	case 516:
		half5x16AVX2(p)
	case 616:
		half6x16AVX2(p)
	case 132:
		half1x32AVX2(p)
	case 232:
		half2x32AVX2(p)
	case 332:
		half3x32AVX2(p)
	}
}
