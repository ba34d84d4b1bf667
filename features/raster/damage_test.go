package raster

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"
)

// decodes wants the pixels of want.
func decodes(t *testing.T, what string, data []byte, want *Image) {
	t.Helper()
	got, err := Decode(data)
	if err != nil {
		t.Errorf("%s: %v", what, err)
	} else if !bytes.Equal(got.Pix, want.Pix) || got.Mode != want.Mode {
		t.Errorf("%s: other pixels, or mode %v for %v", what, got.Mode, want.Mode)
	}
}

func refuses(t *testing.T, what string, data []byte, reason string) {
	t.Helper()
	if _, err := Decode(data); err == nil || !strings.Contains(err.Error(), reason) {
		t.Errorf("%s: error %v, want one about %q", what, err, reason)
	}
}

// riffed is a WebP file of chunks.
func riffed(chunks ...[]byte) []byte {
	out := []byte("RIFF\x00\x00\x00\x00WEBP")
	for _, c := range chunks {
		out = append(out, c...)
	}
	binary.LittleEndian.PutUint32(out[4:], uint32(len(out)-8))
	return out
}

func riffChunk(id string, body []byte) []byte {
	out := binary.LittleEndian.AppendUint32([]byte(id), uint32(len(body)))
	return append(append(out, body...), make([]byte, len(body)&1)...)
}

// WebP files are taken apart as libwebp takes them apart.
func TestWebPContainer(t *testing.T) {
	for _, name := range []string{"webp_lossy.webp", "webp_lossy_alpha.webp", "webp_lossless.webp", "webp_lossless_alpha.webp"} {
		data := readImg(t, name)
		want, err := Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		w, err := parseWebP(data)
		if err != nil {
			t.Fatal(err)
		}
		picture := riffChunk(w.kind, w.picture)
		for _, n := range []int{1, 2, 8, 20} {
			refuses(t, name+" cut", data[:len(data)-n], "truncated")
		}
		decodes(t, name+" and bytes behind it", append(slices.Clone(data), "RIFF and more"...), want)
		refuses(t, name+" and bytes inside it", riffed(data[12:], []byte("bits")), "truncated")
		decodes(t, name+" and a chunk inside it", riffed(data[12:], riffChunk("bits", []byte("a"))), want)
		refuses(t, name+" with an unknown first chunk", riffed(riffChunk("VPXX", nil), picture), "first chunk")
		head := func(flags byte, dw int) []byte {
			b := make([]byte, 10)
			b[0], b[4], b[7] = flags, byte(want.Width-1+dw), byte(want.Height-1)
			return riffChunk("VP8X", b)
		}
		alpha := []byte(nil)
		flags := byte(0)
		if w.alpha != nil {
			alpha = riffChunk("ALPH", w.alpha)
		}
		if want.Mode == ModeRGBA {
			flags = webpAlpha
		}
		decodes(t, name+" with unknown chunks", riffed(head(flags, 0), riffChunk("odd!", []byte("abc")), alpha, picture, riffChunk("more", nil)), want)
		for _, flags := range []byte{0x01, 0x40, 0x80} {
			refuses(t, name+" with a reserved flag", riffed(head(flags, 0), alpha, picture), "flags")
		}
		if w.alpha != nil {
			opaque := &Image{Width: want.Width, Height: want.Height, Mode: ModeRGBA, Pix: slices.Clone(want.Pix)}
			for i := 3; i < len(opaque.Pix); i += 4 {
				opaque.Pix[i] = 255
			}
			decodes(t, name+" whose alpha does not count", riffed(head(0, 0), alpha, picture), opaque)
			refuses(t, name+" with two alphas", riffed(head(flags, 0), alpha, alpha, picture), "between alpha and picture")
			refuses(t, name+" with alpha behind it", riffed(head(flags, 0), picture, alpha), "second chunk")
			refuses(t, name+" with a chunk behind alpha", riffed(head(flags, 0), alpha, riffChunk("more", nil), picture), "between alpha and picture")
		}
		refuses(t, name+" on a larger canvas", riffed(head(flags, 1), alpha, picture), "WEBP: ")
		refuses(t, name+" twice", riffed(head(flags, 0), alpha, picture, picture), "second chunk")
		refuses(t, name+" with two headers", riffed(head(flags, 0), head(flags, 0), picture), "VP8X")
		refuses(t, name+" animated", riffed(head(webpAnimation, 0), picture), "animation")
		refuses(t, name+" without a picture", riffed(head(flags, 0), riffChunk("EXIF", nil)), "no picture")
		refuses(t, name+" with a short header", riffed(riffChunk("VP8X", make([]byte, 8)), picture), "header of 8 bytes")
		if w.kind == "VP8 " {
			hidden := slices.Clone(w.picture)
			hidden[0] &^= 0x10
			refuses(t, name+" hidden", riffed(head(flags, 0), alpha, riffChunk("VP8 ", hidden)), "not a picture")
		}
	}
}

// The padding behind the last row of a BMP may lack, pixels may not.
func TestBMPLastRow(t *testing.T) {
	for _, name := range []string{"bmp_1.bmp", "bmp_p.bmp", "bmp_rgb.bmp"} {
		data := readImg(t, name)
		want, err := Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		bits := int(binary.LittleEndian.Uint16(data[28:]))
		offset := int(binary.LittleEndian.Uint32(data[10:]))
		used, stride := (want.Width*bits+7)/8, (want.Width*bits+31)/32*4
		end := offset + stride*(want.Height-1) + used
		decodes(t, name+" without the last padding", data[:end], want)
		refuses(t, name+" without the last pixel", data[:end-1], "truncated")
	}
}

func TestBMPPalette(t *testing.T) {
	data := slices.Clone(readImg(t, "bmp_p.bmp"))
	at, offset := 14+int(binary.LittleEndian.Uint32(data[14:])), int(binary.LittleEndian.Uint32(data[10:]))
	data[28] = 8 // bits; what the rows hold does not matter here
	binary.LittleEndian.PutUint32(data[46:], 300)
	long := slices.Concat(data[:at], []byte("\x01\x02\x03\x00"), make([]byte, 299*4), make([]byte, 100*100))
	binary.LittleEndian.PutUint32(long[10:], uint32(at+300*4))
	if offset < at {
		t.Fatal("rows lie in the header")
	}
	refuses(t, "a palette of 300 colours", long, "palette of 300 colours")
}

// An extension whose first block is empty is read on, as Pillow reads it.
func TestGIFEmptyExtension(t *testing.T) {
	data := readImg(t, "gif_p.gif")
	want, err := Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	head := 13
	if data[10]&0x80 != 0 {
		head += 3 << (data[10]&7 + 1)
	}
	with := func(ext string) []byte { return slices.Concat(data[:head], []byte(ext), data[head:]) }
	decodes(t, "an empty comment with a block behind it", with("!\xfe\x00\x02hi\x00"), want)
	decodes(t, "an empty control extension", with("!\xf9\x00\x00"), want)
	refuses(t, "a control extension that swallows the picture", with("!\xf9\x00\x01\x00"), "GIF: ")
}

// A logical screen without rows is as large as its frame.
func TestGIFEmptyScreen(t *testing.T) {
	data := slices.Clone(readImg(t, "gif_p.gif"))
	want, err := Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	clear(data[6:10])
	decodes(t, "an empty screen", data, want)
}
