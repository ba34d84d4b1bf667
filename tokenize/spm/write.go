package spm

import (
	"encoding/binary"
	"math"
)

// Marshal returns the file of a model of the given type and pieces, of which the
// ids are their places. Text is not normalised: a blank is put in front, runs of
// blanks are one, blanks become marks. Of the control pieces <s>, </s> and <pad>
// those that are there are named as BOS, EOS and padding.
func Marshal(kind int, pieces []Piece) []byte {
	ids := map[string]int64{"<s>": -1, "</s>": -1, "<pad>": -1}
	unknown := int64(0)
	var file message
	for i, p := range pieces {
		var m message
		m.bytes(1, p.Text)
		m.fixed32(2, math.Float32bits(p.Score))
		if p.Kind != Normal {
			m.varint(3, int64(p.Kind))
		}
		file.bytes(1, string(m))
		switch p.Kind {
		case Unknown:
			unknown = int64(i)
		case Control:
			if _, ok := ids[p.Text]; ok {
				ids[p.Text] = int64(i)
			}
		}
	}
	var trainer, norm message
	trainer.varint(3, int64(kind))
	trainer.varint(4, int64(len(pieces)))
	trainer.varint(40, unknown)
	trainer.varint(41, ids["<s>"])
	trainer.varint(42, ids["</s>"])
	trainer.varint(43, ids["<pad>"])
	file.bytes(2, string(trainer))
	norm.bytes(1, "identity")
	norm.varint(3, 1) // a blank in front
	norm.varint(4, 1) // runs of blanks are one
	norm.varint(5, 1) // blanks become marks
	file.bytes(3, string(norm))
	return file
}

// A message is a protocol buffer message being written.
type message []byte

func (m *message) key(num, wire int) { *m = binary.AppendUvarint(*m, uint64(num<<3|wire)) }

func (m *message) varint(num int, v int64) {
	m.key(num, varint)
	*m = binary.AppendUvarint(*m, uint64(v))
}

func (m *message) fixed32(num int, v uint32) {
	m.key(num, fixed32)
	*m = binary.LittleEndian.AppendUint32(*m, v)
}

func (m *message) bytes(num int, s string) {
	m.key(num, blob)
	*m = binary.AppendUvarint(*m, uint64(len(s)))
	*m = append(*m, s...)
}
