package evaluate

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"espalier/evaluate/input"
)

// A million predictions are to take less than 1 GB; here 40,000 may take
// their share of what a process has beside them.
func TestMemoryPerPrediction(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	const n, share = 40000, 900 // bytes a prediction
	var pred, refs, m2 bytes.Buffer
	for i := range n {
		fmt.Fprintf(&pred, "a man number %d is riding a brown horse on the beach\n", i)
		fmt.Fprintf(&refs, "a man number %d is riding a horse on a beach %d\n", i, i%7)
		fmt.Fprintf(&m2, "S a man number %d is riding a brown horse on the beach\nA 4 5|||R|||rides|||REQUIRED|||-NONE-|||0\n\n", i)
	}
	p := write(t, "p.txt", pred.String())
	r, m := write(t, "r.txt", refs.String()), write(t, "r.m2", m2.String())
	pred, refs, m2 = bytes.Buffer{}, bytes.Buffer{}, bytes.Buffer{}
	defer debug.SetGCPercent(debug.SetGCPercent(20))
	for metric, ref := range map[string]string{"bleu": r, "rouge-l": r, "rouge-score": r, "sacrebleu": r, "accuracy": r, "maxmatch": m} {
		runtime.GC()
		var before, now runtime.MemStats
		runtime.ReadMemStats(&before)
		ctx, done := context.WithCancel(t.Context())
		most := make(chan uint64)
		go func() {
			peak := uint64(0)
			for {
				select {
				case <-ctx.Done():
					most <- peak
					return
				case <-time.After(2 * time.Millisecond):
					runtime.ReadMemStats(&now)
					peak = max(peak, now.HeapAlloc)
				}
			}
		}()
		_, err := Run(t.Context(), Request{Metrics: []string{metric}, Pred: input.Source{Path: p}, Refs: []input.Source{{Path: ref}}, Workers: 2, Totals: true})
		done()
		peak := <-most
		if err != nil {
			t.Fatal(err)
		}
		if took := int64(peak) - int64(before.HeapAlloc); took > n*share {
			t.Errorf("%s: %d bytes a prediction, want at most %d", metric, took/n, share)
		}
	}
}
