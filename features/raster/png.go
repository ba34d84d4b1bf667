package raster

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"hash/adler32"
	"hash/crc32"
	"io"
)

// pngHeader is what decides how PNG samples are read.
type pngHeader struct {
	width, height int
	depth, color  byte
	interlaced    bool
	channels      int
	mode          Mode
}

// Colour types of PNG.
const (
	pngGrey      = 0
	pngRGB       = 2
	pngPalette   = 3
	pngGreyAlpha = 4
	pngRGBA      = 6
)

const (
	pngTextLimit  = 1 << 20           // a text chunk may not inflate past it
	pngTextMemory = 64 * pngTextLimit // nor all of them together
)

// decodePNG reads a PNG as Pillow does: checksums count up to the image data
// and not within them, gamma, colour profile and transparency are ignored.
func decodePNG(data []byte, limit int) (*Image, error) {
	r := pngReader{data: data, pos: 8, limit: limit}
	for !r.inData {
		if err := r.headChunk(); err != nil {
			return nil, err
		}
	}
	im, err := r.readPixels()
	if err != nil {
		return nil, err
	}
	return im, r.tail()
}

type pngReader struct {
	data    []byte
	pos     int
	limit   int
	inData  bool // the header of the first IDAT chunk is behind us
	h       pngHeader
	seen    bool // IHDR
	palette []byte
	trns    []byte
	text    int
	left    int // bytes left in the present IDAT chunk
}

// next reads a chunk header.
func (r *pngReader) next() (id string, n int, err error) {
	if r.pos+8 > len(r.data) {
		return "", 0, refuse(PNG, "truncated: no end chunk")
	}
	n32 := binary.BigEndian.Uint32(r.data[r.pos:])
	b := r.data[r.pos+4 : r.pos+8]
	for _, c := range b {
		if c < '0' || c > '9' && c < 'A' || c > 'Z' && c != '_' && c < 'a' || c > 'z' {
			return "", 0, refuse(PNG, "chunk named %q", b)
		}
	}
	r.pos += 8
	return string(b), int(n32), nil
}

func (r *pngReader) headChunk() error {
	id, n, err := r.next()
	if err != nil {
		return err
	}
	switch id {
	case "IDAT":
		if !r.seen {
			return refuse(PNG, "image data before the header")
		}
		r.inData, r.left = true, n
		return nil
	case "IEND":
		return refuse(PNG, "no image data")
	}
	if n > len(r.data)-r.pos {
		return refuse(PNG, "truncated in chunk %s", id)
	}
	body := r.data[r.pos : r.pos+n]
	r.pos += n
	if err := r.chunk(id, body); err != nil {
		return err
	}
	if r.pos+4 > len(r.data) {
		return refuse(PNG, "truncated in the checksum of chunk %s", id)
	}
	sum := crc32.Update(crc32.ChecksumIEEE([]byte(id)), crc32.IEEETable, body)
	if sum != binary.BigEndian.Uint32(r.data[r.pos:]) {
		return refuse(PNG, "wrong checksum of chunk %s", id)
	}
	r.pos += 4
	return nil
}

