package cider

import (
	"math"

	"espalier/evaluate/ngram"
)

// A Centre sums the normalised references of many images, so that the mean
// plain CIDEr of a sentence over all of them costs one pass over the
// sentence's n-grams. It may not be used by two goroutines at once.
type Centre struct {
	df     *DF
	sums   [Order][]float64 // by the table's numbers
	images int

	ids    [Order][]uint32
	counts [Order][]uint32
	seen   [Order][]uint32 // count in the present sentence, by the table's numbers
}

// NewCentre returns an empty centre over a finished table that holds every
// n-gram of the references to be added.
func NewCentre(df *DF) *Centre {
	c := &Centre{df: df}
	for k := range Order {
		c.sums[k] = make([]float64, df.grams[k].Len())
		c.seen[k] = make([]uint32, df.grams[k].Len())
	}
	return c
}

// Add adds the references of one image.
func (c *Centre) Add(refs [][]uint32) {
	c.images++
	for _, r := range refs {
		norms := c.count(r)
		for k := range Order {
			if norms[k] == 0 {
				continue
			}
			share := 1 / float64(norms[k]*float64(len(refs)))
			for i, id := range c.ids[k] {
				w := float64(float64(c.counts[k][i]) * c.df.idf(k, id))
				c.sums[k][id] += float64(w * share)
			}
		}
	}
}

// Score returns the mean plain CIDEr of a sentence over the images, n-grams
// that the table lacks taken as absent.
func (c *Centre) Score(words []uint32) float64 {
	norms := c.count(words)
	total := 0.0
	for k := range Order {
		if norms[k] == 0 {
			continue
		}
		sum := 0.0
		for i, id := range c.ids[k] {
			w := float64(float64(c.counts[k][i]) * c.df.idf(k, id))
			sum += float64(w * c.sums[k][id])
		}
		total += sum / norms[k]
	}
	return total / Order / float64(c.images) * 10
}

// count sets ids and counts to the n-grams of a sentence, in order of first
// occurrence, and returns the norms of their weights.
func (c *Centre) count(words []uint32) (norms [Order]float64) {
	for k := range Order {
		c.ids[k], c.counts[k] = c.ids[k][:0], c.counts[k][:0]
	}
	for i := range words {
		prefix := uint32(0)
		for k := 0; k < Order && i+k < len(words); k++ {
			id, ok := c.df.grams[k].Find(ngram.Key(prefix, words[i+k]))
			if !ok {
				break
			}
			if c.seen[k][id] == 0 {
				c.ids[k] = append(c.ids[k], id)
			}
			c.seen[k][id]++
			prefix = id
		}
	}
	for k := range Order {
		sum := 0.0
		for _, id := range c.ids[k] {
			w := float64(float64(c.seen[k][id]) * c.df.idf(k, id))
			sum += float64(w * w)
			c.counts[k] = append(c.counts[k], c.seen[k][id])
			c.seen[k][id] = 0
		}
		norms[k] = math.Sqrt(sum)
	}
	return norms
}
