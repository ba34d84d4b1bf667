// Package distinct is Distinct-n (Li et al. 2016): the share of distinct
// n-grams among all n-grams of a system's outputs. N-grams do not cross texts.
//
// A [Counter] holds every distinct n-gram; two merge to the bits of one. It may
// not be used by two goroutines at once.
package distinct

import "espalier/evaluate/ngram"

// Order is the longest n-gram counted.
const Order = ngram.MaxOrder

// A Counter counts n-grams over texts. The zero Counter is empty.
type Counter struct {
	words ngram.Words
	grams [Order]ngram.Table
	total [Order]int64
	ids   []uint32
}

// Add counts a text, words split at white space.
func (c *Counter) Add(text string) {
	c.ids = c.words.Fields(c.ids[:0], text)
	c.add(c.ids)
}

func (c *Counter) add(ids []uint32) {
	for i := range ids {
		prefix := uint32(0)
		for k := 0; k < Order && i+k < len(ids); k++ {
			prefix = c.grams[k].Number(ngram.Key(prefix, ids[i+k]))
		}
	}
	for k := range Order {
		c.total[k] += int64(max(0, len(ids)-k))
	}
}

// Merge adds what o counted.
func (c *Counter) Merge(o *Counter) {
	var here [Order][]uint32
	for k := range Order {
		for id := range o.grams[k].Len() {
			key := o.grams[k].At(id)
			prefix, word := uint32(key>>32), c.words.Number(o.words.Word(uint32(key)))
			if k > 0 {
				prefix = here[k-1][prefix]
			}
			here[k] = append(here[k], c.grams[k].Number(ngram.Key(prefix, word)))
		}
		c.total[k] += o.total[k]
	}
}

// Score returns Distinct-n, 0 if there is no n-gram; n is 1 to 4.
func (c *Counter) Score(n int) float64 {
	if c.total[n-1] == 0 {
		return 0
	}
	return float64(c.grams[n-1].Len()) / float64(c.total[n-1])
}
