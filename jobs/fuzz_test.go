package jobs

import (
	"errors"
	"strings"
	"testing"
)

// FuzzParse holds that any bytes either give a job whose parts agree, or
// faults that each name a place.
func FuzzParse(f *testing.F) {
	f.Add(sweep, "train.steps=3")
	f.Add("stages: &s\n  a: *s\n", "a.b=1")
	f.Add("<<: {stages: {a: {kind: test/brew}}}\n", "max_dead=1%")
	f.Add("stages: {a: {kind: test/brew, matrix: {seed: [1, 2], size: {x: {steps: 1}}}, name: \"${seed}${x\"}}\nsummary: {s: {stage: a, metric: m}}", "")
	f.Add("stages: {a: {kind: test/brew, inputs: {x: \"b[seed=1]\"}, collect: [seed]}, b: {kind: test/pour, inputs: {x: a}}}", "a.matrix.seed=[1]")
	f.Add("? [a]\n: b\n", "=")
	f.Fuzz(func(t *testing.T, text, set string) {
		if strings.Count(text, "[")+strings.Count(text, "{") > 1000 {
			t.Skip("deep nesting is slow to parse and tells nothing new")
		}
		j, err := Parse("job.yaml", []byte(text), []string{set}, testKinds())
		if err != nil {
			var fs Faults
			if !errors.As(err, &fs) || len(fs) == 0 {
				t.Fatalf("error %v is not a list of faults", err)
			}
			for _, fault := range fs {
				if fault.Pos == "" || fault.What == "" {
					t.Errorf("fault %+v has no place or no text", fault)
				}
			}
			return
		}
		names := make(map[string]bool)
		for _, s := range j.Stages {
			if names[s.Name] {
				t.Errorf("two stages are named %q", s.Name)
			}
			names[s.Name] = true
		}
		for _, s := range j.Stages {
			for _, in := range s.Inputs {
				if !names[in.Stage] {
					t.Errorf("%s reads %s, which is not there", s.Name, in.Stage)
				}
			}
		}
	})
}
