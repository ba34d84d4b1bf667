package ckpt

import (
	"fmt"
	"io"
)

// A Dict is a dict of a pickle, in the order of its items.
type Dict struct{ Keys, Values []any }

// Get returns the value of a text key, nil if there is none.
func (d *Dict) Get(key string) any {
	for i, k := range d.Keys {
		if k == key {
			return d.Values[i]
		}
	}
	return nil
}

// ReadPlain reads a pickle of plain values: nil, bool, int64, float64, string,
// []byte, lists and tuples ([]any) and dicts (*Dict, collections.defaultdict
// too). Nothing is run, and a pickle that names anything else is refused.
func ReadPlain(r io.Reader, size int64) (any, error) {
	v, err := newUnpickler(r, size, false).read()
	if err != nil {
		return nil, err
	}
	return plainValue(v)
}

func plainValue(v any) (any, error) {
	var err error
	switch v := v.(type) {
	case nil, bool, int64, float64, string, []byte:
		return v, nil
	case pyTuple:
		return plainList(v)
	case *pyList:
		return plainList(v.items)
	case *pyDict:
		d := &Dict{}
		if d.Keys, err = plainList(v.keys); err != nil {
			return nil, err
		}
		d.Values, err = plainList(v.vals)
		return d, err
	}
	return nil, fmt.Errorf("a %T where plain values are expected", v)
}

func plainList(in []any) ([]any, error) {
	out := make([]any, len(in))
	for i, v := range in {
		var err error
		if out[i], err = plainValue(v); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// notCalled is a name that a defaultdict holds and that nothing calls.
func notCalled(pyTuple) (any, error) { return nil, fmt.Errorf("called") }

// newDefaultDict drops the factory of missing values.
func newDefaultDict(args pyTuple) (any, error) {
	if len(args) > 0 {
		args = args[1:]
	}
	return newDict(args)
}
