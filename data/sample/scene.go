package sample

import "math/rand/v2"

// Attributes of objects, in the order of their numbers.
const (
	circle = iota
	square
	triangle
	star
	ring
	cross
	diamond
	heart
	shapes
)

const (
	red = iota
	orange
	yellow
	green
	blue
	purple
	pink
	black
	colours
)

const (
	plain = iota
	striped
	dotted
	checkered
	textures
)

// Backgrounds. Objects stand on the first three, which have a horizon, and lie,
// hang or fly on the others.
const (
	grass = iota
	sand
	water
	table
	wall
	sky
	backgrounds
)

// An object of a scene. Places and sizes are in pixels.
type object struct {
	shape, colour, texture int
	large                  bool
	x, y, r                int // centre, and about half its height
	angle                  int // of 1024 to a turn
}

// kind is what two objects of a group have in common.
func (o object) kind() [3]int { return [3]int{o.shape, o.colour, o.texture} }

// held reports whether the combination never occurs in train.
func (o object) held() bool {
	for _, h := range heldOut {
		if o.shape == h.shape && o.colour == h.colour && (h.texture < 0 || o.texture == h.texture) {
			return true
		}
	}
	return false
}

// heldOut are the combinations that train lacks; a texture of -1 means all.
var heldOut = []struct{ texture, colour, shape int }{
	{striped, green, triangle},
	{dotted, blue, star},
	{checkered, red, square},
	{-1, purple, heart},
	{-1, orange, ring},
	{-1, yellow, cross},
}

// A layout says how objects stand to each other.
type layout int

const (
	single layout = iota
	leftRight
	upDown // one above the other, or behind it where there is a horizon
	row    // three different ones
	group  // of equal objects
	groupAndOne
)

// A place is where a single object is.
type place int

const (
	middle place = iota
	atLeft
	atRight
	atTop
	atBottom
	inCorner
)

// A scene is what a picture shows.
type scene struct {
	w, h    int
	ground  int // background
	layout  layout
	place   place    // of a single object
	objects []object // of a group first; else from left to right, from top to bottom or from back to front
	group   int      // number of objects that form a group, 0 if none
	unseen  bool
	number  int // of the image
}

// standing reports whether the background has a horizon.
func standing(ground int) bool { return ground <= water }

// sizes of pictures, as varied as those of photographs: mostly landscape.
var sizes = [...][2]int{{320, 240}, {320, 240}, {320, 240}, {320, 240}, {320, 214}, {320, 214}, {320, 213}, {240, 320}, {240, 320}, {320, 256}, {300, 240}, {248, 248}}

func (c *COCO) scene(i int) *scene {
	r := c.random(i, forScene)
	s := &scene{number: i, ground: r.IntN(backgrounds)}
	size := sizes[r.IntN(len(sizes))]
	s.w, s.h = size[0], size[1]
	switch p := r.IntN(100); {
	case p < 26:
		s.layout = single
	case p < 54:
		s.layout = leftRight
	case p < 72:
		s.layout = upDown
	case p < 82:
		s.layout = row
	case p < 93:
		s.layout = group
	default:
		s.layout = groupAndOne
	}
	s.choose(r, c.entries[i].unseen)
	s.arrange(r)
	for _, o := range s.objects {
		s.unseen = s.unseen || o.held()
	}
	return s
}

// choose picks the objects' attributes: all different, but for groups.
func (s *scene) choose(r *rand.Rand, unseen bool) {
	kinds := map[layout]int{single: 1, leftRight: 2, upDown: 2, row: 3, group: 1, groupAndOne: 2}[s.layout]
	special := -1
	if unseen {
		special = r.IntN(kinds)
	}
	var list []object
	for len(list) < kinds {
		o := object{shape: r.IntN(shapes), colour: r.IntN(colours), texture: texture(r), large: r.IntN(2) == 0}
		if len(list) == special {
			h := heldOut[r.IntN(len(heldOut))]
			o.shape, o.colour = h.shape, h.colour
			if h.texture >= 0 {
				o.texture = h.texture
			}
		} else if o.held() {
			continue
		}
		alike := false
		for _, other := range list {
			alike = alike || other.shape == o.shape && other.colour == o.colour
		}
		if !alike {
			list = append(list, o)
		}
	}
	switch s.layout {
	case group:
		s.group = 2 + r.IntN(3)
	case groupAndOne:
		s.group = 2
	}
	for range s.group {
		s.objects = append(s.objects, list[0])
	}
	if s.group > 0 {
		list = list[1:]
	}
	s.objects = append(s.objects, list...)
}

