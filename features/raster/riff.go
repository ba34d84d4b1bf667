package raster

import "encoding/binary"

// A riffWebP is the parts of a WebP file that make its still picture.
type riffWebP struct {
	extended      bool // VP8X
	flags         byte // of VP8X
	width, height int  // of VP8X
	alpha         []byte
	picture       []byte
	kind          string // of the picture: "VP8 " or "VP8L"
}

// Flags of VP8X.
const webpAlpha, webpAnimation, webpReserved = 0x10, 0x02, 0xc1

// parseWebP splits a file as libwebp's demultiplexer does, which takes no
// partial files: chunks that it does not know are skipped, what lies behind the
// RIFF chunk is not looked at.
func parseWebP(data []byte) (w riffWebP, err error) {
	u32 := func(b []byte) int { return int(binary.LittleEndian.Uint32(b)) }
	if len(data) < 20 {
		return w, refuse(WebP, "truncated header")
	}
	end := u32(data[4:]) + 8
	if end > len(data) {
		return w, refuse(WebP, "truncated: %d bytes are declared", end)
	}
	if end < 20 {
		return w, refuse(WebP, "declared as %d bytes", end)
	}
	rest := data[12:end]
	chunk := func() (id string, body []byte, err error) {
		if len(rest) < 8 {
			return "", nil, refuse(WebP, "truncated: %d bytes behind the last chunk", len(rest))
		}
		id, n := string(rest[:4]), u32(rest[4:])
		if n > len(rest)-8 || n&1 != 0 && n == len(rest)-8 {
			return "", nil, refuse(WebP, "truncated in chunk %q", id)
		}
		body, rest = rest[8:8+n], rest[8+n+n&1:]
		return id, body, nil
	}
	id, body, err := chunk()
	if err != nil {
		return w, err
	}
	switch id {
	case "VP8 ", "VP8L":
		w.kind, w.picture = id, body
		for len(rest) > 0 { // what follows is not looked at, but must be whole
			if _, _, err := chunk(); err != nil {
				return w, err
			}
		}
		return w, w.shown()
	case "VP8X":
	default:
		return w, refuse(WebP, "first chunk %q", id)
	}
	if len(body) != 10 {
		return w, refuse(WebP, "header of %d bytes", len(body))
	}
	u24 := func(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }
	w.extended, w.flags, w.width, w.height = true, body[0], u24(body[4:])+1, u24(body[7:])+1
	if w.flags&webpAnimation != 0 {
		return w, refuse(WebP, "animation")
	}
	if w.flags&webpReserved != 0 {
		return w, refuse(WebP, "header with flags %x", w.flags)
	}
	for len(rest) > 0 {
		if id, body, err = chunk(); err != nil {
			return w, err
		}
		if w.alpha != nil && w.picture == nil && id != "VP8 " {
			return w, refuse(WebP, "chunk %q between alpha and picture", id)
		}
		switch {
		case id == "VP8X" || id == "ANIM" || id == "ANMF":
			return w, refuse(WebP, "chunk %q", id)
		case id == "ALPH" && w.picture == nil:
			w.alpha = body
		case (id == "VP8 " || id == "VP8L") && w.picture == nil:
			w.kind, w.picture = id, body
		case id == "ALPH", id == "VP8 ", id == "VP8L":
			return w, refuse(WebP, "second chunk %q", id)
		}
	}
	if w.picture == nil {
		return w, refuse(WebP, "no picture")
	}
	return w, w.shown()
}

// shown refuses a lossy frame that says of itself that it is not to be shown,
// or has a later format.
func (w *riffWebP) shown() error {
	if w.kind != "VP8 " || len(w.picture) == 0 {
		return nil
	}
	if tag := w.picture[0]; tag&1 == 0 && (tag>>1&7 > 3 || tag>>4&1 == 0) {
		return refuse(WebP, "frame of tag %x is not a picture", tag)
	}
	return nil
}

// still writes the parts as a file of their own.
func (w *riffWebP) still() []byte {
	out := []byte("RIFF\x00\x00\x00\x00WEBP")
	add := func(id string, body []byte) {
		out = append(out, id...)
		out = binary.LittleEndian.AppendUint32(out, uint32(len(body)))
		out = append(out, body...)
		out = append(out, make([]byte, len(body)&1)...)
	}
	if w.extended {
		head := make([]byte, 10)
		if w.alpha != nil {
			head[0] = webpAlpha
		}
		put := func(b []byte, v int) { b[0], b[1], b[2] = byte(v), byte(v>>8), byte(v>>16) }
		put(head[4:], w.width-1)
		put(head[7:], w.height-1)
		add("VP8X", head)
	}
	if w.alpha != nil {
		add("ALPH", w.alpha)
	}
	add(w.kind, w.picture)
	binary.LittleEndian.PutUint32(out[4:], uint32(len(out)-8))
	return out
}
