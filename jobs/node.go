package jobs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// maxNodes bounds the size of a document after its aliases are followed.
const maxNodes = 200_000

// A place is where a node was written: a line of the file, or an override.
type place struct {
	file string
	line int
	over bool   // written in an override, whose text is set
	set  string // such as "train.steps=30"
}

func (p place) String() string {
	if p.over {
		return "--set " + p.set
	}
	if p.line == 0 {
		return p.file
	}
	return p.file + ":" + strconv.Itoa(p.line)
}

func (p place) order() int {
	if p.over {
		return math.MaxInt
	}
	return p.line
}

type nodeKind int

const (
	scalarNode nodeKind = iota
	listNode
	mapNode
)

func (k nodeKind) String() string {
	return [...]string{"a value", "a list", "a mapping"}[k]
}

// A node is one value of the document: aliases followed, merges done,
// overrides applied, places kept.
type node struct {
	kind   nodeKind
	at     place
	tag    string // of a scalar: !!str, !!int, !!float, !!bool, !!null, !!timestamp, ...
	text   string // of a scalar, as written
	fields []field
	items  []*node
}

// A field is one entry of a mapping.
type field struct {
	name string
	at   place
	node *node
}

func (n *node) get(name string) *node {
	if f := n.field(name); f != nil {
		return f.node
	}
	return nil
}

func (n *node) field(name string) *field {
	if n == nil {
		return nil
	}
	for i := range n.fields {
		if n.fields[i].name == name {
			return &n.fields[i]
		}
	}
	return nil
}

func (n *node) set(name string, at place, v *node) {
	if f := n.field(name); f != nil {
		f.at, f.node = at, v
		return
	}
	n.fields = append(n.fields, field{name, at, v})
}

// clone returns a deep copy, so that one use of an anchor can change alone.
func (n *node) clone() *node {
	c := *n
	c.fields = make([]field, len(n.fields))
	for i, f := range n.fields {
		c.fields[i] = field{f.name, f.at, f.node.clone()}
	}
	c.items = make([]*node, len(n.items))
	for i, x := range n.items {
		c.items[i] = x.clone()
	}
	return &c
}

// A reader turns YAML's own nodes into nodes.
type reader struct {
	file   string
	over   bool // an override is read, whose text is set
	set    string
	faults *faultList
	left   int // nodes that may still be made
	open   map[*yaml.Node]bool
}

var yamlLine = regexp.MustCompile(`^line (\d+): `)

// parseDocument reads a YAML file that holds one document. It returns nil
// after a fault that leaves nothing to look at.
func parseDocument(file string, data []byte, faults *faultList) *node {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		faults.add(place{file: file}, "", "empty file, want a mapping with stages")
		return nil
	case err != nil:
		faults.add(syntaxFault(file, err), "", syntaxText(err))
		return nil
	}
	var next yaml.Node
	switch err := dec.Decode(&next); {
	case errors.Is(err, io.EOF):
	case err != nil:
		faults.add(syntaxFault(file, err), "", syntaxText(err))
		return nil
	default:
		faults.add(place{file: file, line: next.Line}, "", "a second document, want one a file")
	}
	r := &reader{file: file, faults: faults, left: maxNodes, open: make(map[*yaml.Node]bool)}
	return r.read(&doc, "")
}

// parseValue reads the value of an override, typed as in a file.
func parseValue(set, text string, faults *faultList) *node {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		faults.add(place{over: true, set: set}, "", syntaxText(err))
		return nil
	}
	if len(doc.Content) == 0 { // nothing at all: the empty text
		return &node{kind: scalarNode, at: place{over: true, set: set}, tag: "!!str"}
	}
	r := &reader{over: true, set: set, faults: faults, left: maxNodes, open: make(map[*yaml.Node]bool)}
	return r.read(&doc, "")
}

func syntaxText(err error) string {
	s := err.Error()
	if len(s) > 6 && s[:6] == "yaml: " {
		s = s[6:]
	}
	return yamlLine.ReplaceAllString(s, "")
}

func syntaxFault(file string, err error) place {
	s := err.Error()
	if len(s) > 6 && s[:6] == "yaml: " {
		s = s[6:]
	}
	p := place{file: file}
	if m := yamlLine.FindStringSubmatch(s); m != nil {
		p.line, _ = strconv.Atoi(m[1])
	}
	return p
}

func (r *reader) place(y *yaml.Node) place {
	if r.over {
		return place{over: true, set: r.set}
	}
	return place{file: r.file, line: y.Line}
}

func (r *reader) read(y *yaml.Node, path string) *node {
	if r.left <= 0 {
		if r.left == 0 {
			r.faults.add(r.place(y), "", fmt.Sprintf("more than %d values once aliases are followed", maxNodes))
			r.left--
		}
		return nil
	}
	r.left--
	switch y.Kind {
	case yaml.DocumentNode:
		if len(y.Content) == 0 {
			return nil
		}
		return r.read(y.Content[0], path)
	case yaml.AliasNode:
		if y.Alias == nil || r.open[y.Alias] {
			r.faults.add(r.place(y), path, "alias *"+y.Value+" stands inside its own anchor")
			return nil
		}
		return r.read(y.Alias, path)
	case yaml.ScalarNode:
		return &node{kind: scalarNode, at: r.place(y), tag: y.ShortTag(), text: y.Value}
	case yaml.SequenceNode:
		r.open[y] = true
		defer delete(r.open, y)
		n := &node{kind: listNode, at: r.place(y)}
		for i, c := range y.Content {
			if v := r.read(c, fmt.Sprintf("%s[%d]", path, i)); v != nil {
				n.items = append(n.items, v)
			}
		}
		return n
	case yaml.MappingNode:
		r.open[y] = true
		defer delete(r.open, y)
		return r.readMap(y, path)
	}
	return nil
}

func (r *reader) readMap(y *yaml.Node, path string) *node {
	n := &node{kind: mapNode, at: r.place(y)}
	var merges []*yaml.Node
	for i := 0; i+1 < len(y.Content); i += 2 {
		k, v := y.Content[i], y.Content[i+1]
		if k.Kind == yaml.AliasNode && k.Alias != nil {
			k = k.Alias
		}
		if k.Kind != yaml.ScalarNode {
			r.faults.add(r.place(k), path, "a name of a field is "+kindOf(k)+", want text")
			continue
		}
		if k.ShortTag() == "!!merge" {
			merges = append(merges, v)
			continue
		}
		at := join(path, k.Value)
		if f := n.field(k.Value); f != nil {
			r.faults.add(r.place(k), at, fmt.Sprintf("given twice, first at line %d", f.at.line))
			continue
		}
		if c := r.read(v, at); c != nil {
			n.fields = append(n.fields, field{k.Value, r.place(k), c})
		}
	}
	for _, m := range merges {
		r.merge(n, m, path)
	}
	return n
}

// merge adds what stands under a merge key: fields already there win, and the
// first of several mappings wins.
func (r *reader) merge(n *node, y *yaml.Node, path string) {
	c := r.read(y, path)
	if c == nil {
		return
	}
	from := []*node{c}
	if c.kind == listNode {
		from = c.items
	}
	for _, m := range from {
		if m.kind != mapNode {
			r.faults.add(m.at, path, "<<: "+m.kind.String()+", want a mapping")
			continue
		}
		for _, f := range m.fields {
			if n.field(f.name) == nil {
				n.fields = append(n.fields, f)
			}
		}
	}
}

func kindOf(y *yaml.Node) string {
	switch y.Kind {
	case yaml.SequenceNode:
		return "a list"
	case yaml.MappingNode:
		return "a mapping"
	}
	return "a value"
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
