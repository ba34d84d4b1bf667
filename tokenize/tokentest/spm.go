package tokentest

import (
	"encoding/binary"
	"math"
)

// A Piece is an entry of a small SentencePiece model.
type Piece struct {
	Text  string
	Score float32
	Kind  int // as the file numbers kinds; 0: not written, which means normal
}

// An SPM describes a small SentencePiece model.
type SPM struct {
	Type         int
	Pieces       []Piece
	ByteFallback bool
	Identity     bool              // blanks at the ends and runs of them stay
	Chars        map[string]string // the normaliser's map; its keys are ASCII or single characters
}

// Bytes returns the model file.
func (s SPM) Bytes() []byte {
	var b []byte
	for _, p := range s.Pieces {
		piece := lengthed(nil, 1, []byte(p.Text))
		piece = append(piece, 2<<3|5)
		piece = binary.LittleEndian.AppendUint32(piece, math.Float32bits(p.Score))
		if p.Kind != 0 {
			piece = number(piece, 3, uint64(p.Kind))
		}
		b = lengthed(b, 1, piece)
	}
	trainer := number(nil, 3, uint64(s.Type))
	if s.ByteFallback {
		trainer = number(trainer, 35, 1)
	}
	b = lengthed(b, 2, trainer)
	norm := lengthed(nil, 1, []byte("test"))
	if s.Chars != nil {
		norm = lengthed(norm, 2, charMap(s.Chars))
	}
	if s.Identity {
		norm = number(norm, 4, 0)
	}
	return lengthed(b, 3, norm)
}

func number(b []byte, field, v uint64) []byte {
	b = binary.AppendUvarint(b, field<<3)
	return binary.AppendUvarint(b, v)
}

func lengthed(b []byte, field uint64, v []byte) []byte {
	b = binary.AppendUvarint(b, field<<3|2)
	b = binary.AppendUvarint(b, uint64(len(v)))
	return append(b, v...)
}

// charMap lays out a double array as Darts does, each node's children in 256
// units of their own.
func charMap(chars map[string]string) []byte {
	type node struct {
		children map[byte]*node
		value    int
	}
	root := &node{value: -1}
	texts := []byte{}
	for k, v := range chars {
		n := root
		for i := range len(k) {
			if n.children == nil {
				n.children = map[byte]*node{}
			}
			if n.children[k[i]] == nil {
				n.children[k[i]] = &node{value: -1}
			}
			n = n.children[k[i]]
		}
		n.value = len(texts)
		texts = append(append(texts, v...), 0)
	}
	units := make([]uint32, 512)
	used := 256 // children of the root; unit 0 is the root
	var lay func(at int, n *node)
	lay = func(at int, n *node) {
		if len(n.children) == 0 && n.value < 0 {
			return
		}
		base := used
		used += 256
		for len(units) < used {
			units = append(units, make([]uint32, 256)...)
		}
		units[at] |= uint32(at^base) << 10
		if n.value >= 0 {
			units[at] |= 1 << 8
			units[base] = 1<<31 | uint32(n.value)
		}
		for c, child := range n.children {
			units[base^int(c)] = uint32(c)
			lay(base^int(c), child)
		}
	}
	lay(0, root)
	b := binary.LittleEndian.AppendUint32(nil, uint32(4*len(units)))
	for _, u := range units {
		b = binary.LittleEndian.AppendUint32(b, u)
	}
	return append(b, texts...)
}

// Small is a unigram model of a few pieces, whose map knows a full-width letter,
// a tab, a character that vanishes and a composed one.
func Small() SPM {
	return SPM{
		Type: 1,
		Pieces: []Piece{
			{"<pad>", 0, 3},
			{"</s>", 0, 3},
			{"<unk>", 0, 2},
			{"\u2581", -2, 0},
			{"a", -3, 0},
			{"b", -3, 1},
			{"ab", -4.5, 0},
			{"\u2581a", -4, 0},
			{"ba", -5.9, 0},
			{"\u00e9", -6, 0},
			{"[X]", 0, 4},
			{"bb", -1, 5},
		},
		Chars: map[string]string{"\uff21": "a", "\t": " ", "\u200b": "", "e\u0301": "\u00e9", "\u3000": " "},
	}
}

// SmallBPE is a BPE model with byte pieces.
func SmallBPE() SPM {
	s := SPM{Type: 2, ByteFallback: true, Identity: true, Pieces: []Piece{{"<unk>", 0, 2}, {"<s>", 0, 3}, {"</s>", 0, 3}}}
	const hex = "0123456789ABCDEF"
	for i := range 256 {
		s.Pieces = append(s.Pieces, Piece{"<0x" + string(hex[i>>4]) + string(hex[i&15]) + ">", 0, 6})
	}
	for i, p := range []string{"\u2581a", "bc", "\u2581\u2581", "abc", "\u2581abc", "cc", "bcc", "\u2581", "a", "b", "c", "\u00e9"} {
		s.Pieces = append(s.Pieces, Piece{p, -float32(i), 0})
	}
	s.Pieces = append(s.Pieces, Piece{"[X]", 0, 4}, Piece{"aa", -1, 5})
	return s
}
