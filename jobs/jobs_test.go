package jobs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"espalier/pipeline"
	"espalier/pipeline/score"
	"espalier/tokenize"
)

// brew is a stage with one parameter of each type that job files can hold.
type brew struct {
	Steps  int               `yaml:"steps" doc:"Updates to make."`
	Seed   uint64            `yaml:"seed"`
	Rate   float64           `yaml:"rate"`
	Name   string            `yaml:"name"`
	Fast   bool              `yaml:"fast"`
	Warm   *bool             `yaml:"warm"`
	Every  time.Duration     `yaml:"every"`
	Splits []string          `yaml:"splits"`
	Model  brewModel         `yaml:"model"`
	Layers []brewLayer       `yaml:"layers"`
	Tags   map[string]string `yaml:"tags"`
}

type brewModel struct {
	Dim   int `yaml:"dim"`
	Heads int `yaml:"heads"`
}

type brewLayer struct {
	Width int `yaml:"width"`
}

func (b *brew) Kind() string { return "test/brew" }
func (b *brew) Version() int { return 1 }

func (b *brew) Run(context.Context, *pipeline.Task, pipeline.Part) error { return nil }

func (b *brew) Check() error {
	if b.Steps == 0 {
		b.Steps = 10
	}
	if b.Model.Dim == 0 {
		b.Model.Dim = 8
	}
	var errs []error
	if b.Steps < 0 {
		errs = append(errs, fmt.Errorf("steps: %d, want at least 1", b.Steps))
	}
	if b.Model.Dim < 0 {
		errs = append(errs, fmt.Errorf("model.dim: %d, want at least 1", b.Model.Dim))
	}
	for i, l := range b.Layers {
		if l.Width < 1 {
			errs = append(errs, fmt.Errorf("layers[%d].width: %d, want at least 1", i, l.Width))
		}
	}
	if b.Seed == 13 {
		errs = append(errs, errors.New("not today"))
	}
	return errors.Join(errs...)
}

// pour is a stage without parameters.
type pour struct{}

func (p *pour) Kind() string { return "test/pour" }
func (p *pour) Version() int { return 1 }

func (p *pour) Run(context.Context, *pipeline.Task, pipeline.Part) error { return nil }

func testKinds() map[string]func() pipeline.Stage {
	return map[string]func() pipeline.Stage{
		"test/brew": func() pipeline.Stage { return new(brew) },
		"test/pour": func() pipeline.Stage { return new(pour) },

		pipeline.FilesKind: func() pipeline.Stage { return new(pipeline.Files) },
		"tokenize/train":   func() pipeline.Stage { return new(tokenize.Train) },
		"tokenize/encode":  func() pipeline.Stage { return new(tokenize.Encode) },
	}
}

func parse(t *testing.T, text string, set ...string) (*Job, error) {
	t.Helper()
	return Parse("dir/job.yaml", []byte(text), set, testKinds())
}

