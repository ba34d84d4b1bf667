package jobs

import (
	"fmt"
	"slices"
	"strings"
)

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