// chunk takes in a chunk other than image data.
func (r *pngReader) chunk(id string, body []byte) error {
	short := map[string]int{"IHDR": 13, "gAMA": 4, "cHRM": 32, "sRGB": 1, "pHYs": 9, "acTL": 8, "fcTL": 26}[id]
	if id == "tRNS" && r.seen && r.h.color != pngPalette {
		short = 2
		if r.h.color == pngRGB {
			short = 6
		}
	}
	if len(body) < short {
		return refuse(PNG, "chunk %s of %d bytes", id, len(body))
	}
	switch id {
	case "IHDR":
		return r.header(body)
	case "PLTE":
		r.palette = body
	case "tRNS":
		if r.seen {
			r.trns = body
		}
	case "iCCP":
		name, rest, _ := bytes.Cut(body, []byte{0})
		if len(rest) == 0 || rest[0] != 0 {
			return refuse(PNG, "colour profile %q of unknown compression", name)
		}
		_, err := r.inflateText(rest[1:])
		return err
	case "zTXt":
		_, rest, _ := bytes.Cut(body, []byte{0})
		if len(rest) == 0 {
			return nil
		}
		if rest[0] != 0 {
			return refuse(PNG, "text of unknown compression %d", rest[0])
		}
		n, err := r.inflateText(rest[1:])
		r.text += n
		if err != nil {
			return err
		}
	case "tEXt":
		if key, val, ok := bytes.Cut(body, []byte{0}); ok && len(key) > 0 {
			r.text += len(val)
		}
	case "iTXt":
		_, rest, ok := bytes.Cut(body, []byte{0})
		if !ok || len(rest) < 2 {
			return nil
		}
		packed, method := rest[0], rest[1]
		_, rest, _ = bytes.Cut(rest[2:], []byte{0})
		_, val, ok := bytes.Cut(rest, []byte{0})
		if !ok || packed != 0 && method != 0 {
			return nil
		}
		n := len(val)
		if packed != 0 {
			var err error
			if n, err = r.inflateText(val); err != nil {
				return err
			}
		}
		r.text += n
	}
	if r.text > pngTextMemory {
		return refuse(PNG, "text inflates past %d bytes", pngTextMemory)
	}
	return nil
}

// inflateText returns the inflated length of a text, 0 if it is damaged.
func (r *pngReader) inflateText(z []byte) (int, error) {
	src, err := zlibBody(bytes.NewReader(z))
	if err != nil {
		return 0, nil
	}
	n, err := io.Copy(io.Discard, io.LimitReader(src, pngTextLimit+1))
	if n > pngTextLimit {
		return 0, refuse(PNG, "text inflates past %d bytes", pngTextLimit)
	}
	if err != nil {
		return 0, nil
	}
	return int(n), nil
}

// zlibBody checks a zlib header and returns the inflated data behind it. A
// reader with ReadByte is read no further than the data; the checksum is left.
func zlibBody(r io.Reader) (io.Reader, error) {
	var h [2]byte
	if _, err := io.ReadFull(r, h[:]); err != nil {
		return nil, io.ErrUnexpectedEOF
	}
	if h[0]&15 != 8 || h[0]>>4 > 7 || (int(h[0])<<8|int(h[1]))%31 != 0 || h[1]&32 != 0 {
		return nil, errors.New("not zlib data")
	}
	return flate.NewReader(r), nil
}

func (r *pngReader) header(b []byte) error {
	h := pngHeader{depth: b[8], color: b[9], interlaced: b[12] != 0, channels: 1}
	w, ht := binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])
	if w > 1<<31-1 || ht > 1<<31-1 {
		return refuse(PNG, "declared size %d x %d", w, ht)
	}
	h.width, h.height = int(w), int(ht)
	if err := checkSize(PNG, h.width, h.height, r.limit); err != nil {
		return err
	}
	if b[11] != 0 {
		return refuse(PNG, "unknown filter method %d", b[11])
	}
	ok := h.depth == 8
	switch h.color {
	case pngGrey:
		ok = ok || h.depth == 1 || h.depth == 2 || h.depth == 4 || h.depth == 16
		h.mode = ModeL
		if h.depth == 1 {
			h.mode = ModeBit
		} else if h.depth == 16 {
			h.mode = ModeI16
		}
	case pngRGB:
		ok = ok || h.depth == 16
		h.mode, h.channels = ModeRGB, 3
	case pngPalette:
		ok = ok || h.depth == 1 || h.depth == 2 || h.depth == 4
		h.mode = ModeP
	case pngGreyAlpha:
		ok = ok || h.depth == 16
		h.mode, h.channels = ModeLA, 2
		if h.depth == 16 {
			h.mode = ModeRGBA
		}
	case pngRGBA:
		ok = ok || h.depth == 16
		h.mode, h.channels = ModeRGBA, 4
	default:
		ok = false
	}
	if !ok {
		return refuse(PNG, "colour type %d with %d bits", h.color, h.depth)
	}
	r.h, r.seen = h, true
	return nil
}

