package raster

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"espalier/trainer/kernel/pixel"
)

// jpegDecoder decodes Huffman-coded JPEG files of 8 bits a sample as
// libjpeg's defaults do: the accurate integer inverse transform, smooth chroma
// upsampling, integer colour conversion. The formulas are those of ITU-T T.81
// and of the raster goldens' README.
type jpegDecoder struct {
	bitReader

	progressive    bool
	width, height  int
	hmax, vmax     int
	mcusX, mcusY   int
	comps          []jpegComp
	restart        int // MCUs between restart markers, 0 for none
	jfif, adobe    bool
	adobeTransform byte

	quant  [4][64]int16 // natural order; products with them wrap to 16 bits
	quantK [4]bool
	huff   [2][4]*huffTable // DC, AC; nil until defined

	coeffs [64]int16 // scratch block, natural order, always zero between blocks
	planes []byte
	blocks []int16 // coefficients of progressive files
	rows   convertRows
}

// jpegComp is one colour component.
type jpegComp struct {
	id, tq       byte
	h, v         int
	w, ht        int // samples that count: ceil(width*h/hmax), ceil(height*v/vmax)
	blocksX      int // blocks a row, padded to whole MCUs
	blocksY      int
	plane        []byte // blocksY*8 rows of stride bytes
	stride       int
	blocks       []int16 // blocksX*blocksY*64 in zigzag order, progressive files only
	bits         [64]int8
	dc           int32
	dcTab, acTab *huffTable
	q            [64]int16 // the table in force when the component's first scan began
	qSaved       bool      // that scan was seen
}

const (
	markSOF0  = 0xc0
	markSOF1  = 0xc1
	markSOF2  = 0xc2
	markDHT   = 0xc4
	markRST0  = 0xd0
	markRST7  = 0xd7
	markSOI   = 0xd8
	markEOI   = 0xd9
	markSOS   = 0xda
	markDQT   = 0xdb
	markDRI   = 0xdd
	markAPP0  = 0xe0
	markAPP14 = 0xee
	markTEM   = 0x01
)

