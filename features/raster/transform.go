package raster

import (
	"fmt"
	"math"
)

// A Transform is a way from a decoded picture to what a network sees.
type Transform string

// Transforms. CLIP is OpenAI's: the shorter side to size (bicubic), the centre
// cropped, then RGB; pictures with a palette or alpha are so resized before the
// conversion. CLIPRGBFirst converts first. Stretch converts, then scales both
// sides to size, as VL-Adapter does. HFPil and HFDefault are the two of Hugging
// Face's CLIPImageProcessor, by Pillow and by torchvision: what is transparent
// becomes white, then as CLIP, with a crop whose offset is rounded down; the
// second has coarser weights and normalises in one step. None converts only.
const (
	None         Transform = "none"
	CLIP         Transform = "clip"
	CLIPRGBFirst Transform = "clip-rgb-first"
	Stretch      Transform = "stretch"
	HFPil        Transform = "hf-pil"
	HFDefault    Transform = "hf-default"
)

// Check reports a transform that does not exist.
func (t Transform) Check() error {
	switch t {
	case None, CLIP, CLIPRGBFirst, Stretch, HFPil, HFDefault:
		return nil
	}
	return fmt.Errorf("transform %q, want none, clip, clip-rgb-first, stretch, hf-pil or hf-default", string(t))
}

// Apply gives the RGB picture that the network sees: size x size pixels, or
// the picture's own size for None.
func (t Transform) Apply(im *Image, size int, order Order) (*Image, error) {
	if err := t.Check(); err != nil {
		return nil, fmt.Errorf("raster: %w", err)
	}
	hf := t == HFPil || t == HFDefault
	switch {
	case hf:
		im = im.OverWhite()
	case t != CLIP:
		im = im.RGB()
	}
	r := Resize{Width: size, Height: size, Filter: Bicubic, Order: order}
	switch t {
	case None:
		return im, nil
	case CLIP, CLIPRGBFirst, HFPil, HFDefault:
		r.Width, r.Height = shorterSide(im.Width, im.Height, size)
		x, y := centre(r.Width, size), centre(r.Height, size)
		if hf {
			x, y = (r.Width-size)/2, (r.Height-size)/2
		}
		if t == HFDefault {
			r.Coarse, r.Order = true, AcrossFirst
		}
		r.Crop = Rect{x, y, x + size, y + size}
	}
	if int64(r.Width)*int64(r.Height) > math.MaxInt32 {
		return nil, &Error{Reason: fmt.Sprintf("%d x %d pixels are too narrow for size %d", im.Width, im.Height, size)}
	}
	out, err := r.Apply(im)
	if err != nil {
		return nil, err
	}
	return out.RGB(), nil
}

// shorterSide scales so that the shorter side becomes n; the longer one is
// truncated.
func shorterSide(w, h, n int) (int, int) {
	if w <= h {
		return n, int(float64(n*h) / float64(w))
	}
	return int(float64(n*w) / float64(h)), n
}

// centre is the offset of a crop: half the rest, halves to even.
func centre(size, n int) int { return int(math.RoundToEven(float64(size-n) / 2)) }

// Mean and Std are CLIP's statistics of red, green and blue.
var (
	Mean = [3]float32{0.48145466, 0.4578275, 0.40821073}
	Std  = [3]float32{0.26862954, 0.26130258, 0.27577711}
)

// normalised[c][v] is (v/255 - Mean[c]) / Std[c], each step rounded to float32;
// fused[c][v] is (v - 255*Mean[c]) / (255*Std[c]), likewise.
var normalised, fused = func() (t, f [3][256]float32) {
	for c := range t {
		for v := range t[c] {
			s := float32(v) / 255
			d := float32(s - Mean[c])
			t[c][v] = d / Std[c]
			d = float32(v) - float32(Mean[c]*255)
			f[c][v] = d / float32(Std[c]*255)
		}
	}
	return
}()

// Normalise fills dst with the picture's pixels, row-major, channels last,
// normalised by CLIP's statistics as the transform does it. len(dst) is
// 3*Width*Height; im has mode RGB.
func (t Transform) Normalise(dst []float32, im *Image) {
	if im.Mode != ModeRGB || len(dst) != len(im.Pix) {
		panic("raster: Normalise wants an RGB picture and room for it")
	}
	normalised := &normalised
	if t == HFDefault {
		normalised = &fused
	}
	for i := 0; i+2 < len(dst); i += 3 {
		dst[i] = normalised[0][im.Pix[i]]
		dst[i+1] = normalised[1][im.Pix[i+1]]
		dst[i+2] = normalised[2][im.Pix[i+2]]
	}
}
