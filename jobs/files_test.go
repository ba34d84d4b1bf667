package jobs

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestJobFiles holds that the jobs of this folder are sound, that each stage of
// smoke.yaml is one of demo.yaml, of the same kind and with the same inputs, and
// that the numbers that the demo prints are named.
func TestJobFiles(t *testing.T) {
	files, err := filepath.Glob("*.yaml")
	if err != nil || len(files) < 3 {
		t.Fatalf("files %v, %v", files, err)
	}
	jobs := make(map[string]*Job)
	for _, f := range files {
		j, err := Load(f, nil, nil)
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		jobs[f] = j
	}
	demo, smoke := jobs["demo.yaml"], jobs["smoke.yaml"]
	if demo == nil || smoke == nil {
		t.Fatal("demo.yaml and smoke.yaml are not both here")
	}
	for _, name := range []string{"ours", "shuffled", "blind", "ceiling", "unseen"} {
		for _, j := range []*Job{demo, smoke} {
			found := false
			for _, n := range j.Summary {
				found = found || n.Name == name && n.Metric == "cider"
			}
			if !found {
				t.Errorf("%s does not print %s", j.File, name)
			}
		}
	}
	if len(demo.Stages) != len(smoke.Stages) {
		t.Errorf("demo.yaml has %d stages, smoke.yaml %d", len(demo.Stages), len(smoke.Stages))
	}
	for _, s := range smoke.Stages {
		found, err := demo.Find(s.Name)
		if err != nil {
			t.Error(err)
			continue
		}
		d := found[0]
		if d.Params.Kind() != s.Params.Kind() || len(d.Inputs) != len(s.Inputs) {
			t.Errorf("%s is %s with %d inputs in the demo, %s with %d in smoke", s.Name, d.Params.Kind(), len(d.Inputs), s.Params.Kind(), len(s.Inputs))
			continue
		}
		for _, in := range s.Inputs {
			same := false
			for _, other := range d.Inputs {
				same = same || other == in
			}
			if !same {
				t.Errorf("%s reads %s as %s in smoke alone", s.Name, in.Stage, in.Name)
			}
		}
	}
}

// TestPaperJobs holds that the jobs of papers are sound as they are, and with
// their miniatures' values.
func TestPaperJobs(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("paper", "hyperpelt-*.yaml"))
	if err != nil || len(files) != 4 {
		t.Fatalf("files %v, %v", files, err)
	}
	for _, f := range files {
		if _, err := Load(f, nil, nil); err != nil {
			t.Error(err)
		}
		set, err := ReadValues(strings.Replace(f, "hyperpelt-", "sample-", 1))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Load(f, set, nil); err != nil {
			t.Error(err)
		}
	}
}
