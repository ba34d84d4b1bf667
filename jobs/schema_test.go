package jobs

import (
	"encoding/json"
	"reflect"
	"testing"
)

func TestSchema(t *testing.T) {
	data, err := Schema(testKinds())
	if err != nil {
		t.Fatal(err)
	}
	var s struct {
		Properties map[string]any
		Defs       struct {
			Stage struct {
				AllOf []struct {
					If struct {
						Properties struct{ Kind struct{ Const string } }
					}
					Then struct {
						Properties           map[string]json.RawMessage
						AdditionalProperties bool
					}
				}
			}
		} `json:"$defs"`
	}
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"name", "store", "max_dead", "stages", "summary"} {
		if s.Properties[name] == nil {
			t.Errorf("no property %s", name)
		}
	}
	for _, k := range s.Defs.Stage.AllOf {
		if k.If.Properties.Kind.Const != "test/brew" {
			continue
		}
		if k.Then.AdditionalProperties {
			t.Error("unknown fields are allowed")
		}
		var steps struct {
			Description string
			Default     int
			AnyOf       []map[string]any
		}
		if err := json.Unmarshal(k.Then.Properties["steps"], &steps); err != nil {
			t.Fatal(err)
		}
		if steps.Description != "Updates to make." || steps.Default != 10 || steps.AnyOf[0]["type"] != "integer" {
			t.Errorf("steps are described as %+v", steps)
		}
		var model struct {
			Properties map[string]struct{ Default *int }
		}
		if err := json.Unmarshal(k.Then.Properties["model"], &model); err != nil {
			t.Fatal(err)
		}
		if d := model.Properties["dim"].Default; d == nil || *d != 8 {
			t.Errorf("default of model.dim is %v, want 8", d)
		}
		for _, name := range reserved {
			if k.Then.Properties[name] == nil {
				t.Errorf("no property %s", name)
			}
		}
		return
	}
	t.Error("no schema of test/brew")
}

// TestKinds holds that every kind that a job may name is what it is registered
// as, and that job files can hold all its parameters.
func TestKinds(t *testing.T) {
	for name, make := range Kinds() {
		s := make()
		if s.Kind() != name {
			t.Errorf("%s makes stages of kind %s", name, s.Kind())
		}
		if v := reflect.ValueOf(s); v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
			t.Errorf("%s makes a %T, want a pointer to a struct", name, s)
			continue
		}
		for _, p := range paramsOf(reflect.TypeOf(s).Elem()) {
			for _, r := range reserved {
				if p.name == r {
					t.Errorf("%s has a parameter %s, a name that job files use", name, r)
				}
			}
			if !holdable(p.typ, 0) {
				t.Errorf("%s: parameter %s is a %v, which job files cannot hold", name, p.name, p.typ)
			}
		}
	}
}

func holdable(t reflect.Type, depth int) bool {
	if depth > 8 {
		return false
	}
	switch t.Kind() {
	case reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer, reflect.Uintptr:
		return false
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return holdable(t.Elem(), depth+1)
	case reflect.Map:
		return t.Key().Kind() == reflect.String && holdable(t.Elem(), depth+1)
	case reflect.Struct:
		for _, p := range paramsOf(t) {
			if !holdable(p.typ, depth+1) {
				return false
			}
		}
	}
	return true
}
