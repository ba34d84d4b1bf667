package pipeline

import (
	"context"
	"encoding/json"
	"testing"

	"espalier/pipeline/store"
)

type keyed struct {
	A     string         `yaml:"a" json:"a"`
	N     int            `yaml:"n" json:"n"`
	Rate  *float64       `yaml:"rate" json:"rate"`
	Deep  nested         `yaml:"deep" json:"deep"`
	Names []string       `yaml:"names" json:"names"`
	Tags  map[string]int `yaml:"tags" json:"tags"`
	cache string
}

type nested struct {
	Width int    `yaml:"width" json:"width"`
	Kind  string `yaml:"kind" json:"kind"`
}

func (*keyed) Kind() string { return "test/keyed" }
func (*keyed) Version() int { return 1 }
func (k *keyed) Check() error {
	if k.N == 0 {
		k.N = 5
	}
	if k.Rate == nil {
		k.Rate = new(float64)
		*k.Rate = 0.1
	}
	if k.Deep.Width == 0 {
		k.Deep.Width = 512
	}
	return nil
}
func (*keyed) Run(ctx context.Context, t *Task, p Part) error { return nil }

// grown is keyed with fields added later.
type grown struct {
	keyed
	More string     `yaml:"more" json:"more"`
	Deep grownInner `yaml:"deep" json:"deep"`
}

type grownInner struct {
	nested
	Depth int `yaml:"depth" json:"depth"`
}

func (g *grown) Check() error {
	if g.More == "" {
		g.More = "default"
	}
	if g.Deep.Width == 0 {
		g.Deep.Width = 512
	}
	if g.Deep.Depth == 0 {
		g.Deep.Depth = 3
	}
	return g.keyed.Check()
}

func changedOf(t *testing.T, s Stage) string {
	t.Helper()
	if c, ok := s.(Checker); ok {
		if err := c.Check(); err != nil {
			t.Fatal(err)
		}
	}
	_, changed, err := paramsOf(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(changed)
}

func TestOnlyWhatDiffersFromTheDefaultsEntersTheKey(t *testing.T) {
	zero := new(float64)
	for _, c := range []struct {
		s    Stage
		want string
	}{
		{&keyed{}, `{}`},
		{&keyed{N: 5, cache: "elsewhere"}, `{}`},
		{&keyed{A: "<b>", N: 6}, `{"a":"<b>","n":6}`},
		{&keyed{Rate: zero}, `{"rate":0}`}, // a real zero
		{&keyed{Deep: nested{Kind: "x"}}, `{"deep":{"kind":"x"}}`},
		{&keyed{Names: []string{"b", "a"}, Tags: map[string]int{"z": 1, "b": 2}}, `{"names":["b","a"],"tags":{"b":2,"z":1}}`},
		{&grown{}, `{}`},
		{&grown{keyed: keyed{A: "x"}, Deep: grownInner{nested: nested{Kind: "x"}}}, `{"a":"x","deep":{"kind":"x"}}`},
	} {
		if got := changedOf(t, c.s); got != c.want {
			t.Errorf("%+v: %s, want %s", c.s, got, c.want)
		}
	}
}

func TestKeysTellEverythingApart(t *testing.T) {
	base := func() (Stage, string, string, map[string]store.Key) {
		return &keyed{}, "", `{"a":1}`, map[string]store.Key{"x": "11", "y": "22"}
	}
	seen := make(map[store.Key]string)
	add := func(what string, s Stage, numerics, params string, inputs map[string]store.Key) {
		t.Helper()
		k, err := outputKey(s, numerics, json.RawMessage(params), inputs)
		if err != nil {
			t.Fatal(err)
		}
		if old, ok := seen[k]; ok {
			t.Errorf("%s has the key of %s", what, old)
		}
		if len(k) != 64 {
			t.Errorf("key %q", k)
		}
		seen[k] = what
	}
	s, num, p, in := base()
	add("base", s, num, p, in)
	add("kind", &split{}, num, p, in)
	add("class", s, "amd64", p, in)
	add("params", s, num, `{"a":2}`, in)
	add("input key", s, num, p, map[string]store.Key{"x": "11", "y": "23"})
	add("input name", s, num, p, map[string]store.Key{"x": "11", "z": "22"})
	add("fewer inputs", s, num, p, map[string]store.Key{"x": "11"})
	add("swapped inputs", s, num, p, map[string]store.Key{"x": "22", "y": "11"})
	for _, id := range []string{"", "a", "b"} {
		k, err := partKey(s, num, json.RawMessage(p), id)
		if err != nil {
			t.Fatal(err)
		}
		if old, ok := seen[k]; ok {
			t.Errorf("part %q has the key of %s", id, old)
		}
		seen[k] = "part " + id
	}
	// A key never changes: outputs of years ago are found by it.
	k, err := outputKey(s, "", json.RawMessage(`{"a":1}`), in)
	if err != nil {
		t.Fatal(err)
	}
	if want := store.Key("037c4606985c2cb033a1ca8236f24e9979a9cde2bc8f7e48e198485e9e9c5f97"); k != want {
		t.Errorf("key %s, want %s", k, want)
	}
}

func TestNumericsEnterTheKeyOfNumericKindsOnly(t *testing.T) {
	f := newFixture(t)
	f.file("a.tsv", 4)
	here, err := Plan(t.Context(), f.graph(), f.o)
	if err != nil {
		t.Fatal(err)
	}
	f.o.Numerics = "cuda-sm90"
	there, err := Plan(t.Context(), f.graph(), f.o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range here {
		if same := here[i].Key == there[i].Key; same == (here[i].Stage == "train") {
			t.Errorf("%s: same key in two classes: %v", here[i].Stage, same)
		}
	}
	if HostNumerics() == "" {
		t.Error("this machine has no class")
	}
}

func TestCheckFields(t *testing.T) {
	type bad struct {
		keyed
		NoTags int
		Other  int `yaml:"other" json:"another"`
		Hidden int `yaml:"hidden" json:"-"`
	}
	for _, s := range []Stage{&keyed{}, &split{}, &train{}, &Files{}} {
		if err := CheckFields(s); err != nil {
			t.Errorf("%s: %v", s.Kind(), err)
		}
	}
	err := CheckFields(&bad{})
	want := `test/keyed.NoTags: needs yaml and json tags
test/keyed.Other: yaml name "other", json name "another"
test/keyed.Hidden: yaml name "hidden", json name "-"`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
