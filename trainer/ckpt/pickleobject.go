package ckpt

import (
	"fmt"
	"strings"
)

// object carries out the instructions that name, call and build.
func (u *unpickler) object(op byte) error {
	switch op {
	case 'c':
		module, err := u.line()
		if err != nil {
			return err
		}
		name, err := u.line()
		if err != nil {
			return err
		}
		return u.name(pyName{module, name})
	case 0x93: // STACK_GLOBAL
		name, err := u.pop()
		if err != nil {
			return err
		}
		module, err := u.pop()
		if err != nil {
			return err
		}
		m, ok1 := module.(string)
		n, ok2 := name.(string)
		if !ok1 || !ok2 {
			return fmt.Errorf("%w: a name that is no text", errPickle)
		}
		return u.name(pyName{m, n})
	case 'Q': // BINPERSID
		v, err := u.pop()
		if err != nil {
			return err
		}
		s, err := storageOf(v)
		if err != nil {
			return err
		}
		u.push(s)
		return nil
	case 'b': // BUILD
		state, err := u.pop()
		if err != nil {
			return err
		}
		v, err := u.top()
		if err != nil {
			return err
		}
		return build(v, state)
	}
	args, err := u.pop() // REDUCE, NEWOBJ
	if err != nil {
		return err
	}
	what, err := u.pop()
	if err != nil {
		return err
	}
	t, ok := args.(pyTuple)
	n, ok2 := what.(pyName)
	if !ok || !ok2 {
		return fmt.Errorf("%w: a call of a %T with a %T", errPickle, what, args)
	}
	v, err := u.call(n, t)
	u.push(v)
	return err
}

// name pushes a name of the list, and refuses any other.
func (u *unpickler) name(n pyName) error {
	s := n.String()
	_, isStorage := storageTypes[s]
	_, isType := torchTypes[s]
	_, isCall := callable[s]
	if n.module == "__builtin__" {
		n.module = "builtins"
		_, isCall = callable[n.String()]
	}
	if !isStorage && !isType && !isCall && !(u.script && isScriptClass(n)) {
		return fmt.Errorf("refused: the pickle names %s, which no weight file needs; nothing was run", s)
	}
	u.push(n)
	return nil
}

func isScriptClass(n pyName) bool {
	return n.module == "__torch__" || strings.HasPrefix(n.module, "__torch__.")
}

func (u *unpickler) call(n pyName, args pyTuple) (any, error) {
	if isScriptClass(n) {
		return &pyObject{class: n, state: &pyDict{}}, nil
	}
	f, ok := callable[n.String()]
	if !ok {
		return nil, fmt.Errorf("refused: the pickle calls %s", n)
	}
	v, err := f(args)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", n, err)
	}
	return v, nil
}

// build sets the state of an object. That of a dict is metadata and dropped.
func build(v, state any) error {
	switch o := v.(type) {
	case *pyObject:
		d, ok := state.(*pyDict)
		if !ok {
			return fmt.Errorf("%w: state of %s is a %T", errPickle, o.class, state)
		}
		o.state = d
		return nil
	case *pyDict, *pyTensor:
		return nil
	}
	return fmt.Errorf("%w: state for a %T", errPickle, v)
}

func newDict(args pyTuple) (any, error) {
	d := &pyDict{}
	if len(args) == 0 {
		return d, nil
	}
	l, ok := args[0].(*pyList)
	if !ok {
		return nil, fmt.Errorf("made of a %T", args[0])
	}
	for _, it := range l.items {
		var kv []any
		switch p := it.(type) {
		case pyTuple:
			kv = p
		case *pyList:
			kv = p.items
		}
		if len(kv) != 2 {
			return nil, fmt.Errorf("made of items that are no pairs")
		}
		d.keys, d.vals = append(d.keys, kv[0]), append(d.vals, kv[1])
	}
	return d, nil
}

func firstArg(args pyTuple) (any, error) {
	if len(args) == 0 {
		return nil, nil
	}
	return args[0], nil
}

// encodeLatin is how old protocols write bytes.
func encodeLatin(args pyTuple) (any, error) {
	if len(args) == 2 {
		s, ok := args[0].(string)
		if enc, ok2 := args[1].(string); ok && ok2 && (enc == "latin1" || enc == "latin-1") {
			b := make([]byte, 0, len(s))
			for _, r := range s {
				if r > 255 {
					return nil, fmt.Errorf("character %q is not in Latin 1", r)
				}
				b = append(b, byte(r))
			}
			return b, nil
		}
	}
	return nil, fmt.Errorf("arguments that are not known")
}

// storageOf reads a persistent id: ("storage", class, key, device, count) and,
// in the legacy format, a view. The device does not matter.
func storageOf(v any) (*pyStorage, error) {
	t, ok := v.(pyTuple)
	if !ok || len(t) < 5 || t[0] != "storage" {
		return nil, fmt.Errorf("%w: persistent id %.60v", errPickle, v)
	}
	class, ok1 := t[1].(pyName)
	dt, ok2 := storageTypes[class.String()]
	key, ok3 := t[2].(string)
	count, ok4 := t[4].(int64)
	if !ok1 || !ok2 || !ok3 || !ok4 || count < 0 {
		return nil, fmt.Errorf("%w: storage %.60v", errPickle, v)
	}
	s := &pyStorage{key: key, dtype: dt, count: count}
	if len(t) > 5 && t[5] != nil {
		view, ok := t[5].(pyTuple)
		if !ok || len(view) != 3 {
			return nil, fmt.Errorf("%w: view of storage %q", errPickle, key)
		}
		first, ok := view[1].(int64)
		n, ok2 := view[2].(int64)
		if !ok || !ok2 || first < 0 || n < 0 {
			return nil, fmt.Errorf("%w: view of storage %q", errPickle, key)
		}
		s.first, s.count = first, n
	}
	return s, nil
}

// rebuildTensor takes storage, offset, size, stride and more that does not
// matter.
func rebuildTensor(args pyTuple) (any, error) {
	if len(args) < 4 {
		return nil, fmt.Errorf("%w: %d arguments", errPickle, len(args))
	}
	s, ok := args[0].(*pyStorage)
	off, ok2 := args[1].(int64)
	shape, ok3 := dims(args[2])
	strides, ok4 := dims(args[3])
	if !ok || !ok2 || !ok3 || !ok4 || len(shape) != len(strides) || off < 0 {
		return nil, fmt.Errorf("%w: arguments of a tensor", errPickle)
	}
	return &pyTensor{s, off, shape, strides, s.dtype}, nil
}

// rebuildTensor3 takes the dtype as well, for storages without one.
func rebuildTensor3(args pyTuple) (any, error) {
	v, err := rebuildTensor(args)
	if err != nil {
		return nil, err
	}
	if len(args) < 7 {
		return nil, fmt.Errorf("%w: %d arguments", errPickle, len(args))
	}
	n, ok := args[6].(pyName)
	dt, ok2 := torchTypes[n.String()]
	if !ok || !ok2 {
		return nil, fmt.Errorf("%w: dtype %v", errPickle, args[6])
	}
	t := v.(*pyTensor)
	t.dtype = dt
	return t, nil
}

func dims(v any) ([]int64, bool) {
	t, ok := v.(pyTuple)
	if l, isList := v.(*pyList); isList {
		t, ok = l.items, true
	}
	out := make([]int64, len(t))
	for i, x := range t {
		n, isInt := x.(int64)
		if !isInt || n < 0 {
			return nil, false
		}
		out[i] = n
	}
	return out, ok
}
