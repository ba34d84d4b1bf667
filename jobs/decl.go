package jobs

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"espalier/pipeline"
)

// reserved are the fields of a stage that are not its parameters.
var reserved = []string{"kind", "inputs", "matrix", "collect", "max_dead"}

// A decl is a stage as the file declares it, before its matrix is expanded.
type decl struct {
	name    string
	at      place
	body    *node
	kind    string
	inputs  []inputDecl
	own     []axis // of its matrix
	axes    []axis // those of its inputs, then its own
	collect []string
	maxDead *pipeline.Limit
	sound   bool // has no fault so far
	known   bool // its axes are complete
}

type inputDecl struct {
	name  string
	at    place
	stage string // as written: a stage, or one of those a matrix makes
	decl  *decl  // nil if there is none
	fixed bool   // names one stage of a matrix
}

// An axis is one dimension of a matrix.
type axis struct {
	name   string
	at     place
	of     *decl // whose matrix it is
	values []axisValue
	listed bool // a list of values, not a mapping of labels
}

type axisValue struct {
	label string
	at    place
	value *node   // of a listed axis
	set   []field // of a labelled one: field paths and values
}

func (a axis) labels() []string {
	out := make([]string, len(a.values))
	for i, v := range a.values {
		out[i] = v.label
	}
	return out
}

func (p *parser) find(name string) *decl {
	i := slices.IndexFunc(p.decls, func(d *decl) bool { return d.name == name })
	if i < 0 {
		return nil
	}
	return p.decls[i]
}

func (p *parser) declare(f field) {
	d := &decl{name: f.name, at: f.at, body: f.node, sound: true}
	p.decls = append(p.decls, d)
	if !stageName.MatchString(f.name) {
		p.fault(d, f.at, "", "not a name for a stage: want letters, digits, - and _")
	}
	if f.node.kind != mapNode {
		p.fault(d, f.node.at, "", describe(f.node)+", want a mapping with kind")
		d.body = &node{kind: mapNode, at: f.node.at}
		return
	}
	switch k := d.body.get("kind"); {
	case k == nil:
		p.fault(d, d.at, "kind", "required")
	case k.kind != scalarNode:
		p.fault(d, k.at, "kind", describe(k)+", want text")
	default:
		d.kind = k.text
		if p.kinds[d.kind] == nil {
			p.fault(d, k.at, "kind", "no kind "+d.kind+DidYouMean(d.kind, kindNames(p.kinds)))
		}
	}
	in := d.body.get("inputs")
	if in != nil {
		p.declareInputs(d, in)
	}
	p.checkInputs(d, in)
	if m := d.body.get("matrix"); m != nil {
		p.declareMatrix(d, m)
	}
	if c := d.body.get("collect"); c != nil {
		decodeValue(c, valueOf(&d.collect), d.name+".collect", p.faults)
	}
	if m := d.body.get("max_dead"); m != nil {
		var text string
		decodeValue(m, valueOf(&text), d.name+".max_dead", p.faults)
		d.maxDead = p.limit(d.body, d.name+".max_dead")
	}
}

func (p *parser) fault(d *decl, at place, path, what string) {
	d.sound = false
	if path == "" {
		path = d.name
	} else {
		path = d.name + "." + path
	}
	p.faults.add(at, path, what)
}

func (p *parser) declareInputs(d *decl, in *node) {
	if in.kind != mapNode {
		p.fault(d, in.at, "inputs", describe(in)+", want a mapping of input names to stages")
		return
	}
	for _, f := range in.fields {
		path := "inputs." + f.name
		switch {
		case !inputName.MatchString(f.name):
			p.fault(d, f.at, path, "not a name for an input: want letters, digits, - and _")
		case f.node.kind != scalarNode || f.node.tag == "!!null":
			p.fault(d, f.node.at, path, describe(f.node)+", want the name of a stage")
		default:
			d.inputs = append(d.inputs, inputDecl{name: f.name, at: f.node.at, stage: f.node.text, fixed: strings.Contains(f.node.text, "[")})
		}
	}
}

