package sample

import "math/rand/v2"

// A ground painter fills the canvas. It returns the line of the horizon, 0 if
// there is none.
type ground struct {
	c      *canvas
	n      *noise
	ox, oy int // where on the noise the picture lies
	r      *rand.Rand
}

func (g *ground) paint(kind int) (horizon int) {
	switch kind {
	case grass:
		return g.grass()
	case sand:
		return g.sand()
	case water:
		return g.water()
	case table:
		g.table()
	case wall:
		g.wall()
	default:
		g.sky(g.c.h, rgb{58, 128, 214}, rgb{176, 214, 242}, 150)
	}
	return 0
}

// each calls f for the pixels of lines y0 to y1.
func (g *ground) each(y0, y1 int, f func(x, y int) rgb) {
	for y := max(y0, 0); y < min(y1, g.c.h); y++ {
		for x := range g.c.w {
			*g.c.at(x, y) = f(x, y)
		}
	}
}

// sky paints a gradient with clouds down to a line.
func (g *ground) sky(to int, high, low rgb, cover int) {
	g.each(0, to, func(x, y int) rgb {
		p := high.mix(low, y*256/to)
		cloud := pick(g.n.soft, x+g.ox, 2*y+g.oy) + pick(g.n.fine, x+g.oy, y+g.ox)/16
		if t := cloud - 20; t > 0 {
			share := min(t*4, 235) * cover / 160
			lit := 246 - max(0, pick(g.n.soft, x+g.ox, 2*y+g.oy+9))/5
			p = p.mix(rgb{lit, lit + 2, 250}, min(share, 240))
		}
		return p
	})
}

// edge is the share of what begins at a line, by the distance in 1/256 pixels
// from it to a pixel's upper side.
func edge(d int) int { return min(max(d+256, 0), 256) }

func (g *ground) grass() int {
	h := g.c.h * (22 + g.r.IntN(6)) / 100
	g.sky(h+12, rgb{96, 160, 226}, rgb{202, 226, 240}, 130)
	tone := rgb{g.r.IntN(22), g.r.IntN(18), 0}
	// Hills and trees at the horizon.
	g.each(h-25, h+4, func(x, y int) rgb {
		hill := (h-9)<<8 - pick(g.n.soft, x+g.oy, g.ox)*28 - pick(g.n.fine, x*2+g.ox, 3)*3
		tree := rgb{86, 129, 91}.add(pick(g.n.fine, x*2+g.ox, y*2) / 9)
		return g.c.at(x, y).mix(tree, edge(y<<8-hill))
	})
	g.each(h, g.c.h, func(x, y int) rgb {
		near := (y - h) * 256 / (g.c.h - h)
		p := rgb{150, 186, 92}.mix(rgb{84, 140, 48}, near)
		p = rgb{p.r + tone.r, p.g + tone.g, p.b}
		step := 3 + near/24 // lines far away lie closer
		patch := pick(g.n.soft, (x-g.c.w/2)*256/(110+near)+g.ox, y*700/(300+near*2)+g.oy)
		blade := pick(g.n.fine, x*4+g.ox, y*24/(8+step)+pick(g.n.speck, x, y/step)/40)
		return p.add(patch/7 + blade*(28+near/5)/256)
	})
	return h
}

