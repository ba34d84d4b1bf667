package render

import (
	"errors"
	"strings"
)

// A visionStyle has the prompts of a program for tasks about images. %s stands
// for the question or sentence.
type visionStyle struct {
	name    string
	prompts map[string]string
}

// visionStyles are those of VL-T5 (j-min/VL-T5), VL-Adapter with and without
// prompts (ylsung/VL_adapter; "gpa" is in its code), FewVLM's prompts 0 to 3
// (woojeongjin/FewVLM), and our own.
var visionStyles = []visionStyle{
	{"vl-t5", map[string]string{"vqa": "vqa: %s", "gqa": "gqa: %s", "nlvr2": "nlvr: %s", "caption": "caption:", "vgqa": "visual7w: %s"}},
	{"vl-adapter-prompt", map[string]string{"vqa": "vqa: %s", "gqa": "gpa: %s", "nlvr2": "nlvr: %s", "caption": "caption: "}},
	{"vl-adapter-noprompt", map[string]string{"vqa": "%s", "gqa": "%s", "nlvr2": "%s", "caption": ""}},
	{"fewvlm-3", map[string]string{"vqa": "question: %s answer: <extra_id_0>", "gqa": "question: %s answer: <extra_id_0>"}},
	{"fewvlm-2", map[string]string{"vqa": "question: %s answer: "}},
	{"fewvlm-1", map[string]string{"vqa": "%s <extra_id_0>"}},
	{"fewvlm-0", map[string]string{"vqa": "%s"}},
	{"espalier", map[string]string{
		"vqa": "vqa question: %s", "gqa": "gqa question: %s", "vgqa": "vgqa question: %s", "okvqa": "okvqa question: %s",
		"caption": "coco caption:", "snli-ve": "snli-ve hypothesis: %s",
	}},
}

// visionTasks say what tasks read and aim at.
var visionTasks = []struct {
	name   string
	made   []string
	render func(x *Example, prompt string) ([]Text, error)
	labels []string
}{
	{"vqa", []string{"vqav2/vqa"}, answered, nil},
	{"okvqa", []string{"okvqa/vqa"}, answered, nil},
	{"gqa", []string{"gqa/gqa"}, labelled("question"), nil},
	{"vgqa", []string{"vgqa/vgqa"}, labelled("question"), nil},
	{"nlvr2", []string{"nlvr2/nlvr2"}, lowered, []string{"false", "true"}},
	{"snli-ve", []string{"snli-ve/snli-ve", "e-snli-ve/snli-ve"}, labelled("sentence2"), []string{"entailment", "neutral", "contradiction"}},
	{"caption", []string{"coco/caption", "flickr8k/caption", "flickr30k/caption"}, captioned, nil},
}

func visionTemplates() (list []*Template) {
	for _, style := range visionStyles {
		for _, task := range visionTasks {
			prompt, ok := style.prompts[task.name]
			if !ok {
				continue
			}
			made := task.made
			if _, own := style.prompts["okvqa"]; task.name == "vqa" && !own {
				made = append(made[:len(made):len(made)], "okvqa/vqa")
			}
			list = append(list, &Template{
				Name: style.name + "/" + task.name, Version: 1, For: made, Labels: task.labels,
				render: func(x *Example) ([]Text, error) { return task.render(x, prompt) },
			})
		}
	}
	return list
}

func prompted(prompt, text string) string { return strings.Replace(prompt, "%s", text, 1) }

// answered aims at the answer that most people gave, the first of several.
func answered(x *Example, prompt string) ([]Text, error) {
	q, err := x.text("question")
	if err != nil {
		return nil, err
	}
	return one(prompted(prompt, q), Common(x.References)), nil
}

// Common returns the most frequent of some texts, the first among equals, "" of
// none.
func Common(texts []string) string {
	best, most := "", 0
	count := map[string]int{}
	for _, s := range texts {
		count[s]++
	}
	for _, s := range texts {
		if count[s] > most {
			best, most = s, count[s]
		}
	}
	return best
}

func labelled(field string) func(x *Example, prompt string) ([]Text, error) {
	return func(x *Example, prompt string) ([]Text, error) {
		q, err := x.text(field)
		if err != nil {
			return nil, err
		}
		return one(prompted(prompt, q), x.Label), nil
	}
}

func lowered(x *Example, prompt string) ([]Text, error) {
	q, err := x.text("sentence")
	if err != nil {
		return nil, err
	}
	return one(prompted(prompt, q), strings.ToLower(x.Label)), nil
}

// captioned gives a text for each caption, blanks at both ends dropped.
func captioned(x *Example, prompt string) ([]Text, error) {
	if len(x.References) == 0 {
		return nil, errors.New("no caption")
	}
	list := make([]Text, len(x.References))
	for i, c := range x.References {
		list[i] = Text{prompt, strings.TrimFunc(c, isSpace)}
	}
	return list, nil
}
