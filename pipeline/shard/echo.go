package shard

import (
	"bytes"

	"github.com/parquet-go/parquet-go/compress"
)

// An echo is the codec of one Writer. It remembers the last large pages, so that
// a page that another column had just before is not compressed again. Equal pages
// give equal bytes either way. It is used by one goroutine at a time.
type echo struct {
	compress.Codec
	last [echoPages]echoPage
	next int
}

type echoPage struct{ full, packed []byte }

const (
	echoPages = 3
	echoLeast = 64 << 10 // bytes of a page worth remembering
	echoMost  = 4 << 20
)

// Encode compresses a page.
func (e *echo) Encode(dst, src []byte) ([]byte, error) {
	if len(src) < echoLeast || len(src) > echoMost {
		return e.Codec.Encode(dst, src)
	}
	for i := range e.last {
		if p := &e.last[i]; len(p.full) == len(src) && bytes.Equal(p.full, src) {
			return append(dst[:0], p.packed...), nil
		}
	}
	out, err := e.Codec.Encode(dst, src)
	if err != nil {
		return out, err
	}
	p := &e.last[e.next]
	p.full, p.packed = append(p.full[:0], src...), append(p.packed[:0], out...)
	e.next = (e.next + 1) % echoPages
	return out, nil
}
