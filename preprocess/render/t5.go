package render

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// Unknown is the target of examples without a label, as T5 has it.
const Unknown = "<unk>"

// t5Templates render as T5's tasks do: google-research/text-to-text-transfer-
// transformer, t5/data/preprocessors.py and glue_utils.py.
var t5Templates = []*Template{
	t5Glue("glue_cola", "cola", []string{"glue/cola"}, []string{"unacceptable", "acceptable"}, "sentence"),
	t5Glue("glue_sst2", "sst2", []string{"glue/sst2"}, []string{"negative", "positive"}, "sentence"),
	t5Glue("glue_mrpc", "mrpc", []string{"glue/mrpc"}, []string{"not_equivalent", "equivalent"}, "sentence1", "sentence2"),
	t5Glue("glue_qqp", "qqp", []string{"glue/qqp"}, []string{"not_duplicate", "duplicate"}, "question1", "question2"),
	t5Glue("glue_mnli", "mnli", []string{"glue/mnli"}, []string{"entailment", "neutral", "contradiction"}, "hypothesis", "premise"),
	t5Glue("glue_qnli", "qnli", []string{"glue/qnli"}, []string{"entailment", "not_entailment"}, "question", "sentence"),
	t5Glue("glue_rte", "rte", []string{"glue/rte"}, []string{"entailment", "not_entailment"}, "sentence1", "sentence2"),
	t5Glue("glue_wnli", "wnli", []string{"glue/wnli"}, []string{"not_entailment", "entailment"}, "sentence1", "sentence2"),
	t5Glue("glue_ax", "mnli", []string{"glue/ax"}, []string{"entailment", "neutral", "contradiction"}, "hypothesis", "premise"),
	// T5 was not trained on these three: its form, with words of its other tasks; PAWS has those of QQP, from which it starts.
	t5Sentence("imdb", []string{"imdb/imdb"}, []string{"negative", "positive"}),
	t5Glue("paws", "paws", []string{"paws/paws"}, []string{"not_duplicate", "duplicate"}, "sentence1", "sentence2"),
	t5Sentence("trec", []string{"trec/trec"}, []string{"description", "entity", "abbreviation", "human", "numeric", "location"}),
	{Name: "t5/glue_stsb", Version: 1, For: []string{"glue/stsb"}, render: t5STSB, parse: number},
	{Name: "t5/glue_wnli_simple", Version: 1, render: wnliSimple},
	t5Glue("super_glue_boolq", "boolq", []string{"superglue/boolq", "boolq/boolq"}, []string{"False", "True"}, "passage", "question"),
	t5Glue("super_glue_cb", "cb", []string{"superglue/cb"}, []string{"entailment", "contradiction", "neutral"}, "hypothesis", "premise"),
	t5Glue("super_glue_copa", "copa", []string{"superglue/copa"}, []string{"choice1", "choice2"}, "choice1", "choice2", "premise", "question"),
	{Name: "t5/super_glue_multirc", Version: 1, For: []string{"superglue/multirc"}, Labels: []string{"False", "True"}, render: t5MultiRC},
	{Name: "t5/super_glue_record", Version: 1, For: []string{"superglue/record"}, render: t5Record},
	t5Glue("super_glue_rte", "rte", []string{"superglue/rte"}, []string{"entailment", "not_entailment"}, "hypothesis", "premise"),
	t5Glue("super_glue_wic", "wic", []string{"superglue/wic"}, []string{"False", "True"}, "sentence1", "sentence2", "word"),
	t5Glue("super_glue_axb", "rte", []string{"superglue/axb"}, []string{"entailment", "not_entailment"}, "sentence1", "sentence2"),
	t5Glue("super_glue_axg", "rte", []string{"superglue/axg"}, []string{"entailment", "not_entailment"}, "hypothesis", "premise"),
	{Name: "t5/super_glue_wsc", Version: 1, Labels: []string{"False", "True"}, render: wscMarked},
	{Name: "t5/super_glue_wsc_simple", Version: 1, render: func(x *Example) ([]Text, error) { return wscSimple(x, false) }},
	{Name: "t5/super_glue_wsc_simple_correct_only", Version: 1, render: func(x *Example) ([]Text, error) { return wscSimple(x, true) }},
	{Name: "t5/super_glue_wsc_fixed_simple", Version: 1, For: []string{"superglue/wsc"}, render: wscFixed},
	{Name: "t5/dpr_simple", Version: 1, For: []string{"dpr/dpr"}, render: dprSimple},
	{Name: "t5/squad", Version: 1, For: []string{"squad/squad"}, render: t5SQuAD},
	{Name: "t5/summarize", Version: 1, For: []string{"cnn_dailymail/summarize"}, render: t5Summarize},
}

// t5Glue is the form of most tasks: the benchmark's name, then the fields in the
// order in which T5 has them.
func t5Glue(name, benchmark string, made, labels []string, fields ...string) *Template {
	t := &Template{Name: "t5/" + name, Version: 1, For: made, Labels: labels}
	t.render = func(x *Example) ([]Text, error) {
		source, err := keyed(x, benchmark, fields...)
		if err != nil {
			return nil, err
		}
		target, err := t.target(x)
		return one(source, target), err
	}
	return t
}

