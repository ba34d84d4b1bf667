package raster

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
			yccRow(out, rows[0], rows[1], rows[2])
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
		upsampleAcross(out, at(y))
	case rh == 1 && rv == 2:
		upsampleDown(out, at(y/2), at(near), int32(1+y&1))
	case rh == 2 && rv == 2 && c.w > 2:
		upsampleBoth(out, at(y/2), at(near))
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

// upsampleAcross doubles a row; len(s) > 2.
func upsampleAcross(out, s []byte) {
	n := len(s)
	out = out[:2*n]
	out[0], out[2*n-1] = s[0], s[n-1]
	prev, cur := int32(s[0]), int32(s[0])
	for i, v := range s[1:] {
		next := int32(v)
		o := out[2*i : 2*i+2 : 2*i+2]
		if i > 0 {
			o[0] = byte((3*cur + prev + 1) >> 2)
		}
		o[1] = byte((3*cur + next + 2) >> 2)
		prev, cur = cur, next
	}
	out[2*n-2] = byte((3*cur + prev + 1) >> 2)
}

// upsampleDown makes one of the two rows between which s lies.
func upsampleDown(out, s, near []byte, bias int32) {
	near = near[:len(s)]
	out = out[:len(s)]
	for i, v := range s {
		out[i] = byte((3*int32(v) + int32(near[i]) + bias) >> 2)
	}
}

// upsampleBoth doubles a row made of s and its nearer neighbour; len(s) > 2.
func upsampleBoth(out, s, near []byte) {
	n := len(s)
	near = near[:n]
	out = out[:2*n]
	prev, cur := int32(0), 3*int32(s[0])+int32(near[0])
	for i := 1; i < n; i++ {
		next := 3*int32(s[i]) + int32(near[i])
		o := out[2*i-2 : 2*i : 2*i]
		if i == 1 {
			prev = cur
		}
		o[0] = byte((3*cur + prev + 8) >> 4)
		o[1] = byte((3*cur + next + 7) >> 4)
		prev, cur = cur, next
	}
	out[2*n-2] = byte((3*cur + prev + 8) >> 4)
	out[2*n-1] = byte((4*cur + 7) >> 4)
}

// Contributions of chroma to red and blue, and to green times 2^16.
var redOf, blueOf, greenOfBlue, greenOfRed = func() (r, b, gb, gr [256]int32) {
	for i := range int32(256) {
		v := i - 128
		r[i] = (91881*v + 32768) >> 16
		b[i] = (116130*v + 32768) >> 16
		gb[i] = -22554*v + 32768
		gr[i] = -46802 * v
	}
	return
}()

func clampInt32(v int32) byte {
	if uint32(v) > 255 {
		v = ^(v >> 31)
	}
	return byte(v)
}

// yccRow converts a row to RGB.
func yccRow(out, ys, bs, rs []byte) {
	bs, rs = bs[:len(ys)], rs[:len(ys)]
	out = out[:3*len(ys)]
	for x, yv := range ys {
		y, b, r := int32(yv), bs[x], rs[x]
		p := out[3*x : 3*x+3 : 3*x+3]
		p[0] = clampInt32(y + redOf[r])
		p[1] = clampInt32(y + (greenOfBlue[b]+greenOfRed[r])>>16)
		p[2] = clampInt32(y + blueOf[b])
	}
}

// yccRowInverse converts a row of YCCK to CMYK as Pillow keeps it: libjpeg
// gives 255 less red, green and blue, and Pillow inverts all four.
func yccRowInverse(out, ys, bs, rs, ks []byte) {
	for x, yv := range ys {
		y, b, r := int32(yv), bs[x], rs[x]
		out[4*x] = clampInt32(y + redOf[r])
		out[4*x+1] = clampInt32(y + (greenOfBlue[b]+greenOfRed[r])>>16)
		out[4*x+2] = clampInt32(y + blueOf[b])
		out[4*x+3] = 255 - ks[x]
	}
}
