package jobs

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"espalier/pipeline"
)

// maxStages bounds what matrices may make of one file.
const maxStages = 20_000

// inherit finds the axes of a stage: those of its inputs in their order, less
// what it collects, then its own. Axes of the same name are one axis.
func (p *parser) inherit(d *decl) {
	have := func(name string) *axis {
		if i := slices.IndexFunc(d.axes, func(a axis) bool { return a.name == name }); i >= 0 {
			return &d.axes[i]
		}
		return nil
	}
	var gathered []string
	for _, in := range d.inputs {
		if in.decl == nil || in.fixed {
			continue
		}
		if !in.decl.sound {
			d.sound = false // its axes are not known; its own faults are told already
		}
		for _, a := range in.decl.axes {
			if slices.Contains(d.collect, a.name) {
				gathered = append(gathered, a.name)
				continue
			}
			switch b := have(a.name); {
			case b == nil:
				d.axes = append(d.axes, a)
			case b.of != a.of && !slices.Equal(b.labels(), a.labels()):
				p.fault(d, in.at, "inputs."+in.name, fmt.Sprintf("axis %s of %s has the values %s, that of %s has %s",
					a.name, a.of.name, strings.Join(a.labels(), " "), b.of.name, strings.Join(b.labels(), " ")))
			}
		}
	}
	for i, name := range d.collect {
		at := d.body.get("collect").items[i].at
		switch {
		case slices.Contains(d.collect[:i], name):
			p.fault(d, at, "collect", name+" given twice")
		case d.sound && !slices.Contains(gathered, name):
			p.fault(d, at, "collect", "no input has an axis "+name+p.axisHint(d, name))
		}
	}
	for _, a := range d.own {
		if b := have(a.name); b != nil {
			p.fault(d, a.at, "matrix."+a.name, fmt.Sprintf("comes already from %s; name it as ${%s} in a value", b.of.name, a.name))
			continue
		}
		d.axes = append(d.axes, a)
	}
}

func (p *parser) axisHint(d *decl, name string) string {
	var names []string
	for _, in := range d.inputs {
		if in.decl != nil {
			for _, a := range in.decl.axes {
				names = append(names, a.name)
			}
		}
	}
	return DidYouMean(name, names)
}

// expand makes the stages of one declaration, the last axis running fastest.
func (p *parser) expand(d *decl) []*Stage {
	combos := 1
	for _, a := range d.axes {
		combos *= len(a.values)
		if p.made+combos > maxStages {
			p.fault(d, d.at, "matrix", fmt.Sprintf("makes the job larger than %d stages", maxStages))
			return nil
		}
	}
	p.made += combos
	if p.kinds[d.kind] == nil {
		return nil
	}
	d.known = d.sound
	p.checkAxes(d)

	var out []*Stage
	pick := make([]int, len(d.axes))
	for range combos {
		out = append(out, p.make(d, pick))
		for i := len(pick) - 1; i >= 0; i-- {
			if pick[i]++; pick[i] < len(d.axes[i].values) {
				break
			}
			pick[i] = 0
		}
	}
	return out
}

// checkAxes finds own axes that would change nothing.
func (p *parser) checkAxes(d *decl) {
	params := paramsOf(reflect.TypeOf(p.kinds[d.kind]()).Elem())
	used := make(map[string]bool)
	eachParam(d.body, func(n *node) { variables(n, func(name string) { used[name] = true }) })
	for _, a := range d.own {
		if !a.listed || used[a.name] || hasParam(params, a.name) {
			continue
		}
		first, _, _ := strings.Cut(a.name, ".")
		p.fault(d, a.at, "matrix."+a.name, fmt.Sprintf("%s has no field %s, and no value names ${%s}%s", d.kind, first, a.name, DidYouMean(first, paramNames(params))))
	}
}

func hasParam(params []param, path string) bool {
	first, _, _ := strings.Cut(path, ".")
	return slices.ContainsFunc(params, func(q param) bool { return q.name == first })
}

