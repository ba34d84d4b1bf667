package hyperpelt

import (
	"strings"
	"testing"

	"espalier/trainer/model/t5"
	"espalier/trainer/peft"
	"espalier/trainer/peft/hyper"
	"espalier/trainer/peft/pefttest"
)

func small() hyper.Settings {
	return hyper.Settings{Rows: 9, Hidden: 10, Width: 6, Reduction: 6}
}

func sized(z pefttest.Sizes) hyper.Settings {
	return hyper.Settings{Rows: z.Rows, Hidden: z.Mid, Width: z.Embedding, Bottleneck: z.Bottleneck}
}

func TestPaper(t *testing.T) {
	pefttest.Paper{File: "hyperprefix", Rename: pefttest.HyperPath}.RunBoth(t, func(z pefttest.Sizes) []peft.Method {
		return []peft.Method{&Prefix{sized(z)}}
	})
	pefttest.Paper{File: "hyperpelt", Rename: pefttest.HyperPath}.RunBoth(t, func(z pefttest.Sizes) []peft.Method {
		return []peft.Method{&Method{sized(z)}}
	})
}

// Both kinds of T5, of which one has a stack with more layers than the other.
func TestLayers(t *testing.T) {
	s := hyper.Settings{Rows: 5, Hidden: 8, Width: 6, Bottleneck: 4}
	for _, base := range []string{"t5-v1_0", "t5-v1_1"} {
		for name, m := range map[string]peft.Method{"hyperprefix": &Prefix{s}, "hyperpelt": &Method{s}} {
			t.Run(base+" "+name, func(t *testing.T) {
				rename := func(of string) string {
					path := pefttest.LayersPath(of)
					if name == "hyperprefix" && (strings.Contains(path, ".adapter.") || strings.HasSuffix(path, ".lambda")) {
						return "" // the golden has them, unused
					}
					return path
				}
				g := pefttest.Golden{Base: base, Folder: "papers/" + base + "/" + name, Rename: rename, Task: 1}
				g.Given.Tasks = pefttest.Tasks
				g.Run(t, m)
			})
		}
	}
}

// The published sizes at T5-base's: see spec/hyperpelt.md 8.4, 8.5 and 18.7.
func TestCounts(t *testing.T) {
	const norms = 47616
	glue := peft.Given{Tasks: make([]string, 8)}
	for _, c := range []struct {
		name   string
		method peft.Method
		want   int // without norms
	}{
		{"HyperPrefix", &Prefix{}, 1343936},
		{"HyperPrefix, all per stack", &Prefix{hyper.Settings{Networks: "stack", Tables: "all"}}, 2687872},
		{"HyperPrefix, tasks shared", &Prefix{hyper.Settings{Networks: "stack", Tables: "stack"}}, 2386816},
		{"HyperPELT", &Method{}, 3791600},
		{"HyperPELT, 24 layer rows", &Method{hyper.Settings{LayerTable: "each"}}, 4243160 + 24},
		{"HyperPELT, one head's worth of rows", &Method{hyper.Settings{Pool: "rows", AdapterBias: new(bool), Lambda: "fixed"}}, 1343936 + 2*49920},
	} {
		trained, base, err := t5.Count(pefttest.BaseConfig(), t5.Options{Methods: []peft.Method{c.method}, Given: glue})
		if err != nil {
			t.Fatal(err)
		}
		if trained-norms != c.want || base != 222903552 {
			t.Errorf("%s: %d of %d, want %d", c.name, trained-norms, base, c.want)
		}
	}
}

// TaskEmbed trains the task's embedding and nothing else, 0.0169 % of T5-base
// (spec 8.8).
func TestTaskEmbed(t *testing.T) {
	got, _, err := t5.Count(pefttest.BaseConfig(), t5.Options{Methods: []peft.Method{&TaskEmbed{}}})
	if err != nil {
		t.Fatal(err)
	}
	if want := 37632; got != want {
		t.Errorf("%d trained values, want %d", got, want)
	}
	m := pefttest.Gradients(t, peft.Given{Tasks: pefttest.Tasks}, &TaskEmbed{hyper.Settings{Rows: 3, Hidden: 5, Width: 4, Bottleneck: 2, HeadStd: 0.5}})
	for _, p := range m.Params().All() {
		if trained := p.Path == "hyper.tasks"; p.Frozen == trained {
			t.Errorf("%s: frozen %v", p.Path, p.Frozen)
		}
		if p.Path != "hyper.tasks" && !p.Grad.IsZero() {
			t.Errorf("%s has a gradient", p.Path)
		}
	}
	if err := (&TaskEmbed{hyper.Settings{Norms: "trained"}}).Check(); err == nil {
		t.Error("norms are trained")
	}
}