// texture draws a texture: half of the objects are plain.
func texture(r *rand.Rand) int {
	if r.IntN(2) == 0 {
		return plain
	}
	return 1 + r.IntN(textures-1)
}

// A spot is a place in the middle square of the picture, in thousandths.
type spot struct{ x, y int }

// arrange gives the objects their places. They lie in the middle square, which
// is what a feature extractor's crop keeps.
func (s *scene) arrange(r *rand.Rand) {
	low := 0 // objects stand a little lower where there is a horizon
	if standing(s.ground) {
		low = 90
	}
	var spots []spot
	small, large := 120, 185
	switch s.layout {
	case single:
		small, large = 125, 235
		spots = []spot{s.choosePlace(r, low)}
	case leftRight:
		spots = []spot{{270, 500 + low}, {730, 500 + low}}
	case upDown:
		if standing(s.ground) {
			small, large = 110, 160
			d := 90 + r.IntN(60)
			if r.IntN(2) == 0 {
				d = -d
			}
			spots = []spot{{500 - d, 390}, {500 + d, 740}}
		} else {
			small, large = 115, 180
			spots = []spot{{500, 270}, {500, 735}}
		}
	case row:
		small, large = 95, 135
		spots = []spot{{185, 500 + low}, {500, 500 + low}, {815, 500 + low}}
	case group:
		switch s.group {
		case 2:
			spots = []spot{{280, 500 + low}, {720, 500 + low}}
		case 3:
			small, large = 95, 135
			spots = []spot{{185, 500 + low}, {500, 500 + low}, {815, 500 + low}}
			if r.IntN(3) == 0 {
				spots = []spot{{260, 640}, {500, 330 + low}, {740, 640}}
			}
		case 4:
			small, large = 85, 115
			spots = []spot{{280, 300 + low}, {720, 300 + low}, {280, 700}, {720, 700}}
			if r.IntN(2) == 0 {
				large = 105
				spots = []spot{{130, 500 + low}, {376, 500 + low}, {623, 500 + low}, {870, 500 + low}}
			}
		}
	case groupAndOne:
		small, large = 95, 130
		spots = []spot{{150, 500 + low}, {415, 500 + low}, {790, 500 + low}}
		if r.IntN(2) == 0 {
			spots = []spot{{585, 500 + low}, {850, 500 + low}, {210, 500 + low}}
		}
	}
	side := min(s.w, s.h)
	left, top := (s.w-side)/2, (s.h-side)/2
	jitter := func(n int) int { return r.IntN(2*n+1) - n }
	for k := range s.objects {
		o := &s.objects[k]
		size := small
		if o.large {
			size = large
		}
		o.r = side * (size + jitter(size/14)) / 1000
		o.x = left + side*(spots[k].x+jitter(22))/1000
		o.y = top + side*(spots[k].y+jitter(22))/1000
		o.angle = jitter(30) // about ten degrees
		if standing(s.ground) {
			o.angle = jitter(9)
		}
	}
}

// choosePlace picks the spot of a single object.
func (s *scene) choosePlace(r *rand.Rand, low int) spot {
	p := r.IntN(100)
	large := s.objects[0].large
	near, far := 270, 730
	if large {
		near, far = 300, 700
	}
	side := func() int {
		if r.IntN(2) == 0 {
			return near
		}
		return far
	}
	switch {
	case p < 46:
		s.place = middle
		return spot{500, 500 + low}
	case p < 62:
		s.place = atLeft
		return spot{near, 500 + low}
	case p < 78:
		s.place = atRight
		return spot{far, 500 + low}
	case standing(s.ground):
		s.place = middle
		return spot{500, 500 + low}
	case p < 86:
		s.place = atTop
		return spot{500, near}
	case p < 92:
		s.place = atBottom
		return spot{500, far}
	}
	s.place = inCorner
	return spot{side(), side()}
}
