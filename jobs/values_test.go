package jobs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const withValues = `
values: {seeds: [1, 2], name: tea, rate: 0.5, layers: [{width: 3}]}
stages:
  a:
    kind: test/brew
    name: ${name} of ${pot}, $${rate}
    rate: ${rate}
    layers: ${layers}
    matrix:
      seed: ${seeds}
      pot: [blue]
`

func TestValues(t *testing.T) {
	j := mustParse(t, withValues)
	if got := stageNames(j); !slices.Equal(got, []string{"a[seed=1,pot=blue]", "a[seed=2,pot=blue]"}) {
		t.Fatalf("stages %v", got)
	}
	b := j.Stages[1].Params.(*brew)
	if b.Name != "tea of blue, ${rate}" || b.Rate != 0.5 || b.Seed != 2 || len(b.Layers) != 1 || b.Layers[0].Width != 3 {
		t.Errorf("%+v", b)
	}
	j = mustParse(t, withValues, "seeds=[7]", "values.rate=2", "name=coffee")
	b = j.Stages[0].Params.(*brew)
	if len(j.Stages) != 1 || b.Name != "coffee of blue, ${rate}" || b.Rate != 2 || b.Seed != 7 {
		t.Errorf("%d stages, %+v", len(j.Stages), b)
	}
}

func TestReadValues(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sample.yaml")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("# for a look\nseeds: # two\n  - 8\n  - 9\nname: \"a: b\"\nlayers:\n  - width: 5\n")
	set, err := ReadValues(file)
	if want := []string{"seeds=[8, 9]", `name="a: b"`, "layers=[{width: 5}]"}; err != nil || !slices.Equal(set, want) {
		t.Fatalf("%q, %v, want %q", set, err, want)
	}
	j := mustParse(t, withValues, append(set, "name=tea")...)
	if b := j.Stages[1].Params.(*brew); b.Seed != 9 || b.Layers[0].Width != 5 || b.Name != "tea of blue, ${rate}" {
		t.Errorf("%+v", b)
	}
	for text, want := range map[string]string{
		"- 1\n":               "want a mapping of names to values",
		"":                    "want a mapping of names to values",
		"a: &x 1\n":           "line 1: a file of values has no anchors",
		"ok: 1\n\"b.c\": 2\n": `line 2: "b.c" is no name for a value`,
		"a: [1\n":             "did not find expected",
	} {
		write(text)
		if _, err := ReadValues(file); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "sample.yaml") {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	write("idle: 3\n")
	set, err = ReadValues(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parse(t, withValues, set...); err == nil || !strings.Contains(err.Error(), "--set idle=3: idle: unknown field") {
		t.Errorf("a value that the job has not: %v", err)
	}
}

func TestValueFaults(t *testing.T) {
	_, err := parse(t, `values:
  seed: 3
  idle: 1
  "no name": 2
  both: ${seed}
  list: [1]
stages:
  a:
    kind: test/brew
    name: x${list}y
    matrix: {seed: [1]}
  b: {kind: test/brew, seed: "${seed}", name: "${both}"}
`, "steps=4")
	var faults Faults
	if !errors.As(err, &faults) {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.SplitSeq(err.Error(), "\n") {
		got = append(got, line)
	}
	for _, want := range []string{
		"dir/job.yaml:3: values.idle: no stage names ${idle}",
		`dir/job.yaml:4: values.no name: not a name for a value: want letters, digits, - and _`,
		"dir/job.yaml:5: values.both: ${seed}: a value may name no other",
		"dir/job.yaml:10: a: ${list} within a text is a list, want a plain value",
		"dir/job.yaml:11: a.matrix.seed: the file has a value of this name",
		"--set steps=4: steps: unknown field; want STAGE.FIELD or one of name, store, max_dead, seed, idle, no name, both, list",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, err)
		}
	}
}

func TestNamesOfALabel(t *testing.T) {
	j := mustParse(t, `
stages:
  a:
    kind: test/brew
    matrix:
      target:
        cb: {name: first, $donor: mnli, $sizes: [{width: 1}]}
        imdb: {name: second, $donor: sst2, $sizes: [{width: 2}, {width: 3}]}
  b:
    kind: test/brew
    inputs: {x: a}
    name: ${target} from ${donor}
    layers: ${sizes}
`)
	var got []string
	for _, s := range j.Stages {
		b := s.Params.(*brew)
		got = append(got, fmt.Sprintf("%s %s %d", s.Name, b.Name, len(b.Layers)))
	}
	want := []string{"a[target=cb] first 0", "a[target=imdb] second 0", "b[target=cb] cb from mnli 1", "b[target=imdb] imdb from sst2 2"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	_, err := parse(t, "stages:\n  a:\n    kind: test/brew\n    name: ${donor}\n    matrix: {target: {cb: {$donor: x}, imdb: {seed: 1}}}\n")
	if err == nil || !strings.Contains(err.Error(), "dir/job.yaml:4: a.name: no axis donor here") {
		t.Errorf("a name that one label lacks: %v", err)
	}
}
