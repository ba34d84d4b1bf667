package sample

import "math/rand/v2"

// A choice is a wording with its weight.
type choice struct {
	weight int
	text   string
}

// pickOf draws one of a list of wordings.
func pickOf(r *rand.Rand, list []choice) string {
	total := 0
	for _, c := range list {
		total += c.weight
	}
	n := r.IntN(total)
	for _, c := range list {
		if n -= c.weight; n < 0 {
			return c.text
		}
	}
	return ""
}

// shapeWords are the names of a shape, as "one|many".
var shapeWords = [shapes][]choice{
	circle:   {{64, "circle|circles"}, {22, "ball|balls"}, {14, "disc|discs"}},
	square:   {{76, "square|squares"}, {24, "box|boxes"}},
	triangle: {{100, "triangle|triangles"}},
	star:     {{100, "star|stars"}},
	ring:     {{76, "ring|rings"}, {24, "hoop|hoops"}},
	cross:    {{74, "cross|crosses"}, {26, "plus sign|plus signs"}},
	diamond:  {{88, "diamond|diamonds"}, {12, "diamond shape|diamond shapes"}},
	heart:    {{88, "heart|hearts"}, {12, "heart shape|heart shapes"}},
}

var colourWords = [colours][]choice{
	red:    {{1, "red"}},
	orange: {{1, "orange"}},
	yellow: {{1, "yellow"}},
	green:  {{1, "green"}},
	blue:   {{1, "blue"}},
	purple: {{92, "purple"}, {8, "violet"}},
	pink:   {{1, "pink"}},
	black:  {{1, "black"}},
}

// before and after are wordings of a texture beside a colour and behind the noun.
var texturesBefore = [textures][]choice{
	striped:   {{1, "striped"}},
	dotted:    {{40, "dotted"}, {40, "spotted"}, {20, "polka-dot"}},
	checkered: {{88, "checkered"}, {12, "checked"}},
}

var texturesAfter = [textures][]choice{
	striped:   {{62, "with stripes"}, {38, "with white stripes"}},
	dotted:    {{45, "with dots"}, {35, "with white dots"}, {20, "with spots"}},
	checkered: {{70, "with a checkered pattern"}, {30, "with checks"}},
}

var sizeWords = [2][]choice{
	{{76, "small"}, {18, "little"}, {6, "tiny"}},
	{{64, "large"}, {30, "big"}, {6, "huge"}},
}

var settings = [backgrounds][]choice{
	grass: {{30, "on the grass"}, {22, "in a field"}, {14, "on green grass"}, {14, "in a grassy field"}, {10, "on a lawn"}, {10, "in a meadow"}},
	sand:  {{32, "on the beach"}, {28, "on the sand"}, {20, "on a sandy beach"}, {20, "by the sea"}},
	water: {{34, "in the water"}, {20, "on the water"}, {24, "in the sea"}, {22, "in the ocean"}},
	table: {{36, "on a wooden table"}, {24, "on a table"}, {22, "on a wooden floor"}, {18, "on wooden boards"}},
	wall:  {{40, "on a brick wall"}, {26, "in front of a brick wall"}, {18, "on the wall"}, {16, "against a brick wall"}},
	sky:   {{36, "in the sky"}, {24, "in a blue sky"}, {20, "in a cloudy sky"}, {20, "in the clouds"}},
}

var verbs = [backgrounds][]choice{
	grass: {{60, "standing"}, {40, "sitting"}},
	sand:  {{55, "lying"}, {45, "sitting"}},
	water: {{100, "floating"}},
	table: {{55, "lying"}, {45, "sitting"}},
	wall:  {{100, "hanging"}},
	sky:   {{60, "flying"}, {40, "floating"}},
}

var numbers = [...]string{2: "two", 3: "three", 4: "four"}

// Wordings of relations.
var (
	besideWords = []choice{{44, "next to"}, {22, "beside"}, {18, "near"}, {16, "by"}}
	leftWords   = []choice{{60, "to the left of"}, {22, "left of"}, {18, "on the left of"}}
	rightWords  = []choice{{60, "to the right of"}, {22, "right of"}, {18, "on the right of"}}
	aboveWords  = []choice{{66, "above"}, {34, "over"}}
	belowWords  = []choice{{42, "below"}, {36, "under"}, {22, "beneath"}}
)

// openers begin a sentence that would begin with its subject.
var openers = []choice{
	{22, "a picture of"}, {16, "an image of"}, {14, "a photo of"}, {14, "this is"}, {12, "i see"}, {12, "you can see"}, {10, "the picture shows"},
}
