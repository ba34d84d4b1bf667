package lora

import (
	"strings"
	"testing"

	"espalier/trainer/peft/pefttest"
)

// path is a parameter of ours for a name of the peft package.
func path(name string) string {
	name = strings.TrimPrefix(name, "base_model.model.")
	name = strings.ReplaceAll(name, ".modules_to_save.default", "")
	return strings.ReplaceAll(name, ".default.", ".")
}

func TestReference(t *testing.T) {
	for _, c := range []struct {
		base, name string
		m          Method
	}{
		{"t5-v1_0", "lora_qv", Method{Rank: 3, Alpha: 6}},
		{"t5-v1_0", "lora_all_rs", Method{Maps: []string{"**.{q,k,v,o,wi,wo}"}, Rank: 2, Alpha: 8, Stabilised: true}},
		{"t5-v1_0", "lora_plus_norms", Method{Rank: 2, Alpha: 4, Norms: true}},
		{"t5-v1_1", "lora_all", Method{Maps: []string{"**.{q,k,v,o,wi_0,wi_1,wo}"}, Rank: 3, Alpha: 3}},
	} {
		t.Run(c.base+" "+c.name, func(t *testing.T) {
			pefttest.Golden{Base: c.base, Folder: "peft/" + c.base + "/" + c.name, Rename: path}.Run(t, &c.m)
		})
	}
}

// The adapters package has (alpha/r) B A too.
func TestAdapters(t *testing.T) {
	rename := func(name string) string { return strings.Replace(name, ".loras.a.", ".", 1) + ".weight" }
	pefttest.Golden{Base: "t5-v1_0", Folder: "adapters/t5-v1_0/lora", Rename: rename}.Run(t, &Method{Rank: 2, Alpha: 4})
}
