package records

import (
	"bytes"
	"strconv"

	"espalier/preprocess/corpus"
	"espalier/preprocess/rawjson"
)

// An Object reads JSON objects strictly into the places that its members name.
// Of repeated names the last counts; names nobody asks for are checked and
// ignored. It is not safe for concurrent use.
type Object struct {
	p       rawjson.Parser
	members []member
	slab    corpus.Slab
}

// A Member is a member of an object and where its value goes.
type Member func(*Object)

type member struct {
	name  string
	read  func(p *rawjson.Parser) Fault
	reset func()
	must  bool
	met   bool
	bad   bool
	now   Fault // if it is bad
}

// NewObject returns a reader of objects with the given members.
func NewObject(members ...Member) *Object {
	o := &Object{}
	for _, m := range members {
		m(o)
	}
	return o
}

// Read reads an object.
func (o *Object) Read(b []byte) Fault {
	o.p.Reset(b)
	f := o.value(&o.p, true)
	if f.Bad() {
		return f
	}
	o.p.End()
	if err := o.p.Err(); err != nil {
		return Fault{Reason: err.Reason}
	}
	return o.first()
}

// value reads the object that comes next. Syntax errors are faults of their
// member.
func (o *Object) value(p *rawjson.Parser, outer bool) Fault {
	o.clear()
	if !p.Begin(rawjson.Object) {
		k := p.Kind()
		if k != rawjson.Invalid && !outer {
			p.Skip()
		}
		if p.Err() != nil || k == rawjson.Invalid {
			return Fault{Reason: "not JSON"}
		}
		return Fault{Reason: rawjson.Mismatch(k, rawjson.Object)}
	}
	next := 0 // members mostly come in the order in which they are asked for
	for name, ok := p.Member(); ok; name, ok = p.Member() {
		m := o.member(name, &next)
		if m == nil {
			p.Skip()
		} else {
			m.met = true
			f := m.read(p)
			if m.bad = f.Bad(); m.bad {
				m.now = f
			}
		}
		if err := p.Err(); err != nil {
			f := Fault{Reason: err.Reason}
			if err.Reason != rawjson.EndsEarly { // then no member is to blame
				f.Field = string(bytes.ToValidUTF8(name, nil))
			}
			return f
		}
	}
	if err := p.Err(); err != nil {
		return Fault{Reason: err.Reason}
	}
	return Fault{}
}

// clear makes all members be as if none was met.
func (o *Object) clear() {
	for i := range o.members {
		m := &o.members[i]
		m.met, m.bad = false, false
		m.reset()
	}
}

func (o *Object) member(name []byte, next *int) *member {
	for i := range o.members {
		if i += *next; i >= len(o.members) {
			i -= len(o.members)
		}
		if o.members[i].name == string(name) {
			*next = i + 1
			return &o.members[i]
		}
	}
	return nil
}

// first returns the first fault of the members in the order in which they were
// given.
func (o *Object) first() Fault {
	for i := range o.members {
		m := &o.members[i]
		switch {
		case m.bad:
			return m.now
		case m.must && !m.met:
			return Fault{Field: m.name, Reason: Missing}
		}
	}
	return Fault{}
}

func (o *Object) add(name string, must bool, read func(p *rawjson.Parser) Fault, reset func()) {
	o.members = append(o.members, member{name: name, must: must, read: read, reset: reset})
}

func mismatch(name string, got, want rawjson.Kind) Fault {
	return Fault{Field: name, Reason: rawjson.Mismatch(got, want)}
}

// Text is a member that must be there and be text.
func Text(name string, v *string) Member {
	return func(o *Object) { o.add(name, true, o.text(name, v), func() { *v = "" }) }
}

// Filled is a member that must be there and be text, and not empty.
func Filled(name string, v *string) Member {
	return func(o *Object) {
		read := o.text(name, v)
		o.add(name, true, func(p *rawjson.Parser) Fault {
			f := read(p)
			if !f.Bad() && *v == "" && p.Err() == nil {
				f = Fault{Field: name, Reason: Empty}
			}
			return f
		}, func() { *v = "" })
	}
}

func (o *Object) text(name string, v *string) func(p *rawjson.Parser) Fault {
	return func(p *rawjson.Parser) Fault {
		b, got := p.Text()
		*v = o.slab.Text(b)
		if got != rawjson.Text {
			return mismatch(name, got, rawjson.Text)
		}
		return Fault{}
	}
}

// OptionalText is a member that may be missing or null.
func OptionalText(name string, v **string) Member {
	return func(o *Object) {
		o.add(name, false, func(p *rawjson.Parser) Fault {
			b, got := p.Text()
			switch got {
			case rawjson.Text:
				*v = o.slab.Ref(o.slab.Text(b))
			case rawjson.Null:
				*v = nil
			default:
				return mismatch(name, got, rawjson.Text)
			}
			return Fault{}
		}, func() { *v = nil })
	}
}

