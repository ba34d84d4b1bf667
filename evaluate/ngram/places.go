package ngram

// MaxPlaces is the length of the longest text whose words [Places] tells.
const MaxPlaces = 64

// Places tells where the words of one short text stand. The places of an
// n-gram that ends in a word are those of the n-gram before it, one further,
// that the word has too: so a text is matched with another in one step a word.
// The zero Places is of an empty text; it may not be used by two goroutines at
// once.
type Places struct {
	masks []uint64 // by word; bit i: the text's word i is this one
	text  []uint32
}

// Set changes the text, which has at most MaxPlaces words.
func (p *Places) Set(text []uint32) {
	for _, w := range p.text {
		p.masks[w] = 0
	}
	for i, w := range text {
		if int(w) >= len(p.masks) {
			p.masks = append(p.masks, make([]uint64, int(w)+1-len(p.masks))...)
			p.masks = p.masks[:cap(p.masks)]
		}
		p.masks[w] |= 1 << i
	}
	p.text = append(p.text[:0], text...)
}

// Of returns the places of a word: bit i stands for the text's word i.
func (p *Places) Of(word uint32) uint64 {
	if int(word) < len(p.masks) {
		return p.masks[word]
	}
	return 0
}