// Read gives the bytes of all IDAT chunks in turn.
func (r *pngReader) Read(p []byte) (int, error) {
	for r.left == 0 {
		r.pos += 4 // the checksum, which does not count here
		at := r.pos
		id, n, err := r.next()
		if err != nil {
			return 0, io.ErrUnexpectedEOF
		}
		if id != "IDAT" {
			r.pos = at - 4
			return 0, io.EOF
		}
		r.left = n
	}
	n := min(len(p), r.left, len(r.data)-r.pos)
	if n <= 0 {
		return 0, io.ErrUnexpectedEOF
	}
	copy(p, r.data[r.pos:r.pos+n])
	r.pos += n
	r.left -= n
	return n, nil
}

// ReadByte makes the inflater read no further than it needs.
func (r *pngReader) ReadByte() (byte, error) {
	if r.left > 0 && r.pos < len(r.data) {
		b := r.data[r.pos]
		r.pos++
		r.left--
		return b, nil
	}
	var b [1]byte
	_, err := r.Read(b[:])
	return b[0], err
}

// pngPass is one pass of an interlaced picture: first pixel and step.
type pngPass struct{ x, y, dx, dy int }

var adam7 = []pngPass{{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4}, {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}}

func (r *pngReader) readPixels() (*Image, error) {
	h := &r.h
	passes := []pngPass{{0, 0, 1, 1}}
	if h.interlaced {
		passes = adam7
	}
	bits := int(h.depth) * h.channels
	// Deflate cannot blow up more than 1032 times.
	if need := (h.width*bits + 7) / 8 * h.height; need/1032 > len(r.data)-r.pos {
		return nil, refuse(PNG, "truncated: %d bytes cannot hold %d x %d pixels", len(r.data)-r.pos, h.width, h.height)
	}
	body, err := zlibBody(r)
	if err != nil {
		return nil, r.dataError(err)
	}
	check := adler32.New()
	src := io.TeeReader(body, check)
	im := newImage(h.width, h.height, h.mode)
	if h.mode == ModeP {
		im.Palette = make([]byte, 768)
		copy(im.Palette, r.palette)
	}
	r.transparency(im)
	bpp := max(1, bits/8)
	line := make([]byte, 1+(h.width*bits+7)/8)
	prev := make([]byte, len(line))
	for _, p := range passes {
		w := ceilDiv(h.width-p.x, p.dx)
		if w <= 0 {
			continue
		}
		n := 1 + (w*bits+7)/8
		clear(prev)
		for y := p.y; y < h.height; y += p.dy {
			if _, err := io.ReadFull(src, line[:n]); err != nil {
				return nil, r.dataError(err)
			}
			if !unfilter(line[0], line[1:n], prev[1:n], bpp) {
				return nil, refuse(PNG, "unknown row filter %d", line[0])
			}
			h.unpack(im, line[1:n], y, p, w)
			line, prev = prev, line
		}
	}
	// The stream's checksum counts if it follows in the same chunk.
	var one [1]byte
	if n, err := body.Read(one[:]); n == 0 && err == io.EOF && r.left >= 4 && r.pos+4 <= len(r.data) {
		if binary.BigEndian.Uint32(r.data[r.pos:]) != check.Sum32() {
			return nil, refuse(PNG, "corrupt image data: wrong checksum")
		}
	}
	return im, nil
}

