package shard

import "espalier/internal/frame"

// A packer compresses pages of texts in one of two ways: by zstd's level 1, or by
// coding bytes alone, which takes a quarter of the time. The first page of a
// column that is not short tells which: what is written depends on rows alone.
type packer struct {
	huff  frame.Encoder
	out   []byte
	whole []byte
}

// A method is how a column's pages are compressed.
type method struct {
	told, coded bool
	searched    int // pages in which matches were looked for
}

const (
	leastTrial = 4 << 10  // bytes of a page that tells
	trialBytes = 32 << 10 // of it that are compressed in both ways
	// Matches are looked for where without them so many bytes would be so many.
	matched, unmatched = 6, 7
	// Behind so many pages in which matches are looked for comes one in which they
	// are not: of English questions a fifth more bytes, in a sixth less time.
	between = 3
)

// page compresses a page, whose values are texts and what tells their lengths. It
// returns nil if that gains too little, else bytes that the next call overwrites.
func (p *packer) page(m *method, head, texts []byte) ([]byte, error) {
	size := len(head) + len(texts)
	if !m.told && size >= leastTrial {
		m.told = true
		some := texts
		if len(some) == 0 {
			some = head
		}
		some = some[:min(len(some), trialBytes)]
		var err error
		if p.out, err = quick.Encode(p.out, some); err != nil {
			return nil, err
		}
		n := len(p.out)
		p.out = p.huff.Append(p.out[:0], some)
		m.coded = n*unmatched > len(p.out)*matched
	}
	coded := m.coded || size < leastTrial
	if !coded {
		m.searched++
		coded = m.searched%(between+1) == 0
	}
	if coded {
		p.out = p.huff.Append(p.out[:0], head, texts)
	} else {
		p.whole = append(append(p.whole[:0], head...), texts...)
		var err error
		if p.out, err = quick.Encode(p.out, p.whole); err != nil {
			return nil, err
		}
	}
	if len(p.out) > size-size/16 {
		return nil, nil
	}
	return p.out, nil
}
