package recipe

import (
	"fmt"
	"math"
	"unicode/utf8"

	"espalier/tokenize/memo"
	"espalier/tokenize/merge"
	"espalier/tokenize/trie"
	"espalier/tokenize/vocab"
)

// kindOf returns the type of the model, which old files do not name.
func kindOf(v *vocab.Tokenizer) string {
	switch {
	case v.Model != "":
		return v.Model
	case v.Merges != nil:
		return "BPE"
	case v.Scores != nil:
		return "Unigram"
	case v.Prefix != "" || v.MaxChars >= 0:
		return "WordPiece"
	}
	return "WordLevel"
}

func (t *Tokenizer) newCore(v *vocab.Tokenizer) (core, error) {
	index := t.index // the model knows its own pieces only
	unknown := int32(-1)
	if v.Unknown != "" {
		unknown = index.Find(v.Unknown, 0, len(v.Unknown))
	}
	kind := kindOf(v)
	switch kind {
	case "Unigram":
		return newUnigram(v, index)
	case "BPE":
		return newBPE(t, v, index, unknown)
	case "WordPiece":
		if unknown < 0 {
			return nil, fmt.Errorf("the vocabulary has no %q", v.Unknown)
		}
		w := &wordPiece{index: index, prefix: v.Prefix, most: int(v.MaxChars), unknown: unknown}
		if v.MaxChars < 0 {
			w.most = 100
		}
		for _, p := range v.Vocab {
			w.longest = max(w.longest, len(p))
		}
		return w, nil
	case "WordLevel":
		if unknown < 0 {
			return nil, fmt.Errorf("the vocabulary has no %q", v.Unknown)
		}
		return &wordLevel{index, unknown}, nil
	}
	return nil, fmt.Errorf("%q is not read", v.Model)
}

// wordLevel has an id for each word.
type wordLevel struct {
	index   *memo.Index
	unknown int32
}

func (m *wordLevel) cut(w *work, word string) {
	id := m.index.Find(word, 0, len(word))
	if id < 0 {
		id = m.unknown
	}
	w.pieces = append(w.pieces, piece{id: id, size: int32(len(word))})
}

// wordPiece cuts the longest pieces from the left.
type wordPiece struct {
	index   *memo.Index
	prefix  string // of pieces within a word
	most    int    // characters
	longest int    // bytes of a piece
	unknown int32
}

func (m *wordPiece) cut(w *work, word string) {
	first := len(w.pieces)
	if utf8.RuneCountInString(word) > m.most {
		w.pieces = append(w.pieces, piece{id: m.unknown, size: int32(len(word))})
		return
	}
	for at := 0; at < len(word); {
		prefix := ""
		if at > 0 {
			prefix = m.prefix
		}
		rest := word[at:]
		end := min(len(rest), m.longest)
		for end < len(rest) && !utf8.RuneStart(rest[end]) {
			end--
		}
		w.buf = append(append(w.buf[:0], prefix...), rest[:end]...)
		text := str(w.buf)
		end = len(text)
		id := int32(-1)
		for ; end > len(prefix); end = lastRune(text, end) {
			if id = m.index.Find(text, 0, end); id >= 0 {
				break
			}
		}
		if id < 0 {
			w.pieces = append(w.pieces[:first], piece{id: m.unknown, size: int32(len(word))})
			return
		}
		w.pieces = append(w.pieces, piece{id: id, size: int32(end - len(prefix))})
		at += end - len(prefix)
	}
}

// lastRune returns where the character before a place begins.
func lastRune(text string, end int) int {
	_, size := utf8.DecodeLastRuneInString(text[:end])
	return end - size
}

// byteNames are the pieces that stand for bytes.
func byteName(b int) string { return fmt.Sprintf("<0x%02X>", b) }

// bytePieces returns the ids of the pieces that stand for bytes, -1 where there
// is none.
func bytePieces(index *memo.Index) (ids [256]int32) {
	for b := range ids {
		n := byteName(b)
		ids[b] = index.Find(n, 0, len(n))
	}
	return ids
}

// unigram takes the way with the best sum of scores, added in the order of the
// text in float64.
type unigram struct {
	index   *memo.Index
	trie    *trie.Trie
	scores  []float64
	worst   float64 // what an unknown character counts
	unknown int32
	bytes   *[256]int32 // nil: unknown text has no bytes
}

// A node is the best way to an end.
type node struct {
	sum       float64
	start, id int32 // start -1: no way
}

const unknownPenalty = 10

func newUnigram(v *vocab.Tokenizer, index *memo.Index) (*unigram, error) {
	m := &unigram{index: index, scores: v.Scores, worst: math.Inf(1), unknown: v.UnknownID}
	if len(v.Scores) != len(v.Vocab) {
		return nil, fmt.Errorf("%d scores of %d pieces", len(v.Scores), len(v.Vocab))
	}
	if v.UnknownID < 0 || int(v.UnknownID) >= len(v.Vocab) {
		return nil, fmt.Errorf("unk_id %d, want one of the %d pieces", v.UnknownID, len(v.Vocab))
	}
	for _, s := range v.Scores {
		m.worst = min(m.worst, s)
	}
	m.worst -= unknownPenalty
	if v.ByteFallback {
		b := bytePieces(index)
		m.bytes = &b
	}
	var err error
	m.trie, err = trie.NewOf(v.Vocab, func(i int) bool { return v.Vocab[i] != "" })
	return m, err
}