// transparency keeps what tRNS says. Of 16 bits Pillow compares the lower ones.
func (r *pngReader) transparency(im *Image) {
	switch {
	case r.trns == nil:
	case im.Mode == ModeP:
		im.Alpha = bytes.Repeat([]byte{255}, 256)
		copy(im.Alpha, r.trns)
	case im.Mode == ModeBit || im.Mode == ModeL:
		im.Key = []byte{r.trns[1]}
	case im.Mode == ModeRGB:
		im.Key = []byte{r.trns[1], r.trns[3], r.trns[5]}
	}
}

func (r *pngReader) dataError(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return refuse(PNG, "truncated image data")
	}
	return refuse(PNG, "corrupt image data: %v", err)
}

// unfilter undoes a row filter in place (PNG, section 9).
func unfilter(kind byte, cur, prev []byte, bpp int) bool {
	prev = prev[:len(cur)]
	switch kind {
	case 0:
	case 1:
		for i := bpp; i < len(cur); i++ {
			cur[i] += cur[i-bpp]
		}
	case 2:
		for i, v := range prev {
			cur[i] += v
		}
	case 3:
		for i := range cur {
			left := 0
			if i >= bpp {
				left = int(cur[i-bpp])
			}
			cur[i] += byte((left + int(prev[i])) / 2)
		}
	case 4:
		for i := range cur {
			a, c := 0, 0
			if i >= bpp {
				a, c = int(cur[i-bpp]), int(prev[i-bpp])
			}
			cur[i] += paeth(a, int(prev[i]), c)
		}
	default:
		return false
	}
	return true
}

func paeth(a, b, c int) byte {
	pa, pb, pc := abs(b-c), abs(a-c), abs(a+b-2*c)
	switch {
	case pa <= pb && pa <= pc:
		return byte(a)
	case pb <= pc:
		return byte(b)
	}
	return byte(c)
}

func abs(v int) int {
	if v < 0 {
		return -v
	}
	return v
}

// unpack writes w pixels of an unfiltered row of a pass into im.
func (h *pngHeader) unpack(im *Image, row []byte, y int, p pngPass, w int) {
	m := h.mode.Bytes()
	at := (y*h.width + p.x) * m
	step := p.dx * m
	pix := im.Pix
	switch {
	case h.depth < 8:
		d := int(h.depth)
		mask := byte(1<<d - 1)
		scale := byte(1)
		if h.color == pngGrey {
			scale = 255 / mask
		}
		for i := range w {
			pix[at] = row[i*d>>3] >> uint(8-d-i*d&7) & mask * scale
			at += step
		}
	case h.mode == ModeI16:
		for i := range w {
			pix[at], pix[at+1] = row[2*i+1], row[2*i]
			at += step
		}
	case h.color == pngGreyAlpha && h.depth == 16:
		for i := range w {
			v := row[4*i]
			pix[at], pix[at+1], pix[at+2], pix[at+3] = v, v, v, row[4*i+2]
			at += step
		}
	case h.depth == 16:
		for i := range w {
			for c := range m {
				pix[at+c] = row[2*(i*m+c)]
			}
			at += step
		}
	case p.dx == 1:
		copy(pix[at:at+w*m], row)
	default:
		for i := range w {
			copy(pix[at:at+m], row[i*m:])
			at += step
		}
	}
}

// tail reads the chunks behind the image data, as Pillow does after loading:
// one that is cut spoils the file, a missing end chunk does not.
func (r *pngReader) tail() error {
	r.pos = min(r.pos+r.left, len(r.data))
	for {
		r.pos = min(r.pos+4, len(r.data))
		id, n, err := r.next()
		if err != nil || id == "IEND" {
			return nil
		}
		if id == "fcTL" {
			return nil
		}
		if n > len(r.data)-r.pos {
			return refuse(PNG, "truncated in chunk %s", id)
		}
		body := r.data[r.pos : r.pos+n]
		r.pos += n
		if id == "IDAT" || id == "IHDR" {
			continue
		}
		if err := r.chunk(id, body); err != nil {
			return err
		}
	}
}
