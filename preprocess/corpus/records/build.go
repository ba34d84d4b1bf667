package records

import (
	"espalier/preprocess/corpus"
	"espalier/preprocess/example"
)

// NewOut returns an Out for formats that find their rows themselves.
func NewOut[F, M any](name, task string, src *corpus.Source) *Out[F, M] {
	return &Out[F, M]{corpus: name, task: task, src: src, split: SplitOf(src)}
}

// Begin starts an element, whose first row has number n.
func (o *Out[F, M]) Begin(el *Element, n int64) { o.el, o.n, o.recs = el, n, o.recs[:0] }

// Records returns what was added since Begin. The next Begin overwrites it.
func (o *Out[F, M]) Records() []corpus.Record[example.Row[F, M]] { return o.recs }

// Twin makes a dead letter of a row whose key an earlier row has.
func (o *Out[F, M]) Twin(rec *corpus.Record[example.Row[F, M]], field string) {
	*rec = corpus.Record[example.Row[F, M]]{Dead: o.letter(rec.Row.N, Fault{Field: field, Reason: Duplicate})}
}

// Optional is a member that may be missing.
func Optional(m Member) Member {
	return func(o *Object) {
		m(o)
		o.members[len(o.members)-1].must = false
	}
}
