package hyperformer

import (
	"strings"
	"testing"

	"espalier/trainer/model/t5"
	"espalier/trainer/peft"
	"espalier/trainer/peft/pefttest"
)

func TestPaper(t *testing.T) {
	rename := func(name string) string {
		stack, rest, ok := strings.Cut(name, ".hyper.")
		switch {
		case name == "task":
			return "hyperformer.tasks"
		case !ok:
			return pefttest.PaperPath(name)
		}
		path := "hyperformer." + stack + "oder."
		switch rest {
		case "layer", "block":
			return path + rest + "s"
		case "projector.w1":
			return path + "projector.in.weight"
		case "projector.c1":
			return path + "projector.in.bias"
		case "projector.w2":
			return path + "projector.out.weight"
		case "projector.c2":
			return path + "projector.out.bias"
		}
		head, part, _ := strings.Cut(rest, ".")
		return path + map[string]string{
			"norm": "norm", "down": "down", "b_down": "down_bias", "up": "up", "b_up": "up_bias",
			"post_w": "norm_gain", "post_c": "norm_shift",
		}[head] + map[string]string{"w": ".weight", "c": ".bias"}[part]
	}
	pefttest.Paper{File: "hyperformer", Rename: rename}.RunBoth(t, func(z pefttest.Sizes) []peft.Method {
		return []peft.Method{&Method{TaskWidth: z.TaskWidth, Hidden: z.Mid, Width: z.Embedding, Bottleneck: z.Bottleneck}}
	})
}

// The published sizes at T5-base's, norms included (spec 8.1 and the goldens'
// parameter_counts.jsonl).
func TestCounts(t *testing.T) {
	for _, c := range []struct {
		name string
		m    Method
		want int
	}{
		{"HyperFormer++", Method{}, 5211056},
		{"a network for each site", Method{Networks: "site"}, 122327168},
		{"a network for each site, projected", Method{Networks: "site", TaskWidth: 512}, 122404672},
		{"a network for each kind", Method{Networks: "kind"}, 10289376},
	} {
		got, _, err := t5.Count(pefttest.BaseConfig(), t5.Options{Methods: []peft.Method{&c.m}, Given: peft.Given{Tasks: make([]string, 8)}})
		if err != nil {
			t.Fatal(err)
		}
		if got != c.want {
			t.Errorf("%s: %d trained values, want %d", c.name, got, c.want)
		}
	}
}

// Every layout of networks runs, and all that is trained gets a gradient but for
// the embeddings of other tasks.
func TestNetworks(t *testing.T) {
	for _, m := range []Method{{Networks: "kind"}, {Networks: "site"}, {Networks: "site", Width: 5}} {
		m.TaskWidth, m.Hidden, m.Bottleneck = 7, 6, 2
		m.Width = max(m.Width, 7)
		pefttest.Gradients(t, peft.Given{Tasks: pefttest.Tasks}, &m)
	}
}

func TestCheck(t *testing.T) {
	m := Method{Networks: "layer", Hidden: -1, Act: "sin"}
	err := m.Check()
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"networks:", "hidden: -1", "act:"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q says nothing of %s", err, want)
		}
	}
}