// OptionalBytes is OptionalText for what is taken apart at once: the next object
// that is read overwrites it. It is nil if the member is missing or null.
func OptionalBytes(name string, v *[]byte) Member {
	return func(o *Object) {
		o.add(name, false, func(p *rawjson.Parser) Fault {
			b, got := p.Text()
			switch got {
			case rawjson.Text:
				*v = b
			case rawjson.Null:
				*v = nil
			default:
				return mismatch(name, got, rawjson.Text)
			}
			return Fault{}
		}, func() { *v = nil })
	}
}

// Digits is a member that must be an integer, of any length.
func Digits(name string, v *string) Member {
	return func(o *Object) {
		o.add(name, true, func(p *rawjson.Parser) Fault {
			b, got := p.Number()
			*v = o.slab.Text(b)
			switch {
			case got != rawjson.Number:
				return mismatch(name, got, rawjson.Number)
			case !rawjson.IsInteger(b):
				return Fault{Field: name, Reason: NoInteger}
			}
			return Fault{}
		}, func() { *v = "" })
	}
}

// Integer is a member that must be an integer of 64 bits.
func Integer(name string, v *int64) Member {
	return func(o *Object) {
		o.add(name, true, func(p *rawjson.Parser) Fault { return integer(p, name, v) }, func() { *v = 0 })
	}
}

func integer(p *rawjson.Parser, name string, v *int64) Fault {
	b, got := p.Number()
	switch {
	case got != rawjson.Number:
		return mismatch(name, got, rawjson.Number)
	case !rawjson.IsInteger(b):
		return Fault{Field: name, Reason: NoInteger}
	}
	n, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil {
		return Fault{Field: name, Reason: TooBig}
	}
	*v = n
	return Fault{}
}

// Bool is a member that must be true or false.
func Bool(name string, v *bool) Member {
	return func(o *Object) {
		o.add(name, true, func(p *rawjson.Parser) Fault {
			b, got := p.Bool()
			if *v = b; got != rawjson.Bool {
				return mismatch(name, got, rawjson.Bool)
			}
			return Fault{}
		}, func() { *v = false })
	}
}

// OptionalBool is a member that may be missing or null.
func OptionalBool(name string, v **bool) Member {
	return func(o *Object) {
		o.add(name, false, func(p *rawjson.Parser) Fault {
			b, got := p.Bool()
			switch got {
			case rawjson.Bool:
				*v = &b
			case rawjson.Null:
				*v = nil
			default:
				return mismatch(name, got, rawjson.Bool)
			}
			return Fault{}
		}, func() { *v = nil })
	}
}

// Texts is a member that must be a list of texts.
func Texts(name string, v *[]string) Member {
	return func(o *Object) {
		o.add(name, true, func(p *rawjson.Parser) Fault {
			*v = nil
			if !p.Begin(rawjson.Array) {
				k := p.Kind()
				p.Skip()
				return mismatch(name, k, rawjson.Array)
			}
			f := Fault{}
			for p.Item() {
				b, got := p.Text()
				if got != rawjson.Text && !f.Bad() {
					f = mismatch(name, got, rawjson.Text)
				}
				*v = append(*v, o.slab.Text(b))
			}
			return f
		}, func() { *v = nil })
	}
}

// Value is a member that must be there; what it holds is kept undecoded.
func Value(name string, v *[]byte) Member { return value(name, v, true) }

// OptionalValue is a member that may be missing; what it holds is kept undecoded,
// nil if it is missing.
func OptionalValue(name string, v *[]byte) Member { return value(name, v, false) }

func value(name string, v *[]byte, must bool) Member {
	return func(o *Object) {
		o.add(name, must, func(p *rawjson.Parser) Fault {
			*v = p.Raw()
			return Fault{}
		}, func() { *v = nil })
	}
}

// Nested is a member that must be an object; with must false it may be missing
// or null.
func Nested(name string, must bool, in *Object) Member {
	return func(o *Object) {
		o.add(name, must, func(p *rawjson.Parser) Fault {
			if !must && p.Kind() == rawjson.Null {
				p.Skip()
				return Fault{}
			}
			f := in.value(p, false)
			if !f.Bad() {
				f = in.first()
			}
			if f.Bad() && f.Field == "" {
				f.Field = name
			}
			return f
		}, in.clear)
	}
}

// Each is a member that must be a list of objects: of each, what item returns is
// told with its number. Item is called when the object is read.
func Each(name string, in *Object, start func(), item func(i int, f Fault)) Member {
	return func(o *Object) {
		o.add(name, true, func(p *rawjson.Parser) Fault {
			start()
			if !p.Begin(rawjson.Array) {
				k := p.Kind()
				p.Skip()
				return mismatch(name, k, rawjson.Array)
			}
			for i := 0; p.Item(); i++ {
				f := in.value(p, false)
				if p.Err() != nil {
					return f
				}
				if !f.Bad() {
					f = in.first()
				}
				item(i, f)
			}
			return Fault{}
		}, start)
	}
}