func (m *unigram) cut(w *work, word string) {
	n := len(word)
	if cap(w.nodes) <= n {
		w.nodes = make([]node, n+n/2+64)
	}
	nodes := w.nodes[:n+1]
	for i := range nodes {
		nodes[i].start = -1
	}
	nodes[0].sum = 0
	for at := 0; at < n; {
		sum := nodes[at].sum
		_, size := utf8.DecodeRuneInString(word[at:])
		single := false
		t := m.trie.Root()
		for i := at; i < n; {
			var ok bool
			if t, ok = m.trie.Step(t, word[i]); !ok {
				break
			}
			i++
			id := t.Value()
			if id < 0 {
				continue
			}
			to := &nodes[i]
			if s := m.scores[id] + sum; to.start < 0 || s > to.sum {
				*to = node{s, int32(at), id}
			}
			single = single || i == at+size
		}
		if !single {
			to := &nodes[at+size]
			if s := m.worst + sum; to.start < 0 || s > to.sum {
				*to = node{s, int32(at), m.unknown}
			}
		}
		at += size
	}
	first := len(w.pieces)
	for end := n; end > 0; {
		start := int(nodes[end].start)
		if nodes[end].id == m.unknown {
			for start > 0 && nodes[start].id == m.unknown {
				start = int(nodes[start].start)
			}
			m.unseen(w, word, start, end)
		} else {
			w.pieces = append(w.pieces, piece{id: nodes[end].id, size: int32(end - start)})
		}
		end = start
	}
	for i, j := first, len(w.pieces)-1; i < j; i, j = i+1, j-1 {
		w.pieces[i], w.pieces[j] = w.pieces[j], w.pieces[i]
	}
}

// unseen appends, from right to left, what a run of unknown characters becomes:
// a piece that is spelled so, or bytes, or the unknown piece.
func (m *unigram) unseen(w *work, word string, start, end int) {
	size := int32(end - start)
	if id := m.index.Find(word, start, end); id >= 0 {
		w.pieces = append(w.pieces, piece{id: id, size: size})
		return
	}
	if m.bytes != nil {
		all := true
		for i := start; i < end && all; i++ {
			all = m.bytes[word[i]] >= 0
		}
		for i := end - 1; i >= start && all; i-- {
			w.pieces = append(w.pieces, piece{id: m.bytes[word[i]], size: size, within: i > start})
		}
		if all {
			return
		}
	}
	w.pieces = append(w.pieces, piece{id: m.unknown, size: size, unseen: true})
}

// bpe joins neighbours by a list of merges.
type bpe struct {
	index   *memo.Index
	merges  *merge.Table
	prefix  string // of symbols within a word
	suffix  string // of the last symbol
	unknown int32
	fuse    bool // unknown symbols are one
	whole   bool // a word that is a piece is not cut
	bytes   *[256]int32
	ascii   [128]int32 // ids of ASCII characters that have neither prefix nor suffix
	letters *[256]int32
}

func newBPE(t *Tokenizer, v *vocab.Tokenizer, index *memo.Index, unknown int32) (*bpe, error) {
	if v.Dropout {
		return nil, fmt.Errorf("dropout is not read")
	}
	m := &bpe{index: index, prefix: v.Prefix, suffix: v.Suffix, unknown: unknown, fuse: v.FuseUnknown, whole: v.IgnoreMerges}
	if v.Unknown != "" && unknown < 0 {
		return nil, fmt.Errorf("the vocabulary has no %q", v.Unknown)
	}
	if v.ByteFallback {
		b := bytePieces(index)
		m.bytes = &b
	}
	find := func(s string) int32 { return index.Find(s, 0, len(s)) }
	for c := range m.ascii {
		m.ascii[c] = find(string(rune(c)))
	}
	if t.bytes && m.prefix == "" && m.suffix == "" {
		m.letters = new([256]int32)
		for b := range m.letters {
			m.letters[b] = find(string(alphabet[b]))
		}
	}
	var err error
	if m.merges, err = merge.New(len(v.Vocab), len(v.Merges)); err != nil {
		return nil, err
	}
	guess := int32(0)
	var buf []byte
	for rank, x := range v.Merges {
		if len(x[0])+len(x[1]) > 2*MaxPiece {
			return nil, fmt.Errorf("merge %d: too long", rank+1)
		}
		l, r := find(x[0]), find(x[1])
		right := x[1]
		if m.prefix != "" {
			if len(right) < len(m.prefix) {
				return nil, fmt.Errorf("merge %d: %q is shorter than the prefix", rank+1, right)
			}
			right = right[len(m.prefix):]
		}
		buf = append(append(buf[:0], x[0]...), right...)
		to := int32(-1)
		if guess++; int(guess) < len(v.Vocab) && v.Vocab[guess] == string(buf) && index.Find(v.Vocab[guess], 0, len(buf)) == guess {
			to = guess
		} else {
			to = index.Find(str(buf), 0, len(buf))
			guess = to
		}
		if l < 0 || r < 0 || to < 0 {
			return nil, fmt.Errorf("merge %d: %q and %q: not in the vocabulary, or what they make is not", rank+1, x[0], x[1])
		}
		m.merges.Set(rank, l, r, to)
	}
	return m, nil
}

