package unigram

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"espalier/tokenize/chars"
	"espalier/tokenize/memo"
	"espalier/tokenize/model"
	"espalier/tokenize/spm"
	"espalier/tokenize/trie"
)

// A Converted model is what the Hugging Face classes make of a SentencePiece
// model when they convert it for the tokenizers library: characters are mapped a
// grapheme cluster at a time, each word is searched by itself with sums in
// float64, and control pieces can be found in text. It is safe for concurrent
// use.
type Converted struct {
	// SplitWhite cuts words at all white space and forgets blanks at the
	// beginning, as transformers 5 does; before it, only blanks count.
	SplitWhite bool
	// First puts a mark before the first part of a text only.
	First bool

	m      *Model
	keys   []string
	trie   *trie.Trie
	scores []float64
	lowest float64
	words  *memo.Table
	table  *chars.Table
}

// Convert returns the converted model, with pieces of score 0 added behind the
// model's own.
func (m *Model) Convert(extra []string) (*Converted, error) {
	c := &Converted{m: m, words: memo.New(17), table: chars.Load()}
	keys := make([]string, 0, len(m.Pieces)+len(extra))
	for _, p := range m.Pieces {
		keys = append(keys, p.Text)
		c.scores = append(c.scores, float64(p.Score))
		c.lowest = min(c.lowest, float64(p.Score))
	}
	for _, p := range extra {
		keys = append(keys, p)
		c.scores = append(c.scores, 0)
	}
	var err error
	c.keys = keys
	if c.trie, err = trie.New(keys); err != nil {
		return nil, fmt.Errorf("unigram: %w", err)
	}
	return c, nil
}

// A ConvertedEncoder is for one goroutine at a time.
type ConvertedEncoder struct {
	c      *Converted
	buf    []byte  // with characters mapped
	from   []int32 // where its bytes come from
	marked []byte  // with marks for blanks
	places []int32
	nodes  []wide
}

// A wide node is a node with its sum in float64.
type wide struct {
	sum       float64
	start, id int32
}

// NewEncoder returns an encoder.
func (c *Converted) NewEncoder() *ConvertedEncoder { return &ConvertedEncoder{c: c} }

func (c *Converted) space(r rune) bool {
	return c.table.Of(r)&chars.Space != 0 && (r < 0x1C || r > 0x1F)
}

// mark sets marked to the text of which each mark begins a word, and places to
// where its bytes, and its end, come from.
func (e *ConvertedEncoder) mark(text string, first bool) {
	c := e.c
	e.buf, e.from = c.m.Norm.AppendByCluster(e.buf[:0], e.from[:0], text, func(r rune) bool { return c.table.Of(r)&chars.Joins != 0 })
	e.marked, e.places = e.marked[:0], e.places[:0]
	put := func(s string, at int) {
		e.marked = append(e.marked, s...)
		for range len(s) {
			e.places = append(e.places, e.from[at])
		}
	}
	end := 0
	for at := 0; at < len(e.buf); {
		r, size := utf8.DecodeRune(e.buf[at:])
		blank := r == ' ' || c.SplitWhite && c.space(r)
		if blank && (c.SplitWhite || at > 0 && e.buf[at-1] == ' ') {
			at += size
			continue
		}
		begins := at == 0 && (first || !c.First)
		if c.SplitWhite {
			before, _ := utf8.DecodeLastRune(e.buf[:at])
			begins = at == 0 || c.space(before)
		}
		if blank || begins && !bytes.HasPrefix(e.buf[at:], []byte(spm.Mark)) {
			put(spm.Mark, at)
		}
		if !blank {
			put(str(e.buf[at:at+size]), at)
		}
		at += size
		if !c.space(r) {
			end = len(e.marked)
		}
	}
	e.marked = e.marked[:end]
	e.places = append(e.places, e.from[len(e.buf)])[:end+1]
}

