package raster

import (
	"encoding/binary"
)

// decodeBMP reads uncompressed BMP files of 1, 4, 8, 16, 24 and 32 bits as
// Pillow does. Run-length coding is refused.
func decodeBMP(data []byte, limit int) (*Image, error) {
	if len(data) < 18 {
		return nil, refuse(BMP, "truncated header")
	}
	u16 := func(at int) int { return int(binary.LittleEndian.Uint16(data[at:])) }
	u32 := func(at int) int { return int(binary.LittleEndian.Uint32(data[at:])) }
	offset, size := u32(10), u32(14)
	switch size {
	case 12, 40, 52, 56, 64, 108, 124:
	default:
		return nil, refuse(BMP, "header of %d bytes", size)
	}
	if len(data) < 14+size {
		return nil, refuse(BMP, "truncated header")
	}
	b := bmpInfo{padding: 4, direction: -1}
	if size == 12 {
		b.width, b.height, b.bits, b.padding = u16(18), u16(20), u16(24), 3
	} else {
		b.width, b.height, b.bits = u32(18), u32(22), u16(28)
		if data[25] == 0xff {
			b.direction, b.height = 1, 1<<32-b.height
		}
		b.compression, b.colors = u32(30), u32(46)
	}
	if err := checkSize(BMP, b.width, b.height, limit); err != nil {
		return nil, err
	}
	if b.colors == 0 {
		b.colors = 1 << b.bits
	}
	at := 14 + size
	if offset == at && b.bits <= 8 {
		offset += b.padding * b.colors
	}
	var masks [4]uint32
	if b.compression == 3 {
		n := 3
		if size >= 56 {
			n = 4
		}
		if size == 40 {
			if at+12 > len(data) {
				return nil, refuse(BMP, "truncated header")
			}
		} else {
			at = 14 + 40
		}
		for i := range n {
			masks[i] = uint32(u32(at + 4*i))
		}
		if size == 40 {
			at += 12
		} else {
			at = 14 + size
		}
	}
	if err := b.layout(masks); err != nil {
		return nil, err
	}
	if b.bits <= 8 {
		if b.colors > 65536 {
			return nil, refuse(BMP, "palette of %d colours", b.colors)
		}
		p := data[min(at, len(data)):min(at+b.padding*b.colors, len(data))]
		b.readPalette(p)
		if b.mode == ModeP && len(p)/b.padding > 256 {
			return nil, refuse(BMP, "palette of %d colours", len(p)/b.padding)
		}
		at += b.padding * b.colors
	}
	if offset == 0 {
		offset = at
	}
	stride := (b.width*b.bits + 31) / 32 * 4
	used := (b.width*b.bits + 7) / 8 // the padding of the last row may lack
	if offset > len(data) || stride*(b.height-1)+used > len(data)-offset {
		return nil, refuse(BMP, "truncated: %d rows of %d bytes are declared", b.height, stride)
	}
	im := newImage(b.width, b.height, b.mode)
	im.Palette = b.palette
	for y := range b.height {
		row := data[offset+y*stride:][:used]
		to := y
		if b.direction < 0 {
			to = b.height - 1 - y
		}
		b.unpack(im.Pix[to*b.width*b.mode.Bytes():][:b.width*b.mode.Bytes()], row)
	}
	return im, nil
}

type bmpInfo struct {
	width, height, bits int
	direction           int // -1: the bottom row comes first
	compression         int
	padding, colors     int // bytes of a palette entry, entries
	mode                Mode
	palette             []byte
	order               [4]int // byte of red, green, blue and alpha in a pixel of 24 or 32 bits
	green6              bool   // 16 bits: 5-6-5, else 5-5-5
}

