package raster

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func readImg(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "img", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestSniff(t *testing.T) {
	for head, want := range map[string]Format{
		"\xff\xd8\xff\xe0":             JPEG,
		"\xff\xd8":                     "",
		"\x89PNG\r\n\x1a\n":            PNG,
		"GIF89a":                       GIF,
		"BM":                           BMP,
		"RIFF\x00\x00\x00\x00WEBPVP8 ": WebP,
		"RIFF\x00\x00\x00\x00WAVEfmt ": "",
		"II*\x00":                      TIFF,
		"MM\x00*":                      TIFF,
		"":                             "",
		"<!DOCTYPE html>":              "",
	} {
		if got := Sniff([]byte(head)); got != want {
			t.Errorf("Sniff(%q) = %q, want %q", head, got, want)
		}
	}
}

func TestRefusals(t *testing.T) {
	for name, want := range map[string]string{
		"png_cut_idat.png":        "truncated",
		"png_bomb_header.png":     "declared size 60000 x 60000",
		"png_bomb_warn.png":       "cannot hold 12000 x 10000",
		"png_zero_width.png":      "declared size 0 x",
		"jpg_cut_two_thirds.jpg":  "truncated",
		"jpg_cut_2_bytes.jpg":     "no end-of-image marker",
		"jpg_cut_header.jpg":      "truncated",
		"jpg_cut_prog.jpg":        "truncated",
		"jpg_cut_prog_dc.jpg":     "truncated",
		"jpg_dnl_zero_height.jpg": "declared size 47 x 0",
		"jpg_empty.jpg":           "empty file",
		"jpg_html.jpg":            "not an image",
		"jpg_corrupt_scan.jpg":    "corrupt scan",
		"gif_truncated.gif":       "truncated",
	} {
		_, err := Decode(readImg(t, name))
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(e.Reason, want) {
			t.Errorf("%s: error %v, want a reason with %q", name, err, want)
		}
	}
	b := bytes.Clone(readImg(t, "jpg_420_16x16.jpg"))
	sof := bytes.Index(b, []byte{0xff, 0xc0})
	for marker, want := range map[byte]string{0xc9: "arithmetic", 0xc3: "lossless", 0xc5: "hierarchical"} {
		b[sof+1] = marker
		if _, err := Decode(b); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("marker %x: error %v, want one about %s coding", marker, err, want)
		}
	}
	b[sof+1], b[sof+4] = 0xc0, 12
	if _, err := Decode(b); err == nil || !strings.Contains(err.Error(), "12 bits") {
		t.Errorf("12-bit file: error %v", err)
	}
}

// A small file must not make the decoder allocate for the size that it
// declares.
func TestDeclaredSizeCostsNothing(t *testing.T) {
	jpg := bytes.Clone(readImg(t, "jpg_420_16x16.jpg"))
	sof := bytes.Index(jpg, []byte{0xff, 0xc0})
	binary.BigEndian.PutUint16(jpg[sof+5:], 13000)
	binary.BigEndian.PutUint16(jpg[sof+7:], 13000)
	png := bytes.Clone(readImg(t, "png_rgb_13x11.png"))
	binary.BigEndian.PutUint32(png[16:], 13000)
	binary.BigEndian.PutUint32(png[20:], 13000)
	binary.BigEndian.PutUint32(png[29:], crc32.ChecksumIEEE(png[12:29]))
	gif := bytes.Clone(readImg(t, "gif_p.gif"))
	at := bytes.LastIndexByte(gif[:bytes.LastIndexByte(gif, ',')+1], ',')
	for i := range gif {
		if gif[i] == ',' && i+9 < len(gif) && binary.LittleEndian.Uint16(gif[i+5:]) == 23 {
			at = i
			break
		}
	}
	binary.LittleEndian.PutUint16(gif[at+5:], 13000)
	binary.LittleEndian.PutUint16(gif[at+7:], 13000)
	bmp := bytes.Clone(readImg(t, "bmp_rgb.bmp"))
	binary.LittleEndian.PutUint32(bmp[18:], 13000)
	binary.LittleEndian.PutUint32(bmp[22:], 13000)
	for name, data := range map[string][]byte{"jpeg": jpg, "png": png, "gif": gif, "bmp": bmp} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Decode(data)
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), "truncated") {
			t.Errorf("%s: error %v, want truncated", name, err)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
			t.Errorf("%s: %d bytes allocated for %d bytes of file", name, n, len(data))
		}
	}
}

