package sample

// Shapes are polygons in pixels times 256. Their rings are filled by the
// even-odd rule.

// A point in 1/256 pixels.
type point struct{ x, y int }

// sines are those of a turn of 1024 steps, times 2^15.
var sines = sineTable()

func sineTable() (t [1024]int) {
	// A vector is turned by 1/1024 of a turn again and again, in 2^-30; a
	// quarter is enough, the rest is mirrored.
	const cos, sin = 1073721611, 6588356
	x, y := 1<<30, 0
	for i := range 257 {
		v := (y + 1<<14) >> 15
		t[i%1024], t[512-i] = v, v
		if i > 0 {
			t[1024-i], t[512+i] = -v, -v
		}
		x, y = (x*cos-y*sin+1<<29)>>30, (x*sin+y*cos+1<<29)>>30
	}
	return t
}

func sin(a int) int { return sines[a&1023] }
func cos(a int) int { return sines[(a+256)&1023] }

// rotate turns p by an angle about the origin.
func (p point) rotate(a int) point {
	return point{(p.x*cos(a) - p.y*sin(a)) >> 15, (p.x*sin(a) + p.y*cos(a)) >> 15}
}

// outline returns the rings of an object's shape about its centre, upright, for
// a radius of r/256 pixels. Y grows downwards.
func outline(shape, r int) [][]point {
	round := func(radius int) []point {
		p := make([]point, 96)
		for i := range p {
			a := i * 1024 / len(p)
			p[i] = point{radius * cos(a) >> 15, radius * sin(a) >> 15}
		}
		return p
	}
	scale := func(list ...point) [][]point { // thousandths of r
		for i := range list {
			list[i] = point{list[i].x * r / 1000, list[i].y * r / 1000}
		}
		return [][]point{list}
	}
	switch shape {
	case circle:
		return [][]point{round(r)}
	case ring:
		return [][]point{round(r), round(r * 52 / 100)}
	case square:
		return scale(point{-880, -880}, point{880, -880}, point{880, 880}, point{-880, 880})
	case triangle:
		return scale(point{0, -1020}, point{1060, 830}, point{-1060, 830})
	case diamond:
		return scale(point{0, -1150}, point{760, 0}, point{0, 1150}, point{-760, 0})
	case cross:
		const a, b = 330, 980
		return scale(point{-a, -b}, point{a, -b}, point{a, -a}, point{b, -a}, point{b, a}, point{a, a}, point{a, b}, point{-a, b}, point{-a, a}, point{-b, a}, point{-b, -a}, point{-a, -a})
	case star:
		p := make([]point, 10)
		for i := range p {
			radius := r * 116 / 100
			if i%2 == 1 {
				radius = radius * 46 / 100
			}
			a := i*1024/10 - 256
			p[i] = point{radius * cos(a) >> 15, radius*sin(a)>>15 + r*6/100}
		}
		return [][]point{p}
	}
	return [][]point{heartOutline(r)}
}

// heartOutline is x = 16 sin^3 t, y = 13 cos t - 5 cos 2t - 2 cos 3t - cos 4t.
func heartOutline(r int) []point {
	p := make([]point, 96)
	for i := range p {
		t := i * 1024 / len(p)
		s := sin(t)
		x := 16 * (s * s >> 15 * s >> 15)
		y := 13*cos(t) - 5*cos(2*t) - 2*cos(3*t) - cos(4*t)
		p[i] = point{x * r / (15 << 15), (-y - 2<<15) * r / (15 << 15)}
	}
	return p
}

// placed returns the outline of an object where it stands.
func (o *object) placed() [][]point {
	rings := outline(o.shape, o.r<<8)
	for _, ring := range rings {
		for i, p := range ring {
			p = p.rotate(o.angle)
			ring[i] = point{p.x + o.x<<8, p.y + o.y<<8}
		}
	}
	return rings
}

// bounds returns the smallest box of whole pixels around rings.
func bounds(rings [][]point) (x0, y0, x1, y1 int) {
	x0, y0, x1, y1 = 1<<30, 1<<30, -1<<30, -1<<30
	for _, ring := range rings {
		for _, p := range ring {
			x0, y0 = min(x0, p.x>>8), min(y0, p.y>>8)
			x1, y1 = max(x1, (p.x+255)>>8), max(y1, (p.y+255)>>8)
		}
	}
	return x0, y0, x1, y1
}

// area returns the area of rings in pixels, holes taken off.
func area(rings [][]point) int {
	total := 0
	for k, ring := range rings {
		twice := 0
		for i, p := range ring {
			q := ring[(i+1)%len(ring)]
			twice += p.x*q.y - q.x*p.y
		}
		if twice < 0 {
			twice = -twice
		}
		if k > 0 {
			twice = -twice
		}
		total += twice
	}
	return (total/2 + 1<<15) >> 16
}
