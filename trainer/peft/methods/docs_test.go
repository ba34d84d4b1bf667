package methods

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"espalier/trainer/model/t5"
	"espalier/trainer/peft"
)

// docs/methods.md has a section for each method, which gives what it trains on
// T5-base and names all its settings.
func TestDocs(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "methods.md"))
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{}
	for _, s := range strings.Split(string(text), "\n### ")[1:] {
		name, body, _ := strings.Cut(s, "\n")
		if sections[name] != "" {
			t.Errorf("%s has two sections", name)
		}
		sections[name] = strings.Join(strings.Fields(body), " ")
	}
	base := t5.Config{Vocab: 32128, Width: 768, HeadWidth: 64, Hidden: 3072, Layers: 12, Heads: 12}
	for _, m := range list {
		body, ok := sections[m.Name]
		if !ok {
			t.Errorf("%s has no section", m.Name)
			continue
		}
		tasks, given := 8, peft.Given{}
		if m.Images {
			tasks, given.Visual, given.Cells = 4, 2048, 49
		}
		given.Tasks = make([]string, tasks)
		c := Config{Name: m.Name}
		if err := c.Check(); err != nil {
			t.Fatal(err)
		}
		trained, _, err := t5.Count(base, t5.Options{Methods: c.Methods(), Given: given})
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("On T5-base with %d tasks: %s trained values", tasks, thousands(trained)); !strings.Contains(body, want) {
			t.Errorf("the section of %s does not say %q", m.Name, want)
		}
		if m.settings == nil {
			continue
		}
		for _, name := range settings(reflect.TypeOf(m.settings(&c)).Elem().Elem()) {
			named := func(s string) bool { return strings.Contains(s, "`"+name+"`") || strings.Contains(s, "`"+name+": ") }
			shared := strings.Contains(body, "Settings are those of hyperpelt")
			if !named(body) && !(shared && named(sections["hyperpelt"])) {
				t.Errorf("the section of %s does not name its setting %s", m.Name, name)
			}
		}
	}
}

// settings returns the names of a struct's fields.
func settings(t reflect.Type) []string {
	var out []string
	for i := range t.NumField() {
		f := t.Field(i)
		name, opts, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case opts == "inline":
			out = append(out, settings(f.Type)...)
		case name != "":
			out = append(out, name)
		}
	}
	return out
}

func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
