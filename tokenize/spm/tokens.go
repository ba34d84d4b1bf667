package spm

import "espalier/tokenize/model"

// JoinUnknown makes of tokens[from:], whose pieces are the parts one after
// another of the normal text, what SentencePiece prints: runs of unknown ones are
// joined, or split into byte pieces, of which the last has the whole text.
func (m *Model) JoinUnknown(tokens []model.Token, from int, normal string) []model.Token {
	unknown := 0
	extra := 0
	for i := from; i < len(tokens); i++ {
		if tokens[i].ID == m.Unk {
			unknown++
			extra += len(tokens[i].Piece) - 1
		}
	}
	if unknown == 0 {
		return tokens
	}
	if !m.ByteFallback {
		out, end := from, 0
		for _, t := range tokens[from:] {
			end += len(t.Piece)
			if t.ID == m.Unk && out > from && tokens[out-1].ID == m.Unk {
				last := &tokens[out-1]
				last.End = t.End
				last.Piece = normal[end-len(t.Piece)-len(last.Piece) : end]
				continue
			}
			tokens[out] = t
			out++
		}
		return tokens[:out]
	}
	out := make([]model.Token, 0, len(tokens)-from+extra)
	for _, t := range tokens[from:] {
		if t.ID != m.Unk {
			out = append(out, t)
			continue
		}
		for i := range len(t.Piece) {
			id := m.Bytes[t.Piece[i]]
			b := model.Token{ID: id, Start: t.Start, End: t.Start, Piece: m.Pieces[id].Text}
			if i == len(t.Piece)-1 {
				b.End = t.End
			}
			out = append(out, b)
		}
	}
	return append(tokens[:from], out...)
}
