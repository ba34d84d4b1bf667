package raster

// OverWhite returns the picture in mode RGB, laid over white where it is
// transparent, as Hugging Face's processors convert: by an alpha channel, by the
// alpha of palette entries, or by a colour that stands for transparency. Pillow's
// alpha_composite works with seven bits below the byte.
func (im *Image) OverWhite() *Image {
	out := im.RGB()
	alpha := im.alphas()
	if alpha == nil {
		return out
	}
	if out == im {
		out = newImage(im.Width, im.Height, ModeRGB)
		copy(out.Pix, im.Pix)
	}
	for i := range im.Width * im.Height {
		p := out.Pix[3*i : 3*i+3]
		a := alpha(i)
		share := a * 255 * 255 << 7 / (a*255 + 255*(255-a))
		rest := 255<<7 - share
		for c, v := range p {
			t := int(v)*share + 255*rest + 0x80<<7
			p[c] = byte((t>>8 + t) >> 8 >> 7)
		}
	}
	return out
}

// alphas returns the alpha of a pixel by its number, or nil if all are opaque.
func (im *Image) alphas() func(i int) int {
	m := im.Mode.Bytes()
	switch {
	case im.Mode == ModeLA, im.Mode == ModeRGBA:
		return func(i int) int { return int(im.Pix[i*m+m-1]) }
	case im.Mode == ModeP && im.Alpha != nil:
		return func(i int) int { return int(im.Alpha[im.Pix[i]]) }
	case im.Key != nil && m == len(im.Key):
		return func(i int) int {
			for c, v := range im.Key {
				if im.Pix[i*m+c] != v {
					return 255
				}
			}
			return 0
		}
	}
	return nil
}
