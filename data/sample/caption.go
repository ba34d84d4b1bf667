package sample

import (
	"math/rand/v2"
	"strings"
	"unicode"
	"unicode/utf8"
)

const captionsPerImage = 5

// A caption is one person's sentence about a scene.
type caption struct {
	raw    string   // as typed: capitals, a full stop, a trailing blank, or not
	tokens []string // lower case, no punctuation, hyphens split
}

// captions returns what five people write about a scene.
func (c *COCO) captions(i int, s *scene) []caption {
	r := c.random(i, forWords)
	out := make([]caption, captionsPerImage)
	for k := range out {
		w := writer{r: r, s: s, detail: r.IntN(100)}
		out[k].raw = w.typed(w.sentence())
		out[k].tokens = tokensOf(out[k].raw)
	}
	return out
}

// tokensOf splits a text as Karpathy's tokens are.
func tokensOf(raw string) []string {
	return strings.FieldsFunc(strings.ToLower(strings.NewReplacer("-", " ", ".", "", ",", "", "'", "").Replace(raw)), unicode.IsSpace)
}

// A writer is a person describing a scene, in more or less detail.
type writer struct {
	r      *rand.Rand
	s      *scene
	detail int // 0 to 99
}

// chance is true in n of 100 cases.
func (w *writer) chance(n int) bool { return w.r.IntN(100) < n }

// of draws a wording.
func (w *writer) of(list []choice) string { return pickOf(w.r, list) }

// noun names an object, or n of its kind, without an article: "large red
// striped circle".
func (w *writer) noun(o *object, n int) string {
	var words []string
	say := 24 + w.detail/2 // how likely an attribute is told, in 100 cases
	if n == 1 && w.chance(say-8) {
		size := 0
		if o.large {
			size = 1
		}
		words = append(words, w.of(sizeWords[size]))
	}
	colour := w.of(colourWords[o.colour])
	after := ""
	switch {
	case o.texture == plain || !w.chance(say+28):
		words = append(words, colour)
	case w.chance(7): // the texture instead of the colour
		words = append(words, w.of(texturesBefore[o.texture]))
	case w.chance(26):
		words = append(words, colour)
		after = " " + w.of(texturesAfter[o.texture])
	case o.texture == checkered && w.chance(20) || w.chance(38):
		words = append(words, w.of(texturesBefore[o.texture]), colour)
	default:
		words = append(words, colour, w.of(texturesBefore[o.texture]))
	}
	one, many, _ := strings.Cut(w.of(shapeWords[o.shape]), "|")
	if n == 1 {
		words = append(words, one)
	} else {
		words = append(words, many)
	}
	return strings.Join(words, " ") + after
}

// a names an object with its article.
func (w *writer) a(o *object) string {
	n := w.noun(o, 1)
	if strings.ContainsRune("aeiou", rune(n[0])) {
		return "an " + n
	}
	return "a " + n
}

// some names the group of the scene.
func (w *writer) some() string {
	n := w.s.group
	what := w.noun(&w.s.objects[0], n)
	switch {
	case n == 2 && w.chance(10):
		return "a pair of " + what
	case n > 2 && w.chance(9):
		return "a group of " + what
	}
	return numbers[n] + " " + what
}

// where tells the setting, or nothing. It begins with a blank.
func (w *writer) where(likely int) string {
	if !w.chance(likely + w.detail/5) {
		return ""
	}
	return " " + w.of(settings[w.s.ground])
}

// does is what things do where they are: " lying on a table".
func (w *writer) does() string {
	return " " + w.of(verbs[w.s.ground]) + " " + w.of(settings[w.s.ground])
}

func (w *writer) sentence() string {
	s := w.plainSentence()
	if w.chance(16) && (strings.HasPrefix(s, "a ") || strings.HasPrefix(s, "an ") || strings.HasPrefix(s, "two ") || strings.HasPrefix(s, "three ") || strings.HasPrefix(s, "four ")) {
		s = w.of(openers) + " " + s
	}
	return s
}

func (w *writer) plainSentence() string {
	switch w.s.layout {
	case single:
		return w.aboutOne()
	case leftRight:
		return w.aboutSides()
	case upDown:
		return w.aboutUpDown()
	case row:
		return w.aboutThree()
	case group:
		return w.aboutGroup()
	}
	return w.aboutGroupAndOne()
}

func (w *writer) aboutOne() string {
	x := w.a(&w.s.objects[0])
	if w.s.place != middle && w.chance(46) {
		return x + w.placeOf()
	}
	switch n := w.r.IntN(100); {
	case n < 38:
		return x + " " + w.of(settings[w.s.ground])
	case n < 66:
		return x + w.does()
	case n < 82:
		return "there is " + x + w.where(90)
	case n < 90:
		return x + " by itself" + w.where(85)
	}
	return w.of(settings[w.s.ground]) + " there is " + x
}