func (d *jpegDecoder) decode(data []byte, limit int) (*Image, error) {
	*d = jpegDecoder{planes: d.planes, blocks: d.blocks, comps: d.comps[:0], rows: d.rows, huff: d.huff}
	d.data = data
	spare := d.huff
	d.huff = [2][4]*huffTable{}
	d.pos = 2
	var err error
	for scans, done := 0, false; !done; {
		var m byte
		if m, err = d.nextMarker(); err != nil {
			return nil, err
		}
		switch {
		case m == markEOI:
			if scans == 0 {
				return nil, refuse(JPEG, "no scan before the end of the image")
			}
			done = true
			continue
		case m == markSOI:
			return nil, refuse(JPEG, "second start of image at byte %d", d.pos-2)
		case m == markTEM || m >= markRST0 && m <= markRST7:
			continue
		}
		var seg []byte
		if seg, err = d.segment(m); err != nil {
			return nil, err
		}
		switch m {
		case markSOF0, markSOF1, markSOF2:
			err = d.readSOF(m, seg, limit)
		case markDHT:
			err = d.readDHT(seg, &spare)
		case markDQT:
			err = d.readDQT(seg)
		case markDRI:
			if len(seg) != 2 {
				err = refuse(JPEG, "restart interval of %d bytes", len(seg))
			} else {
				d.restart = int(binary.BigEndian.Uint16(seg))
			}
		case markAPP0:
			d.jfif = d.jfif || len(seg) >= 14 && bytes.HasPrefix(seg, []byte("JFIF\x00"))
		case markAPP14:
			if len(seg) >= 12 && bytes.HasPrefix(seg, []byte("Adobe")) {
				d.adobe, d.adobeTransform = true, seg[11]
			}
		case markSOS:
			err = d.readScan(seg, scans)
			scans++
		default:
			if reason := unsupported(m); reason != "" {
				err = refuse(JPEG, "%s", reason)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	for i := range d.comps {
		if !d.comps[i].qSaved {
			return nil, refuse(JPEG, "component %d has no scan", i)
		}
	}
	if d.progressive {
		if err := d.finishBlocks(); err != nil {
			return nil, err
		}
	}
	return d.convert()
}

// unsupported says why a marker segment ends the decoding, "" if it may be
// passed over.
func unsupported(m byte) string {
	switch {
	case m == 0xc3:
		return "lossless coding is not read"
	case m >= 0xc5 && m <= 0xc7, m >= 0xcd && m <= 0xcf, m == 0xde:
		return "hierarchical coding is not read"
	case m >= 0xc9 && m <= 0xcb:
		return "arithmetic coding is not read"
	case m == 0xcc, m == 0xdc, m >= 0xe0 && m <= 0xef, m == 0xfe: // DAC, DNL, APPn, COM
		return ""
	}
	return fmt.Sprintf("unknown marker ff%02x", m)
}

// nextMarker moves behind the next marker, skipping what lies before it.
func (d *jpegDecoder) nextMarker() (byte, error) {
	for {
		i := bytes.IndexByte(d.data[d.pos:], 0xff)
		if i < 0 {
			return 0, refuse(JPEG, "truncated: no end-of-image marker")
		}
		d.pos += i + 1
		for d.pos < len(d.data) && d.data[d.pos] == 0xff {
			d.pos++
		}
		if d.pos == len(d.data) {
			return 0, refuse(JPEG, "truncated: no end-of-image marker")
		}
		m := d.data[d.pos]
		d.pos++
		if m != 0 {
			return m, nil
		}
	}
}

// segment returns the payload of a marker segment and moves behind it.
func (d *jpegDecoder) segment(m byte) ([]byte, error) {
	if d.pos+2 > len(d.data) {
		return nil, refuse(JPEG, "truncated in the segment of marker ff%02x", m)
	}
	n := int(binary.BigEndian.Uint16(d.data[d.pos:]))
	if n < 2 {
		return nil, refuse(JPEG, "segment of marker ff%02x has length %d", m, n)
	}
	if d.pos+n > len(d.data) {
		return nil, refuse(JPEG, "truncated in the segment of marker ff%02x", m)
	}
	seg := d.data[d.pos+2 : d.pos+n]
	d.pos += n
	return seg, nil
}

func (d *jpegDecoder) readDQT(seg []byte) error {
	for len(seg) > 0 {
		pq, tq := seg[0]>>4, seg[0]&15
		n := 64 << min(pq, 1)
		if pq > 1 || tq > 3 {
			return refuse(JPEG, "quantisation table %d of precision %d", tq, pq)
		}
		if len(seg) < 1+n {
			return refuse(JPEG, "quantisation table %d is cut", tq)
		}
		for i := range 64 {
			if pq == 0 {
				d.quant[tq][zigzag[i]] = int16(seg[1+i])
			} else {
				d.quant[tq][zigzag[i]] = int16(binary.BigEndian.Uint16(seg[1+2*i:]))
			}
		}
		d.quantK[tq] = true
		seg = seg[1+n:]
	}
	return nil
}

func (d *jpegDecoder) readDHT(seg []byte, spare *[2][4]*huffTable) error {
	for len(seg) > 0 {
		if len(seg) < 17 {
			return refuse(JPEG, "Huffman table is cut")
		}
		class, id := seg[0]>>4, seg[0]&15
		if class > 1 || id > 3 {
			return refuse(JPEG, "Huffman table of class %d, number %d", class, id)
		}
		n := 0
		for _, c := range seg[1:17] {
			n += int(c)
		}
		if n > 256 || len(seg) < 17+n {
			return refuse(JPEG, "Huffman table of %d codes in %d bytes", n, len(seg)-17)
		}
		t := d.huff[class][id]
		if t == nil {
			if t = spare[class][id]; t == nil {
				t = new(huffTable)
			}
			d.huff[class][id] = t
		}
		t.build(seg[1:17], seg[17:17+n], class == 0)
		seg = seg[17+n:]
	}
	return nil
}

func (d *jpegDecoder) readSOF(m byte, seg []byte, limit int) error {
	if len(d.comps) > 0 {
		return refuse(JPEG, "two frame headers")
	}
	if len(seg) < 6 {
		return refuse(JPEG, "frame header of %d bytes", len(seg))
	}
	if seg[0] != 8 {
		return refuse(JPEG, "%d bits a sample, 8 are read", seg[0])
	}
	d.progressive = m == markSOF2
	d.height = int(binary.BigEndian.Uint16(seg[1:]))
	d.width = int(binary.BigEndian.Uint16(seg[3:]))
	if err := checkSize(JPEG, d.width, d.height, limit); err != nil {
		return err
	}
	n := int(seg[5])
	if n != 1 && n != 3 && n != 4 {
		return refuse(JPEG, "%d components", n)
	}
	if len(seg) != 6+3*n {
		return refuse(JPEG, "frame header of %d bytes for %d components", len(seg), n)
	}
	if cap(d.comps) < n {
		d.comps = make([]jpegComp, 0, 4)
	}
	d.comps = d.comps[:n]
	d.hmax, d.vmax = 1, 1
	for i := range d.comps {
		s := seg[6+3*i:]
		c := &d.comps[i]
		*c = jpegComp{id: s[0], h: int(s[1] >> 4), v: int(s[1] & 15), tq: s[2]}
		if c.h < 1 || c.h > 4 || c.v < 1 || c.v > 4 || c.tq > 3 {
			return refuse(JPEG, "component %d: sampling %d x %d, quantisation table %d", i, c.h, c.v, c.tq)
		}
		for j := range c.bits {
			c.bits[j] = -1
		}
		d.hmax, d.vmax = max(d.hmax, c.h), max(d.vmax, c.v)
	}
	d.mcusX = ceilDiv(d.width, 8*d.hmax)
	d.mcusY = ceilDiv(d.height, 8*d.vmax)
	total, most := 0, 0
	for i := range d.comps {
		c := &d.comps[i]
		if d.hmax%c.h != 0 || d.vmax%c.v != 0 {
			return refuse(JPEG, "component %d: fractional sampling %d x %d of %d x %d", i, c.h, c.v, d.hmax, d.vmax)
		}
		c.w, c.ht = ceilDiv(d.width*c.h, d.hmax), ceilDiv(d.height*c.v, d.vmax)
		c.blocksX, c.blocksY = d.mcusX*c.h, d.mcusY*c.v
		c.stride = c.blocksX * 8
		total += c.blocksX * c.blocksY
		most = max(most, ceilDiv(c.w, 8)*ceilDiv(c.ht, 8))
	}
	// Each block takes at least one bit, whatever its coding.
	if most > 8*(len(d.data)-d.pos) {
		return refuse(JPEG, "truncated: %d bytes cannot hold %d x %d pixels", len(d.data)-d.pos, d.width, d.height)
	}
	d.planes = grow(d.planes, total*64)
	at := 0
	for i := range d.comps {
		c := &d.comps[i]
		n := c.blocksX * c.blocksY * 64
		c.plane = d.planes[at : at+n : at+n]
		at += n
	}
	return nil
}

// needBlocks allocates the coefficients of a progressive file.
func (d *jpegDecoder) needBlocks() {
	total := 0
	for i := range d.comps {
		total += len(d.comps[i].plane)
	}
	d.blocks = grow(d.blocks, total)
	clear(d.blocks)
	at := 0
	for i := range d.comps {
		c := &d.comps[i]
		c.blocks = d.blocks[at : at+len(c.plane) : at+len(c.plane)]
		at += len(c.plane)
	}
}

// finishBlocks transforms the stored coefficients of all components.
func (d *jpegDecoder) finishBlocks() error {
	for i := range d.comps {
		c := &d.comps[i]
		// libjpeg smooths the blocks of a file whose low coefficients are not all
		// there; a coefficient left half refined means a file cut between scans.
		for k, b := range c.bits {
			if d.progressive && (b > 0 || b < 0 && k < 10) {
				return refuse(JPEG, "truncated: progressive file lacks coefficient %d of component %d", k, i)
			}
		}
		for by := range c.blocksY {
			for bx := range c.blocksX {
				for z, v := range c.blocks[(by*c.blocksX+bx)*64:][:64] {
					d.coeffs[zigzag[z]] = v
				}
				pixel.Inverse(c.plane[by*8*c.stride+bx*8:], c.stride, &d.coeffs, &c.q)
			}
		}
	}
	return nil
}

func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }

// zigzag[k] is the natural place of coefficient k. Runs of damaged files lead
// beyond the block.
var zigzag = [80]uint8{
	0, 1, 8, 16, 9, 2, 3, 10,
	17, 24, 32, 25, 18, 11, 4, 5,
	12, 19, 26, 33, 40, 48, 41, 34,
	27, 20, 13, 6, 7, 14, 21, 28,
	35, 42, 49, 56, 57, 50, 43, 36,
	29, 22, 15, 23, 30, 37, 44, 51,
	58, 59, 52, 45, 38, 31, 39, 46,
	53, 60, 61, 54, 47, 55, 62, 63,
	63, 63, 63, 63, 63, 63, 63, 63,
	63, 63, 63, 63, 63, 63, 63, 63,
}
