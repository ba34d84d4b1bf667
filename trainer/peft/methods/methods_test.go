package methods

import (
	"strings"
	"testing"

	"espalier/trainer/peft/full"
	"espalier/trainer/peft/lora"
	"espalier/trainer/peft/pefttest"
)

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		config Config
		want   string // of the error
	}{
		{Config{}, ""},
		{Config{Name: "frozen", Norms: true}, ""},
		{Config{Name: "lora"}, ""},
		{Config{Name: "lora", LoRA: &lora.Method{Rank: -1}}, "lora.rank: -1"},
		{Config{Name: "lora", Full: &full.Method{}}, "settings of a method that is not lora"},
		{Config{Name: "frozen", Full: &full.Method{}}, "settings of a method that is not frozen"},
		{Config{Name: "lara"}, `name: "lara", want one of full`},
	} {
		err := c.config.Check()
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%+v: %v", c.config, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%+v: error %v, want %q", c.config, err, c.want)
		}
	}
}

// Every method of the list has settings with good defaults, a line and a name of
// its own.
func TestList(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range List() {
		c := Config{Name: m.Name}
		if err := c.Check(); err != nil {
			t.Errorf("%s: %v", m.Name, err)
		}
		if methods := c.Methods(); len(methods) == 0 || methods[0] == nil {
			t.Errorf("%s makes no method", m.Name)
		}
		if seen[m.Name] || m.Doc == "" || m.Source == "" {
			t.Errorf("%+v is there twice or has no text", m)
		}
		seen[m.Name] = true
	}
}

// The frozen model is the goldens' plain one.
func TestFrozen(t *testing.T) {
	c := Config{Name: "frozen"}
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	pefttest.Paper{File: "plain"}.Run(t, c.Methods()...)
}
