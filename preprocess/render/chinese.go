package render

import "strings"

// chineseTemplates render as SkillNet-NLG does, "task: text"; how KdConv's history,
// ZhiHu's topics and OutGen's phrases are joined is our decision. lot/outgen is
// the form of LongLM.
var chineseTemplates = []*Template{
	skill("lcsts", []string{"lcsts/lcsts"}, func(x *Example) (string, []string, error) {
		if _, ok := x.Fields["article"]; ok { // in CPT's layout
			s, err := x.text("article")
			return s, x.References, err
		}
		s, err := x.texts("short_text", "summary")
		if err != nil {
			return "", nil, err
		}
		return s[0], s[1:], nil
	}),
	skill("adgen", []string{"adgen/adgen"}, func(x *Example) (string, []string, error) {
		tags, err := x.list("tags")
		if err != nil {
			return "", nil, err
		}
		list := make([]string, len(tags))
		for i, tag := range tags {
			list[i] = "[" + strings.ReplaceAll(tag, "\t", ", ") + "]"
		}
		text, err := x.text("text")
		return "[" + strings.Join(list, ", ") + "]", []string{text}, err
	}),
	skill("matinf", []string{"matinf/matinf"}, func(x *Example) (string, []string, error) {
		s, err := x.texts("question", "answer")
		if err != nil {
			return "", nil, err
		}
		return s[0], s[1:], nil
	}),
	skill("kdconv", []string{"kdconv/kdconv"}, func(x *Example) (string, []string, error) {
		history, err := x.list("history")
		if err != nil {
			return "", nil, err
		}
		reply, err := x.text("reply")
		return strings.Join(history, " "), []string{reply}, err
	}),
	skill("nlpcc", []string{"nlpcc2018/nlpcc"}, func(x *Example) (string, []string, error) {
		s, err := x.text("source")
		return s, x.References, err
	}),
	skill("t2e", []string{"zhihu/t2e"}, func(x *Example) (string, []string, error) {
		topics, err := x.list("topics")
		if err != nil {
			return "", nil, err
		}
		text, err := x.text("text")
		return strings.Join(topics, " "), []string{text}, err
	}),
	skill("pkupb", []string{"pkupb/pkupb"}, func(x *Example) (string, []string, error) {
		s, err := x.texts("sentence1", "sentence2")
		if err != nil {
			return "", nil, err
		}
		return s[0], s[1:], nil
	}),
	skill("outgen", []string{"lot/outgen"}, outline),
	{Name: "lot/outgen", Version: 1, For: []string{"lot/outgen"}, render: func(x *Example) ([]Text, error) {
		source, refs, err := outline(x)
		return each(source+"<extra_id_1>", refs), err
	}},
}

func outline(x *Example) (string, []string, error) {
	phrases, err := x.list("outline")
	return strings.Join(phrases, "#"), x.References, err
}

func skill(task string, made []string, of func(x *Example) (string, []string, error)) *Template {
	return &Template{Name: "skillnet/" + task, Version: 1, For: made, render: func(x *Example) ([]Text, error) {
		source, refs, err := of(x)
		return each(task+": "+source, refs), err
	}}
}

// each gives a text for each reference, one with an empty target if there is none.
func each(source string, refs []string) []Text {
	if len(refs) == 0 {
		return one(source, "")
	}
	list := make([]Text, len(refs))
	for i, r := range refs {
		list[i] = Text{source, r}
	}
	return list
}
