package jobs

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A variable is ${axis} in a value; $${ stands for ${ itself.
var variable = regexp.MustCompile(`\$?\$\{([^}]*)\}`)

// eachParam calls f for every scalar among a stage's parameters.
func eachParam(body *node, f func(*node)) {
	var walk func(n *node)
	walk = func(n *node) {
		if n.kind == scalarNode {
			f(n)
		}
		for _, c := range n.items {
			walk(c)
		}
		for _, c := range n.fields {
			walk(c.node)
		}
	}
	for _, c := range body.fields {
		if !slices.Contains(reserved, c.name) {
			walk(c.node)
		}
	}
}

// variables calls f with each variable that a scalar names.
func variables(n *node, f func(name string)) {
	for _, m := range variable.FindAllStringSubmatch(n.text, -1) {
		if !strings.HasPrefix(m[0], "$$") {
			f(m[1])
		}
	}
}

// substitute returns a copy of n in which axes stand for their variables: a
// value that is one variable takes the axis's value with its type.
func (p *parser) substitute(d *decl, n *node, vars map[string]axisValue, path string) *node {
	c := *n
	c.fields, c.items = nil, nil
	for _, f := range n.fields {
		c.fields = append(c.fields, field{f.name, f.at, p.substitute(d, f.node, vars, join(path, f.name))})
	}
	for i, x := range n.items {
		c.items = append(c.items, p.substitute(d, x, vars, fmt.Sprintf("%s[%d]", path, i)))
	}
	if n.kind != scalarNode || !strings.Contains(n.text, "${") {
		return &c
	}
	missing := false
	variables(n, func(name string) {
		if _, ok := vars[name]; !ok {
			missing = true
			if !d.known {
				return // follows from a fault already told
			}
			p.fault(d, n.at, path, "no axis "+name+" here; axes are "+axisNames(d.axes)+" (write $${ for ${ itself)")
		}
	})
	if missing {
		return &c
	}
	if m := variable.FindStringSubmatch(n.text); m[0] == n.text && !strings.HasPrefix(m[0], "$$") {
		if v := vars[m[1]]; v.value != nil {
			c = *v.value
		} else {
			c.tag, c.text = "!!str", v.label
		}
		c.at = n.at
		return &c
	}
	c.tag = "!!str"
	c.text = variable.ReplaceAllStringFunc(n.text, func(s string) string {
		if strings.HasPrefix(s, "$$") {
			return s[1:]
		}
		return vars[s[2:len(s)-1]].label
	})
	return &c
}
