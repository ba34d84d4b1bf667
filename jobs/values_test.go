package jobs

import (
	"errors"
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