func mustParse(t *testing.T, text string, set ...string) *Job {
	t.Helper()
	j, err := parse(t, text, set...)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func stage(t *testing.T, j *Job, name string) *Stage {
	t.Helper()
	i := slices.IndexFunc(j.Stages, func(s *Stage) bool { return s.Name == name })
	if i < 0 {
		t.Fatalf("no stage %s in %v", name, stageNames(j))
	}
	return j.Stages[i]
}

func stageNames(j *Job) []string {
	var names []string
	for _, s := range j.Stages {
		names = append(names, s.Name)
	}
	return names
}

func TestParameters(t *testing.T) {
	j := mustParse(t, `
name: tea
store: ../keep
max_dead: 2.5%
x-common: &common {seed: 0x10, rate: 1e-3}
stages:
  a:
    <<: *common
    kind: test/brew
    steps: 1e3
    name: 1.60
    fast: true
    warm: false
    every: 1h30m
    splits: [train, "7"]
    model: {dim: 4, heads: 2}
    layers:
      - width: 1
      - {width: 2}
  b: {kind: test/pour, max_dead: 20, inputs: {x: a}}
  c: {kind: pipeline/files, path: ../raw}
`)
	no := false
	want := &brew{
		Steps: 1000, Seed: 16, Rate: 0.001, Name: "1.60", Fast: true, Warm: &no, Every: 90 * time.Minute,
		Splits: []string{"train", "7"}, Model: brewModel{4, 2}, Layers: []brewLayer{{1}, {2}},
	}
	if got := stage(t, j, "a").Params; !reflect.DeepEqual(got, want) {
		t.Errorf("parameters %+v, want %+v", got, want)
	}
	if j.Name != "tea" || j.Store != "keep" || j.MaxDead.String() != "2.5%" || j.File != "dir/job.yaml" {
		t.Errorf("name %q store %q max dead %q file %q", j.Name, j.Store, j.MaxDead, j.File)
	}
	if got, want := stage(t, j, "b").Inputs, []Input{{"x", "a"}}; !slices.Equal(got, want) {
		t.Errorf("inputs %v, want %v", got, want)
	}
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := stage(t, j, "c").Params.(*pipeline.Files).Path, filepath.Join(wd, "raw"); got != want {
		t.Errorf("path %q, want %q", got, want)
	}
	g := j.Graph()
	if got, want := g.Nodes[1].Inputs, map[string]string{"x": "a"}; !maps.Equal(got, want) {
		t.Errorf("inputs of the graph's node %v, want %v", got, want)
	}
	for i, want := range []string{"2.5%", "20", "2.5%"} {
		if got := g.Nodes[i].MaxDead.String(); got != want {
			t.Errorf("limit of %s is %s, want %s", g.Nodes[i].Name, got, want)
		}
	}
	if got, want := g.Nodes[1].Pos, "dir/job.yaml:20"; got != want {
		t.Errorf("node stands at %s, want %s", got, want)
	}
	if got := mustParse(t, "stages: {a: {kind: test/brew}}").Name; got != "job" {
		t.Errorf("name of a file without one is %q, want job", got)
	}
}

func TestFaults(t *testing.T) {
	for _, c := range []struct {
		name, text string
		set        []string
		want       []string
	}{
		{"empty", "", nil, []string{"dir/job.yaml: empty file, want a mapping with stages"}},
		{"not a mapping", "- 1\n", nil, []string{"dir/job.yaml:1: a list, want a mapping with stages"}},
		{"syntax", "stages:\n  a: {kind: [\n", nil, []string{"dir/job.yaml:2: did not find expected node content"}},
		{"tab", "stages:\n\ta: 1\n", nil, []string{"dir/job.yaml:2: found character that cannot start any token"}},
		{"no stages", "name: x\n", nil, []string{"dir/job.yaml:1: stages: required"}},
		{"two documents", "stages: {a: {kind: test/brew}}\n---\nb: 1\n", nil, []string{"dir/job.yaml:2: a second document, want one a file"}},
		{
			"all at once", `name: [x]
max_dead: lots
stags: 1
stages:
  a:
    kind: test/brew
    stepz: 3
    steps: many
    fast: 1
    rate: .nan
    every: 5
    splits: train
    model: {dim: x, head: 2}
    layers: [{width: a}, 3]
    name: true
    warm:
  a-b:
    kind: test/brow
    inputs: {x: A, y: [a]}
  b!:
    kind: test/pour
  c: 3
  d: {inputs: {z: a}}
`, nil,
			[]string{
				"dir/job.yaml:1: name: a list, want text",
				`dir/job.yaml:2: max_dead: "lots": want a number of rows or a percentage from 0% to 100%`,
				"dir/job.yaml:3: stags: unknown field; did you mean stages?",
				"dir/job.yaml:7: a.stepz: unknown field; did you mean steps?",
				"dir/job.yaml:8: a.steps: many, want a whole number",
				"dir/job.yaml:9: a.fast: 1, want true or false",
				"dir/job.yaml:10: a.rate: .nan, want a finite number",
				"dir/job.yaml:11: a.every: 5, want a duration such as 1h30m",
				"dir/job.yaml:12: a.splits: train, want a list",
				"dir/job.yaml:13: a.model.dim: x, want a whole number",
				"dir/job.yaml:13: a.model.head: unknown field; did you mean heads?",
				"dir/job.yaml:14: a.layers[0].width: a, want a whole number",
				"dir/job.yaml:14: a.layers[1]: 3, want a mapping",
				"dir/job.yaml:15: a.name: true, want text (in quotes if it is meant so)",
				"dir/job.yaml:16: a.warm: no value",
				"dir/job.yaml:18: a-b.kind: no kind test/brow; did you mean test/brew?",
				"dir/job.yaml:19: a-b.inputs.y: a list, want the name of a stage",
				"dir/job.yaml:19: a-b.inputs.x: no stage A; did you mean a?",
				"dir/job.yaml:20: b!: not a name for a stage: want letters, digits, - and _",
				"dir/job.yaml:22: c: 3, want a mapping with kind",
				"dir/job.yaml:23: d.kind: required",
			},
		},
		{
			"check", `stages:
  a:
    kind: test/brew
    steps: -1
    model:
      heads: 2
      dim: -2
    layers:
      - width: 1
      - width: 0
    seed: 13
`, nil,
			[]string{
				"dir/job.yaml:2: a: not today",
				"dir/job.yaml:4: a.steps: -1, want at least 1",
				"dir/job.yaml:7: a.model.dim: -2, want at least 1",
				"dir/job.yaml:10: a.layers[1].width: 0, want at least 1",
			},
		},
		{
			"inputs", `stages:
  raw: {kind: pipeline/files, path: x, inputs: {y: b}}
  b: {kind: test/pour}
  a: {kind: test/pour, inputs: {anything: raw}}
  v: {kind: tokenize/train, inputs: {example: a}}
  t: {kind: tokenize/encode}
`, nil,
			[]string{
				"dir/job.yaml:2: raw.inputs.y: pipeline/files has no such input",
				"dir/job.yaml:5: v.inputs.example: tokenize/train has no such input; did you mean examples?",
				"dir/job.yaml:6: t.inputs.examples: required by tokenize/encode",
				"dir/job.yaml:6: t.inputs.vocab: required by tokenize/encode",
			},
		},
		{
			"twice", "stages:\n  a: {kind: test/brew}\n  a: {kind: test/pour}\n", nil,
			[]string{"dir/job.yaml:3: stages.a: given twice, first at line 2"},
		},
		{
			"circle", "stages:\n  a: {kind: test/pour, inputs: {x: b}}\n  b: {kind: test/pour, inputs: {x: c}}\n  c: {kind: test/pour, inputs: {x: b}}\n", nil,
			[]string{"dir/job.yaml:3: b.inputs: a circle: b reads c reads b"},
		},
		{
			"overrides", "stages: {a: {kind: test/brew}}",
			[]string{"a.stepz=3", "b.steps=3", "a", "max_dad=1", "a.steps=x", "a.model=3", "a=3", "a.model.dim=[", "stages=3"},
			[]string{
				"--set b.steps=3: b.steps: no stage b; did you mean a?",
				"--set a: want path=value, as in train.steps=30",
				"--set max_dad=1: max_dad: unknown field; want STAGE.FIELD or one of name, store, max_dead",
				"--set a=3: a: a stage; name a field of it, as in a.kind",
				"--set a.model.dim=[: did not find expected node content",
				"--set stages=3: stages: unknown field; want STAGE.FIELD or one of name, store, max_dead",
				"--set a.stepz=3: a.stepz: unknown field; did you mean steps?",
				"--set a.steps=x: a.steps: x, want a whole number",
				"--set a.model=3: a.model: 3, want a mapping",
			},
		},
		{
			"matrix", `stages:
  a:
    kind: test/brew
    seed: 1
    matrix:
      seed: [1, 2]
      steps: 3
      fats: [true]
      rate: [0.1, 0.1]
      name: ["a b"]
      every: []
      model: [{dim: 1}]
  b:
    kind: test/brew
    inputs: {x: c}
    matrix: {seed: [1]}
  c:
    kind: test/brew
    matrix: {seed: [1, 2]}
  d:
    kind: test/brew
    name: ${sed}
    inputs: {x: c}
    collect: [sed]
  e:
    kind: test/brew
    inputs: {x: "c[seed=3]", y: c, z: f}
  f:
    kind: test/brew
    matrix: {seed: [1, 2, 3]}
`, nil,
			[]string{
				"dir/job.yaml:6: a.seed: given by the matrix and at dir/job.yaml:4",
				"dir/job.yaml:7: a.matrix.steps: 3, want a list of values",
				"dir/job.yaml:8: a.matrix.fats: test/brew has no field fats, and no value names ${fats}; did you mean fast?",
				"dir/job.yaml:9: a.matrix.rate: 0.1 given twice",
				`dir/job.yaml:10: a.matrix.name: "a b" cannot stand in the name of a stage: give it a label, as in label: {field: value}`,
				"dir/job.yaml:11: a.matrix.every: no value",
				"dir/job.yaml:12: a.matrix.model: a mapping, want a plain value (or a mapping of labels to fields)",
				"dir/job.yaml:12: a.matrix.model: no value",
				"dir/job.yaml:16: b.matrix.seed: comes already from c; name it as ${seed} in a value",
				"dir/job.yaml:24: d.collect: no input has an axis sed; did you mean seed?",
				"dir/job.yaml:27: e.inputs.z: axis seed of f has the values 1 2 3, that of c has 1 2",
			},
		},
		{
			"variable", "stages:\n  a:\n    kind: test/brew\n    splits: [x, \"${y}\"]\n", nil,
			[]string{"dir/job.yaml:4: a.splits[1]: no axis y here; axes are none (write $${ for ${ itself)"},
		},
		{
			"fixed input", "stages:\n  a: {kind: test/brew, matrix: {seed: [1]}}\n  b: {kind: test/pour, inputs: {x: \"a[seed=2]\"}}\n", nil,
			[]string{"dir/job.yaml:3: b.inputs.x: no stage a[seed=2]; its axes are seed"},
		},
		{
			"summary", `stages:
  a: {kind: test/brew, matrix: {seed: [1, 2]}}
summary:
  ours: {stage: a, metric: cider}
  b: {stage: "a[seed=1]", metric: cider}
  c: {metric: cider}
  d: {stage: "a[seed=9]", metric: cider, splt: test}
  e: {stage: aa, metric: cider}
`, nil,
			[]string{
				"dir/job.yaml:4: summary.ours.stage: 2 stages, want one, such as a[seed=1]",
				"dir/job.yaml:6: summary.c.stage: required",
				"dir/job.yaml:7: summary.d.splt: unknown field; did you mean split?",
				"dir/job.yaml:7: summary.d.stage: no stage a[seed=9]; axes of a are seed",
				"dir/job.yaml:8: summary.e.stage: no stage aa; did you mean a?",
			},
		},
		{
			"alias in its anchor", "stages: &s\n  a: *s\n", nil,
			[]string{
				"dir/job.yaml:1: stages: no stage",
				"dir/job.yaml:2: stages.a: alias *s stands inside its own anchor",
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := parse(t, c.text, c.set...)
			var got []string
			var fs Faults
			if errors.As(err, &fs) {
				got = strings.Split(fs.Error(), "\n")
			} else if err != nil {
				t.Fatalf("error %v is not of type Faults", err)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(c.want, "\n  "))
			}
		})
	}
}

