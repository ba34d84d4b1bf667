package sample

import (
	"fmt"
	"math/rand/v2"
)

// A question is asked of a scene, with its one answer.
type question struct {
	text, answer string
	begins       string // what VQA calls its type, such as "what color is"
	kind         string // yes/no, number or other
	structural   string // as GQA has it: query, verify or choose
}

var groundNames = [backgrounds]string{"grass", "sand", "water", "a table", "a wall", "the sky"}

// ask asks n questions of a scene.
func ask(r *rand.Rand, s *scene, n int) []question {
	out := make([]question, n)
	for i := range out {
		out[i] = askOne(r, s)
	}
	return out
}

func askOne(r *rand.Rand, s *scene) question {
	o := one(r, s.objects)
	shape, colour := shapeNames[o.shape], colourNames[o.colour]
	single := true // the only one of its shape
	count := 0
	for _, other := range s.objects {
		if other.shape == o.shape {
			count++
			single = single && other.colour == o.colour
		}
	}
	switch p := r.IntN(100); {
	case p < 25 && single:
		return question{fmt.Sprintf("What color is the %s?", shape), colour, "what color is the", "other", "query"}
	case p < 40:
		return question{fmt.Sprintf("How many %ss are there?", shape), fmt.Sprint(count), "how many", "number", "query"}
	case p < 55:
		return question{"What is the background?", groundNames[s.ground], "what is the", "other", "query"}
	case p < 75:
		asked, answer := r.IntN(shapes), "no"
		for _, other := range s.objects {
			if other.shape == asked {
				answer = "yes"
			}
		}
		return question{fmt.Sprintf("Is there a %s in the picture?", shapeNames[asked]), answer, "is there a", "yes/no", "verify"}
	case p < 90 && single:
		asked, answer := r.IntN(colours), "no"
		if r.IntN(2) == 0 {
			asked = o.colour
		}
		if asked == o.colour {
			answer = "yes"
		}
		return question{fmt.Sprintf("Is the %s %s?", shape, colourNames[asked]), answer, "is the", "yes/no", "verify"}
	}
	size, other := "small", "large"
	if o.large {
		size, other = other, size
	}
	if r.IntN(2) == 0 {
		return question{fmt.Sprintf("Is the %s %s large or small?", colour, shape), size, "is the", "other", "choose"}
	}
	return question{fmt.Sprintf("Is the %s %s small or large?", colour, shape), size, "is the", "other", "choose"}
}

// answers is what ten people answer: most of them the same, some unsure, a few
// something else.
func answers(r *rand.Rand, q question) (list [10]string, sure [10]string) {
	for i := range list {
		list[i], sure[i] = q.answer, "yes"
		switch p := r.IntN(100); {
		case p < 4 && q.kind == "other":
			list[i] = one(r, colourNames[:])
		case p < 4 && q.kind == "number":
			list[i] = fmt.Sprint(1 + r.IntN(4))
		case p < 3:
			list[i] = map[string]string{"yes": "no", "no": "yes"}[q.answer]
		}
		if list[i] == "" {
			list[i] = q.answer
		}
		if p := r.IntN(100); p < 9 {
			sure[i] = "maybe"
		} else if p < 11 {
			sure[i] = "no"
		}
	}
	return list, sure
}

// says is a statement about a scene that is true, false, or neither by what can
// be seen.
func says(r *rand.Rand, s *scene, truth string) string {
	o := one(r, s.objects)
	shape, colour := shapeNames[o.shape], colourNames[o.colour]
	switch truth {
	case "entailment":
		if r.IntN(2) == 0 {
			return fmt.Sprintf("There is a %s %s.", colour, shape)
		}
		return fmt.Sprintf("A %s is in front of %s.", shape, groundNames[s.ground])
	case "contradiction":
		for {
			c := r.IntN(colours)
			free := true
			for _, other := range s.objects {
				free = free && (other.shape != o.shape || other.colour != c)
			}
			if free {
				return fmt.Sprintf("There is a %s %s.", colourNames[c], shape)
			}
		}
	}
	return fmt.Sprintf("The %s is %s.", shape, one(r, []string{"heavy", "made of wood", "very old", "a present", "for sale"}))
}
