package ia3

import (
	"strings"
	"testing"

	"espalier/trainer/model/t5"
	"espalier/trainer/peft"
	"espalier/trainer/peft/pefttest"
)

func TestReference(t *testing.T) {
	pkg := func(name string) string {
		name = strings.TrimPrefix(name, "base_model.model.")
		for _, last := range []string{"wo", "wi_1"} {
			if s, ok := strings.CutSuffix(name, last+".ia3_l.default"); ok {
				return s + last + ".ia3_input"
			}
		}
		return strings.Replace(name, ".ia3_l.default", ".ia3_output", 1)
	}
	adapters := func(name string) string { return strings.Replace(name, ".loras.a.lora_B", ".ia3_output", 1) }
	for _, c := range []struct {
		base, folder string
		m            Method
		rename       func(string) string
	}{
		{"t5-v1_0", "peft/t5-v1_0/ia3", Method{}, pkg},
		{"t5-v1_1", "peft/t5-v1_1/ia3", Method{Outputs: []string{"**.k", "**.v"}, Inputs: []string{"**.wi_1"}}, pkg},
		{"t5-v1_0", "adapters/t5-v1_0/ia3", Method{Outputs: []string{"**.{k,v,wi}"}}, adapters},
	} {
		t.Run(c.folder, func(t *testing.T) {
			pefttest.Golden{Base: c.base, Folder: c.folder, Rename: c.rename}.Run(t, &c.m)
		})
	}
}

// At T5-base's size: two vectors of 768 for each of 36 attentions, one of 3072
// for each of 24 feed-forwards.
func TestCounts(t *testing.T) {
	got, _, err := t5.Count(pefttest.BaseConfig(), t5.Options{Methods: []peft.Method{&Method{}}})
	if err != nil {
		t.Fatal(err)
	}
	if want := 36*2*768 + 24*3072; got != want {
		t.Errorf("%d trained values, want %d", got, want)
	}
}

// Training starts with the model as it is, and every vector gets a gradient.
func TestGradients(t *testing.T) {
	pefttest.Gradients(t, peft.Given{}, &Method{})
	pefttest.StartsPlain(t, peft.Given{}, &Method{})
}
