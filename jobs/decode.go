package jobs

import (
	"encoding"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A param is one parameter of a struct: an exported field under the name that
// job files use.
type param struct {
	name  string
	index []int
	typ   reflect.Type
	doc   string // the field's doc tag, for schemas
}

// paramsOf lists the parameters of a struct type in the order of its fields.
// The name is that of the yaml tag, else of the json tag, else the field's own
// in lower case. Embedded structs and those tagged inline are part of their
// holder.
func paramsOf(t reflect.Type) []param {
	var out []param
	for f := range t.Fields() {
		if !f.IsExported() && !f.Anonymous {
			continue
		}
		tag, ok := f.Tag.Lookup("yaml")
		if !ok {
			tag = f.Tag.Get("json")
		}
		name, opts, _ := strings.Cut(tag, ",")
		if name == "-" {
			continue
		}
		if f.Type.Kind() == reflect.Struct && (f.Anonymous && name == "" || slices.Contains(strings.Split(opts, ","), "inline")) {
			for _, p := range paramsOf(f.Type) {
				p.index = append(slices.Clone(f.Index), p.index...)
				out = append(out, p)
			}
			continue
		}
		if !f.IsExported() {
			continue
		}
		if name == "" {
			name = strings.ToLower(f.Name)
		}
		out = append(out, param{name, f.Index, f.Type, f.Tag.Get("doc")})
	}
	return out
}

func paramNames(ps []param) []string {
	names := make([]string, len(ps))
	for i, p := range ps {
		names[i] = p.name
	}
	return names
}

var (
	durationType = reflect.TypeFor[time.Duration]()
	rawType      = reflect.TypeFor[json.RawMessage]()
)

// decodeValue sets v, which can be set, to the value of n. Faults name path.
func decodeValue(n *node, v reflect.Value, path string, faults *faultList) {
	bad := func(want string) { faults.add(n.at, path, describe(n)+", want "+want) }
	if n.kind == scalarNode && n.tag == "!!null" {
		faults.add(n.at, path, "no value")
		return
	}
	switch v.Type() {
	case durationType:
		d, err := time.ParseDuration(n.text)
		if n.kind != scalarNode || err != nil {
			bad("a duration such as 1h30m")
			return
		}
		v.SetInt(int64(d))
		return
	case rawType:
		b, err := json.Marshal(plain(n))
		if err != nil {
			bad("what JSON can hold")
			return
		}
		v.SetBytes(b)
		return
	}
	if u, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		if n.kind != scalarNode {
			bad("text")
		} else if err := u.UnmarshalText([]byte(n.text)); err != nil {
			faults.add(n.at, path, n.text+": "+err.Error())
		}
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		p := reflect.New(v.Type().Elem())
		decodeValue(n, p.Elem(), path, faults)
		v.Set(p)
	case reflect.String:
		switch {
		case n.kind != scalarNode:
			bad("text")
		case n.tag == "!!bool":
			bad("text (in quotes if it is meant so)")
		default:
			v.SetString(n.text)
		}
	case reflect.Bool:
		b, ok := boolOf(n)
		if !ok {
			bad("true or false")
			return
		}
		v.SetBool(b)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		i, ok := intOf(n)
		if !ok {
			bad("a whole number")
			return
		}
		if v.OverflowInt(i) {
			bad("a smaller number")
			return
		}
		v.SetInt(i)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		i, ok := intOf(n)
		if !ok || i < 0 {
			u, err := strconv.ParseUint(n.text, 10, 64)
			if n.kind != scalarNode || err != nil {
				bad("a whole number of at least 0")
				return
			}
			if v.OverflowUint(u) {
				bad("a smaller number")
				return
			}
			v.SetUint(u)
			return
		}
		if v.OverflowUint(uint64(i)) {
			bad("a smaller number")
			return
		}
		v.SetUint(uint64(i))
	case reflect.Float32, reflect.Float64:
		f, ok := floatOf(n)
		if !ok || v.OverflowFloat(f) {
			bad("a finite number")
			return
		}
		v.SetFloat(f)
	case reflect.Slice:
		if n.kind != listNode {
			bad("a list")
			return
		}
		s := reflect.MakeSlice(v.Type(), len(n.items), len(n.items))
		for i, c := range n.items {
			decodeValue(c, s.Index(i), fmt.Sprintf("%s[%d]", path, i), faults)
		}
		v.Set(s)
	case reflect.Array:
		if n.kind != listNode || len(n.items) != v.Len() {
			bad(fmt.Sprintf("a list of %d", v.Len()))
			return
		}
		for i, c := range n.items {
			decodeValue(c, v.Index(i), fmt.Sprintf("%s[%d]", path, i), faults)
		}
	case reflect.Map:
		if n.kind != mapNode {
			bad("a mapping")
			return
		}
		m := reflect.MakeMapWithSize(v.Type(), len(n.fields))
		for _, f := range n.fields {
			e := reflect.New(v.Type().Elem()).Elem()
			decodeValue(f.node, e, join(path, f.name), faults)
			m.SetMapIndex(reflect.ValueOf(f.name).Convert(v.Type().Key()), e)
		}
		v.Set(m)
	case reflect.Struct:
		decodeStruct(n, v, path, nil, faults)
	case reflect.Interface:
		x := plain(n)
		if x == nil || !reflect.TypeOf(x).AssignableTo(v.Type()) {
			bad("another kind of value")
			return
		}
		v.Set(reflect.ValueOf(x))
	default:
		panic("jobs: a parameter of a type that job files cannot hold")
	}
}

