// Package jobs reads job files: one YAML file an experiment, a graph of stages
// by name.
//
//	max_dead: 1%
//	stages:
//	  raw:
//	    kind: pipeline/files
//	    path: ../coco
//	  train:
//	    kind: trainer/train
//	    inputs: {tokens: encode, features: grids}
//	    steps: 30000
//	    matrix:
//	      seed: [1, 2, 3]
//	  mean:
//	    kind: evaluate/aggregate
//	    inputs: {scores: measure}
//	    collect: [seed]
//
// Each stage has its kind, its parameters, and the stages that it reads by the
// name it knows them under. A matrix makes one stage for each combination of
// its axes, named train[seed=1], and what reads such a stage is made as often;
// a stage that collects an axis is made once for all its values and finds its
// inputs under names such as scores[seed=1]. Anchors and merge keys work, and
// fields of the file itself that begin with x- are free for them.
//
// An axis is a list of values or a mapping of labels to fields:
//
//	matrix:
//	  seed: [1, 2]
//	  model.layers: [3, 6]
//	  size:
//	    small: {model.dim: 256, model.heads: 4}
//	    base: {model.dim: 512, model.heads: 8}
//
// A label's field of the form $name sets nothing itself: ${name} stands for its
// value wherever the axis is, in stages that read this one too.
//
// The name of a listed axis is a field of its stage, or the stage names it as
// ${seed} in a value; axes that a stage has from its inputs reach it by such
// names alone. A stage with a field tags gets its axes there, so that scores
// carry them.
//
// Values of the file itself stand for ${name} anywhere in its stages, and are
// changed from outside by their names:
//
//	values: {steps: 1000, seeds: [1, 2, 3]}
//
// [Load] reports every mistake of a file at once, each with its line.
package jobs

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"espalier/pipeline"
)

// A Job is a job file, its matrices expanded.
type Job struct {
	Name    string          // the file's name field, else its file name without extension
	File    string          // as it was given
	Store   string          // the folder that the file's store field names, or ""
	MaxDead *pipeline.Limit // nil where the file says nothing
	Stages  []*Stage
	Summary []Number
}

// A Stage is one stage of a job.
type Stage struct {
	Name    string // such as "train[seed=3]"
	Base    string // such as "train"
	Axes    []Axis
	Params  pipeline.Stage
	Inputs  []Input
	MaxDead *pipeline.Limit // of this stage alone; nil where the file says nothing
	Line    int
}

// An Axis is the place of a stage on one axis of a matrix.
type Axis struct{ Name, Value string }

// An Input says which stage an input is read from.
type Input struct{ Name, Stage string }

// Tags returns the stage's axes by name.
func (s *Stage) Tags() map[string]string {
	if len(s.Axes) == 0 {
		return nil
	}
	tags := make(map[string]string, len(s.Axes))
	for _, a := range s.Axes {
		tags[a.Name] = a.Value
	}
	return tags
}

// Find returns the stages that a name on the command line means: the stage of
// exactly that name, else all that a matrix made of it.
func (j *Job) Find(name string) ([]*Stage, error) {
	var bases []string
	var found []*Stage
	for _, s := range j.Stages {
		if s.Name == name {
			return []*Stage{s}, nil
		}
		if s.Base == name {
			found = append(found, s)
		}
		if !slices.Contains(bases, s.Base) {
			bases = append(bases, s.Base)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s: no stage %s%s (stages: %s)", j.File, name, DidYouMean(name, bases), strings.Join(bases, ", "))
	}
	return found, nil
}

// Load reads a job file and applies overrides such as "train.steps=30". Kinds
// makes a new stage of each kind; nil means [Kinds]. An error of the file's
// content is of type [Faults].
func Load(file string, set []string, kinds map[string]func() pipeline.Stage) (*Job, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return Parse(file, data, set, kinds)
}

// Parse is [Load] for a file already in memory.
func Parse(file string, data []byte, set []string, kinds map[string]func() pipeline.Stage) (*Job, error) {
	if kinds == nil {
		kinds = Kinds()
	}
	var faults faultList
	root := parseDocument(file, data, &faults)
	if root != nil && root.kind != mapNode {
		faults.add(root.at, "", describe(root)+", want a mapping with stages")
		root = nil
	}
	if root == nil {
		return nil, faults.err()
	}
	for _, s := range set {
		override(root, s, &faults)
	}
	p := &parser{kinds: kinds, faults: &faults}
	job := p.job(file, root)
	if err := faults.err(); err != nil {
		return nil, err
	}
	return job, nil
}

var (
	stageName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*$`)
	inputName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)
)

// header holds what a job file says beside its stages.
type header struct {
	Name    string `yaml:"name" doc:"Name of the job; default: the file's name without extension."`
	Store   string `yaml:"store" doc:"Folder of the store, relative to the job file."`
	MaxDead string `yaml:"max_dead" doc:"Most dead letters an output may have: a number or a share such as 1%."`
}

var headerType = reflect.TypeFor[header]()

var headerFields = []string{"stages", "summary", "values"}

type parser struct {
	kinds  map[string]func() pipeline.Stage
	faults *faultList
	dir    string // of the job file
	decls  []*decl
	made   int // stages made so far
}

func (p *parser) job(file string, root *node) *Job {
	p.giveValues(root)
	var h header
	known := slices.Clone(headerFields)
	for _, f := range root.fields {
		if strings.HasPrefix(f.name, "x-") {
			known = append(known, f.name)
		}
	}
	decodeStruct(root, valueOf(&h), "", known, p.faults)
	p.dir = filepath.Dir(file)
	j := &Job{Name: h.Name, File: file, MaxDead: p.limit(root, "max_dead")}
	if j.Name == "" {
		j.Name = strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	}
	if h.Store != "" {
		j.Store = p.resolve(h.Store)
	}

	stages := root.get("stages")
	switch {
	case stages == nil:
		p.faults.add(root.at, "stages", "required")
	case stages.kind != mapNode:
		p.faults.add(stages.at, "stages", describe(stages)+", want a mapping of stages by name")
	case len(stages.fields) == 0:
		p.faults.add(stages.at, "stages", "no stage")
	default:
		for _, f := range stages.fields {
			p.declare(f)
		}
		for _, d := range p.order() {
			p.inherit(d)
		}
		for _, d := range p.decls {
			j.Stages = append(j.Stages, p.expand(d)...)
		}
	}
	j.Summary = p.summary(root.get("summary"), j)
	return j
}

// limit reads the field max_dead of n, for a fault at path.
func (p *parser) limit(n *node, path string) *pipeline.Limit {
	m := n.get("max_dead")
	if m == nil || m.kind != scalarNode {
		return nil
	}
	l, err := pipeline.ParseLimit(m.text)
	if err != nil {
		p.faults.add(m.at, path, err.Error())
	}
	return &l
}

// resolve makes a path of the job file relative to the working directory.
func (p *parser) resolve(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(p.dir, path)
}
