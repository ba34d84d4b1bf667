package unigram

import (
	"strings"
	"unsafe"

	"espalier/tokenize/model"
	"espalier/tokenize/spm"
)

// A node is the best way to an end: its sum, where its last piece starts and
// which that is.
type node struct {
	sum   float32
	start int32 // -1: no way
	id    int32
}

// An Encoder turns text into ids, for one goroutine at a time.
type Encoder struct {
	m     *Model
	norm  *spm.Normalizer
	buf   []byte
	from  []int32
	nodes []node
	two   []ways
}

// str is the string of bytes that do not change while it is used.
func str(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// charLen is the length of a character by its first byte, as SentencePiece
// takes it.
func charLen(c byte) int {
	switch {
	case c < 0xC0:
		return 1
	case c < 0xE0:
		return 2
	case c < 0xF0:
		return 3
	}
	return 4
}

// Append appends the ids of a text.
func (e *Encoder) Append(ids []int32, text string) []int32 {
	if e.m.words != nil && e.norm.Prefix && !strings.Contains(text, spm.Mark) {
		return e.byWord(ids, text)
	}
	e.buf = e.norm.Append(e.buf[:0], text)
	e.search(str(e.buf), 0)
	return e.collect(ids, str(e.buf))
}

// search finds the best way through a text in normal form whose sum so far is
// base. It leaves the nodes and returns the new sum.
func (e *Encoder) search(text string, base float32) float32 {
	m, n := e.m, len(text)
	if cap(e.nodes) <= n {
		e.nodes = make([]node, n+n/2+64)
	}
	nodes := e.nodes[:n+1]
	for i := range nodes {
		nodes[i].start = -1
	}
	nodes[0].sum = base
	for at := 0; at < n; {
		sum := nodes[at].sum
		size := min(charLen(text[at]), n-at)
		single := false
		t := m.trie.Root()
		for i := at; i < n; {
			var ok bool
			if t, ok = m.trie.Step(t, text[i]); !ok {
				break
			}
			i++
			id := t.Value()
			if id < 0 || m.scores[id].unused {
				continue
			}
			to := &nodes[i]
			if m.Float32 {
				if c := m.scores[id].single + sum; to.start < 0 || c > to.sum {
					*to = node{c, int32(at), id}
				}
			} else if c := m.scores[id].double + float64(sum); to.start < 0 || c > float64(to.sum) {
				*to = node{float32(c), int32(at), id}
			}
			single = single || i == at+size
		}
		if !single {
			to := &nodes[at+size]
			if c := m.unknown + sum; to.start < 0 || c > to.sum {
				*to = node{c, int32(at), m.Unk}
			}
		}
		at += size
	}
	return nodes[n].sum
}

// collect appends the ids of the way through a text that search found: for a
// run of unknown characters one, or all their bytes.
func (e *Encoder) collect(ids []int32, text string) []int32 {
	from := len(ids)
	for end := len(text); end > 0; {
		x := &e.nodes[end]
		switch {
		case x.id != e.m.Unk:
			ids = append(ids, x.id)
		case e.m.ByteFallback:
			for i := end - 1; i >= int(x.start); i-- {
				ids = append(ids, e.m.Bytes[text[i]])
			}
		case len(ids) == from || ids[len(ids)-1] != x.id:
			ids = append(ids, x.id)
		}
		end = int(x.start)
	}
	for i, j := from, len(ids)-1; i < j; i, j = i+1, j-1 {
		ids[i], ids[j] = ids[j], ids[i]
	}
	return ids
}

// AppendTokens appends the tokens of a text.
func (e *Encoder) AppendTokens(tokens []model.Token, text string) []model.Token {
	e.buf, e.from = e.norm.AppendMapped(e.buf[:0], e.from[:0], text)
	normal := string(e.buf)
	e.search(normal, 0)
	first := len(tokens)
	for end := len(normal); end > 0; {
		x := &e.nodes[end]
		t := model.Token{ID: x.id, Start: e.from[x.start], End: e.from[end], Piece: normal[x.start:end]}
		tokens = append(tokens, t)
		end = int(x.start)
	}
	for i, j := first, len(tokens)-1; i < j; i, j = i+1, j-1 {
		tokens[i], tokens[j] = tokens[j], tokens[i]
	}
	return e.m.JoinUnknown(tokens, first, normal)
}
