package jobs

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"

	"espalier/pipeline"
)

// Schema returns the JSON Schema of job files, for editors: the parameters of
// every kind with their types and defaults. Kinds is as in [Load].
func Schema(kinds map[string]func() pipeline.Stage) ([]byte, error) {
	if kinds == nil {
		kinds = Kinds()
	}
	names := kindNames(kinds)
	var byKind []any
	for _, kind := range names {
		byKind = append(byKind, object{
			"if":   object{"properties": object{"kind": object{"const": kind}}, "required": []string{"kind"}},
			"then": stageSchema(kinds[kind]()),
		})
	}
	props := structSchema(headerType, reflect.Value{})["properties"].(object)
	props["max_dead"] = limitSchema("Most dead letters an output may have: a number or a share such as 1%.")
	props["values"] = object{
		"description":          "Values that stand for ${name} in the stages.",
		"type":                 "object",
		"propertyNames":        object{"pattern": inputName.String()},
		"additionalProperties": true,
	}
	props["stages"] = object{
		"description":          "The stages by name.",
		"type":                 "object",
		"minProperties":        1,
		"propertyNames":        object{"pattern": stageName.String()},
		"additionalProperties": object{"$ref": "#/$defs/stage"},
	}
	number := structSchema(reflect.TypeFor[Number](), reflect.Value{})
	number["required"] = []string{"stage", "metric"}
	props["summary"] = object{
		"description":          "Scores that a run prints when it is done, by name.",
		"type":                 "object",
		"additionalProperties": number,
	}
	return json.MarshalIndent(object{
		"$schema":              "https://json-schema.org/draft/2020-12/schema",
		"title":                "Espalier job",
		"type":                 "object",
		"properties":           props,
		"patternProperties":    object{"^x-": true},
		"additionalProperties": false,
		"required":             []string{"stages"},
		"$defs": object{
			"stage": object{
				"type":       "object",
				"properties": object{"kind": object{"enum": names}},
				"required":   []string{"kind"},
				"allOf":      byKind,
			},
			"matrix": object{
				"description": "Axes: a list of values for the field of that name, or labels with the fields they set.",
				"type":        "object",
				"additionalProperties": object{"anyOf": []any{
					object{"type": "array", "minItems": 1, "items": object{"type": []string{"string", "number", "boolean"}}},
					object{"type": "object", "minProperties": 1, "additionalProperties": object{"type": "object"}},
				}},
			},
		},
	}, "", "  ")
}

type object map[string]any

func stageSchema(s pipeline.Stage) object {
	t := reflect.TypeOf(s).Elem()
	if c, ok := s.(pipeline.Checker); ok {
		_ = c.Check() // for the defaults it fills in; required fields are faults here
	}
	schema := structSchema(t, reflect.ValueOf(s).Elem())
	props := schema["properties"].(object)
	props["kind"] = true
	props["inputs"] = object{
		"description":          "The stages that are read, by the name this kind knows them under.",
		"type":                 "object",
		"additionalProperties": object{"type": "string"},
	}
	props["matrix"] = object{"$ref": "#/$defs/matrix"}
	props["collect"] = object{
		"description": "Axes of its inputs that this stage gathers over.",
		"type":        "array", "items": object{"type": "string"},
	}
	props["max_dead"] = limitSchema("Most dead letters this stage's output may have.")
	return schema
}

func limitSchema(doc string) object {
	return object{"description": doc, "type": []string{"integer", "string"}, "pattern": `^[0-9]+(\.[0-9]+)?%?$`}
}

// structSchema describes a struct; defaults are the values in v, if it is
// valid.
func structSchema(t reflect.Type, v reflect.Value) object {
	props := object{}
	for _, p := range paramsOf(t) {
		var f reflect.Value
		if v.IsValid() {
			f = fieldByIndex(v, p.index)
		}
		s := typeSchema(p.typ, f)
		if p.doc != "" {
			s["description"] = p.doc
		}
		if d, ok := defaultOf(f); ok {
			s["default"] = d
		}
		props[p.name] = s
	}
	return object{"type": "object", "properties": props, "additionalProperties": false}
}

// variableSchema is what may stand for any value that is not text.
var variableSchema = object{"type": "string", "pattern": `^\$\{[^}]+\}$`}

func typeSchema(t reflect.Type, v reflect.Value) object {
	orVariable := func(s object) object { return object{"anyOf": []any{s, variableSchema}} }
	switch t {
	case durationType:
		return object{"type": "string"}
	case rawType:
		return object{}
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return object{"type": []string{"string", "number"}}
	}
	switch t.Kind() {
	case reflect.Pointer:
		if v.IsValid() && !v.IsNil() {
			return typeSchema(t.Elem(), v.Elem())
		}
		return typeSchema(t.Elem(), reflect.Value{})
	case reflect.String:
		return object{"type": []string{"string", "number"}}
	case reflect.Bool:
		return orVariable(object{"type": "boolean"})
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return orVariable(object{"type": "integer"})
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return orVariable(object{"type": "integer", "minimum": 0})
	case reflect.Float32, reflect.Float64:
		return orVariable(object{"type": "number"})
	case reflect.Slice, reflect.Array:
		return object{"type": "array", "items": typeSchema(t.Elem(), reflect.Value{})}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": typeSchema(t.Elem(), reflect.Value{})}
	case reflect.Struct:
		return structSchema(t, v)
	}
	return object{}
}

// defaultOf returns the value of a parameter that Check filled in.
func defaultOf(v reflect.Value) (any, bool) {
	if !v.IsValid() || v.IsZero() {
		return nil, false
	}
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if v.Type() == durationType {
		return v.Interface().(interface{ String() string }).String(), true
	}
	kinds := []reflect.Kind{reflect.Struct, reflect.Map, reflect.Interface}
	if slices.Contains(kinds, v.Kind()) {
		return nil, false // its fields have their own
	}
	return v.Interface(), true
}
