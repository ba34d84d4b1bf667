package render

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// hyperformerTasks are the tasks of rabeehk/hyperformer, seq2seq/data/tasks.py, as
// the words and fields of their sources. MNLI's hypothesis has no colon there.
var hyperformerTasks = []struct {
	name, made string
	parts      []string // word, field; a word may be missing
}{
	{"cola", "glue/cola", []string{"sentence:", "sentence"}},
	{"sst2", "glue/sst2", []string{"sentence:", "sentence"}},
	{"mrpc", "glue/mrpc", []string{"sentence1:", "sentence1", "sentence2:", "sentence2"}},
	{"qqp", "glue/qqp", []string{"question1:", "question1", "question2:", "question2"}},
	{"mnli", "glue/mnli", []string{"premise:", "premise", "hypothesis", "hypothesis"}},
	{"qnli", "glue/qnli", []string{"question:", "question", "sentence:", "sentence"}},
	{"rte", "glue/rte", []string{"sentence1:", "sentence1", "sentence2:", "sentence2"}},
	{"wnli", "glue/wnli", []string{"sentence1:", "sentence1", "sentence2:", "sentence2"}},
	{"trec", "trec/trec", []string{"sentence:", "text"}},
	{"imdb", "imdb/imdb", []string{"", "text"}},
	{"paws", "paws/paws", []string{"sentence1:", "sentence1", "sentence2:", "sentence2"}},
	{"superglue-boolq", "superglue/boolq", []string{"question:", "question", "passage:", "passage"}},
	{"superglue-cb", "superglue/cb", []string{"premise:", "premise", "hypothesis:", "hypothesis"}},
	{"superglue-rte", "superglue/rte", []string{"premise:", "premise", "hypothesis:", "hypothesis"}},
}

// hyperformerTemplates have numbers of classes as targets, with the task's name
// before the source or without it.
func hyperformerTemplates() (list []*Template) {
	for _, style := range []string{"hyperformer", "hyperformer-noprefix"} {
		for _, task := range hyperformerTasks {
			list = append(list, &Template{
				Name: style + "/" + task.name, Version: 1, For: []string{task.made}, parse: classNumber,
				render: func(x *Example) ([]Text, error) {
					source, err := worded(x, task.parts)
					if style == "hyperformer" {
						source = task.name + " " + source
					}
					return one(source, strconv.FormatInt(x.LabelID, 10)), err
				},
			})
		}
		list = append(list, &Template{
			Name: style + "/stsb", Version: 1, For: []string{"glue/stsb"}, parse: number,
			render: func(x *Example) ([]Text, error) {
				source, err := worded(x, []string{"sentence1:", "sentence1", "sentence2:", "sentence2"})
				if err != nil {
					return nil, err
				}
				if style == "hyperformer" {
					source = "stsb " + source
				}
				score, err := strconv.ParseFloat(x.Label, 64)
				if err != nil {
					return nil, fmt.Errorf("label %q is no number", x.Label)
				}
				return one(source, tenths(score)), nil
			},
		})
	}
	return list
}

func worded(x *Example, parts []string) (string, error) {
	var words []string
	for i := 0; i < len(parts); i += 2 {
		text, err := x.text(parts[i+1])
		if err != nil {
			return "", err
		}
		if parts[i] != "" {
			words = append(words, parts[i])
		}
		words = append(words, text)
	}
	return strings.Join(words, " "), nil
}

// tenths rounds a score to one decimal: hyperformer divides before it rounds.
func tenths(score float64) string {
	v := float64(float64(float32(score))*5) / 5
	return decimal(math.RoundToEven(float64(v*10)) / 10)
}

// decimal prints a number as Python does.
func decimal(v float64) string {
	s := strconv.FormatFloat(v, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// classNumber reads the number of a class.
func classNumber(_ *Template, text string) (Answer, bool) {
	n, err := strconv.Atoi(strings.TrimFunc(text, isSpace))
	if err != nil || n < 0 {
		return Answer{Class: -1, Text: text}, false
	}
	return Answer{Class: n, Text: text}, true
}
