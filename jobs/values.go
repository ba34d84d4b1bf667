package jobs

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// ReadValues reads a YAML file of names and values, and returns each as an
// override for [Load].
func ReadValues(file string) ([]string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	set, err := readValues(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return set, nil
}

func readValues(data []byte) ([]string, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, errors.New(syntaxText(err))
	}
	if len(doc.Content) == 0 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("want a mapping of names to values")
	}
	var set []string
	for pair := range slices.Chunk(doc.Content[0].Content, 2) {
		name, value := pair[0], pair[1]
		if name.Kind != yaml.ScalarNode || !inputName.MatchString(name.Value) {
			return nil, fmt.Errorf("line %d: %q is no name for a value", name.Line, name.Value)
		}
		if err := oneLine(value); err != nil {
			return nil, err
		}
		text, err := yaml.Marshal(value)
		if err != nil {
			return nil, err
		}
		set = append(set, name.Value+"="+strings.TrimSuffix(string(text), "\n"))
	}
	return set, nil
}

// oneLine makes a value be written without comments, its mappings and lists
// in braces and brackets.
func oneLine(n *yaml.Node) error {
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		return fmt.Errorf("line %d: a file of values has no anchors", n.Line)
	}
	n.HeadComment, n.LineComment, n.FootComment = "", "", ""
	if n.Kind != yaml.ScalarNode {
		n.Style = yaml.FlowStyle
	}
	for _, c := range n.Content {
		if err := oneLine(c); err != nil {
			return err
		}
	}
	return nil
}

// giveValues puts the job's values in the place of their variables everywhere
// in its stages, and forgets them. A text that is one variable becomes its
// value, whatever that is; within a longer text it must be plain.
func (p *parser) giveValues(root *node) {
	values := root.get("values")
	if values == nil {
		return
	}
	if values.kind != mapNode {
		p.faults.add(values.at, "values", describe(values)+", want a mapping of names to values")
		return
	}
	for _, f := range values.fields {
		if !inputName.MatchString(f.name) {
			p.faults.add(f.at, "values."+f.name, "not a name for a value: want letters, digits, - and _")
		}
		eachScalar(f.node, func(n *node) {
			variables(n, func(name string) {
				p.faults.add(n.at, "values."+f.name, "${"+name+"}: a value may name no other")
			})
		})
	}
	stages := root.get("stages")
	if stages == nil {
		return
	}
	used := map[string]bool{}
	for _, s := range stages.fields {
		if m := s.node.get("matrix"); m != nil {
			for _, axis := range m.fields {
				if values.field(axis.name) != nil {
					p.faults.add(axis.at, s.name+".matrix."+axis.name, "the file has a value of this name")
				}
			}
		}
		eachScalar(s.node, func(n *node) { p.giveValue(values, n, s.name, used) })
	}
	for _, f := range values.fields {
		if !used[f.name] {
			p.faults.add(f.at, "values."+f.name, "no stage names ${"+f.name+"}")
		}
	}
}

func (p *parser) giveValue(values, n *node, stage string, used map[string]bool) {
	if !strings.Contains(n.text, "${") {
		return
	}
	at := n.at
	if m := variable.FindStringSubmatch(n.text); m[0] == n.text && !strings.HasPrefix(m[0], "$$") {
		if v := values.get(m[1]); v != nil {
			used[m[1]] = true
			*n = *v.clone()
			n.at = at
		}
		return
	}
	n.text = variable.ReplaceAllStringFunc(n.text, func(s string) string {
		if strings.HasPrefix(s, "$$") {
			return s
		}
		name := s[2 : len(s)-1]
		v := values.get(name)
		if v == nil {
			return s // an axis
		}
		used[name] = true
		if v.kind != scalarNode {
			p.faults.add(at, stage, fmt.Sprintf("%s within a text is %s, want a plain value", s, v.kind))
			return s
		}
		n.tag = "!!str"
		return v.text
	})
}

// eachScalar calls f for every scalar of n, which may change it.
func eachScalar(n *node, f func(*node)) {
	if n.kind == scalarNode {
		f(n)
		return
	}
	for _, c := range slices.Clone(n.items) {
		eachScalar(c, f)
	}
	for _, c := range slices.Clone(n.fields) {
		eachScalar(c.node, f)
	}
}

// valueNames returns the names of a document's values.
func valueNames(root *node) []string {
	var names []string
	if v := root.get("values"); v != nil {
		for _, f := range v.fields {
			names = append(names, f.name)
		}
	}
	return names
}
