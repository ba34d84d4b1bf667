package cider

import (
	"fmt"

	"espalier/evaluate/ngram"
	"espalier/evaluate/numeric"
)

// A DF is a document-frequency table: in how many images each n-gram occurs in
// at least one reference. Words are numbered by the Words it was made with.
// Building is for one goroutine; a finished table may be read by many.
type DF struct {
	words  *ngram.Words
	grams  [Order]ngram.Table
	count  [Order][]uint32
	last   [Order][]uint32 // image that counted the n-gram last, plus 1
	images int64
	logN   float64
	logs   []float64 // ln of small counts
}

// NewDF returns an empty table over words.
func NewDF(words *ngram.Words) *DF { return &DF{words: words} }

// Images returns the number of images.
func (d *DF) Images() int64 { return d.images }

// Grams returns the number of distinct n-grams of all orders.
func (d *DF) Grams() int {
	n := 0
	for k := range d.grams {
		n += d.grams[k].Len()
	}
	return n
}

// Bytes returns about how much memory the table holds, words excepted.
func (d *DF) Bytes() int64 {
	var n int64
	for k := range d.grams {
		n += d.grams[k].Bytes() + int64(cap(d.count[k])+cap(d.last[k]))*4
	}
	return n
}

// AddImage counts the n-grams of one image's references.
func (d *DF) AddImage(refs [][]uint32) {
	d.images++
	mark := uint32(d.images)
	for _, r := range refs {
		for i := range r {
			prefix := uint32(0)
			for k := 0; k < Order && i+k < len(r); k++ {
				prefix = d.add(k, prefix, r[i+k], 1, mark)
			}
		}
	}
	d.logN = 0
}

// add counts n for an n-gram unless mark did so already.
func (d *DF) add(k int, prefix, word, n, mark uint32) uint32 {
	id := d.grams[k].Number(ngram.Key(prefix, word))
	if int(id) == len(d.count[k]) {
		d.count[k] = append(d.count[k], 0)
		d.last[k] = append(d.last[k], 0)
	}
	if d.last[k][id] != mark {
		d.last[k][id] = mark
		d.count[k][id] += n
	}
	return id
}

// Merge adds the counts of o, which may number words in another way. The
// images of the two must be different ones.
func (d *DF) Merge(o *DF) {
	var here [Order][]uint32 // this table's number of each n-gram of o
	for k := range Order {
		for id := range o.grams[k].Len() {
			key := o.grams[k].At(id)
			prefix, word := uint32(key>>32), d.words.Number(o.words.Word(uint32(key)))
			if k > 0 {
				prefix = here[k-1][prefix]
			}
			n := d.add(k, prefix, word, 0, 0)
			d.count[k][n] += o.count[k][id]
			here[k] = append(here[k], n)
		}
	}
	d.images += o.images
	d.logN = 0
}

// Set gives one n-gram, its words joined by white space, a count: for tables
// read from files. Grams that were never set count 0.
func (d *DF) Set(gram string, count uint32) error {
	ids := d.words.Fields(nil, gram)
	if len(ids) == 0 || len(ids) > Order {
		return fmt.Errorf("n-gram %q: %d words, want 1 to %d", gram, len(ids), Order)
	}
	prefix := uint32(0)
	for k, w := range ids {
		prefix = d.add(k, prefix, w, 0, 0)
	}
	d.count[len(ids)-1][prefix] = count
	return nil
}

// SetImages gives a table read from a file its number of images.
func (d *DF) SetImages(n int64) { d.images, d.logN = n, 0 }

// Finish computes what scoring needs. It must follow the last change and
// precede the first Scorer.
func (d *DF) Finish() {
	d.logN = numeric.Log(float64(d.images))
	most := uint32(0)
	for k := range d.count {
		for _, n := range d.count[k] {
			most = max(most, n)
		}
	}
	used := make([]bool, most+1)
	for k := range d.count {
		for _, n := range d.count[k] {
			used[n] = true
		}
	}
	d.logs = make([]float64, most+1)
	for n, u := range used {
		if u && n > 1 {
			d.logs[n] = numeric.Log(float64(n))
		}
	}
}

// idf returns ln N - ln max(1, df) of an n-gram of the table.
func (d *DF) idf(k int, id uint32) float64 { return d.logN - d.logs[d.count[k][id]] }
