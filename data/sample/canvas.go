package sample

import "image"

// A colour has red, green and blue from 0 to 255.
type rgb struct{ r, g, b int }

// mix returns a with a share of b, in 1/256.
func (a rgb) mix(b rgb, share int) rgb {
	return rgb{a.r + (b.r-a.r)*share>>8, a.g + (b.g-a.g)*share>>8, a.b + (b.b-a.b)*share>>8}
}

// add makes a colour lighter by v.
func (a rgb) add(v int) rgb { return rgb{a.r + v, a.g + v, a.b + v} }

// times scales a colour by v/256.
func (a rgb) times(v int) rgb { return rgb{a.r * v >> 8, a.g * v >> 8, a.b * v >> 8} }

// A canvas is a picture being painted.
type canvas struct {
	w, h int
	p    []rgb
}

func newCanvas(w, h int) *canvas { return &canvas{w: w, h: h, p: make([]rgb, w*h)} }

// inside reports whether a pixel is on the canvas.
func (c *canvas) inside(x, y int) bool { return x >= 0 && y >= 0 && x < c.w && y < c.h }

// at returns a pixel, which must be on the canvas.
func (c *canvas) at(x, y int) *rgb { return &c.p[y*c.w+x] }

// image returns the picture with darker corners and a grain as of a sensor.
func (c *canvas) image(n *noise, ox, oy int) *image.RGBA {
	out := image.NewRGBA(image.Rect(0, 0, c.w, c.h))
	far := c.w*c.w + c.h*c.h // of the corners, in half pixels from the centre
	for y := range c.h {
		dy := 2*y - c.h
		to := out.Pix[y*out.Stride:]
		for x := range c.w {
			dx := 2*x - c.w
			light := 262 - 42*(dx*dx+dy*dy)/far
			p := c.p[y*c.w+x].times(light).add(pick(n.speck, x+ox, y+oy) >> 6)
			to[4*x], to[4*x+1], to[4*x+2], to[4*x+3] = clamp(p.r), clamp(p.g), clamp(p.b), 255
		}
	}
	return out
}

func clamp(v int) uint8 { return uint8(min(max(v, 0), 255)) }