// placeOf tells where a single object is: " on the left side of a table".
func (w *writer) placeOf() string {
	side := map[place][]choice{
		atLeft:   {{60, " on the left"}, {40, " on the left side"}},
		atRight:  {{60, " on the right"}, {40, " on the right side"}},
		atTop:    {{70, " at the top"}, {30, " in the upper part"}},
		atBottom: {{70, " at the bottom"}, {30, " in the lower part"}},
		inCorner: {{100, " in the corner"}},
	}[w.s.place]
	switch w.r.IntN(3) {
	case 0:
		return w.of(side) + " of the picture"
	case 1:
		return w.where(100) + w.of(side)
	}
	return w.of(side) + w.where(70)
}

func (w *writer) aboutSides() string {
	l, r := w.a(&w.s.objects[0]), w.a(&w.s.objects[1])
	switch n := w.r.IntN(100); {
	case n < 26:
		return l + " and " + r + w.where(70)
	case n < 44:
		return w.join(l, besideWords, r, 60)
	case n < 50:
		return w.join(r, besideWords, l, 60)
	case n < 66:
		return w.join(l, leftWords, r, 35)
	case n < 80:
		return w.join(r, rightWords, l, 35)
	case n < 87:
		return "there is " + l + " and " + r + w.where(65)
	case n < 93:
		return l + " on the left and " + r + " on the right"
	case n < 96:
		return l + " and " + r + " are" + w.does()
	}
	return "two shapes " + w.of(settings[w.s.ground])
}

// join puts a relation between two names.
func (w *writer) join(a string, relation []choice, b string, where int) string {
	return a + " " + w.of(relation) + " " + b + w.where(where)
}

func (w *writer) aboutUpDown() string {
	up, down := w.a(&w.s.objects[0]), w.a(&w.s.objects[1])
	if standing(w.s.ground) {
		switch n := w.r.IntN(100); {
		case n < 34:
			return up + " behind " + down + w.where(50)
		case n < 66:
			return down + " in front of " + up + w.where(50)
		case n < 92:
			return down + " and " + up + w.where(75)
		case n < 96:
			return "there is " + down + " and " + up + w.where(65)
		}
		return "two shapes " + w.of(settings[w.s.ground])
	}
	switch n := w.r.IntN(100); {
	case n < 38:
		return w.join(up, aboveWords, down, 45)
	case n < 64:
		return w.join(down, belowWords, up, 45)
	case n < 87:
		return up + " and " + down + w.where(75)
	case n < 92:
		return up + " at the top and " + down + " at the bottom"
	case n < 96:
		return "there is " + w.join(up, aboveWords, down, 50)
	}
	return "two shapes " + w.of(settings[w.s.ground])
}

func (w *writer) aboutThree() string {
	w.detail /= 2 // with more to tell, less is told of each
	a, b, c := w.a(&w.s.objects[0]), w.a(&w.s.objects[1]), w.a(&w.s.objects[2])
	switch n := w.r.IntN(100); {
	case n < 40:
		return b + " between " + a + " and " + c + w.where(25)
	case n < 68:
		return a + ", " + b + " and " + c + w.where(50)
	case n < 80:
		return a + ", " + b + " and " + c + " in a row"
	case n < 90:
		return "there is " + b + " between " + a + " and " + c
	}
	return "three shapes in a row " + w.of(settings[w.s.ground])
}

func (w *writer) aboutGroup() string {
	x := w.some()
	switch n := w.r.IntN(100); {
	case n < 42:
		return x + " " + w.of(settings[w.s.ground])
	case n < 64:
		return x + w.does()
	case n < 78:
		return thereAre(x) + w.where(85)
	case n < 90 && w.inRow():
		return x + " in a row" + w.where(60)
	}
	return x + " next to each other" + w.where(50)
}

// inRow reports whether the objects of a group stand side by side.
func (w *writer) inRow() bool {
	o := w.s.objects
	for i := range o {
		if d := o[i].y - o[0].y; d > o[0].r || d < -o[0].r {
			return false
		}
	}
	return len(o) > 2
}

func (w *writer) aboutGroupAndOne() string {
	x, y := w.some(), w.a(&w.s.objects[2])
	left := w.s.objects[0].x < w.s.objects[2].x
	switch n := w.r.IntN(100); {
	case n < 36:
		return x + " and " + y + w.where(65)
	case n < 60:
		return w.join(x, besideWords, y, 55)
	case n < 70:
		return w.join(y, besideWords, x, 55)
	case n < 86 && left:
		return w.join(y, rightWords, x, 25)
	case n < 86:
		return w.join(y, leftWords, x, 25)
	}
	return thereAre(x) + " and " + y + w.where(50)
}

// thereAre begins a sentence with a group: "a pair of hearts" is one.
func thereAre(x string) string {
	if strings.HasPrefix(x, "a ") {
		return "there is " + x
	}
	return "there are " + x
}

// typed is a sentence as people leave it in a form.
func (w *writer) typed(s string) string {
	if w.chance(86) {
		r, n := utf8.DecodeRuneInString(s)
		s = string(unicode.ToUpper(r)) + s[n:]
	}
	if w.chance(78) {
		s += "."
	}
	if w.chance(8) {
		s += " "
	}
	return s
}