func TestAliasBombIsRefused(t *testing.T) {
	var b strings.Builder
	b.WriteString("x-0: &a0 [1,1,1,1,1,1,1,1,1,1]\n")
	for i := 1; i < 9; i++ {
		fmt.Fprintf(&b, "x-%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 10), ","))
	}
	b.WriteString("stages: {a: {kind: test/brew}}\n")
	_, err := parse(t, b.String())
	if err == nil || !strings.Contains(err.Error(), "more than 200000 values once aliases are followed") {
		t.Errorf("got %v, want a fault about the number of values", err)
	}
}

const sweep = `
stages:
  corpus: {kind: test/brew}
  split:
    kind: test/brew
    inputs: {examples: corpus}
    matrix: {seed: [1, 2]}
  train:
    kind: test/brew
    inputs: {split: split, corpus: corpus}
    seed: ${seed}
    name: run-${seed}-$${seed}-${size}
    matrix:
      size:
        small: {model.dim: 4, model.heads: 1}
        big: {model.dim: 8, model.heads: 2}
      model.extra: [1]
  score:
    kind: test/brew
    inputs: {model: train, split: split}
    tags: {size: mine}
  mean:
    kind: test/pour
    inputs: {scores: score, corpus: corpus}
    collect: [seed]
  all:
    kind: test/brew
    inputs: {scores: score, one: "train[seed=1,size=big,rate=0.5]"}
    collect: [seed, size, rate]
`

func TestMatrix(t *testing.T) {
	j := mustParse(t, strings.Replace(sweep, "model.extra: [1]", "rate: [0.5]", 1))
	want := []string{
		"corpus", "split[seed=1]", "split[seed=2]",
		"train[seed=1,size=small,rate=0.5]", "train[seed=1,size=big,rate=0.5]", "train[seed=2,size=small,rate=0.5]", "train[seed=2,size=big,rate=0.5]",
		"score[seed=1,size=small,rate=0.5]", "score[seed=1,size=big,rate=0.5]", "score[seed=2,size=small,rate=0.5]", "score[seed=2,size=big,rate=0.5]",
		"mean[size=small,rate=0.5]", "mean[size=big,rate=0.5]",
		"all",
	}
	if got := stageNames(j); !slices.Equal(got, want) {
		t.Fatalf("stages\n%q, want\n%q", got, want)
	}
	b := stage(t, j, "train[seed=2,size=big,rate=0.5]")
	got := b.Params.(*brew)
	if got.Seed != 2 || got.Rate != 0.5 || got.Model != (brewModel{8, 2}) || got.Name != "run-2-${seed}-big" {
		t.Errorf("parameters %+v", got)
	}
	if want := map[string]string{"seed": "2", "size": "big", "rate": "0.5"}; !reflect.DeepEqual(got.Tags, want) {
		t.Errorf("tags %v, want %v", got.Tags, want)
	}
	if got, want := b.Inputs, []Input{{"split", "split[seed=2]"}, {"corpus", "corpus"}}; !slices.Equal(got, want) {
		t.Errorf("inputs %v, want %v", got, want)
	}
	if got, want := stage(t, j, "split[seed=2]").Params.(*brew).Seed, uint64(2); got != want {
		t.Errorf("seed %d, want %d", got, want)
	}
	s := stage(t, j, "score[seed=1,size=small,rate=0.5]")
	if got, want := s.Inputs, []Input{{"model", "train[seed=1,size=small,rate=0.5]"}, {"split", "split[seed=1]"}}; !slices.Equal(got, want) {
		t.Errorf("inputs %v, want %v", got, want)
	}
	if sc := s.Params.(*brew); sc.Seed != 0 || sc.Tags["size"] != "mine" || sc.Tags["seed"] != "1" {
		t.Errorf("a stage behind a matrix has %+v; want no field set by it and its own tag kept", sc)
	}
	m := stage(t, j, "mean[size=big,rate=0.5]")
	if got, want := m.Inputs, []Input{
		{"scores[seed=1]", "score[seed=1,size=big,rate=0.5]"},
		{"scores[seed=2]", "score[seed=2,size=big,rate=0.5]"},
		{"corpus", "corpus"},
	}; !slices.Equal(got, want) {
		t.Errorf("inputs %v, want %v", got, want)
	}
	a := stage(t, j, "all")
	if got, want := len(a.Inputs), 5; got != want {
		t.Errorf("%d inputs, want %d: %v", got, want, a.Inputs)
	}
	if got, want := a.Inputs[1], (Input{"scores[seed=1,size=big,rate=0.5]", "score[seed=1,size=big,rate=0.5]"}); got != want {
		t.Errorf("input %v, want %v", got, want)
	}
	if got, want := a.Inputs[4], (Input{"one", "train[seed=1,size=big,rate=0.5]"}); got != want {
		t.Errorf("input %v, want %v", got, want)
	}

	found, err := j.Find("mean")
	if err != nil || len(found) != 2 {
		t.Errorf("Find(mean) = %d stages, %v; want 2", len(found), err)
	}
	if _, err := j.Find("man"); err == nil || !strings.Contains(err.Error(), "no stage man; did you mean mean?") {
		t.Errorf("Find(man): %v", err)
	}
}

func TestAxisSetsNestedField(t *testing.T) {
	j := mustParse(t, "stages: {a: {kind: test/brew, model: {heads: 3}, matrix: {model.dim: [1, 2]}}}")
	if got, want := stage(t, j, "a[model.dim=2]").Params.(*brew).Model, (brewModel{2, 3}); got != want {
		t.Errorf("model %v, want %v", got, want)
	}
}

func TestOverride(t *testing.T) {
	text := "x-a: &m {dim: 4}\nstages:\n  a: {kind: test/brew, steps: 5, model: *m, matrix: {seed: [1, 2]}}\n  b: {kind: test/brew, model: *m}\n"
	j := mustParse(t, text, "a.steps=7", "a.model.dim=9", "a.matrix.seed=[5]", "a.matrix.model.heads=[3]", "max_dead=3", "b.inputs.x=a", "a.name=x=y", "a.splits=[p, q]")
	if got, want := stageNames(j), []string{"a[seed=5,model.heads=3]", "b[seed=5,model.heads=3]"}; !slices.Equal(got, want) {
		t.Fatalf("stages %q, want %q", got, want)
	}
	a := j.Stages[0].Params.(*brew)
	if a.Steps != 7 || a.Model != (brewModel{9, 3}) || a.Seed != 5 || a.Name != "x=y" || !slices.Equal(a.Splits, []string{"p", "q"}) {
		t.Errorf("parameters %+v", a)
	}
	if b := j.Stages[1].Params.(*brew); b.Model.Dim != 4 {
		t.Errorf("an override of one use of an anchor changed the other: %+v", b)
	}
	if j.MaxDead.String() != "3" {
		t.Errorf("max dead %s, want 3", j.MaxDead)
	}
}

func TestSummary(t *testing.T) {
	j := mustParse(t, `
stages: {a: {kind: test/brew}}
summary:
  ours: {stage: a, metric: cider, split: test, tags: {subset: all}}
  size: {stage: a, metric: params}
`)
	rows := []score.Row{
		{Metric: "cider", Split: "test", Value: 1, Tags: map[string]string{"subset": "all"}},
		{Metric: "cider", Split: "test", Value: 2, Tags: map[string]string{"subset": "unseen"}},
		{Metric: "cider", Split: "test", Value: 3, ID: "x", Tags: map[string]string{"subset": "all"}},
		{Metric: "cider", Split: "val", Value: 4, Tags: map[string]string{"subset": "all"}},
	}
	if len(j.Summary) != 2 || j.Summary[0].Name != "ours" {
		t.Fatalf("summary %+v", j.Summary)
	}
	if r, err := j.Summary[0].Pick(rows); err != nil || r.Value != 1 {
		t.Errorf("picked %v, %v; want 1", r.Value, err)
	}
	if _, err := j.Summary[1].Pick(rows); err == nil || err.Error() != "summary.size: 0 scores of a fit, want 1" {
		t.Errorf("error %v", err)
	}
}
