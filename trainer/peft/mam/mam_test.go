package mam

import (
	"strings"
	"testing"

	"espalier/trainer/model/t5"
	"espalier/trainer/peft"
	"espalier/trainer/peft/adapter"
	"espalier/trainer/peft/pefttest"
	"espalier/trainer/peft/prefix"
)

func TestPaper(t *testing.T) {
	rename := func(name string) string {
		p := pefttest.PaperPath(name)
		if site, rest, ok := strings.Cut(p, ".DenseReluDense."); ok {
			part, value, _ := strings.Cut(rest, ".")
			return site + ".adapter." + part + "." + map[string]string{"w": "weight", "c": "bias"}[value]
		}
		return pefttest.PrefixPath(name)
	}
	pefttest.Paper{File: "mam", Rename: rename}.RunBoth(t, func(z pefttest.Sizes) []peft.Method {
		return []peft.Method{&Method{Prefix: prefix.Method{Rows: z.Rows, Hidden: z.PrefixMid}, Adapter: adapter.Method{Bottleneck: z.Bottleneck}}}
	})
}

func TestReference(t *testing.T) {
	rename := func(name string) string {
		if _, rest, ok := strings.Cut(name, ".prefix_tunings.a."); ok {
			return "prefix." + strings.NewReplacer("encoder_prefix", "encoder", "self_prefix", "decoder", "cross_prefix", "cross",
				"wte.weight", "table", "control_trans.0", "in", "control_trans.2", "out").Replace(rest)
		}
		return strings.NewReplacer(".adapters.a.adapter_down.0.", ".adapter.down.", ".adapters.a.adapter_up.", ".adapter.up.").Replace(name)
	}
	m := Method{
		Prefix:  prefix.Method{Rows: 3, Hidden: 5, Place: "inside"},
		Adapter: adapter.Method{Reduction: 4, Place: adapter.Place{Input: "stream"}},
	}
	pefttest.Golden{Base: "t5-v1_0", Folder: "adapters/t5-v1_0/mam", Rename: rename}.Run(t, &m)
}

// The size at T5-base's, without norms (spec 8.3).
func TestCounts(t *testing.T) {
	got, _, err := t5.Count(pefttest.BaseConfig(), t5.Options{Methods: []peft.Method{&Method{}}})
	if err != nil {
		t.Fatal(err)
	}
	if want := 30564672; got != want {
		t.Errorf("%d trained values, want %d", got, want)
	}
}

func TestCheck(t *testing.T) {
	m := Method{Prefix: prefix.Method{Rows: -1}, Adapter: adapter.Method{Act: "sin"}}
	err := m.Check()
	if err == nil || !strings.Contains(err.Error(), "prefix.rows: -1") || !strings.Contains(err.Error(), `adapter.act: "sin"`) {
		t.Errorf("error %v", err)
	}
}
