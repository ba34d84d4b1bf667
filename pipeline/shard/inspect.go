package shard

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"
)

var errUTF8 = errors.New("not valid UTF-8")

// A looker returns how many bytes a value takes and checks its text. On an
// error the string names the place inside the value.
type looker func(v reflect.Value) (int64, string, error)

// inspector returns a function that measures and checks rows of T.
func inspector[T any]() (func(*T) (int64, string, error), error) {
	t := reflect.TypeFor[T]()
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("shard: rows are structs, not %s", t)
	}
	look, err := lookerOf(t)
	if err != nil {
		return nil, err
	}
	return func(row *T) (int64, string, error) { return look(reflect.ValueOf(row).Elem()) }, nil
}

func lookerOf(t reflect.Type) (looker, error) {
	if t == reflect.TypeFor[time.Time]() {
		return fixed(8), nil
	}
	switch t.Kind() {
	case reflect.Bool, reflect.Int8, reflect.Uint8, reflect.Int16, reflect.Uint16, reflect.Int32, reflect.Uint32,
		reflect.Int64, reflect.Uint64, reflect.Int, reflect.Uint, reflect.Float32, reflect.Float64:
		return fixed(int64(t.Size())), nil
	case reflect.String:
		return func(v reflect.Value) (int64, string, error) {
			s := v.String()
			if !utf8.ValidString(s) {
				return 0, "", errUTF8
			}
			return int64(len(s)) + 4, "", nil
		}, nil
	case reflect.Pointer:
		return pointerLooker(t)
	case reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return fixed(int64(t.Len())), nil
		}
	case reflect.Slice:
		return sliceLooker(t)
	case reflect.Map:
		return mapLooker(t)
	case reflect.Struct:
		return structLooker(t)
	}
	return nil, fmt.Errorf("shard: no column type for %s", t)
}

func fixed(n int64) looker {
	return func(reflect.Value) (int64, string, error) { return n, "", nil }
}

func pointerLooker(t reflect.Type) (looker, error) {
	elem, err := lookerOf(t.Elem())
	if err != nil {
		return nil, err
	}
	return func(v reflect.Value) (int64, string, error) {
		if v.IsNil() {
			return 1, "", nil
		}
		n, where, err := elem(v.Elem())
		return n + 1, where, err
	}, nil
}

func sliceLooker(t reflect.Type) (looker, error) {
	switch t.Elem().Kind() {
	case reflect.Uint8:
		return func(v reflect.Value) (int64, string, error) { return int64(v.Len()) + 4, "", nil }, nil
	case reflect.Int32, reflect.Int64, reflect.Float32, reflect.Float64:
		size := int64(t.Elem().Size()) + 2
		return func(v reflect.Value) (int64, string, error) { return size*int64(v.Len()) + 2, "", nil }, nil
	}
	elem, err := lookerOf(t.Elem())
	if err != nil {
		return nil, err
	}
	return func(v reflect.Value) (int64, string, error) {
		sum := int64(2)
		for i := range v.Len() {
			n, where, err := elem(v.Index(i))
			if err != nil {
				return 0, join(fmt.Sprintf("[%d]", i), where), err
			}
			sum += n + 2
		}
		return sum, "", nil
	}, nil
}

func mapLooker(t reflect.Type) (looker, error) {
	key, err := lookerOf(t.Key())
	if err != nil {
		return nil, err
	}
	elem, err := lookerOf(t.Elem())
	if err != nil {
		return nil, err
	}
	return func(v reflect.Value) (int64, string, error) {
		sum := int64(2)
		for it := v.MapRange(); it.Next(); {
			n, _, err := key(it.Key())
			if err != nil {
				return 0, "(key)", err
			}
			sum += n
			n, where, err := elem(it.Value())
			if err != nil {
				return 0, join(fmt.Sprint(it.Key()), where), err
			}
			sum += n
		}
		return sum, "", nil
	}, nil
}

func structLooker(t reflect.Type) (looker, error) {
	type field struct {
		index int
		name  string
		look  looker
	}
	var fields []field
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("parquet"), ",")
		if !f.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		look, err := lookerOf(f.Type)
		if err != nil {
			return nil, fmt.Errorf("%s.%s: %w", t, f.Name, err)
		}
		fields = append(fields, field{i, name, look})
	}
	return func(v reflect.Value) (int64, string, error) {
		var sum int64
		for _, f := range fields {
			n, where, err := f.look(v.Field(f.index))
			if err != nil {
				return 0, join(f.name, where), err
			}
			sum += n
		}
		return sum, "", nil
	}, nil
}

func join(a, b string) string {
	switch {
	case b == "":
		return a
	case b[0] == '[':
		return a + b
	}
	return a + "." + b
}
