package coco

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

// bigDoc is a document in Karpathy's layout with captions of 7 to 14 words.
func bigDoc(images int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	syllables := []string{"ba", "ko", "ri", "ten", "mo", "sa", "lu", "ving", "er", "est", "qua", "ni", "dor", "pla", "th", "un", "ed", "ing", "str", "o"}
	var b bytes.Buffer
	b.WriteString(`{"images": [`)
	for i := range images {
		if i > 0 {
			b.WriteString(", ")
		}
		split := []string{"train", "train", "train", "train", "restval", "val", "test"}[i%7]
		fmt.Fprintf(&b, `{"filepath": "val2014", "sentids": [%d, %d, %d, %d, %d], "filename": "COCO_val2014_%012d.jpg", "imgid": %d, "split": %q, "sentences": [`, 5*i, 5*i+1, 5*i+2, 5*i+3, 5*i+4, 9+4*i, i, split)
		for k := range 5 {
			if k > 0 {
				b.WriteString(", ")
			}
			var tokens, raw bytes.Buffer
			for w := range 7 + r.IntN(8) {
				if w > 0 {
					tokens.WriteString(", ")
					raw.WriteByte(' ')
				}
				word := ""
				for range 1 + r.IntN(4) {
					word += syllables[r.IntN(len(syllables))]
				}
				fmt.Fprintf(&tokens, "%q", word)
				raw.WriteString(word)
			}
			fmt.Fprintf(&b, `{"tokens": [%s], "raw": "%s.", "imgid": %d, "sentid": %d}`, tokens.Bytes(), raw.Bytes(), i, 5*i+k)
		}
		fmt.Fprintf(&b, `], "cocoid": %d}`, 9+4*i)
	}
	b.WriteString(`], "dataset": "coco"}`)
	return b.Bytes()
}

func BenchmarkKarpathy(b *testing.B) {
	const images = 10_000
	doc := bigDoc(images)
	b.Run("plan", func(b *testing.B) {
		b.SetBytes(int64(len(doc)))
		for b.Loop() {
			if _, err := PlanKarpathy(b.Context(), bytes.NewReader(doc), int64(len(doc)), 4096, Options{}); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(images*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
	})
	b.Run("read", func(b *testing.B) {
		b.SetBytes(int64(len(doc)))
		for b.Loop() {
			n := 0
			for rec, err := range ReadKarpathySlice(b.Context(), bytes.NewReader(doc), Slice{From: 12, To: int64(len(doc) - 21)}, Options{}) {
				if err != nil || rec.Row == nil {
					b.Fatal(err)
				}
				n++
			}
			if n != images {
				b.Fatalf("%d rows", n)
			}
		}
		b.ReportMetric(images*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
	})
}
