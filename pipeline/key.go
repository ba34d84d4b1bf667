package pipeline

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"espalier/pipeline/store"
)

// A keyText is what a key is the hash of, as canonical JSON: members in this
// order, the members of Params sorted at every depth.
type keyText struct {
	Format   string          `json:"format"`
	Kind     string          `json:"kind"`
	Version  int             `json:"version"`
	Numerics string          `json:"numerics,omitempty"`
	Params   json.RawMessage `json:"params"`
	Inputs   [][2]string     `json:"inputs,omitempty"` // name and key, sorted by name
	Part     *string         `json:"part,omitempty"`   // a part's ID
}

const keyFormat = "espalier-key/1"

func (k *keyText) key() (store.Key, error) {
	k.Format = keyFormat
	text, err := marshal(k)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return store.Key(hex.EncodeToString(sum[:])), nil
}

// outputKey returns the key of a stage's output.
func outputKey(s Stage, numerics string, params json.RawMessage, inputs map[string]store.Key) (store.Key, error) {
	k := keyText{Kind: s.Kind(), Version: s.Version(), Numerics: numerics, Params: params}
	for _, name := range sortedKeys(inputs) {
		k.Inputs = append(k.Inputs, [2]string{name, string(inputs[name])})
	}
	return k.key()
}

// partKey returns the key of a part: its inputs count only through its ID.
func partKey(s Stage, numerics string, params json.RawMessage, id string) (store.Key, error) {
	k := keyText{Kind: s.Kind(), Version: s.Version(), Numerics: numerics, Params: params, Part: &id}
	return k.key()
}

// filesKey returns the key of raw files: their names and content.
func filesKey(entries []store.FileEntry) (store.Key, error) {
	content, err := marshal(map[string]string{"content": store.DigestFiles(entries)})
	if err != nil {
		return "", err
	}
	return outputKey((*Files)(nil), "", content, nil)
}

// numericsOf returns the class that enters the key of a stage, "" for kinds
// that have none.
func numericsOf(s Stage, class string) string {
	if n, ok := s.(Numeric); ok && n.Numeric() {
		return class
	}
	return ""
}

// paramsOf returns all fields of a stage as canonical JSON, and those among
// them that differ from what Check makes of the zero stage. Only the latter
// enter the key, so a field that is added later, with a default, re-keys
// nothing.
func paramsOf(s Stage) (all, changed json.RawMessage, err error) {
	have, err := fieldsOf(s)
	if err != nil {
		return nil, nil, err
	}
	base, err := fieldsOf(zeroOf(s))
	if err != nil {
		return nil, nil, err
	}
	if all, err = marshal(have); err != nil {
		return nil, nil, err
	}
	changed, err = marshal(difference(have, base))
	return all, changed, err
}

// zeroOf returns a stage of the same type with all defaults.
func zeroOf(s Stage) any {
	t := reflect.TypeOf(s)
	var zero any
	if t.Kind() == reflect.Pointer {
		zero = reflect.New(t.Elem()).Interface()
	} else {
		zero = reflect.Zero(t).Interface()
	}
	if c, ok := zero.(Checker); ok {
		_ = c.Check() // what is required is missing, of course; the defaults are filled in
	}
	return zero
}

// fieldsOf returns the fields of a struct as JSON sees them.
func fieldsOf(s any) (map[string]any, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	fields := make(map[string]any)
	if err := d.Decode(&fields); err != nil {
		return nil, fmt.Errorf("a stage must be a struct: %w", err)
	}
	return fields, nil
}

// difference returns the members of have that differ from base, at every
// depth. A member that only base has is null.
func difference(have, base map[string]any) map[string]any {
	diff := make(map[string]any)
	for k, v := range have {
		b, ok := base[k]
		if ok && reflect.DeepEqual(v, b) {
			continue
		}
		vm, vok := v.(map[string]any)
		bm, bok := b.(map[string]any)
		if vok && bok {
			v = difference(vm, bm)
		}
		diff[k] = v
	}
	for k, b := range base {
		if _, ok := have[k]; !ok && b != nil {
			diff[k] = nil
		}
	}
	return diff
}

// marshal is json.Marshal without HTML's escapes; maps come out sorted.
func marshal(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), nil
}

// CheckFields reports every exported field of a stage, at any depth, whose
// yaml and json names are missing or differ: such a field would not be read
// from job files by the name under which it enters the key. It is for the
// tests of packages that list stages.
func CheckFields(s Stage) error {
	t := reflect.TypeOf(s)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return fmt.Errorf("%s: a stage must be a struct, not %s", s.Kind(), t)
	}
	if s.Kind() == FilesKind {
		return nil // its fields are not in its key
	}
	var errs []error
	checkFields(t, s.Kind(), make(map[reflect.Type]bool), &errs)
	return errors.Join(errs...)
}

func checkFields(t reflect.Type, at string, seen map[reflect.Type]bool, errs *[]error) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Array || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || seen[t] {
		return
	}
	seen[t] = true
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		y, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		j, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		where := at + "." + f.Name
		switch {
		case f.Anonymous && y == "" && j == "":
			// Its fields are the struct's own, if yaml inlines them.
			if !strings.Contains(f.Tag.Get("yaml"), ",inline") {
				*errs = append(*errs, fmt.Errorf("%s: an embedded struct needs the tag yaml:\",inline\"", where))
			}
		case y == "" || j == "":
			*errs = append(*errs, fmt.Errorf("%s: needs yaml and json tags", where))
		case y != j:
			*errs = append(*errs, fmt.Errorf("%s: yaml name %q, json name %q", where, y, j))
		case j == "-":
			*errs = append(*errs, fmt.Errorf("%s: a field that is not in the key belongs in Env", where))
		}
		checkFields(f.Type, where, seen, errs)
	}
}

// changes says which members differ between two sets of parameters, as
// "max_len 256 -> 512", sorted. Members that were not known to the older set
// and have their default are passed over.
func changes(old, now json.RawMessage, nowChanged json.RawMessage) []string {
	var a, b, c map[string]any
	for _, x := range []struct {
		text json.RawMessage
		into *map[string]any
	}{{old, &a}, {now, &b}, {nowChanged, &c}} {
		d := json.NewDecoder(bytes.NewReader(x.text))
		d.UseNumber()
		if d.Decode(x.into) != nil {
			return nil
		}
	}
	var out []string
	walkChanges("", a, b, c, &out)
	slices.Sort(out)
	return out
}

func walkChanges(prefix string, a, b, changed map[string]any, out *[]string) {
	names := make(map[string]bool)
	for k := range a {
		names[k] = true
	}
	for k := range b {
		names[k] = true
	}
	for _, k := range slices.Sorted(maps.Keys(names)) {
		old, wasThere := a[k]
		now, isThere := b[k]
		if reflect.DeepEqual(old, now) {
			continue
		}
		if _, ok := changed[k]; !wasThere && !ok {
			continue // a field added since, at its default
		}
		am, aok := old.(map[string]any)
		bm, bok := now.(map[string]any)
		if aok && bok {
			cm, _ := changed[k].(map[string]any)
			walkChanges(prefix+k+".", am, bm, cm, out)
			continue
		}
		*out = append(*out, fmt.Sprintf("%s%s %s -> %s", prefix, k, show(old, wasThere), show(now, isThere)))
	}
}

// show prints a value shortly.
func show(v any, there bool) string {
	if !there {
		return "(none)"
	}
	text, err := marshal(v)
	if err != nil {
		return "?"
	}
	if r := []rune(string(text)); len(r) > 60 {
		return string(r[:57]) + "..."
	}
	return string(text)
}
