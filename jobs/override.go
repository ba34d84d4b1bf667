package jobs

import (
	"slices"
	"strings"
)

// override applies "path=value" to a job's document. A path is a value's name, a
// field of the file, or a stage and a field of it; what does not exist is found when the
// document is decoded.
func override(root *node, text string, faults *faultList) {
	at := place{over: true, set: text}
	path, value, ok := strings.Cut(text, "=")
	if !ok || path == "" {
		faults.add(at, "", "want path=value, as in train.steps=30")
		return
	}
	v := parseValue(text, value, faults)
	if v == nil {
		return
	}
	stage, rest, deep := strings.Cut(path, ".")
	if values := root.get("values"); !deep && values.field(path) != nil {
		values.set(path, at, v)
		return
	}
	if !deep {
		known := append(paramNames(paramsOf(headerType)), headerFields...)
		if !slices.Contains(known, path) || slices.Contains(headerFields, path) {
			var names []string
			if s := root.get("stages"); s != nil {
				for _, f := range s.fields {
					names = append(names, f.name)
				}
			}
			if slices.Contains(names, path) {
				faults.add(at, path, "a stage; name a field of it, as in "+path+".kind")
				return
			}
			faults.add(at, path, "unknown field; want STAGE.FIELD or one of "+strings.Join(append(paramNames(paramsOf(headerType)), valueNames(root)...), ", "))
			return
		}
		root.set(path, at, v)
		return
	}
	if stage == "summary" || stage == "values" {
		assignPath(root, path, at, v, faults)
		return
	}
	stages := root.get("stages")
	f := stages.field(stage)
	if f == nil || f.node.kind != mapNode {
		var names []string
		if stages != nil {
			for _, s := range stages.fields {
				names = append(names, s.name)
			}
		}
		faults.add(at, path, "no stage "+stage+DidYouMean(stage, names))
		return
	}
	if axis, ok := strings.CutPrefix(rest, "matrix."); ok {
		m := f.node.get("matrix")
		if m == nil {
			m = &node{kind: mapNode, at: at}
			f.node.set("matrix", at, m)
		}
		m.set(axis, at, v)
		return
	}
	assignPath(f.node, rest, at, v, faults)
}

// assignPath sets the field at a dotted path below n, replacing what is there.
func assignPath(n *node, path string, at place, v *node, faults *faultList) {
	steps := strings.Split(path, ".")
	for _, s := range steps[:len(steps)-1] {
		c := n.get(s)
		if c == nil {
			c = &node{kind: mapNode, at: at}
			n.set(s, at, c)
		}
		if c.kind != mapNode {
			faults.add(at, path, s+" is "+c.kind.String()+", want a mapping")
			return
		}
		n = c
	}
	n.set(steps[len(steps)-1], at, v)
}
