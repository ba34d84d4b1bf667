package raster

import (
	"bytes"
	"image"

	"golang.org/x/image/webp"
)

// decodeWebP reads a still WebP. Lossy pictures get libwebp's smooth chroma
// upsampling and integer colour conversion.
func decodeWebP(data []byte, limit int) (*Image, error) {
	parts, err := parseWebP(data)
	if err != nil {
		return nil, err
	}
	data = parts.still()
	cfg, err := webp.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return nil, refuse(WebP, "%v", err)
	}
	if err := checkSize(WebP, cfg.Width, cfg.Height, limit); err != nil {
		return nil, err
	}
	src, err := webp.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, refuse(WebP, "%v", err)
	}
	b := src.Bounds()
	w, h := b.Dx(), b.Dy()
	transparent := parts.flags&webpAlpha != 0
	switch s := src.(type) {
	case *image.YCbCr:
		im := newImage(w, h, ModeRGB)
		yuvToRGB(im.Pix, 3, s, w, h)
		return im, nil
	case *image.NYCbCrA:
		im := newImage(w, h, ModeRGBA)
		yuvToRGB(im.Pix, 4, &s.YCbCr, w, h)
		for y := range h {
			for x := range w {
				a := s.A[y*s.AStride+x]
				if !transparent {
					a = 255
				}
				im.Pix[(y*w+x)*4+3] = a
			}
		}
		return im, nil
	case *image.NRGBA:
		im := newImage(w, h, ModeRGBA)
		for y := range h {
			copy(im.Pix[y*w*4:(y+1)*w*4], s.Pix[y*s.Stride:])
		}
		// A header says whether alpha counts.
		if !parts.extended {
			transparent = len(parts.picture) > 4 && parts.picture[4]&webpAlpha != 0
		}
		if !transparent {
			return im.RGB(), nil
		}
		return im, nil
	}
	return nil, refuse(WebP, "unknown kind of picture")
}

// yuvToRGB fills step bytes a pixel. Pairs of rows share the chroma of the row
// above and the row below them; the first row, and the last of an even height,
// have one of their own.
func yuvToRGB(out []byte, step int, s *image.YCbCr, w, h int) {
	row := func(y int, top bool, r0, r1 int) {
		upsampleYUV(out[y*w*step:(y+1)*w*step], step, s.Y[y*s.YStride:][:w], top,
			s.Cb[r0*s.CStride:], s.Cr[r0*s.CStride:], s.Cb[r1*s.CStride:], s.Cr[r1*s.CStride:])
	}
	row(0, true, 0, 0)
	for y := 1; y < h; y += 2 {
		c := y/2 + 1
		if y == h-1 {
			row(y, true, c-1, c-1)
			break
		}
		row(y, true, c-1, c)
		row(y+1, false, c-1, c)
	}
}

// upsampleYUV converts one row, which lies nearer to chroma row 0 if top, else
// to chroma row 1.
func upsampleYUV(out []byte, step int, ys []byte, top bool, u0, v0, u1, v1 []byte) {
	if !top {
		u0, v0, u1, v1 = u1, v1, u0, v0
	}
	put := func(x int, u, v int32) { putYUV(out[x*step:], int32(ys[x]), u, v) }
	edge := func(near, far byte) int32 { return (3*int32(near) + int32(far) + 2) >> 2 }
	n := len(ys)
	put(0, edge(u0[0], u1[0]), edge(v0[0], v1[0]))
	for x := 1; x <= (n-1)/2; x++ {
		ul, ur := mixYUV(u0, u1, x)
		vl, vr := mixYUV(v0, v1, x)
		put(2*x-1, ul, vl)
		put(2*x, ur, vr)
	}
	if n&1 == 0 {
		k := (n - 1) / 2
		put(n-1, edge(u0[k], u1[k]), edge(v0[k], v1[k]))
	}
}

// mixYUV weighs the four samples around two outputs 9:3:3:1, in the two steps
// that libwebp rounds in.
func mixYUV(near, far []byte, x int) (left, right int32) {
	a, b := int32(near[x-1]), int32(near[x])
	c, d := int32(far[x-1]), int32(far[x])
	sum := a + b + c + d + 8
	return ((sum+2*(b+c))>>3 + a) >> 1, ((sum+2*(a+d))>>3 + b) >> 1
}

// putYUV converts one pixel in 14-bit fixed point.
func putYUV(p []byte, y, u, v int32) {
	y = y * 19077 >> 8
	clip := func(v int32) byte {
		if v < 0 {
			return 0
		}
		return byte(min(v>>6, 255))
	}
	p[0] = clip(y + v*26149>>8 - 14234)
	p[1] = clip(y - u*6419>>8 - v*13320>>8 + 8708)
	p[2] = clip(y + u*33050>>8 - 17685)
}