// decodeStruct sets the parameters of v from the mapping n; those named in
// skip are not parameters and are left alone.
func decodeStruct(n *node, v reflect.Value, path string, skip []string, faults *faultList) {
	if n.kind != mapNode {
		faults.add(n.at, path, describe(n)+", want a mapping")
		return
	}
	params := paramsOf(v.Type())
	for _, f := range n.fields {
		if slices.Contains(skip, f.name) {
			continue
		}
		i := slices.IndexFunc(params, func(p param) bool { return p.name == f.name })
		if i < 0 {
			faults.add(f.at, join(path, f.name), "unknown field"+DidYouMean(f.name, append(paramNames(params), skip...)))
			continue
		}
		decodeValue(f.node, fieldByIndex(v, params[i].index), join(path, f.name), faults)
	}
}

func fieldByIndex(v reflect.Value, index []int) reflect.Value {
	for _, i := range index {
		v = v.Field(i)
	}
	return v
}

// describe names what stands at n, for a fault.
func describe(n *node) string {
	if n.kind != scalarNode {
		return n.kind.String()
	}
	if n.tag == "!!str" && (n.text == "" || len(n.text) > 60 || strings.ContainsAny(n.text, "\n\t")) {
		return strconv.Quote(clip(n.text, 60))
	}
	return n.text
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "..."
}

func boolOf(n *node) (value, ok bool) {
	if n.kind != scalarNode || n.tag != "!!bool" {
		return false, false
	}
	switch strings.ToLower(n.text) {
	case "true":
		return true, true
	case "false":
		return false, true
	}
	return false, false
}

// intOf reads a whole number; 1e6 and 2.0 are whole too.
func intOf(n *node) (int64, bool) {
	if n.kind != scalarNode {
		return 0, false
	}
	text := strings.ReplaceAll(n.text, "_", "")
	switch n.tag {
	case "!!int":
		i, err := strconv.ParseInt(text, 0, 64)
		return i, err == nil
	case "!!float":
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
			return 0, false
		}
		return int64(f), true
	}
	return 0, false
}

func floatOf(n *node) (float64, bool) {
	if n.kind != scalarNode || n.tag != "!!int" && n.tag != "!!float" {
		return 0, false
	}
	text := strings.ReplaceAll(n.text, "_", "")
	if n.tag == "!!int" {
		if i, err := strconv.ParseInt(text, 0, 64); err == nil {
			return float64(i), true
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	return f, err == nil && !math.IsNaN(f) && !math.IsInf(f, 0)
}

// plain gives n as the values that encoding/json knows.
func plain(n *node) any {
	switch n.kind {
	case listNode:
		out := make([]any, len(n.items))
		for i, c := range n.items {
			out[i] = plain(c)
		}
		return out
	case mapNode:
		out := make(map[string]any, len(n.fields))
		for _, f := range n.fields {
			out[f.name] = plain(f.node)
		}
		return out
	}
	if n.tag == "!!null" {
		return nil
	}
	if b, ok := boolOf(n); ok {
		return b
	}
	if n.tag == "!!int" {
		if i, ok := intOf(n); ok {
			return i
		}
	}
	if f, ok := floatOf(n); ok {
		return f
	}
	return n.text
}

// DidYouMean returns a hint naming the nearest of names, or nothing.
func DidYouMean(name string, names []string) string {
	best, at := max(2, len(name)/3)+1, ""
	for _, s := range names {
		if d := distance(name, s); d < best {
			best, at = d, s
		}
	}
	if at == "" {
		return ""
	}
	return "; did you mean " + at + "?"
}

// distance is the edit distance of two short texts, with neighbours swapped
// counted as one edit.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return max(len(a), len(b))
	}
	prev2, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev, cur = prev, cur, prev2
	}
	return prev[len(b)]
}