func TestMaxPixels(t *testing.T) {
	d := Decoder{MaxPixels: 255}
	if _, err := d.Decode(readImg(t, "jpg_420_16x16.jpg")); err == nil || !strings.Contains(err.Error(), "limit 255") {
		t.Errorf("error %v, want the limit", err)
	}
	d.MaxPixels = 256
	if _, err := d.Decode(readImg(t, "jpg_420_16x16.jpg")); err != nil {
		t.Error(err)
	}
}

// A file without Huffman tables is read with the standard ones, which are
// those that Go's encoder writes.
func TestStandardTables(t *testing.T) {
	m := image.NewRGBA(image.Rect(0, 0, 37, 21))
	for i := range m.Pix {
		m.Pix[i] = byte(i * i >> 3)
	}
	for i := 3; i < len(m.Pix); i += 4 {
		m.Pix[i] = 255
	}
	m.Set(3, 4, color.White)
	var buf bytes.Buffer
	if err := jpeg.Encode(&buf, m, &jpeg.Options{Quality: 90}); err != nil {
		t.Fatal(err)
	}
	full := buf.Bytes()
	dht := bytes.Index(full, []byte{0xff, 0xc4})
	n := int(binary.BigEndian.Uint16(full[dht+2:]))
	bare := append(bytes.Clone(full[:dht]), full[dht+2+n:]...)
	want, err := Decode(full)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(bare)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Pix, want.Pix) {
		t.Error("pixels differ without the tables")
	}
}

// A decoder that has seen one file decodes the next as a fresh one does.
func TestDecoderReuse(t *testing.T) {
	files, err := filepath.Glob("testdata/img/*")
	if err != nil {
		t.Fatal(err)
	}
	var d Decoder
	for _, f := range append(files, files...) {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		got, err1 := d.Decode(b)
		want, err2 := Decode(b)
		if (err1 == nil) != (err2 == nil) || err1 == nil && !bytes.Equal(got.Pix, want.Pix) {
			t.Errorf("%s: a used decoder differs (%v, %v)", f, err1, err2)
		}
	}
}

func TestResizeArguments(t *testing.T) {
	im := newImage(4, 3, ModeRGB)
	for _, r := range []Resize{
		{Width: 0, Height: 3},
		{Width: 3, Height: 3, Crop: Rect{0, 0, 4, 3}},
		{Width: 3, Height: 3, Crop: Rect{2, 0, 2, 3}},
		{Width: 3, Height: 3, Box: &Box{0, 0, 5, 3}},
		{Width: 3, Height: 3, Box: &Box{2, 0, 2, 3}},
	} {
		if _, err := r.Apply(im); err == nil {
			t.Errorf("%+v: no error", r)
		}
	}
}

func FuzzDecode(f *testing.F) {
	files, err := filepath.Glob("testdata/img/*")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d := Decoder{MaxPixels: 1 << 20}
		im, err := d.Decode(data)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Reason == "" {
				t.Fatalf("error without a reason: %v", err)
			}
			return
		}
		if len(im.Pix) != im.Width*im.Height*im.Mode.Bytes() {
			t.Fatalf("%d bytes for %d x %d %v", len(im.Pix), im.Width, im.Height, im.Mode)
		}
		if _, err := CLIP.Apply(im, 16, AcrossFirst); err != nil {
			t.Fatal(err)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	data := photo(b)
	b.SetBytes(640 * 480 * 3)
	var d Decoder
	for b.Loop() {
		if _, err := d.Decode(data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCLIP(b *testing.B) {
	im, err := Decode(photo(b))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := CLIP.Apply(im, 224, AcrossFirst); err != nil {
			b.Fatal(err)
		}
	}
}

// photo is a JPEG of 640x480 with smooth areas, edges and some noise.
func photo(b *testing.B) []byte {
	m := image.NewRGBA(image.Rect(0, 0, 640, 480))
	seed := uint32(7)
	for y := range 480 {
		for x := range 640 {
			seed = seed*1664525 + 1013904223
			n := int(seed >> 28)
			v := x/3 + y/4
			if (x-200)*(x-200)+(y-240)*(y-240) < 120*120 {
				v += 90
			}
			m.SetRGBA(x, y, color.RGBA{byte(v + n), byte(255 - v/2 + n/2), byte(x ^ y>>2), 255})
		}
	}
	var buf bytes.Buffer
	if err := jpeg.Encode(&buf, m, &jpeg.Options{Quality: 90}); err != nil {
		b.Fatal(err)
	}
	return buf.Bytes()
}
