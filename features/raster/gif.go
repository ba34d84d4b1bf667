package raster

import (
	"bytes"
	"compress/lzw"
	"encoding/binary"
	"errors"
	"io"
)

// decodeGIF reads the first frame of a GIF as Pillow shows it: laid on a
// canvas of the logical screen, which grows if the frame juts out, in mode P,
// or L where the palette in force is the grey ramp or missing.
func decodeGIF(data []byte, limit int) (*Image, error) {
	g := gifReader{data: data}
	head, ok := g.take(13)
	if !ok {
		return nil, refuse(GIF, "truncated header")
	}
	w, h := int(binary.LittleEndian.Uint16(head[6:])), int(binary.LittleEndian.Uint16(head[8:]))
	var palette []byte
	if head[10]&0x80 != 0 {
		if palette, ok = g.take(3 << (head[10]&7 + 1)); !ok {
			return nil, refuse(GIF, "truncated palette")
		}
	}
	transparent := -1
	for {
		b, ok := g.take(1)
		if !ok {
			return nil, refuse(GIF, "truncated: no image")
		}
		switch b[0] {
		case '!':
			t, err := g.extension()
			if err != nil {
				return nil, err
			}
			if t >= 0 {
				transparent = t
			}
		case ',':
			return g.frame(w, h, limit, palette, transparent)
		case ';':
			return nil, refuse(GIF, "no image")
		}
	}
}

type gifReader struct {
	data []byte
	pos  int
}

func (g *gifReader) take(n int) ([]byte, bool) {
	if n > len(g.data)-g.pos {
		return nil, false
	}
	g.pos += n
	return g.data[g.pos-n : g.pos : g.pos], true
}

// block returns the next sub-block, nil at the terminator.
func (g *gifReader) block() ([]byte, error) {
	n, ok := g.take(1)
	if !ok {
		return nil, io.ErrUnexpectedEOF
	}
	if n[0] == 0 {
		return nil, nil
	}
	b, ok := g.take(int(n[0]))
	if !ok {
		return nil, io.ErrUnexpectedEOF
	}
	return b, nil
}

// extension skips an extension and returns the transparent index that it
// sets, -1 for none.
func (g *gifReader) extension() (int, error) {
	transparent := -1
	label, ok := g.take(1)
	if !ok {
		return 0, refuse(GIF, "truncated: no image")
	}
	for first := true; ; first = false {
		b, err := g.block()
		if err != nil {
			return 0, refuse(GIF, "truncated in an extension")
		}
		if b == nil && !first { // Pillow reads on behind an empty first block
			return transparent, nil
		}
		if first && label[0] == 0xf9 && len(b) >= 4 && b[0]&1 != 0 {
			transparent = int(b[3])
		}
	}
}

// frame reads an image whose separator has been read.
func (g *gifReader) frame(w, h, limit int, palette []byte, transparent int) (*Image, error) {
	d, ok := g.take(9)
	if !ok {
		return nil, refuse(GIF, "truncated image header")
	}
	u16 := func(i int) int { return int(binary.LittleEndian.Uint16(d[i:])) }
	x0, y0, fw, fh := u16(0), u16(2), u16(4), u16(6)
	w, h = max(w, x0+fw), max(h, y0+fh)
	if err := checkSize(GIF, w, h, limit); err != nil {
		return nil, err
	}
	if fw == 0 || fh == 0 {
		return nil, refuse(GIF, "empty frame")
	}
	if d[8]&0x80 != 0 {
		if palette, ok = g.take(3 << (d[8]&7 + 1)); !ok {
			return nil, refuse(GIF, "truncated palette")
		}
	}
	lit, ok := g.take(1)
	if !ok {
		return nil, refuse(GIF, "truncated: no image data")
	}
	if lit[0] < 2 || lit[0] > 8 {
		return nil, refuse(GIF, "code size %d", lit[0])
	}
	im := &Image{Width: w, Height: h, Mode: ModeL}
	if !greyRamp(palette) {
		im.Mode = ModeP
		im.Palette = make([]byte, 768)
		copy(im.Palette, palette)
	}
	// A code of at least 3 bits stands for at most 4096 pixels.
	if fw*fh/4096 > (len(g.data)-g.pos)*8/3 {
		return nil, refuse(GIF, "truncated: %d bytes cannot hold %d x %d pixels", len(g.data)-g.pos, fw, fh)
	}
	im.Pix = make([]byte, w*h)
	if transparent > 0 { // what the frame does not cover is transparent
		fill(im.Pix, byte(transparent))
	}
	switch {
	case transparent < 0:
	case im.Mode == ModeP:
		im.Alpha = bytes.Repeat([]byte{255}, 256)
		im.Alpha[transparent] = 0
	default:
		im.Key = []byte{byte(transparent)}
	}
	src := lzw.NewReader(&gifBlocks{g: g}, lzw.LSB, int(lit[0]))
	defer src.Close()
	interlaced := d[8]&0x40 != 0
	for i := range fh {
		y := i
		if interlaced {
			y = interlacedRow(i, fh)
		}
		if _, err := io.ReadFull(src, im.Pix[(y0+y)*w+x0:][:fw]); err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				return nil, refuse(GIF, "truncated image data")
			}
			return nil, refuse(GIF, "corrupt image data: %v", err)
		}
	}
	return im, nil
}

// greyRamp reports whether index and colour say the same, so that no palette
// is needed.
func greyRamp(p []byte) bool {
	for i := 0; i < len(p); i += 3 {
		if v := byte(i / 3); p[i] != v || p[i+1] != v || p[i+2] != v {
			return false
		}
	}
	return true
}

// interlacedRow returns the place of the i-th row sent.
func interlacedRow(i, h int) int {
	for _, p := range [4]struct{ start, step int }{{0, 8}, {4, 8}, {2, 4}, {1, 2}} {
		n := ceilDiv(h-p.start, p.step)
		if h <= p.start {
			n = 0
		}
		if i < n {
			return p.start + i*p.step
		}
		i -= n
	}
	return 0
}

// gifBlocks joins sub-blocks.
type gifBlocks struct {
	g   *gifReader
	cur bytes.Reader
}

func (b *gifBlocks) ReadByte() (byte, error) {
	for b.cur.Len() == 0 {
		blk, err := b.g.block()
		if err != nil {
			return 0, err
		}
		if blk == nil {
			return 0, io.EOF
		}
		b.cur.Reset(blk)
	}
	return b.cur.ReadByte()
}

func (b *gifBlocks) Read(p []byte) (int, error) {
	v, err := b.ReadByte()
	if err != nil || len(p) == 0 {
		return 0, err
	}
	p[0] = v
	return 1, nil
}
