package jobs

import (
	"fmt"
	"reflect"
	"strings"

	"espalier/pipeline/score"
)

// A Number is one line that a run prints when it is done: the one score of a
// stage's output that fits.
type Number struct {
	Name    string            `yaml:"-"`
	Stage   string            `yaml:"stage" doc:"The stage whose scores are searched."`
	Metric  string            `yaml:"metric" doc:"Such as cider."`
	Variant string            `yaml:"variant"`
	Corpus  string            `yaml:"corpus"`
	Task    string            `yaml:"task"`
	Split   string            `yaml:"split"`
	Tags    map[string]string `yaml:"tags"`
}

// Fits tells whether a row is a score that n asks for: one of a whole split
// that agrees with every field that n names.
func (n *Number) Fits(r *score.Row) bool {
	same := func(want, got string) bool { return want == "" || want == got }
	if r.ID != "" || !same(n.Metric, r.Metric) || !same(n.Variant, r.Variant) || !same(n.Corpus, r.Corpus) || !same(n.Task, r.Task) || !same(n.Split, r.Split) {
		return false
	}
	for k, v := range n.Tags {
		if got, ok := r.Tags[k]; !ok || got != v {
			return false
		}
	}
	return true
}

// Pick returns the one row that n asks for.
func (n *Number) Pick(rows []score.Row) (score.Row, error) {
	var found []score.Row
	for i := range rows {
		if n.Fits(&rows[i]) {
			found = append(found, rows[i])
		}
	}
	if len(found) != 1 {
		return score.Row{}, fmt.Errorf("summary.%s: %d scores of %s fit, want 1", n.Name, len(found), n.Stage)
	}
	return found[0], nil
}

func (p *parser) summary(n *node, j *Job) []Number {
	if n == nil {
		return nil
	}
	if n.kind != mapNode {
		p.faults.add(n.at, "summary", describe(n)+", want a mapping of names to scores")
		return nil
	}
	var out []Number
	for _, f := range n.fields {
		path := "summary." + f.name
		num := Number{Name: f.name}
		if f.name == "" || strings.ContainsAny(f.name, ":\n") {
			p.faults.add(f.at, path, "not a name for a number")
		}
		decodeStruct(f.node, valueOf(&num), path, nil, p.faults)
		if f.node.kind == mapNode {
			switch {
			case num.Stage == "":
				p.faults.add(f.at, path+".stage", "required")
			case num.Metric == "":
				p.faults.add(f.at, path+".metric", "required")
			default:
				num.Stage = p.summaryStage(f, path, num.Stage, j)
			}
		}
		out = append(out, num)
	}
	return out
}

// summaryStage checks that a name means one stage.
func (p *parser) summaryStage(f field, path, name string, j *Job) string {
	at := f.node.get("stage").at
	base, _, _ := strings.Cut(name, "[")
	d := p.find(base)
	if d == nil {
		names := make([]string, len(p.decls))
		for i, d := range p.decls {
			names[i] = d.name
		}
		p.faults.add(at, path+".stage", "no stage "+name+DidYouMean(name, names))
		return name
	}
	if !d.sound || p.kinds[d.kind] == nil {
		return name
	}
	switch found, err := j.Find(name); {
	case err != nil:
		p.faults.add(at, path+".stage", "no stage "+name+"; axes of "+base+" are "+axisNames(d.axes))
	case len(found) > 1:
		p.faults.add(at, path+".stage", fmt.Sprintf("%d stages, want one, such as %s", len(found), found[0].Name))
	}
	return name
}

func valueOf(p any) reflect.Value { return reflect.ValueOf(p).Elem() }
