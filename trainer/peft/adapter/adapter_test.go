package adapter

import (
	"strings"
	"testing"

	"espalier/trainer/model/t5"
	"espalier/trainer/nn"
	"espalier/trainer/peft"
	"espalier/trainer/peft/pefttest"
)

// path is a parameter of ours for a name of the adapters package.
func path(name string) string {
	return strings.NewReplacer(
		".adapters.a.adapter_down.0.", ".adapter.down.", ".adapters.a.adapter_up.", ".adapter.up.",
		".adapters.a.adapter_norm_after.", ".adapter.norm.", ".adapters.a.scaling", ".adapter.scale",
	).Replace(name)
}

func TestReference(t *testing.T) {
	no, four := false, 4.0
	all := Sites{[]string{"self", "cross", "feed_forward"}}
	last := Sites{[]string{"feed_forward"}}
	plain := func(m Method) Method {
		m.Reduction, m.Norms = 4, &no
		if m.PostNorm == nil {
			m.PostNorm = &no
		}
		return m
	}
	yes := true
	beside := Place{Position: "parallel", Input: "stream"}
	for _, c := range []struct {
		base, name string
		m          Method
	}{
		{"t5-v1_0", "houlsby", Method{Act: "silu"}},
		{"t5-v1_1", "houlsby", Method{Act: "silu"}},
		{"t5-v1_0", "houlsby_cross", Method{Sites: all, Act: "silu"}},
		{"t5-v1_0", "vl_adapter", Method{Sites: all}},
		{"t5-v1_0", "hyperformer_like", Method{PostNorm: &yes}},
		{"t5-v1_0", "pfeiffer", Method{Sites: last, Place: Place{Position: "stream"}, Act: "relu"}},
		{"t5-v1_0", "parallel", Method{Sites: last, Place: beside, Act: "relu", Scale: &four}},
		{"t5-v1_1", "parallel", Method{Sites: last, Place: beside, Act: "relu", Scale: &four}},
		{"t5-v1_0", "parallel_learned", Method{Sites: last, Place: beside, Act: "gelu", LearnScale: true}},
	} {
		t.Run(c.base+" "+c.name, func(t *testing.T) {
			m := plain(c.m)
			pefttest.Golden{Base: c.base, Folder: "adapters/" + c.base + "/" + c.name, Rename: path}.Run(t, &m)
		})
	}
}

// The paper's adapters of three tasks with shared LayerNorms.
func TestPaper(t *testing.T) {
	rename := func(name string) string {
		p := pefttest.PaperPath(name)
		site, rest, _ := strings.Cut(strings.NewReplacer(".SelfAttention.", "|", ".DenseReluDense.", "|").Replace(p), "|")
		if rest == "" {
			return p
		}
		if post, ok := strings.CutPrefix(rest, "post."); ok {
			return site + ".adapter.norm." + map[string]string{"w": "weight", "c": "bias"}[post]
		}
		part := strings.Split(rest, ".") // task, down or up, w or c
		return site + ".adapter." + part[1] + "." + map[string]string{"w": "weight", "c": "bias"}[part[2]] + "[" + part[0] + "]"
	}
	pefttest.Paper{File: "adapters", Rename: rename}.RunBoth(t, func(z pefttest.Sizes) []peft.Method {
		return []peft.Method{&Method{Bottleneck: z.Bottleneck, PerTask: true}}
	})
}

// The published sizes at T5-base's, norms included (spec 8.2).
func TestCounts(t *testing.T) {
	for _, c := range []struct {
		name  string
		m     Method
		tasks int
		want  int
	}{
		{"Adapters", Method{}, 1, 1928832},
		{"Adapters-dagger", Method{PerTask: true}, 8, 14581248},
	} {
		got, _, err := t5.Count(pefttest.BaseConfig(), t5.Options{Methods: []peft.Method{&c.m}, Given: peft.Given{Tasks: make([]string, c.tasks)}})
		if err != nil {
			t.Fatal(err)
		}
		if got != c.want {
			t.Errorf("%s: %d trained values, want %d", c.name, got, c.want)
		}
	}
}

func TestCheck(t *testing.T) {
	m := Method{Sites: Sites{[]string{"selves"}}, Place: Place{Position: "above", Input: "x"}, Reduction: -1, Act: "sin", Init: "big"}
	err := m.Check()
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"sites:", "position:", "input:", "reduction:", "act:", "init:"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q says nothing of %s", err, want)
		}
	}
	if err := (&Method{Reduction: 100}).Edit(peft.NewEditor(&peft.Layout{Width: 8}, nn.NewParams(nil, 1), peft.Given{})); err == nil {
		t.Error("an adapter of width 0 is made")
	}
}
