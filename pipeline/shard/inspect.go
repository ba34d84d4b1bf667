package shard

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"
	"unsafe"

	"espalier/internal/utf"
)

var errUTF8 = errors.New("not valid UTF-8")

// A looker returns how many bytes the value at p takes and checks its text. On
// an error the string names the place inside the value.
type looker func(p unsafe.Pointer) (int64, string, error)

// An inspector measures and checks the rows of a Writer.
type inspector[T any] struct {
	look  looker
	texts texts
}

// texts are long texts that were just found to be UTF-8: a row may hold the same
// memory twice, as its fields and as its reference.
type texts struct {
	known [4]string
	next  int
}

const longText = 32

func (t *texts) valid(s string) bool {
	if len(s) < longText {
		return utf.ValidString(s)
	}
	for _, k := range t.known {
		if len(k) == len(s) && unsafe.StringData(k) == unsafe.StringData(s) {
			return true
		}
	}
	if !utf.ValidString(s) {
		return false
	}
	t.known[t.next] = s
	t.next = (t.next + 1) % len(t.known)
	return true
}

// forget drops what rows hold.
func (t *texts) forget() { t.known = [4]string{} }

func newInspector[T any]() (*inspector[T], error) {
	t := reflect.TypeFor[T]()
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("shard: rows are structs, not %s", t)
	}
	in := &inspector[T]{}
	var err error
	in.look, err = in.texts.lookerOf(t)
	return in, err
}

// row returns how many bytes a row takes, or the column that cannot be written.
func (in *inspector[T]) row(row *T) (int64, string, error) { return in.look(unsafe.Pointer(row)) }

func (t *texts) lookerOf(of reflect.Type) (looker, error) {
	if of == reflect.TypeFor[time.Time]() {
		return fixed(8), nil
	}
	switch of.Kind() {
	case reflect.Bool, reflect.Int8, reflect.Uint8, reflect.Int16, reflect.Uint16, reflect.Int32, reflect.Uint32,
		reflect.Int64, reflect.Uint64, reflect.Int, reflect.Uint, reflect.Float32, reflect.Float64:
		return fixed(int64(of.Size())), nil
	case reflect.String:
		return func(p unsafe.Pointer) (int64, string, error) {
			s := *(*string)(p)
			if !t.valid(s) {
				return 0, "", errUTF8
			}
			return int64(len(s)) + 4, "", nil
		}, nil
	case reflect.Pointer:
		return t.pointerLooker(of)
	case reflect.Array:
		if of.Elem().Kind() == reflect.Uint8 {
			return fixed(int64(of.Len())), nil
		}
	case reflect.Slice:
		return t.sliceLooker(of)
	case reflect.Map:
		return t.mapLooker(of)
	case reflect.Struct:
		return t.structLooker(of)
	}
	return nil, fmt.Errorf("shard: no column type for %s", of)
}

func fixed(n int64) looker {
	return func(unsafe.Pointer) (int64, string, error) { return n, "", nil }
}

func (t *texts) pointerLooker(of reflect.Type) (looker, error) {
	elem, err := t.lookerOf(of.Elem())
	if err != nil {
		return nil, err
	}
	return func(p unsafe.Pointer) (int64, string, error) {
		if p = *(*unsafe.Pointer)(p); p == nil {
			return 1, "", nil
		}
		n, where, err := elem(p)
		return n + 1, where, err
	}, nil
}

func (t *texts) sliceLooker(of reflect.Type) (looker, error) {
	length := func(p unsafe.Pointer) int64 { return int64(len(*(*[]struct{})(p))) } // of a slice of anything
	switch of.Elem().Kind() {
	case reflect.Uint8:
		return func(p unsafe.Pointer) (int64, string, error) { return length(p) + 4, "", nil }, nil
	case reflect.Int32, reflect.Int64, reflect.Float32, reflect.Float64:
		size := int64(of.Elem().Size()) + 2
		return func(p unsafe.Pointer) (int64, string, error) { return size*length(p) + 2, "", nil }, nil
	}
	elem, err := t.lookerOf(of.Elem())
	if err != nil {
		return nil, err
	}
	size := of.Elem().Size()
	return func(p unsafe.Pointer) (int64, string, error) {
		sum, first := int64(2), unsafe.Pointer(unsafe.SliceData(*(*[]struct{})(p)))
		for i := range length(p) {
			n, where, err := elem(unsafe.Add(first, uintptr(i)*size))
			if err != nil {
				return 0, join(fmt.Sprintf("[%d]", i), where), err
			}
			sum += n + 2
		}
		return sum, "", nil
	}, nil
}

func (t *texts) mapLooker(of reflect.Type) (looker, error) {
	key, err := t.lookerOf(of.Key())
	if err != nil {
		return nil, err
	}
	elem, err := t.lookerOf(of.Elem())
	if err != nil {
		return nil, err
	}
	return func(p unsafe.Pointer) (int64, string, error) {
		sum, m := int64(2), reflect.NewAt(of, p).Elem()
		if m.Len() == 0 {
			return sum, "", nil
		}
		k, v := reflect.New(of.Key()), reflect.New(of.Elem())
		for it := m.MapRange(); it.Next(); {
			k.Elem().SetIterKey(it)
			v.Elem().SetIterValue(it)
			n, _, err := key(k.UnsafePointer())
			if err != nil {
				return 0, "(key)", err
			}
			sum += n
			n, where, err := elem(v.UnsafePointer())
			if err != nil {
				return 0, join(fmt.Sprint(it.Key()), where), err
			}
			sum += n
		}
		return sum, "", nil
	}, nil
}

func (t *texts) structLooker(of reflect.Type) (looker, error) {
	type field struct {
		offset uintptr
		name   string
		look   looker
	}
	var fields []field
	for i := range of.NumField() {
		f := of.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("parquet"), ",")
		if !f.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		look, err := t.lookerOf(f.Type)
		if err != nil {
			return nil, fmt.Errorf("%s.%s: %w", of, f.Name, err)
		}
		fields = append(fields, field{f.Offset, name, look})
	}
	return func(p unsafe.Pointer) (int64, string, error) {
		var sum int64
		for i := range fields {
			f := &fields[i]
			n, where, err := f.look(unsafe.Add(p, f.offset))
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
