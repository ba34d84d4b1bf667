package sample

import (
	"cmp"
	"image"
	"slices"
)

// palette are the colours of objects; contrast is the second colour of their
// textures.
var palette = [colours]rgb{
	red: {212, 42, 44}, orange: {244, 132, 24}, yellow: {248, 208, 44}, green: {38, 148, 66},
	blue: {40, 96, 214}, purple: {124, 58, 184}, pink: {246, 128, 178}, black: {46, 46, 54},
}

// contrast returns the second colour of a texture.
func contrast(colour int) rgb {
	if colour == yellow || colour == pink || colour == orange {
		return palette[colour].mix(rgb{255, 255, 255}, 190)
	}
	return palette[colour].mix(rgb{255, 255, 255}, 206)
}

// draw paints a scene.
func (c *COCO) draw(s *scene) *image.RGBA {
	r := c.random(s.number, forPixels)
	cv := newCanvas(s.w, s.h)
	g := &ground{c: cv, n: c.noise, ox: r.IntN(tile), oy: r.IntN(tile), r: r}
	g.paint(s.ground)
	order := slices.Clone(s.objects)
	slices.SortStableFunc(order, func(a, b object) int { return cmp.Compare(a.y+a.r, b.y+b.r) })
	phase := r.IntN(64)
	for _, o := range order {
		cv.shadow(&o, s.ground)
		cv.object(&o, phase)
		if s.ground == water {
			cv.waterline(&o, c.noise, g.ox, g.oy)
		}
	}
	return cv.image(c.noise, g.ox, g.oy)
}

// shadow darkens the ground near an object: on it where objects stand, beside
// it where they lie or hang, nowhere in the sky.
func (c *canvas) shadow(o *object, ground int) {
	rings := o.placed()
	_, _, _, foot := bounds(rings)
	depth, soft := 0, 0
	switch ground {
	case grass, sand:
		// The light comes from the front left: the shadow lies flat behind.
		for _, ring := range rings {
			for i, p := range ring {
				up := foot<<8 - p.y
				ring[i] = point{p.x + up*34/100, foot<<8 - up*26/100 - 256}
			}
		}
		depth, soft = 118, 2+o.r/16
	case water:
		for _, ring := range rings {
			for i, p := range ring {
				up := foot<<8 - p.y
				ring[i] = point{p.x, foot<<8 + up*30/100 - o.r<<8*16/100}
			}
		}
		depth, soft = 84, 2+o.r/14
	case table, wall:
		d := (3 + o.r/9) << 8
		for _, ring := range rings {
			for i, p := range ring {
				ring[i] = point{p.x + d, p.y + d}
			}
		}
		depth, soft = 124, 2+o.r/11
	default:
		return
	}
	m := fill(rings, 2*soft+1).blurred(soft)
	for y := range m.h {
		for x := range m.w {
			if v := int(m.a[y*m.w+x]); v > 0 && c.inside(m.x0+x, m.y0+y) {
				p := c.at(m.x0+x, m.y0+y)
				*p = p.times(256 - v*depth/256)
			}
		}
	}
}

// object paints an object: its colour and texture, light from the upper left,
// a raised edge and a shine.
func (c *canvas) object(o *object, phase int) {
	rings := o.placed()
	bevel := 2 + o.r/14
	m := fill(rings, 2*bevel+1)
	rise := m.blurred(bevel)
	first, second := palette[o.colour], contrast(o.colour)
	for y := m.y0; y < m.y0+m.h; y++ {
		for x := m.x0; x < m.x0+m.w; x++ {
			cover := m.at(x, y)
			if cover == 0 || !c.inside(x, y) {
				continue
			}
			dx, dy := x-o.x, y-o.y
			p := first.mix(second, o.pattern(dx, dy, phase))
			p = p.add(-(dx + dy) * 26 / (2 * o.r)) // light falls off to the lower right
			edge := rise.at(x+1, y) + rise.at(x, y+1) - rise.at(x-1, y) - rise.at(x, y-1)
			p = p.add(edge * bevel / 6)
			hx, hy := dx+o.r*4/10, dy+o.r*45/100
			if near := o.r*o.r*30/100 - hx*hx - hy*hy; near > 0 && o.texture == plain {
				p = p.mix(rgb{255, 255, 255}, 62*near/(o.r*o.r*30/100))
			}
			if h := rise.at(x, y); h < 170 {
				p = p.times(256 - (170-h)*3/5)
			}
			p = rgb{int(clamp(p.r)), int(clamp(p.g)), int(clamp(p.b))}
			to := c.at(x, y)
			*to = to.mix(p, cover*256/255)
		}
	}
}

// pattern returns the share of the second colour at a place, in 1/256.
func (o *object) pattern(dx, dy, phase int) int {
	if o.texture == plain {
		return 0
	}
	p := point{dx << 8, dy << 8}.rotate(-o.angle)
	period := max(o.r*52/100, 12) << 8
	switch o.texture {
	case striped:
		q := p.rotate(-128) // slanting
		return soften(wave(q.x+phase<<6, period), period)
	case dotted:
		px, py := wave2(p.x, period), wave2(p.y+period/2, period)
		radius := period * 30 / 100
		d := px*px + py*py
		inner, outer := (radius-150)*(radius-150), (radius+150)*(radius+150)
		switch {
		case d <= inner:
			return 256
		case d >= outer:
			return 0
		}
		return 256 - 256*(d-inner)/(outer-inner)
	}
	period = period * 120 / 100
	a, b := wave(p.x+period/4, period), wave(p.y+period/4, period)
	sa, sb := soften(a, period), soften(b, period)
	return (sa*(256-sb) + sb*(256-sa)) >> 8
}

// wave is a triangle wave of a period: -period/4 to period/4.
func wave(v, period int) int {
	v = ((v % period) + period) % period
	if v > period/2 {
		v = period - v
	}
	return v - period/4
}

// wave2 is the distance to the nearest multiple of a period, with its sign.
func wave2(v, period int) int {
	v = ((v % period) + period) % period
	if v > period/2 {
		v -= period
	}
	return v
}

// soften turns a wave into two colours with an edge of about one pixel.
func soften(v, period int) int { return min(max(128+v*128/180, 0), 256) }

// waterline lets waves wash over the foot of an object.
func (c *canvas) waterline(o *object, n *noise, ox, oy int) {
	x0, _, x1, foot := bounds(o.placed())
	for x := x0 - 6; x < x1+6; x++ {
		top := foot - o.r*14/100 + pick(n.soft, x*3+ox, oy)*o.r/900
		for y := top; y < foot+4; y++ {
			if !c.inside(x, y) {
				continue
			}
			p := c.at(x, y)
			deep := rgb{24, 98, 146}.add(pick(n.fine, x/2+ox, y+oy) / 8)
			share := 150 + (y-top)*8
			edge := min(x-x0+6, x1+6-x)
			share = min(share, 215) * min(edge, 10) / 10
			*p = p.mix(deep, share)
			if y < top+2 {
				*p = p.mix(rgb{226, 242, 248}, 110*min(edge, 10)/10)
			}
		}
	}
}
