// Package raster decodes, resizes and crops images as Pillow does, byte for
// byte.
//
// A [Decoder] turns the bytes of a file into an [Image] in the mode that
// Pillow would open it with; [Image.RGB] is Pillow's convert("RGB"). Formats
// are told by magic bytes: JPEG (baseline and progressive, every sampling,
// grey, RGB, YCbCr, CMYK, YCCK), PNG, GIF (first frame), BMP and WebP. EXIF
// orientation is ignored and alpha is dropped, as Pillow's open and convert do.
// [Transform] names the ways from a file to what a network sees.
//
// Files are untrusted: the declared size is checked against the limit, and
// against what the file's bytes can hold at all, before memory is taken. What
// cannot be decoded ends in an [Error] with a reason. Pillow recovers pixels
// from some damaged files (corrupt entropy-coded data, progressive files cut
// between scans) and reads some rare kinds (arithmetic coding, TIFF, PPM);
// those are refused here.
//
// A Decoder and an Image belong to one goroutine at a time; different Decoders
// are independent.
package raster

import "fmt"

// MaxPixels is the declared size beyond which Pillow refuses a file as a
// decompression bomb.
const MaxPixels = 178956970

// A Format is a kind of image file.
type Format string

// Formats that are recognised. TIFF is recognised only to be refused by name.
const (
	JPEG Format = "JPEG"
	PNG  Format = "PNG"
	GIF  Format = "GIF"
	BMP  Format = "BMP"
	WebP Format = "WEBP"
	TIFF Format = "TIFF"
)

// An Error says why a file cannot be decoded.
type Error struct {
	Format Format // empty if the format was not recognised
	Reason string
}

func (e *Error) Error() string {
	if e.Format == "" {
		return "raster: " + e.Reason
	}
	return "raster: " + string(e.Format) + ": " + e.Reason
}

func refuse(f Format, format string, args ...any) error {
	return &Error{f, fmt.Sprintf(format, args...)}
}

// A Mode says what the bytes of a pixel are. The names are Pillow's.
type Mode uint8

// Modes.
const (
	ModeBit  Mode = iota + 1 // "1": one byte a pixel, 0 or 255
	ModeL                    // grey
	ModeP                    // index into Image.Palette
	ModeI16                  // "I;16": grey, two bytes a pixel, little endian
	ModeLA                   // grey and alpha
	ModeRGB                  // red, green, blue
	ModeRGBA                 // red, green, blue, alpha (not premultiplied)
	ModeCMYK                 // cyan, magenta, yellow, black; 255 is full ink
)

var modes = [...]struct {
	name  string
	bytes int
}{{}, {"1", 1}, {"L", 1}, {"P", 1}, {"I;16", 2}, {"LA", 2}, {"RGB", 3}, {"RGBA", 4}, {"CMYK", 4}}

func (m Mode) String() string { return modes[m].name }

// Bytes returns the number of bytes a pixel.
func (m Mode) Bytes() int { return modes[m].bytes }

// An Image is a picture in memory.
type Image struct {
	Width, Height int
	Mode          Mode
	Pix           []byte // row-major without padding, Mode.Bytes() a pixel
	Palette       []byte // ModeP only: 256 entries of red, green, blue
	// What a file says of transparency beside an alpha channel; most of this
	// package takes no notice of it, as Pillow's convert does not.
	Alpha []byte // ModeP: of each of the 256 entries
	Key   []byte // ModeBit, ModeL, ModeRGB: the colour that is transparent
}

func newImage(w, h int, m Mode) *Image {
	return &Image{Width: w, Height: h, Mode: m, Pix: make([]byte, w*h*m.Bytes())}
}

