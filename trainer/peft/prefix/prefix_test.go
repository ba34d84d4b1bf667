package prefix

import (
	"strings"
	"testing"

	"espalier/trainer/model/t5"
	"espalier/trainer/peft"
	"espalier/trainer/peft/pefttest"
)

func TestPaper(t *testing.T) {
	pefttest.Paper{File: "prefix_tuning", Rename: pefttest.PrefixPath}.RunBoth(t, func(z pefttest.Sizes) []peft.Method {
		return []peft.Method{&Method{Rows: z.Rows, Hidden: z.PrefixMid}}
	})
}

func TestReference(t *testing.T) {
	adapters := func(name string) string {
		_, rest, _ := strings.Cut(name, ".prefix_tunings.a.")
		site, rest, _ := strings.Cut(rest, "_prefix.")
		return "prefix." + map[string]string{"encoder": "encoder", "self": "decoder", "cross": "cross"}[site] + "." +
			strings.NewReplacer("wte.weight", "table", "control_trans.0", "in", "control_trans.2", "out", "control_trans", "flat").Replace(rest)
	}
	pkg := func(name string) string {
		return strings.NewReplacer("prompt_encoder.default.", "prefix.decoder.", "embedding.weight", "table",
			"transform.0", "in", "transform.2", "out").Replace(name)
	}
	flat := func(name string) string { return strings.Replace(pkg(name), "table", "flat", 1) }
	for _, c := range []struct {
		base, folder string
		m            Method
		rename       func(string) string
	}{
		{"t5-v1_0", "adapters/t5-v1_0/prefix_flat", Method{Rows: 4, Flat: true, Place: "inside"}, adapters},
		{"t5-v1_1", "adapters/t5-v1_1/prefix_flat", Method{Rows: 4, Flat: true, Place: "inside"}, adapters},
		{"t5-v1_0", "adapters/t5-v1_0/prefix_mlp", Method{Rows: 4, Hidden: 7, Place: "inside"}, adapters},
		{"t5-square", "peft/t5-square/prefix", Method{Rows: 4, Flat: true, Place: "before", Sites: []string{"decoder"}, Slices: "peft"}, flat},
		{"t5-square", "peft/t5-square/prefix_projection", Method{Rows: 4, Hidden: 7, Place: "before", Sites: []string{"decoder"}, Slices: "peft"}, pkg},
	} {
		t.Run(c.folder, func(t *testing.T) {
			pefttest.Golden{Base: c.base, Folder: c.folder, Rename: c.rename}.Run(t, &c.m)
		})
	}
}

// The published sizes at T5-base's, without norms (spec 8.3).
func TestCounts(t *testing.T) {
	for _, c := range []struct {
		m    Method
		want int
	}{
		{Method{}, 29660928},
		{Method{Hidden: 800}, 46250592},
		{Method{Flat: true}, 3 * 49 * 24 * 768},
	} {
		got, _, err := t5.Count(pefttest.BaseConfig(), t5.Options{Methods: []peft.Method{&c.m}})
		if err != nil {
			t.Fatal(err)
		}
		if got != c.want {
			t.Errorf("%+v: %d trained values, want %d", c.m, got, c.want)
		}
	}
}

func TestGradients(t *testing.T) {
	pefttest.Gradients(t, peft.Given{}, &Method{Rows: 3, Hidden: 4})
	pefttest.Gradients(t, peft.Given{}, &Method{Rows: 3, Flat: true, Place: "before"})
}

func TestCheck(t *testing.T) {
	m := Method{Rows: -1, Sites: []string{"all"}, Place: "behind", Slices: "odd", Drop: 1}
	err := m.Check()
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"rows:", "sites:", "place:", "slices:", "drop:"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q says nothing of %s", err, want)
		}
	}
}