// checkInputs compares the names of a stage's inputs with those that its kind
// reads.
func (p *parser) checkInputs(d *decl, in *node) {
	want, known := inputsOf[d.kind]
	if !known || p.kinds[d.kind] == nil {
		return
	}
	all := slices.Concat(want.needs, want.takes)
	if in != nil && !want.any {
		for _, f := range in.fields {
			if !slices.Contains(all, f.name) && !slices.Contains(want.parts, partOf(f.name, want.parts)) {
				p.fault(d, f.at, "inputs."+f.name, d.kind+" has no such input"+DidYouMean(f.name, all))
			}
		}
	}
	for _, name := range want.needs {
		part := in != nil && slices.ContainsFunc(in.fields, func(f field) bool { return partOf(f.name, want.parts) == name })
		if in.field(name) == nil && !part {
			p.fault(d, d.at, "inputs."+name, "required by "+d.kind)
		}
	}
}

// partOf returns the name of which an input such as NAME-ANYTHING is a part, or
// "".
func partOf(name string, parts []string) string {
	for _, p := range parts {
		if strings.HasPrefix(name, p+"-") {
			return p
		}
	}
	return ""
}

func (p *parser) declareMatrix(d *decl, m *node) {
	if m.kind != mapNode {
		p.fault(d, m.at, "matrix", describe(m)+", want a mapping of axes to lists of values")
		return
	}
	for _, f := range m.fields {
		path := "matrix." + f.name
		a := axis{name: f.name, at: f.at, of: d}
		switch {
		case f.name == "" || strings.ContainsFunc(f.name, notInLabel):
			p.fault(d, f.at, path, "not a name for an axis")
			continue
		case f.node.kind == scalarNode:
			p.fault(d, f.node.at, path, describe(f.node)+", want a list of values")
			continue
		case f.node.kind == listNode:
			a.listed = true
			for _, v := range f.node.items {
				if v.kind != scalarNode || v.tag == "!!null" {
					p.fault(d, v.at, path, describe(v)+", want a plain value (or a mapping of labels to fields)")
					continue
				}
				a.values = append(a.values, axisValue{label: v.text, at: v.at, value: v})
			}
		default:
			for _, v := range f.node.fields {
				if v.node.kind != mapNode {
					p.fault(d, v.node.at, path+"."+v.name, describe(v.node)+", want a mapping of fields to values")
					continue
				}
				a.values = append(a.values, axisValue{label: v.name, at: v.at, set: v.node.fields})
			}
		}
		p.checkLabels(d, a, path)
		if len(a.values) == 0 {
			p.fault(d, f.at, path, "no value")
			continue
		}
		d.own = append(d.own, a)
	}
}

func (p *parser) checkLabels(d *decl, a axis, path string) {
	for i, v := range a.values {
		if v.label == "" || strings.ContainsFunc(v.label, notInLabel) {
			p.fault(d, v.at, path, fmt.Sprintf("%q cannot stand in the name of a stage: give it a label, as in label: {field: value}", v.label))
		}
		if slices.Contains(a.labels()[:i], v.label) {
			p.fault(d, v.at, path, v.label+" given twice")
		}
	}
}

// notInLabel tells the characters that would make a stage's name unreadable.
func notInLabel(r rune) bool {
	return strings.ContainsRune(",=[]", r) || unicode.IsSpace(r) || !unicode.IsPrint(r)
}

// order links inputs to their stages and returns the sound stages so that each
// stands behind those it reads. Circles are faults.
func (p *parser) order() []*decl {
	for _, d := range p.decls {
		for i := range d.inputs {
			in := &d.inputs[i]
			base, _, _ := strings.Cut(in.stage, "[")
			if in.decl = p.find(base); in.decl == nil {
				names := make([]string, len(p.decls))
				for i, d := range p.decls {
					names[i] = d.name
				}
				p.fault(d, in.at, "inputs."+in.name, "no stage "+base+DidYouMean(base, names))
			}
		}
	}
	var (
		out  []*decl
		done = make(map[*decl]bool)
		path []*decl
		walk func(d *decl)
	)
	walk = func(d *decl) {
		if i := slices.Index(path, d); i >= 0 {
			names := make([]string, 0, len(path)-i+1)
			for _, c := range path[i:] {
				names = append(names, c.name)
				c.sound = false
			}
			p.fault(d, d.at, "inputs", "a circle: "+strings.Join(append(names, d.name), " reads "))
			return
		}
		if done[d] {
			return
		}
		path = append(path, d)
		for _, in := range d.inputs {
			if in.decl != nil {
				walk(in.decl)
			}
		}
		path = path[:len(path)-1]
		if !done[d] {
			done[d] = true
			out = append(out, d)
		}
	}
	for _, d := range p.decls {
		walk(d)
	}
	return out
}