// RGB returns the picture in mode RGB, which is im itself if it has that mode.
// Alpha is dropped, palette entries are looked up, 16-bit grey is clipped at
// 255, CMYK is converted as Pillow's convert does.
func (im *Image) RGB() *Image {
	if im.Mode == ModeRGB {
		return im
	}
	out := newImage(im.Width, im.Height, ModeRGB)
	p, q := im.Pix, out.Pix
	n := im.Width * im.Height
	switch im.Mode {
	case ModeBit, ModeL:
		for i, v := range p[:n] {
			q[3*i], q[3*i+1], q[3*i+2] = v, v, v
		}
	case ModeP:
		for i, v := range p[:n] {
			copy(q[3*i:3*i+3], im.Palette[3*int(v):])
		}
	case ModeI16:
		for i := range n {
			v := p[2*i]
			if p[2*i+1] != 0 {
				v = 255
			}
			q[3*i], q[3*i+1], q[3*i+2] = v, v, v
		}
	case ModeLA:
		for i := range n {
			v := p[2*i]
			q[3*i], q[3*i+1], q[3*i+2] = v, v, v
		}
	case ModeRGBA:
		for i := range n {
			copy(q[3*i:3*i+3], p[4*i:])
		}
	case ModeCMYK:
		for i := range n {
			nk := 255 - int(p[4*i+3])
			for c := range 3 {
				q[3*i+c] = byte(nk - muldiv255(int(p[4*i+c]), nk))
			}
		}
	}
	return out
}

// muldiv255 is a*b/255 as Pillow rounds it; a and b are bytes.
func muldiv255(a, b int) int {
	t := a*b + 128
	return ((t >> 8) + t) >> 8
}

func clamp8(v int) byte {
	if uint(v) <= 255 {
		return byte(v)
	}
	if v < 0 {
		return 0
	}
	return 255
}

// Sniff tells the format of a file by its first bytes, "" if it is none that
// this package knows. Sixteen bytes are enough.
func Sniff(head []byte) Format {
	has := func(at int, s string) bool {
		return len(head) >= at+len(s) && string(head[at:at+len(s)]) == s
	}
	switch {
	case has(0, "\xff\xd8\xff"):
		return JPEG
	case has(0, "\x89PNG\r\n\x1a\n"):
		return PNG
	case has(0, "GIF87a"), has(0, "GIF89a"):
		return GIF
	case has(0, "BM"):
		return BMP
	case has(0, "RIFF") && has(8, "WEBP"):
		return WebP
	case has(0, "II*\x00"), has(0, "MM\x00*"), has(0, "II+\x00"), has(0, "MM\x00+"):
		return TIFF
	}
	return ""
}

// A Decoder decodes files. Its zero value is ready to use. Buffers are reused
// from one file to the next.
type Decoder struct {
	// MaxPixels bounds the declared size; 0 means the constant MaxPixels.
	MaxPixels int

	jpeg jpegDecoder
}

// Decode decodes one file, in the mode that Pillow opens it with.
func (d *Decoder) Decode(data []byte) (*Image, error) {
	switch f := Sniff(data); f {
	case JPEG:
		return d.jpeg.decode(data, d.limit())
	case PNG:
		return decodePNG(data, d.limit())
	case GIF:
		return decodeGIF(data, d.limit())
	case BMP:
		return decodeBMP(data, d.limit())
	case WebP:
		return decodeWebP(data, d.limit())
	case TIFF:
		return nil, refuse(f, "not read: JPEG, PNG, GIF, BMP and WebP are")
	}
	if len(data) == 0 {
		return nil, refuse("", "empty file")
	}
	return nil, refuse("", "not an image: starts with %q", data[:min(len(data), 16)])
}

func (d *Decoder) limit() int {
	if d.MaxPixels > 0 {
		return d.MaxPixels
	}
	return MaxPixels
}

// Decode decodes one file with a Decoder of its own.
func Decode(data []byte) (*Image, error) { return new(Decoder).Decode(data) }

func checkSize(f Format, w, h, limit int) error {
	if w <= 0 || h <= 0 {
		return refuse(f, "declared size %d x %d", w, h)
	}
	if h > limit/w {
		return refuse(f, "declared size %d x %d, limit %d pixels", w, h, limit)
	}
	return nil
}