// t5Sentence is "name sentence: text" of the field text, in which line breaks of
// HTML become blanks.
func t5Sentence(name string, made, labels []string) *Template {
	t := &Template{Name: "t5/" + name, Version: 1, For: made, Labels: labels}
	t.render = func(x *Example) ([]Text, error) {
		text, err := x.text("text")
		if err != nil {
			return nil, err
		}
		target, err := t.target(x)
		return one(name+" sentence: "+strings.ReplaceAll(text, "<br />", " "), target), err
	}
	return t
}

// keyed writes "benchmark field: text field: text".
func keyed(x *Example, benchmark string, fields ...string) (string, error) {
	texts, err := x.texts(fields...)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(benchmark)
	for i, name := range fields {
		b.WriteString(" " + name + ": " + texts[i])
	}
	return b.String(), nil
}

// target is the label's text.
func (t *Template) target(x *Example) (string, error) { return labelText(x, t.Labels) }

func labelText(x *Example, labels []string) (string, error) {
	switch {
	case x.LabelID < 0:
		return Unknown, nil
	case x.LabelID >= int64(len(labels)):
		return "", fmt.Errorf("class %d of %d", x.LabelID, len(labels))
	}
	return labels[x.LabelID], nil
}

func t5STSB(x *Example) ([]Text, error) {
	source, err := keyed(x, "stsb", "sentence1", "sentence2")
	if err != nil {
		return nil, err
	}
	if x.Label == "" {
		return one(source, Unknown), nil
	}
	score, err := strconv.ParseFloat(x.Label, 64)
	if err != nil {
		return nil, fmt.Errorf("label %q is no number", x.Label)
	}
	return one(source, STSB(score)), nil
}

// STSB rounds a score to a multiple of 0.2 as T5 does: in float32, halves to even.
func STSB(score float64) string {
	fives := float32(math.RoundToEven(float64(float32(score) * 5)))
	return strconv.FormatFloat(float64(fives/5), 'f', 1, 64)
}

var boldTag = regexp.MustCompile(`</?b>`)

func t5MultiRC(x *Example) ([]Text, error) {
	source, err := keyed(x, "multirc", "question", "answer", "paragraph")
	if err != nil {
		return nil, err
	}
	target, err := labelText(x, []string{"False", "True"})
	return one(boldTag.ReplaceAllString(strings.ReplaceAll(source, "<br>", " "), ""), target), err
}

var highlight = regexp.MustCompile(`([.?!"'])\n@highlight\n`)

// t5Record gives one text for each answer.
func t5Record(x *Example) ([]Text, error) {
	s, err := x.texts("query", "passage")
	if err != nil {
		return nil, err
	}
	entities, err := x.list("entities")
	if err != nil {
		return nil, err
	}
	answers, err := x.list("answers")
	if err != nil {
		return nil, err
	}
	passage := strings.ReplaceAll(highlight.ReplaceAllString(s[1], "$1 "), "\n@highlight\n", ". ")
	source := "record query: " + s[0] + " entities: " + strings.Join(entities, ", ") + " passage: " + passage
	if len(answers) == 0 {
		return one(source, Unknown), nil
	}
	list := make([]Text, len(answers))
	for i, a := range answers {
		list[i] = Text{source, a}
	}
	return list, nil
}

var (
	punctuation = regexp.MustCompile(`[[:punct:]]`)
	blanks      = regexp.MustCompile(`\s+`)
)

// padded puts blanks around punctuation.
func padded(s string) string {
	return blanks.ReplaceAllString(punctuation.ReplaceAllString(s, " $0 "), " ")
}

func t5SQuAD(x *Example) ([]Text, error) {
	s, err := x.texts("question", "context")
	if err != nil {
		return nil, err
	}
	if len(x.References) == 0 {
		return nil, fmt.Errorf("no answer")
	}
	source := blanks.ReplaceAllString("question: "+padded(s[0])+" context: "+padded(s[1]), " ")
	return one(source, padded(x.References[0])), nil
}

func t5Summarize(x *Example) ([]Text, error) {
	s, err := x.texts("article", "highlights")
	if err != nil {
		return nil, err
	}
	return one("summarize: "+s[0], s[1]), nil
}

func dprSimple(x *Example) ([]Text, error) {
	s, err := x.texts("sentence", "pronoun")
	if err != nil {
		return nil, err
	}
	candidates, err := x.list("candidates")
	if err != nil {
		return nil, err
	}
	if x.LabelID < 0 || x.LabelID >= int64(len(candidates)) {
		return nil, fmt.Errorf("candidate %d of %d", x.LabelID, len(candidates))
	}
	re, err := regexp.Compile(" (" + s[1] + `)( |\.|,)`)
	if err != nil {
		return nil, err
	}
	sentence := s[0]
	if m := re.FindStringSubmatchIndex(sentence); m != nil {
		sentence = sentence[:m[0]] + " *" + sentence[m[2]:m[3]] + "*" + sentence[m[4]:m[5]] + sentence[m[1]:]
	}
	return one("wsc: "+sentence, candidates[x.LabelID]), nil
}