// make builds the stage at one place of the matrix.
func (p *parser) make(d *decl, pick []int) *Stage {
	s := &Stage{Base: d.name, Line: d.at.line, MaxDead: d.maxDead}
	vars := make(map[string]axisValue, len(d.axes))
	for i, a := range d.axes {
		v := a.values[pick[i]]
		vars[a.name] = v
		for _, f := range v.set {
			if name, ok := strings.CutPrefix(f.name, "$"); ok {
				vars[name] = axisValue{label: f.node.text, at: f.at, value: f.node}
			}
		}
		s.Axes = append(s.Axes, Axis{a.name, v.label})
	}
	s.Name = instance(d.name, s.Axes)
	if d.sound {
		s.Inputs = p.inputsOf(d, s)
	}

	body := &node{kind: mapNode, at: d.body.at}
	for _, f := range d.body.fields {
		if slices.Contains(reserved, f.name) {
			continue
		}
		body.fields = append(body.fields, field{f.name, f.at, p.substitute(d, f.node, vars, f.name)})
	}
	s.Params = p.kinds[d.kind]()
	params := paramsOf(reflect.TypeOf(s.Params).Elem())
	for _, a := range d.own {
		v := vars[a.name]
		if a.listed {
			if hasParam(params, a.name) {
				p.assign(d, body, a.name, v.at, v.value.clone())
			}
			continue
		}
		for _, f := range v.set {
			if !strings.HasPrefix(f.name, "$") {
				p.assign(d, body, f.name, f.at, f.node.clone())
			}
		}
	}
	p.fill(d, s, body, params)
	return s
}

// inputsOf finds the stages that s reads.
func (p *parser) inputsOf(d *decl, s *Stage) []Input {
	var out []Input
	at := s.Tags()
	for _, in := range d.inputs {
		if in.fixed {
			if !p.isInstance(in.decl, in.stage) {
				p.fault(d, in.at, "inputs."+in.name, "no stage "+in.stage+"; its axes are "+axisNames(in.decl.axes))
				continue
			}
			out = append(out, Input{in.name, in.stage})
			continue
		}
		// One stage for each combination of the axes that are collected.
		axes := make([]Axis, len(in.decl.axes))
		var walk func(i int, gathered []Axis)
		walk = func(i int, gathered []Axis) {
			if i == len(axes) {
				out = append(out, Input{instance(in.name, gathered), instance(in.decl.name, axes)})
				return
			}
			a := in.decl.axes[i]
			if slices.Contains(d.collect, a.name) {
				for _, v := range a.values {
					axes[i] = Axis{a.name, v.label}
					walk(i+1, append(gathered, axes[i]))
				}
				return
			}
			axes[i] = Axis{a.name, at[a.name]}
			walk(i+1, gathered)
		}
		walk(0, nil)
	}
	return out
}

func (p *parser) isInstance(d *decl, name string) bool {
	inner, ok := strings.CutSuffix(strings.TrimPrefix(name, d.name+"["), "]")
	parts := strings.Split(inner, ",")
	if !ok || len(parts) != len(d.axes) {
		return false
	}
	for i, a := range d.axes {
		label, ok := strings.CutPrefix(parts[i], a.name+"=")
		if !ok || !slices.Contains(a.labels(), label) {
			return false
		}
	}
	return true
}

func axisNames(axes []axis) string {
	if len(axes) == 0 {
		return "none"
	}
	names := make([]string, len(axes))
	for i, a := range axes {
		names[i] = a.name
	}
	return strings.Join(names, ", ")
}

// instance writes a name with axes behind it: train[seed=3].
func instance(name string, axes []Axis) string {
	if len(axes) == 0 {
		return name
	}
	parts := make([]string, len(axes))
	for i, a := range axes {
		parts[i] = a.Name + "=" + a.Value
	}
	return name + "[" + strings.Join(parts, ",") + "]"
}

// assign sets the field at a dotted path of body to v, for an axis.
func (p *parser) assign(d *decl, body *node, path string, at place, v *node) {
	n, rest := body, path
	for {
		name, below, deeper := strings.Cut(rest, ".")
		f := n.field(name)
		if !deeper {
			if f != nil {
				p.fault(d, at, path, "given by the matrix and at "+f.at.String())
				return
			}
			n.set(name, at, v)
			return
		}
		if f == nil {
			n.set(name, at, &node{kind: mapNode, at: at})
			f = n.field(name)
		}
		if f.node.kind != mapNode {
			p.fault(d, at, path, name+" is "+f.node.kind.String()+", want a mapping")
			return
		}
		n, rest = f.node, below
	}
}

