package compacter

import (
	"strings"
	"testing"

	"espalier/trainer/model/t5"
	"espalier/trainer/peft"
	"espalier/trainer/peft/adapter"
	"espalier/trainer/peft/pefttest"
)

func TestPaper(t *testing.T) {
	rename := func(name string) string {
		if name == "rule" {
			return "compacter.rule"
		}
		p := pefttest.PaperPath(name)
		for _, module := range []string{".SelfAttention.", ".DenseReluDense."} {
			if site, rest, ok := strings.Cut(p, module); ok {
				part, value, _ := strings.Cut(rest, ".")
				return site + ".compacter." + part + "." + map[string]string{"left": "left", "right": "right", "c": "bias"}[value]
			}
		}
		return p
	}
	pefttest.Paper{File: "compacter", Rename: rename}.RunBoth(t, func(z pefttest.Sizes) []peft.Method {
		return []peft.Method{&Method{Bottleneck: z.Bottleneck, Parts: 2}}
	})
}

func TestReference(t *testing.T) {
	no := false
	rename := func(name string) string {
		if name == "shared_parameters.a.phm_rule" {
			return "compacter.rule"
		}
		site, rest, _ := strings.Cut(name, ".adapters.a.adapter_")
		part, value, _ := strings.Cut(strings.Replace(rest, "down.0.", "down.", 1), ".")
		return site + ".compacter." + part + "." + map[string]string{
			"W_left": "left", "W_right": "right", "W": "whole", "b": "bias", "phm_rule": "rule",
		}[value]
	}
	last := adapter.Sites{Sites: []string{"feed_forward"}}
	for _, c := range []struct {
		name string
		m    Method
	}{
		{"compacter", Method{}},
		{"compacter_pp", Method{Sites: last, Place: adapter.Place{Position: "stream"}, Parts: 2, Rank: 2}},
		{"phm_full", Method{Parts: 2, Full: true, OwnRules: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := c.m
			m.Reduction, m.Act, m.Norms = 4, "gelu", &no
			pefttest.Golden{Base: "t5-v1_0", Folder: "adapters/t5-v1_0/" + c.name, Rename: rename}.Run(t, &m)
		})
	}
}

// At T5-base's size with a width of 48, without norms (the goldens'
// parameter_counts.jsonl).
func TestCounts(t *testing.T) {
	got, _, err := t5.Count(pefttest.BaseConfig(), t5.Options{Methods: []peft.Method{&Method{Reduction: 16, Norms: new(bool)}}})
	if err != nil {
		t.Fatal(err)
	}
	if want := 117568; got != want {
		t.Errorf("%d trained values, want %d", got, want)
	}
}

func TestGradients(t *testing.T) {
	pefttest.Gradients(t, peft.Given{}, &Method{Parts: 2, Bottleneck: 4})
	pefttest.Gradients(t, peft.Given{}, &Method{Parts: 4, Bottleneck: 4, Full: true, OwnRules: true})
}

func TestCheck(t *testing.T) {
	m := Method{Parts: -1, Act: "sin"}
	if err := m.Check(); err == nil || !strings.Contains(err.Error(), "parts: -1") || !strings.Contains(err.Error(), "act:") {
		t.Errorf("error %v", err)
	}
	_, _, err := t5.Count(pefttest.BaseConfig(), t5.Options{Methods: []peft.Method{&Method{Parts: 5}}})
	if err == nil || !strings.Contains(err.Error(), "parts: 5, want a divisor of the widths 768 and 24") {
		t.Errorf("error %v", err)
	}
}
