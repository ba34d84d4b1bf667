package raster

import "espalier/trainer/kernel/pixel"

// convertRows holds one row of each component at full width.
type convertRows struct {
	row [4][]byte
}

// convert makes the picture of the decoded planes.
func (d *jpegDecoder) convert() (*Image, error) {
	mode := ModeRGB
	switch len(d.comps) {
	case 1:
		mode = ModeL
	case 4:
		mode = ModeCMYK
	}
	im := newImage(d.width, d.height, mode)
	ycc := d.isYCC()
	var rows [4][]byte
	for y := range d.height {
		for i := range d.comps {
			rows[i] = d.upsampled(i, y)
		}
		out := im.Pix[y*d.width*mode.Bytes():][:d.width*mode.Bytes()]
		switch {
		case mode == ModeL:
			copy(out, rows[0])
		case mode == ModeCMYK && ycc:
			yccRowInverse(out, rows[0], rows[1], rows[2], rows[3])
		case mode == ModeCMYK:
			for x := range d.width {
				for i := range 4 {
					out[4*x+i] = 255 - rows[i][x]
				}
			}
		case ycc:
			pixel.Colours(out, rows[0], rows[1], rows[2])
		default:
			a, b, c := rows[0], rows[1][:len(rows[0])], rows[2][:len(rows[0])]
			for x := range a {
				p := out[3*x : 3*x+3 : 3*x+3]
				p[0], p[1], p[2] = a[x], b[x], c[x]
			}
		}
	}
	return im, nil
}

// isYCC tells whether the first three components are luma and chroma, by the
// markers and component names that libjpeg looks at.
func (d *jpegDecoder) isYCC() bool {
	switch len(d.comps) {
	case 3:
		switch {
		case d.jfif:
			return true
		case d.adobe:
			return d.adobeTransform != 0
		}
		return d.comps[0].id != 'R' || d.comps[1].id != 'G' || d.comps[2].id != 'B'
	case 4:
		return d.adobe && d.adobeTransform != 0
	}
	return false
}

// upsampled returns row y of component i at the width of the picture.
func (d *jpegDecoder) upsampled(i, y int) []byte {
	c := &d.comps[i]
	rh, rv := d.hmax/c.h, d.vmax/c.v
	if len(d.comps) == 1 {
		rh, rv = 1, 1
	}
	at := func(r int) []byte {
		r = min(max(r, 0), c.ht-1)
		return c.plane[r*c.stride:][:c.w:c.w]
	}
	if rh == 1 && rv == 1 {
		return at(y)
	}
	d.rows.row[i] = grow(d.rows.row[i], max(d.width, c.w*rh))
	out := d.rows.row[i]
	near := y/2 - 1
	if y&1 == 1 {
		near = y/2 + 1
	}
	switch {
	case rh == 2 && rv == 1 && c.w > 2:
		pixel.DoubleRow(out[:2*c.w], at(y))
	case rh == 1 && rv == 2:
		upsampleDown(out, at(y/2), at(near), int32(1+y&1))
	case rh == 2 && rv == 2 && c.w > 2:
		pixel.DoubleRows(out[:2*c.w], at(y/2), at(near))
	case rh == 2:
		for x, v := range at(y / rv) {
			out[2*x], out[2*x+1] = v, v
		}
	default:
		for x, v := range at(y / rv) {
			fill(out[x*rh:(x+1)*rh], v)
		}
	}
	return out[:d.width]
}

// upsampleDown makes one of the two rows between which s lies.
func upsampleDown(out, s, near []byte, bias int32) {
	near = near[:len(s)]
	out = out[:len(s)]
	for i, v := range s {
		out[i] = byte((3*int32(v) + int32(near[i]) + bias) >> 2)
	}
}

// yccRowInverse converts a row of YCCK to CMYK as Pillow keeps it: libjpeg
// gives 255 less red, green and blue, and Pillow inverts all four.
func yccRowInverse(out, ys, bs, rs, ks []byte) {
	for x, yv := range ys {
		out[4*x], out[4*x+1], out[4*x+2] = pixel.Colour(yv, bs[x], rs[x])
		out[4*x+3] = 255 - ks[x]
	}
}