func (g *ground) sand() int {
	h := g.c.h * (15 + g.r.IntN(5)) / 100
	shore := h + g.c.h*(9+g.r.IntN(4))/100
	g.sky(h, rgb{120, 180, 230}, rgb{214, 232, 240}, 120)
	g.each(h, shore+8, func(x, y int) rgb {
		d := (y - h) * 256 / (shore + 8 - h)
		wave := pick(g.n.fine, x/3+g.ox, y*3+g.oy)
		p := rgb{44, 120, 168}.mix(rgb{110, 190, 200}, d)
		if wave > 70 {
			return p.add(26)
		}
		return p.add(wave / 10)
	})
	g.each(shore-4, g.c.h, func(x, y int) rgb {
		line := shore<<8 + pick(g.n.soft, x+g.ox, g.oy)*16 + pick(g.n.fine, x/2+g.ox, 7)*5
		foam := rgb{244, 248, 246}.add(pick(g.n.speck, x, y) / 14)
		if y<<8 < line+3<<8 {
			return g.c.at(x, y).mix(foam, edge(y<<8-line))
		}
		near := (y - shore) * 256 / max(g.c.h-shore, 1)
		p := rgb{224, 204, 158}.mix(rgb{206, 178, 124}, near)
		if wet := line>>8 + 16 - y; wet > 0 {
			p = p.mix(rgb{150, 128, 94}, wet*8)
		}
		dune := pick(g.n.soft, x+g.ox, y*3+g.oy)
		p = p.add(dune/11 + pick(g.n.fine, x*3, y*3)/22 + pick(g.n.speck, x+g.ox, y+g.oy)/18)
		return foam.mix(p, edge(y<<8-line-3<<8))
	})
	return h
}

func (g *ground) water() int {
	h := g.c.h * (20 + g.r.IntN(6)) / 100
	g.sky(h, rgb{110, 168, 226}, rgb{226, 232, 232}, 140)
	g.each(h, g.c.h, func(x, y int) rgb {
		near := (y - h) * 256 / (g.c.h - h)
		p := rgb{120, 178, 204}.mix(rgb{18, 92, 140}, 40+near*200/256)
		z := 60 + near // ripples grow towards the front
		wave := pick(g.n.soft, (x-g.c.w/2)*300/z+g.ox, (y-h)*1500/z+g.oy)
		glint := pick(g.n.fine, (x-g.c.w/2)*160/z+g.oy, (y-h)*900/z+g.ox)
		p = p.add(wave / 6)
		if t := wave/2 + glint - 74; t > 0 {
			p = p.mix(rgb{232, 244, 248}, min(t*5, 150))
		}
		return p
	})
	return h
}

func (g *ground) table() {
	plank := 46 + g.r.IntN(16)
	shift := g.r.IntN(plank)
	base := [...]rgb{{176, 122, 74}, {150, 98, 58}, {198, 152, 100}}[g.r.IntN(3)]
	var tones [16]int
	for i := range tones {
		tones[i] = g.r.IntN(30) - 15
	}
	g.each(0, g.c.h, func(x, y int) rgb {
		i := (y + shift) / plank
		in := (y + shift) % plank
		gx := x + i*97 + g.ox
		bend := pick(g.n.soft, gx/3, y+i*61) / 10
		grain := pick(g.n.fine, gx/9, y*3+bend+i*31)
		vein := pick(g.n.soft, gx/5, (y+bend)*4+i*77)
		p := base.add(tones[i&15] + grain/8 + vein/9)
		if in == 0 {
			return p.times(120)
		}
		if in == 1 {
			return p.times(278)
		}
		return p
	})
}

func (g *ground) wall() {
	const bw, bh = 46, 20
	base := [...]rgb{{168, 92, 74}, {186, 168, 146}, {150, 112, 96}}[g.r.IntN(3)]
	sx, sy := g.r.IntN(bw), g.r.IntN(bh)
	mortar := rgb{202, 196, 186}
	g.each(0, g.c.h, func(x, y int) rgb {
		line := (y + sy) / bh
		xx := x + sx + line%2*bw/2
		iy, ix := (y+sy)%bh, xx%bw
		rough := pick(g.n.fine, x*2+g.ox, y*2+g.oy)
		if iy < 2 || ix < 2 {
			return mortar.add(rough/10 - 8)
		}
		tone := pick(g.n.speck, xx/bw*7+g.ox, line*5+g.oy)
		p := base.add(tone/7 + rough/9 + pick(g.n.speck, x, y)/26)
		switch {
		case iy == 2 || ix == 2:
			p = p.add(16)
		case iy == bh-1 || ix == bw-1:
			p = p.add(-24)
		}
		return p
	})
}
