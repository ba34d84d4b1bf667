package render

import (
	"fmt"
	"regexp"
	"strings"
)

// Prompts of Stanford Alpaca, with an input and without one.
const (
	alpacaWith = "Below is an instruction that describes a task, paired with an input that provides further context. Write a response that appropriately completes the request.\n\n### Instruction:\n"
	alpacaNone = "Below is an instruction that describes a task. Write a response that appropriately completes the request.\n\n### Instruction:\n"
)

func instructTemplates() []*Template {
	list := []*Template{
		{Name: "alpaca/alpaca", Version: 1, For: []string{"alpaca/alpaca", "alpaca/alpaca-en", "alpaca/alpaca-zh", "alpaca/seed"}, render: func(x *Example) ([]Text, error) {
			return alpaca(x, "instruction", "input", "output")
		}},
		{Name: "alpaca/dolly", Version: 1, For: []string{"dolly/dolly"}, render: func(x *Example) ([]Text, error) {
			return alpaca(x, "instruction", "context", "response")
		}},
	}
	for _, format := range scienceFormats {
		made := []string{"scienceqa/scienceqa"}
		if format != "QCM-A" {
			made = nil
		}
		list = append(list, &Template{Name: "scienceqa/" + format, Version: 1, For: made, parse: letter, render: func(x *Example) ([]Text, error) { return science(x, format) }})
	}
	return list
}

// alpaca has the answer follow the prompt without a separator. An input of one
// blank is an input.
func alpaca(x *Example, instruction, input, output string) ([]Text, error) {
	s, err := x.texts(instruction, input, output)
	if err != nil {
		return nil, err
	}
	source := alpacaNone + s[0]
	if s[1] != "" {
		source = alpacaWith + s[0] + "\n\n### Input:\n" + s[1]
	}
	return one(source+"\n\n### Response:", s[2]), nil
}

// scienceFormats are the prompt formats of lupantech/ScienceQA that are rendered:
// what is given, then what is asked for, of question, context, multiple options,
// answer, lecture and explanation.
var scienceFormats = []string{"QCM-A", "QCM-ALE", "QCM-LEA", "CQM-A", "QCM-AE", "QCM-AL", "QCM-ELA", "QCMLE-A", "QCLM-A"}

const letters = "ABCDE"

// science gives the prompt of a test as source and the whole text of training as
// target, which begins with it.
func science(x *Example, format string) ([]Text, error) {
	s, err := x.texts("question", "hint", "lecture", "solution")
	if err != nil {
		return nil, err
	}
	choices, err := x.list("choices")
	if err != nil {
		return nil, err
	}
	caption, _ := x.Fields["caption"].(string)
	if len(choices) > len(letters) {
		return nil, fmt.Errorf("%d choices", len(choices))
	}
	options := make([]string, len(choices))
	for i, c := range choices {
		options[i] = "(" + letters[i:i+1] + ") " + c
	}
	context := strings.TrimFunc(s[1]+" "+caption, isSpace)
	if context == "" {
		context = "N/A"
	}
	given, asked, _ := strings.Cut(format, "-")
	lecture, solution := strings.ReplaceAll(s[2], "\n", `\n`), strings.ReplaceAll(s[3], "\n", `\n`)
	head := scienceHead(given, map[byte]string{
		'Q': "Question: " + s[0] + "\n", 'C': "Context: " + context + "\n", 'M': "Options: " + strings.Join(options, " ") + "\n",
	}, map[byte]string{'L': lecture, 'E': solution})
	source := scienceTidy(head + "Answer:")
	if x.LabelID < 0 {
		return one(source, ""), nil
	}
	if x.LabelID >= int64(len(choices)) {
		return nil, fmt.Errorf("choice %d of %d", x.LabelID, len(choices))
	}
	answer := "The answer is " + letters[x.LabelID:x.LabelID+1] + "."
	return one(source, scienceTidy(head+scienceTail(asked, answer, lecture, solution))), nil
}

// scienceHead puts what is given in the order of its letters; a run of L and E is
// one line.
func scienceHead(given string, lines, because map[byte]string) string {
	var b strings.Builder
	for i := 0; i < len(given); i++ {
		if line, ok := lines[given[i]]; ok {
			b.WriteString(line)
			continue
		}
		b.WriteString("BECAUSE: " + because[given[i]])
		for i+1 < len(given) && lines[given[i+1]] == "" {
			i++
			b.WriteString(" " + because[given[i]])
		}
		b.WriteString("\n")
	}
	return b.String()
}

// scienceTail is what is asked for. In the original, AL writes the solution and AE
// the lecture.
func scienceTail(asked, answer, lecture, solution string) string {
	switch asked {
	case "A":
		return "Answer: " + answer
	case "AL":
		return "Answer: " + answer + " BECAUSE: " + solution
	case "AE":
		return "Answer: " + answer + " BECAUSE: " + lecture
	case "ALE":
		return "Answer: " + answer + " BECAUSE: " + lecture + " " + solution
	case "LEA":
		return "Answer: " + lecture + " " + solution + " " + answer
	default: // ELA
		return "Answer: " + solution + " " + lecture + " " + answer
	}
}

// scienceTidy makes one blank of two, in one pass, and drops the word before an
// explanation that is empty.
func scienceTidy(s string) string {
	s = strings.TrimFunc(strings.ReplaceAll(s, "  ", " "), isSpace)
	if strings.HasSuffix(s, "BECAUSE:") {
		s = strings.TrimFunc(strings.ReplaceAll(s, "BECAUSE:", ""), isSpace)
	}
	return s
}

var scienceAnswer = regexp.MustCompile(`The answer is ([A-Z])\.`)

// letter finds the one answer that a text gives.
func letter(_ *Template, text string) (Answer, bool) {
	found := scienceAnswer.FindAllStringSubmatch(text, -1)
	if len(found) != 1 {
		return Answer{Class: -1, Text: text}, false
	}
	n := strings.Index(letters, found[0][1])
	return Answer{Class: n, Text: found[0][1]}, n >= 0
}