// markPlain is mark of a plain text, without places.
func (e *ConvertedEncoder) markPlain(text string, first bool) {
	e.marked = e.marked[:0]
	for i := 0; i < len(text); {
		blank := i
		for i < len(text) && text[i] == ' ' {
			i++
		}
		if i == len(text) { // blanks at the end go
			return
		}
		if e.c.SplitWhite || i > blank || i == 0 && (first || !e.c.First) {
			e.marked = append(e.marked, spm.Mark...)
		}
		j := memo.End(text, i, ' ')
		e.marked = append(e.marked, text[i:j]...)
		i = j
	}
}

// AppendPart appends the ids of a part of a text; first says that nothing is
// before it.
func (e *ConvertedEncoder) AppendPart(ids []int32, text string, first bool) []int32 {
	if e.c.m.Norm.Plain(text) {
		e.markPlain(text, first)
	} else {
		e.mark(text, first)
	}
	words, marked := e.c.words, str(e.marked)
	for i := 0; i < len(marked); {
		j := nextMark(marked, i)
		ref, hash := words.Find(marked, i, j)
		if ref != 0 {
			ids = words.Append(ids, ref)
		} else {
			from := len(ids)
			e.search(marked[i:j])
			for end := j - i; end > 0; end = int(e.nodes[end].start) {
				if id := e.nodes[end].id; id != e.c.m.Unk || len(ids) == from || ids[len(ids)-1] != id {
					ids = append(ids, id)
				}
			}
			slices.Reverse(ids[from:])
			words.Add(marked, i, j, hash, ids[from:], 0)
		}
		i = j
	}
	return ids
}

// AppendPartTokens is AppendPart for tokens, of the part text[i:j].
func (e *ConvertedEncoder) AppendPartTokens(tokens []model.Token, text string, i, j int, first bool) []model.Token {
	e.mark(text[i:j], first)
	marked := string(e.marked)
	for at := 0; at < len(marked); {
		next := nextMark(marked, at)
		e.search(marked[at:next])
		from := len(tokens)
		for end := next - at; end > 0; {
			x := &e.nodes[end]
			start := int(x.start)
			if k := len(tokens) - 1; x.id == e.c.m.Unk && k >= from && tokens[k].ID == x.id {
				tokens[k].Start = int32(i) + e.places[at+start]
			} else {
				tokens = append(tokens, model.Token{
					ID: x.id, Start: int32(i) + e.places[at+start], End: int32(i) + e.places[at+end], Piece: e.c.keys[x.id],
				})
			}
			end = start
		}
		slices.Reverse(tokens[from:])
		at = next
	}
	return tokens
}

// nextMark returns where the word that begins at a place ends.
func nextMark(text string, at int) int {
	if k := strings.Index(text[at+1:], spm.Mark); k >= 0 {
		return at + 1 + k
	}
	return len(text)
}

// search finds the best way through a word and leaves the nodes.
func (e *ConvertedEncoder) search(text string) {
	c, n := e.c, len(text)
	if cap(e.nodes) <= n {
		e.nodes = make([]wide, n+n/2+64)
	}
	nodes := e.nodes[:n+1]
	for i := range nodes {
		nodes[i].start = -1
	}
	nodes[0].sum = 0
	for at := 0; at < n; {
		sum := nodes[at].sum
		size := min(charLen(text[at]), n-at)
		single := false
		t := c.trie.Root()
		for i := at; i < n; {
			var ok bool
			if t, ok = c.trie.Step(t, text[i]); !ok {
				break
			}
			i++
			id := t.Value()
			if id < 0 {
				continue
			}
			to := &nodes[i]
			if s := c.scores[id] + sum; to.start < 0 || s > to.sum {
				*to = wide{s, int32(at), id}
			}
			single = single || i == at+size
		}
		if !single {
			to := &nodes[at+size]
			if s := c.lowest - unknownPenalty + sum; to.start < 0 || s > to.sum {
				*to = wide{s, int32(at), c.m.Unk}
			}
		}
		at += size
	}
}