func (m *bpe) cut(w *work, word string) {
	if m.whole {
		if id := m.find(w, word); id >= 0 {
			w.pieces = append(w.pieces, piece{id: id, size: int32(len(word))})
			return
		}
	}
	w.ids, w.sizes = w.ids[:0], w.sizes[:0]
	if m.letters != nil {
		m.bytewise(w, word)
	} else {
		m.symbols(w, word)
	}
	if len(w.ids) == 0 {
		return
	}
	ids := w.merger.Merge(m.merges, w.ids, w.sizes)
	for k, id := range ids {
		w.pieces = append(w.pieces, piece{id: id, size: w.sizes[k]})
	}
}

// find returns the id of a word, which is written in the byte alphabet if the
// model has words so.
func (m *bpe) find(w *work, word string) int32 {
	if m.letters == nil && !w.t.bytes {
		return m.index.Find(word, 0, len(word))
	}
	w.buf = appendAlphabet(w.buf[:0], word)
	return m.index.Find(str(w.buf), 0, len(w.buf))
}

func appendAlphabet(dst []byte, s string) []byte {
	for i := range len(s) {
		dst = utf8.AppendRune(dst, alphabet[s[i]])
	}
	return dst
}

// bytewise sets the symbols of a word to its bytes.
func (m *bpe) bytewise(w *work, word string) {
	u := unknowns{m: m}
	for i := range len(word) {
		if id := m.letters[word[i]]; id >= 0 {
			u.known(w, id, 1)
		} else {
			m.missing(w, &u, str(utf8.AppendRune(w.buf[:0], alphabet[word[i]])), 1)
		}
	}
	u.flush(w)
}

// symbols sets the symbols of a word to its characters.
func (m *bpe) symbols(w *work, word string) {
	u := unknowns{m: m}
	n := 0
	for i := 0; i < len(word); i += n {
		if c := word[i]; c < utf8.RuneSelf && m.prefix == "" && m.suffix == "" && !w.t.bytes {
			n = 1
			if id := m.ascii[c]; id >= 0 {
				u.known(w, id, 1)
			} else {
				m.missing(w, &u, word[i:i+1], 1)
			}
			continue
		}
		size := 1
		w.buf = w.buf[:0]
		if i > 0 {
			w.buf = append(w.buf, m.prefix...)
		}
		if w.t.bytes {
			w.buf = utf8.AppendRune(w.buf, alphabet[word[i]])
		} else {
			_, size = utf8.DecodeRuneInString(word[i:])
			w.buf = append(w.buf, word[i:i+size]...)
		}
		n = size
		if i+n == len(word) {
			w.buf = append(w.buf, m.suffix...)
		}
		if id := m.index.Find(str(w.buf), 0, len(w.buf)); id >= 0 {
			u.known(w, id, int32(size))
		} else {
			m.missing(w, &u, str(w.buf), int32(size))
		}
	}
	u.flush(w)
}

// missing adds a symbol that the vocabulary has not.
func (m *bpe) missing(w *work, u *unknowns, symbol string, size int32) {
	if m.bytes != nil {
		all := true
		for i := range len(symbol) {
			all = all && m.bytes[symbol[i]] >= 0
		}
		if all {
			for i := range len(symbol) {
				w.ids, w.sizes = append(w.ids, m.bytes[symbol[i]]), append(w.sizes, 1)
			}
			return
		}
	}
	u.unknown(w, size)
}

// unknowns are symbols that wait for a known one; bytes do not hold them up, as
// in the library.
type unknowns struct {
	m       *bpe
	waiting bool
	size    int32
}

func (u *unknowns) known(w *work, id, size int32) {
	u.flush(w)
	w.ids, w.sizes = append(w.ids, id), append(w.sizes, size)
}

func (u *unknowns) unknown(w *work, size int32) {
	if u.m.unknown < 0 {
		return // nothing stands for it
	}
	if u.waiting && !u.m.fuse {
		u.flush(w)
	}
	u.waiting = true
	u.size += size
}

func (u *unknowns) flush(w *work) {
	if u.waiting {
		w.ids, w.sizes = append(w.ids, u.m.unknown), append(w.sizes, u.size)
	}
	u.waiting, u.size = false, 0
}
