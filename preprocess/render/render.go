// Package render turns examples into source and target text by named, versioned
// templates, and the text of a model back into labels.
//
// A [Template] belongs to a style, that of a paper or a program: t5/glue_cola is
// CoLA as T5 renders it. What a template gives for an example depends on nothing
// else; its version is raised when it would give other text. Templates are safe
// for concurrent use.
package render

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrDropped is returned by templates that leave an example out on purpose.
var ErrDropped = errors.New("render: left out by its template")

// An Example is what templates read of an example.
type Example struct {
	Corpus, Task, Split string
	Fields              map[string]any // string, number or list, as examples have them
	Label               string         // "" if there is none
	LabelID             int64          // -1 if there is none
	References          []string
}

// A Text is one rendering.
type Text struct {
	Source, Target string
}

// A Template renders examples of the corpora it is made for.
type Template struct {
	Name    string // style and task, such as t5/glue_cola
	Version int
	// For has what it is made for, as "corpus/task"; a style has at most one
	// template for each.
	For []string
	// Labels are the target texts of the classes by their number; nil if the
	// targets are no classes.
	Labels []string

	render func(x *Example) ([]Text, error)
	parse  func(t *Template, text string) (Answer, bool)
}

// Style is the part of the name before the slash.
func (t *Template) Style() string {
	style, _, _ := strings.Cut(t.Name, "/")
	return style
}

// Render returns the renderings of an example, one or more. It returns
// ErrDropped if the template leaves the example out.
func (t *Template) Render(x *Example) ([]Text, error) {
	list, err := t.render(x)
	if err != nil && !errors.Is(err, ErrDropped) {
		return nil, fmt.Errorf("%s: %w", t.Name, err)
	}
	return list, err
}

// An Answer is what a model's text says.
type Answer struct {
	Class  int     // number of the class, -1 if the text names none
	Number float64 // of tasks whose labels are numbers
	Text   string  // of tasks with free text, and letters of choices
}

// Parse reads the text of a model as the style's own programs do. It reports
// false if the text is no answer.
func (t *Template) Parse(text string) (Answer, bool) {
	if t.parse != nil {
		return t.parse(t, text)
	}
	if t.Labels != nil {
		return classOf(t, text)
	}
	return Answer{Class: -1, Text: text}, true
}

// classOf is T5's rule: the text must be the label.
func classOf(t *Template, text string) (Answer, bool) {
	i := slices.Index(t.Labels, text)
	return Answer{Class: i, Text: text}, i >= 0
}

// templates in the order of their names.
var templates = func() []*Template {
	all := slices.Concat(t5Templates, hyperformerTemplates(), visionTemplates(), instructTemplates(), chineseTemplates)
	slices.SortFunc(all, func(a, b *Template) int { return cmp.Compare(a.Name, b.Name) })
	return all
}()

// All returns all templates by name.
func All() []*Template { return slices.Clone(templates) }

// Find returns the template of a name.
func Find(name string) (*Template, bool) {
	i, ok := slices.BinarySearchFunc(templates, name, func(t *Template, name string) int { return cmp.Compare(t.Name, name) })
	if !ok {
		return nil, false
	}
	return templates[i], true
}

// Styles returns the names of all styles.
func Styles() []string {
	var list []string
	for _, t := range templates {
		if s := t.Style(); len(list) == 0 || list[len(list)-1] != s {
			list = append(list, s)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// ForTask returns the template of a style for examples of a corpus and task.
func ForTask(style, corpus, task string) (*Template, bool) {
	for _, t := range templates {
		if t.Style() == style && slices.Contains(t.For, corpus+"/"+task) {
			return t, true
		}
	}
	return nil, false
}

// text returns a field that must be text.
func (x *Example) text(name string) (string, error) {
	switch v := x.Fields[name].(type) {
	case string:
		return v, nil
	case nil:
		return "", fmt.Errorf("no field %s", name)
	}
	return "", fmt.Errorf("field %s is no text", name)
}

// list returns a field that must be a list of texts.
func (x *Example) list(name string) ([]string, error) {
	switch v := x.Fields[name].(type) {
	case []string:
		return v, nil
	case []any:
		out := make([]string, len(v))
		for i := range v {
			s, ok := v[i].(string)
			if !ok {
				return nil, fmt.Errorf("field %s is no list of texts", name)
			}
			out[i] = s
		}
		return out, nil
	case nil:
		return nil, fmt.Errorf("no field %s", name)
	}
	return nil, fmt.Errorf("field %s is no list", name)
}

// number returns a field that must be an integer.
func (x *Example) number(name string) (int, error) {
	switch v := x.Fields[name].(type) {
	case int:
		return v, nil
	case int64:
		return int(v), nil
	case float64:
		if v == float64(int(v)) {
			return int(v), nil
		}
	case nil:
		return 0, fmt.Errorf("no field %s", name)
	}
	return 0, fmt.Errorf("field %s is no integer", name)
}

// texts returns several fields that must be text.
func (x *Example) texts(names ...string) ([]string, error) {
	out := make([]string, len(names))
	for i, name := range names {
		var err error
		if out[i], err = x.text(name); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func one(source, target string) []Text { return []Text{{source, target}} }
