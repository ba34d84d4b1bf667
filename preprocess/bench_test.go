package preprocess

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"espalier/pipeline/shard"
	"espalier/preprocess/corpus"
	"espalier/preprocess/corpus/adgen"
	"espalier/preprocess/example"
)

// advertisements are lines in AdvertiseGen's layout.
func advertisements(n int) []byte {
	r := rand.New(rand.NewPCG(3, 4))
	han := func(lo, hi int) []rune {
		out := make([]rune, lo+r.IntN(hi-lo+1))
		for i := range out {
			u := r.Float64()
			out[i] = rune(0x4e00 + int(3000*u*u*u))
		}
		return out
	}
	var b bytes.Buffer
	for range n {
		b.WriteString(`{"content": "`)
		for i := range 4 + r.IntN(6) {
			if i > 0 {
				b.WriteByte('*')
			}
			fmt.Fprintf(&b, "%s#%s", string(han(2, 3)), string(han(1, 4)))
		}
		b.WriteString(`", "summary": "`)
		for range 5 + r.IntN(5) {
			b.WriteString(string(han(4, 18)) + "\uff0c")
		}
		b.WriteString("\"}\n")
	}
	return b.Bytes()
}

// BenchmarkChinese reads JSON lines of Chinese text and writes example shards.
func BenchmarkChinese(b *testing.B) {
	const n = 20_000
	doc := advertisements(n)
	src := &corpus.Source{ReaderAt: bytes.NewReader(doc), Size: int64(len(doc)), Name: "train.json"}
	rate := func(b *testing.B) { b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "rows/s") }
	b.Run("plan", func(b *testing.B) {
		b.SetBytes(int64(len(doc)))
		for b.Loop() {
			if _, err := adgen.Format.Plan(b.Context(), src, 4096); err != nil {
				b.Fatal(err)
			}
		}
		rate(b)
	})
	list, err := adgen.Format.Plan(b.Context(), src, 4096)
	if err != nil {
		b.Fatal(err)
	}
	type row = example.Row[adgen.Fields, corpus.None]
	each := func(b *testing.B, do func(r *row)) {
		for _, sl := range list {
			for rec, err := range adgen.Format.Read(b.Context(), src, sl.Of) {
				if err != nil || rec.Row == nil {
					b.Fatal(err)
				}
				do(rec.Row)
			}
		}
	}
	b.Run("read", func(b *testing.B) {
		b.SetBytes(int64(len(doc)))
		for b.Loop() {
			each(b, func(*row) {})
		}
		rate(b)
	})
	b.Run("write", func(b *testing.B) {
		b.SetBytes(int64(len(doc)))
		for b.Loop() {
			w, err := shard.NewWriter[row](io.Discard, shard.Options{})
			if err != nil {
				b.Fatal(err)
			}
			rows := make([]row, 0, batch)
			each(b, func(r *row) {
				if rows = append(rows, *r); len(rows) == batch {
					if err := w.Write(rows); err != nil {
						b.Fatal(err)
					}
					rows = rows[:0]
				}
			})
			if err := w.Close(); err != nil {
				b.Fatal(err)
			}
		}
		rate(b)
	})
}