// layout decides the mode and the places of the channels.
func (b *bmpInfo) layout(m [4]uint32) error {
	b.mode, b.order = ModeRGB, [4]int{2, 1, 0, 3}
	switch b.bits {
	case 1, 4, 8:
		b.mode = ModeP
	case 16, 24, 32:
	default:
		return refuse(BMP, "%d bits a pixel", b.bits)
	}
	switch b.compression {
	case 0:
		return nil
	case 1, 2:
		return refuse(BMP, "run-length coding is not read")
	case 3:
	default:
		return refuse(BMP, "unknown compression %d", b.compression)
	}
	bad := refuse(BMP, "unknown channel masks %x", m)
	switch b.bits {
	case 16:
		b.green6 = m[0] == 0xf800 && m[1] == 0x7e0 && m[2] == 0x1f
		if !b.green6 && (m[0] != 0x7c00 || m[1] != 0x3e0 || m[2] != 0x1f) {
			return bad
		}
	case 24:
		if m[0] != 0xff0000 || m[1] != 0xff00 || m[2] != 0xff {
			return bad
		}
	case 32:
		type layout struct {
			order [4]int
			mode  Mode
		}
		l, ok := map[[4]uint32]layout{
			{0xff0000, 0xff00, 0xff, 0}:          {[4]int{2, 1, 0, 3}, ModeRGB},
			{0xff000000, 0xff0000, 0xff00, 0}:    {[4]int{3, 2, 1, 0}, ModeRGB},
			{0xff000000, 0xff00, 0xff, 0}:        {[4]int{3, 1, 0, 2}, ModeRGB},
			{0xff000000, 0xff0000, 0xff00, 0xff}: {[4]int{3, 2, 1, 0}, ModeRGBA},
			{0xff, 0xff00, 0xff0000, 0xff000000}: {[4]int{0, 1, 2, 3}, ModeRGBA},
			{0xff0000, 0xff00, 0xff, 0xff000000}: {[4]int{2, 1, 0, 3}, ModeRGBA},
			{0xff000000, 0xff00, 0xff, 0xff0000}: {[4]int{3, 1, 0, 2}, ModeRGBA},
			{0, 0, 0, 0}:                         {[4]int{2, 1, 0, 3}, ModeRGBA},
		}[m]
		if !ok {
			return bad
		}
		b.order, b.mode = l.order, l.mode
	default:
		return bad
	}
	return nil
}

// readPalette keeps the palette, or drops it where it is a grey ramp (mode L,
// or "1" with two colours).
func (b *bmpInfo) readPalette(p []byte) {
	grey := true
	for i := range b.colors {
		v := i
		if b.colors == 2 {
			v = i * 255
		}
		e := p[min(i*b.padding, len(p)):]
		if v > 255 || len(e) < 3 || int(e[0]) != v || int(e[1]) != v || int(e[2]) != v {
			grey = false
			break
		}
	}
	switch {
	case grey && b.colors <= 2:
		b.mode = ModeBit
	case grey:
		b.mode = ModeL
	default:
		b.palette = make([]byte, 768)
		for i := range min(b.colors, 256, len(p)/b.padding) {
			e := p[i*b.padding:]
			b.palette[3*i], b.palette[3*i+1], b.palette[3*i+2] = e[2], e[1], e[0]
		}
	}
}

// unpack turns a stored row into pixels.
func (b *bmpInfo) unpack(out, row []byte) {
	switch b.bits {
	case 1, 4, 8:
		mask := byte(1<<b.bits - 1)
		for x := range b.width {
			v := row[x*b.bits>>3] >> uint(8-b.bits-x*b.bits&7) & mask
			if b.mode == ModeBit && v != 0 {
				v = 255
			}
			out[x] = v
		}
	case 16:
		for x := range b.width {
			v := int(binary.LittleEndian.Uint16(row[2*x:]))
			r, g, bl := v>>10&31, v>>5&31, v&31
			gmax := 31
			if b.green6 {
				r, g, gmax = v>>11&31, v>>5&63, 63
			}
			out[3*x], out[3*x+1], out[3*x+2] = byte(r*255/31), byte(g*255/gmax), byte(bl*255/31)
		}
	default:
		n, m := b.bits/8, b.mode.Bytes()
		for x := range b.width {
			for c := range m {
				out[x*m+c] = row[x*n+b.order[c]]
			}
		}
	}
}
