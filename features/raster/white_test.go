package raster

import (
	"bytes"
	"math"
	"testing"
)

// The numbers of Hugging Face's torchvision processor (transformers 5.24) for
// bytes 0, 1, 128 and 255.
func TestNormaliseFused(t *testing.T) {
	im := &Image{Width: 4, Height: 1, Mode: ModeRGB, Pix: []byte{0, 0, 0, 1, 1, 1, 128, 128, 128, 255, 255, 255}}
	want := [3][4]uint32{
		{0xbfe568dc, 0xbfe38a80, 0x3d9c560e, 0x3ff71542},
		{0xbfe044b7, 0xbfde58f1, 0x3e2cf360, 0x4004cae4},
		{0xbfbd77d8, 0xbfbba5e2, 0x3eae0dc1, 0x40095661},
	}
	var got [12]float32
	HFDefault.Normalise(got[:], im)
	for i, v := range got {
		if b := math.Float32bits(v); b != want[i%3][i/3] {
			t.Errorf("channel %d of pixel %d: %08x, want %08x", i%3, i/3, b, want[i%3][i/3])
		}
	}
}

// Every way to be transparent becomes white, the others stay.
func TestOverWhite(t *testing.T) {
	palette := make([]byte, 768)
	copy(palette, []byte{10, 20, 30, 40, 50, 60, 70, 80, 90})
	alpha := bytes.Repeat([]byte{255}, 256)
	alpha[1], alpha[2] = 0, 128
	for name, c := range map[string]struct {
		im   Image
		want []byte
	}{
		"RGBA":          {Image{Width: 3, Height: 1, Mode: ModeRGBA, Pix: []byte{1, 2, 3, 0, 1, 2, 3, 255, 0, 100, 200, 128}}, []byte{255, 255, 255, 1, 2, 3, 127, 177, 227}},
		"LA":            {Image{Width: 2, Height: 1, Mode: ModeLA, Pix: []byte{9, 0, 9, 255}}, []byte{255, 255, 255, 9, 9, 9}},
		"P":             {Image{Width: 3, Height: 1, Mode: ModeP, Pix: []byte{0, 1, 2}, Palette: palette, Alpha: alpha}, []byte{10, 20, 30, 255, 255, 255, 162, 167, 172}},
		"P, all opaque": {Image{Width: 1, Height: 1, Mode: ModeP, Pix: []byte{1}, Palette: palette}, []byte{40, 50, 60}},
		"L with a key":  {Image{Width: 2, Height: 1, Mode: ModeL, Pix: []byte{7, 8}, Key: []byte{7}}, []byte{255, 255, 255, 8, 8, 8}},
		"RGB":           {Image{Width: 2, Height: 1, Mode: ModeRGB, Pix: []byte{1, 2, 3, 1, 2, 4}, Key: []byte{1, 2, 3}}, []byte{255, 255, 255, 1, 2, 4}},
		"CMYK":          {Image{Width: 1, Height: 1, Mode: ModeCMYK, Pix: []byte{0, 0, 0, 255}}, []byte{0, 0, 0}},
	} {
		before := bytes.Clone(c.im.Pix)
		if got := c.im.OverWhite(); got.Mode != ModeRGB || !bytes.Equal(got.Pix, c.want) {
			t.Errorf("%s: %v, want %v", name, got.Pix, c.want)
		}
		if !bytes.Equal(c.im.Pix, before) {
			t.Errorf("%s: the picture has changed", name)
		}
	}
}