// fill sets the parameters of s from body and checks them.
func (p *parser) fill(d *decl, s *Stage, body *node, params []param) {
	v := reflect.ValueOf(s.Params).Elem()
	before := len(p.faults.faults)
	for _, f := range body.fields {
		i := slices.IndexFunc(params, func(q param) bool { return q.name == f.name })
		if i < 0 {
			p.fault(d, f.at, f.name, "unknown field"+DidYouMean(f.name, append(paramNames(params), reserved...)))
			continue
		}
		decodeValue(f.node, fieldByIndex(v, params[i].index), join(d.name, f.name), p.faults)
	}
	if len(s.Axes) > 0 {
		fillTags(v, params, s.Axes)
	}
	if files, ok := s.Params.(*pipeline.Files); ok {
		p.locate(d, files)
	}
	if len(p.faults.faults) > before {
		d.sound = false
		return // Check would only repeat what follows from these
	}
	if c, ok := shallowCopy(s.Params).(pipeline.Checker); ok {
		p.checkFaults(d, body, params, c.Check())
	}
}

// locate makes the path of raw files, which a job file gives relative to
// itself, an absolute one.
func (p *parser) locate(d *decl, files *pipeline.Files) {
	if files.Path == "" {
		p.fault(d, d.at, "path", "required: a file or a folder, relative to the job file")
		return
	}
	abs, err := filepath.Abs(p.resolve(files.Path))
	if err != nil {
		p.fault(d, d.at, "path", err.Error())
	}
	files.Path = abs
}

// shallowCopy returns a stage of the same fields, so that the engine meets
// those that the file gives, without the defaults of Check.
func shallowCopy(s pipeline.Stage) pipeline.Stage {
	v := reflect.New(reflect.TypeOf(s).Elem())
	v.Elem().Set(reflect.ValueOf(s).Elem())
	return v.Interface().(pipeline.Stage)
}

// fillTags puts axes into a stage's tags, where the file has none of that name.
func fillTags(v reflect.Value, params []param, axes []Axis) {
	i := slices.IndexFunc(params, func(q param) bool { return q.name == "tags" && q.typ == reflect.TypeFor[map[string]string]() })
	if i < 0 {
		return
	}
	f := fieldByIndex(v, params[i].index)
	if f.IsNil() {
		f.Set(reflect.MakeMap(f.Type()))
	}
	tags := f.Interface().(map[string]string)
	for _, a := range axes {
		if _, ok := tags[a.Name]; !ok {
			tags[a.Name] = a.Value
		}
	}
}

// checkFaults gives each error of a Check its place. Those that begin with a
// field's path, as in "peft.dim: 0, want at least 1", are placed at that field.
func (p *parser) checkFaults(d *decl, body *node, params []param, err error) {
	if err == nil {
		return
	}
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range all.Unwrap() {
			p.checkFaults(d, body, params, e)
		}
		return
	}
	path, what, ok := strings.Cut(err.Error(), ": ")
	first := path
	if i := strings.IndexAny(path, ".["); i >= 0 {
		first = path[:i]
	}
	if !ok || !hasParam(params, first) {
		p.fault(d, d.at, "", err.Error())
		return
	}
	p.fault(d, placeOf(d, body, path), path, what)
}

// placeOf finds where the field at path was given, or the nearest field around
// it, or the stage.
func placeOf(d *decl, body *node, path string) place {
	at, n := d.at, body
	for _, step := range strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		switch n.kind {
		case mapNode:
			f := n.field(step)
			if f == nil {
				return at
			}
			at, n = f.node.at, f.node
		case listNode:
			var i int
			if _, err := fmt.Sscanf(step, "%d", &i); err != nil || i < 0 || i >= len(n.items) {
				return at
			}
			at, n = n.items[i].at, n.items[i]
		default:
			return at
		}
	}
	return at
}
